//! Predicates as criteria again: canonical JSON, text, and a plan to read.

mod json;
mod plan;
mod steps;
mod text;
mod written;

pub(crate) use self::json::{body_json, json_string};
pub(crate) use self::plan::{Line, lines, plan};
pub(crate) use self::text::text;
#[cfg(feature = "sql")]
pub(crate) use self::written::bound;
