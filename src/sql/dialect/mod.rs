//! The SQL dialects, one per file.
//!
//! A database needs a type for lists, and functions on lists. `syntax::Syntax` writes the SQL that tests if a list contains values,
//! finds the elements that pass a test, and splits a list into rows.
//!
//! To add a dialect, change these files. `grep -rli clickhouse` finds most of them:
//!
//! - `sql/dialect`: a file that implements `syntax::Syntax`, and the enum `Dialect` here;
//! - `bin/casefilter/commands/sql.rs`: `DialectName`, its name on the command line;
//! - `bin/casefilter/commands/ddl.rs`: the default file that the script loads (TSV or Parquet);
//! - `bin/casefilter/commands/export.rs`: the help;
//! - `sql/copy.rs`, only if the script loads another text format;
//! - `sql/mod.rs`, `sql/statement.rs` (the form of placeholders), `lib.rs`, `guide.rs`, `docs`, `README.md`: the tables and lists
//!   of dialects;
//! - `tests/sql.rs`, `tests/sql/tokens.rs` (tokeniser), `tests/sql/engines.py` (runs the database) and `tests/sql/run` (installs
//!   it).

mod clickhouse;
mod duckdb;
mod postgres;
mod spark;
mod syntax;

use std::fmt;
use std::str::FromStr;

pub(super) use syntax::{Form, Operand, Syntax, separated, table_name};

/// A dialect of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// PostgreSQL 13 or newer, and compatible databases such as Citus.
    Postgres,
    /// ClickHouse 24 or newer.
    ClickHouse,
    /// Spark SQL 3.5 or newer.
    Spark,
    /// DuckDB 1.2 or newer.
    DuckDb,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 4] = [Self::Postgres, Self::ClickHouse, Self::Spark, Self::DuckDb];

    /// Returns the name of the dialect in lower case.
    ///
    /// ```
    /// use casefilter::sql::Dialect;
    /// assert_eq!("duckdb".parse(), Ok(Dialect::DuckDb));
    /// assert_eq!(Dialect::Postgres.name(), "postgres");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::ClickHouse => "clickhouse",
            Self::Spark => "spark",
            Self::DuckDb => "duckdb",
        }
    }

    pub(super) fn syntax(self) -> &'static dyn Syntax {
        match self {
            Self::Postgres => &postgres::Postgres,
            Self::ClickHouse => &clickhouse::ClickHouse,
            Self::Spark => &spark::Spark,
            Self::DuckDb => &duckdb::DuckDb,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for a string that is not the name of a dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseDialectError(String);

impl fmt::Display for ParseDialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Dialect::ALL.map(Dialect::name).join(", ");
        write!(f, "found dialect {}, expected one of {names}", crate::error::quote(&self.0))
    }
}

impl std::error::Error for ParseDialectError {}

impl FromStr for Dialect {
    type Err = ParseDialectError;

    fn from_str(name: &str) -> Result<Self, ParseDialectError> {
        let found = Self::ALL.into_iter().find(|dialect| dialect.name() == name);
        found.ok_or_else(|| ParseDialectError(name.to_owned()))
    }
}
