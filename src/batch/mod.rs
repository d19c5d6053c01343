//! Sealed rows.
mod row;
pub(crate) use row::Row;
