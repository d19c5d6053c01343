//! Whether the table is the one that the data definition makes.

use std::collections::HashMap;

use tokio_postgres::Client;

use super::error::{PostgresError, PostgresErrorKind};
use crate::error::quote;
use crate::sql::{Column, ColumnType, Table};

/// The columns of a table: name, type, whether it refuses nulls, collation if any.
const COLUMNS: &str = "SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull, coalesce(c.collname::text, '') \
    FROM pg_attribute a LEFT JOIN pg_collation c ON c.oid = a.attcollation \
    WHERE a.attrelid = to_regclass($1::text) AND a.attnum > 0 AND NOT a.attisdropped";

/// What a column is.
#[derive(PartialEq, Eq)]
struct Shape {
    kind: String,
    refuses_nulls: bool,
    collation: String,
}

impl Shape {
    /// As the data definition has it.
    fn of(column: &Column) -> Self {
        let kind = match column.kind() {
            ColumnType::Text => "text",
            ColumnType::Number => "double precision",
            ColumnType::Integer => "bigint",
            ColumnType::Boolean => "boolean",
        };
        let brackets = if column.is_list() { "[]" } else { "" };
        let is_compared = column.kind() == ColumnType::Text && column.field().is_some();
        Self {
            kind: format!("{kind}{brackets}"),
            refuses_nulls: !column.is_nullable(),
            collation: if is_compared { "C" } else { "" }.to_owned(),
        }
    }

    fn text(&self) -> String {
        let collation = match self.collation.as_str() {
            "" => String::new(),
            name => format!(" COLLATE \"{name}\""),
        };
        format!("{}{collation}{}", self.kind, if self.refuses_nulls { " NOT NULL" } else { "" })
    }

    /// Whether a column of this shape holds what the table's statements expect of `wanted`.
    fn serves(&self, wanted: &Self) -> bool {
        self.kind == wanted.kind
            && (self.refuses_nulls || !wanted.refuses_nulls)
            && (wanted.collation.is_empty()
                || [wanted.collation.as_str(), "POSIX"].contains(&self.collation.as_str()))
    }
}

/// Holds the server's table against the one that statements are written for.
pub(super) async fn check(client: &Client, table: &Table) -> Result<(), PostgresError> {
    let fault = |message: String| PostgresError::new(PostgresErrorKind::Table, message);
    let encoding: String = client.query_one("SHOW server_encoding", &[]).await?.try_get(0)?;
    if encoding != "UTF8" {
        return Err(fault(format!("found a database of encoding {}, expected UTF8", quote(&encoding))));
    }
    let name = table.qualified_name();
    let mut columns = HashMap::new();
    for row in client.query(COLUMNS, &[&name]).await? {
        let shape =
            Shape { kind: row.try_get(1)?, refuses_nulls: row.try_get(2)?, collation: row.try_get(3)? };
        columns.insert(row.try_get::<_, String>(0)?, shape);
    }
    if columns.is_empty() {
        return Err(fault(format!(
            "found no table {}, expected the one that `casefilter ddl --dialect postgres` makes",
            quote(&name)
        )));
    }
    for column in table.columns() {
        let wanted = Shape::of(column);
        match columns.get(column.name()) {
            Some(found) if found.serves(&wanted) => {}
            found => {
                let found = found.map_or("none of that name".to_owned(), Shape::text);
                return Err(fault(format!(
                    "column {} of table {}: found {found}, expected {}",
                    quote(column.name()),
                    quote(&name),
                    wanted.text()
                )));
            }
        }
    }
    Ok(())
}
