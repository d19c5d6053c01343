//! Reads case files: splits a file into documents, and parses each document into a row.
//!
//! A JSON document is read by the fast path, which uses a document template, or by the strict parser. Both give the same row. Two
//! further readers read Rust values (`serialized`) and the rows of Arrow batches (`arrow/rows.rs`).
//!
//! | task | file |
//! |---|---|
//! | split a file into documents, after detecting its layout | `split` |
//! | read a document by a template (fast path) | `template`; its learned part in `segments` and `segment`; its sets of keys in `slot_keys`; its tokens in `scan` |
//! | read a document, or report its errors (strict parser) | `strict` |
//! | read a Rust value that implements `Serialize` | `serialized` |
//! | parse the values of ordered types in JSON | `ordered_form` |
//! | check the size, the id and the defaults, for every reader | `rules` |
//! | find misspelt members | `members` |
//! | find cases in objects that other systems wrote | `envelope` |
//!
//! A rule for documents must hold in all four readers: `template`, `strict`, `serialized` and `arrow/rows.rs`. If `template` checks
//! a limit only while it learns a segment, `Segments::prepare` must discard the segments after a change of the limit.
//! `arrow/{read,scan_file,scan_group}.rs` pass the limits to `arrow/rows.rs`.

mod envelope;
mod members;
mod ordered_form;
mod rules;
mod scan;
mod segment;
mod segments;
#[cfg(feature = "serde")]
mod serialized;
mod slot_keys;
mod split;
mod strict;
mod template;

#[cfg(feature = "arrow")]
pub(crate) use ordered_form::OrderedForm;
#[cfg(feature = "arrow")]
pub(crate) use ordered_form::parse_instant;
#[cfg(any(feature = "arrow", feature = "store"))]
pub(crate) use rules::MAX_ID_BYTES;
#[cfg(feature = "arrow")]
pub(crate) use rules::{add_defaults, complete, expected_value};
pub(crate) use rules::{case_limit, stored_id};
#[cfg(feature = "serde")]
pub(crate) use serialized::read_serialized;
pub use split::check_text;
pub(crate) use split::{FileFault, Piece, Splitter};
pub(crate) use strict::read_case;
pub(crate) use template::{DocumentTemplate, read_by_template};

pub(crate) use crate::json::{trim, trim_start};
