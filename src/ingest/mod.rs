//! From the bytes of case files to rows.

mod checked;
mod envelope;
mod links;
mod members;
mod read;
mod split;
mod usual;

pub(crate) use checked::Checked;
pub(crate) use read::read_case;
#[cfg(feature = "arrow")]
pub(crate) use read::{case_limit, complete, expected_value};
pub(crate) use split::{FileFault, Piece, Splitter};
pub(crate) use usual::{Habits, read_usual_case};

pub(crate) use crate::json::{trim, trim_start};
