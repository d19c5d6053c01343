//! From the bytes of case files to rows.

mod checked;
mod envelope;
mod members;
mod segments;
mod split;
mod strict;
mod template;

pub(crate) use checked::Checked;
pub(crate) use split::{FileFault, Piece, Splitter};
pub(crate) use strict::read_case;
#[cfg(feature = "arrow")]
pub(crate) use strict::{case_limit, complete, expected_value};
pub(crate) use template::{Habits, read_usual_case};

pub(crate) use crate::json::{trim, trim_start};
