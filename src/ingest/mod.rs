//! From the bytes of case files to rows.

mod read;
mod split;

pub(crate) use read::read_case;
pub(crate) use split::{FileFault, Piece, Splitter};
