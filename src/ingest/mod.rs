//! Reads case files: splits a file into documents, and parses each document into a row.

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
#[cfg(feature = "arrow")]
pub(crate) use rules::MAX_ID_BYTES;
pub(crate) use rules::{case_limit, stored_id};
#[cfg(feature = "arrow")]
pub(crate) use rules::{complete, expected_value};
#[cfg(feature = "serde")]
pub(crate) use serialized::read_serialized;
pub use split::check_text;
pub(crate) use split::{FileFault, Piece, Splitter};
pub(crate) use strict::read_case;
pub(crate) use template::{DocumentTemplate, read_by_template};

pub(crate) use crate::json::{trim, trim_start};
