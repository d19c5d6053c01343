//! The script that makes a table.

use super::dialect::Dialect;
use super::table::Table;

impl Table {
    /// The script that makes this table and loads an export into it.
    ///
    /// `file` is the export: rows as [`write_copy`](super::write_copy) writes them for PostgreSQL, a Parquet
    /// file with the columns of the table for the others.
    ///
    /// ```
    /// use casefilter::{Catalog, sql::{Dialect, Table}};
    /// let script = Table::new(&Catalog::cases()).script(Dialect::DuckDb, "cases.parquet");
    /// assert!(script.contains(r#""priority" VARCHAR NOT NULL DEFAULT 'medium'"#));
    /// ```
    #[must_use]
    pub fn script(&self, dialect: Dialect, file: &str) -> String {
        dialect.syntax().script(self, file)
    }
}
