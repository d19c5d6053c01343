//! Returns the script that creates a table (`Table::script`). The scripts of the dialects are in `dialect/`.

use super::dialect::Dialect;
use super::table::Table;

impl Table {
    /// Returns the script that creates this table and loads an export into it.
    ///
    /// `file` is the path of the export. For PostgreSQL, the export is the output of [`write_copy`](super::write_copy). For other
    /// dialects, it is a Parquet file with the columns of the table.
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
