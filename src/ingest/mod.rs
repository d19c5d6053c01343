//! From the bytes of case documents to rows.
mod read;
pub(crate) use read::read_case;
