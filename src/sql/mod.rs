//! Requests as SQL, for engines that already scale.

mod copy;
mod datum;
mod dialect;
mod statement;
mod table;
mod test;

pub use copy::write_copy;
pub use datum::Datum;
pub use dialect::{Dialect, UnknownDialect};
pub use statement::Statement;
pub use table::{BadTableName, Column, ColumnType, Table};
