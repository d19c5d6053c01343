//! Checks that the table on the server has the columns of [`Table::script`]. Also finds the optional columns: folded texts for
//! `$match`, and element numbers for `$elem`.

use std::borrow::Cow;
use std::collections::HashMap;

use tokio_postgres::{Client, Row};

use super::error::{PostgresError, PostgresErrorKind};
use crate::error::quote;
use crate::sql::{Column, ColumnType, Table};

/// The query for the columns of a table: name, type, `NOT NULL`, and collation.
const COLUMNS: &str = "SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull, coalesce(c.collname::text, '') \
    FROM pg_attribute a LEFT JOIN pg_collation c ON c.oid = a.attcollation \
    WHERE a.attrelid = to_regclass($1::text) AND a.attnum > 0 AND NOT a.attisdropped";

/// The definition of a column.
#[derive(PartialEq, Eq)]
struct ColumnDef {
    kind: String,
    is_not_null: bool,
    collation: String,
}

impl ColumnDef {
    /// Returns the definition that [`Table::script`] gives to this column: its type, `NOT NULL` and its collation.
    fn of(column: &Column) -> Self {
        let kind = match column.kind() {
            ColumnType::Decimal { scale } => Cow::Owned(format!("numeric(19,{scale})")),
            ColumnType::Text => Cow::Borrowed("text"),
            ColumnType::Number => Cow::Borrowed("double precision"),
            ColumnType::Integer => Cow::Borrowed("bigint"),
            ColumnType::Boolean => Cow::Borrowed("boolean"),
        };
        let brackets = if column.is_list() { "[]" } else { "" };
        let is_compared = column.kind() == ColumnType::Text && column.field().is_some();
        Self {
            kind: format!("{kind}{brackets}"),
            is_not_null: !column.is_nullable(),
            collation: if is_compared { "C" } else { "" }.to_owned(),
        }
    }

    /// Reads the name and the definition of a column from one row of the result of [`COLUMNS`].
    fn read(row: &Row) -> Result<(String, Self), tokio_postgres::Error> {
        let own = Self { kind: row.try_get(1)?, is_not_null: row.try_get(2)?, collation: row.try_get(3)? };
        Ok((row.try_get(0)?, own))
    }

    fn text(&self) -> String {
        let collation = match self.collation.as_str() {
            "" => String::new(),
            name => format!(" COLLATE \"{name}\""),
        };
        format!("{}{collation}{}", self.kind, if self.is_not_null { " NOT NULL" } else { "" })
    }

    /// Returns true if statements that are written for a column `expected` also work on this column.
    fn satisfies(&self, expected: &Self) -> bool {
        self.kind == expected.kind
            && (self.is_not_null || !expected.is_not_null)
            && (expected.collation.is_empty()
                || [expected.collation.as_str(), "POSIX"].contains(&self.collation.as_str()))
    }
}

/// Compares the table on the server with `table`, from which the SQL statements are generated. Returns `table` with those folded
/// columns and element columns that the server has.
///
/// # Errors
/// Returns [`Table`](PostgresErrorKind::Table) if the tables differ. The message describes the first difference.
pub(super) async fn check(client: &Client, table: &Table) -> Result<Table, PostgresError> {
    let fault = |message: String| PostgresError::new(PostgresErrorKind::Table, message);
    let encoding = client.query_one("SHOW server_encoding", &[]).await;
    let encoding: String = encoding.and_then(|row| row.try_get(0)).map_err(PostgresError::of_driver)?;
    if encoding != "UTF8" {
        return Err(fault(format!("found a database of encoding {}, expected UTF8", quote(&encoding))));
    }
    let name = table.qualified_name();
    let mut columns = HashMap::new();
    for row in client.query(COLUMNS, &[&name]).await.map_err(PostgresError::of_driver)? {
        let (name, column) = ColumnDef::read(&row).map_err(PostgresError::of_driver)?;
        columns.insert(name, column);
    }
    if columns.is_empty() {
        return Err(fault(format!(
            "found no table {}, expected the one that `casefilter ddl --dialect postgres` creates",
            quote(&name)
        )));
    }
    let has = |name: &str| columns.contains_key(name);
    let table = table.clone().with_folded_if(|_, name| has(name)).with_elements_if(|_, name| has(name));
    for column in table.columns() {
        let expected = ColumnDef::of(column);
        match columns.get(column.name()) {
            Some(found) if found.satisfies(&expected) => {}
            found => {
                let found = found.map_or("no such column".to_owned(), ColumnDef::text);
                return Err(fault(format!(
                    "column {} of table {}: found {found}, expected {}",
                    quote(column.name()),
                    quote(&name),
                    expected.text()
                )));
            }
        }
    }
    Ok(table)
}
