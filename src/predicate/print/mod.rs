//! Prints normal forms: as a canonical JSON body, in the text syntax, and as a plan for people.

mod body;
mod json;
mod pieces;
mod plan;
mod text;

#[cfg(feature = "sql")]
pub(crate) use self::body::bound;
pub(crate) use self::body::{PrintedNode, criteria};
pub(crate) use self::json::{body_json, json_string};
pub(crate) use self::plan::{Line, lines, plan};
pub(crate) use self::text::text;
