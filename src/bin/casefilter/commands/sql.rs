//! The command `sql`: prints a search as a statement for another engine. Also defines the dialect names for all commands
//! ([`DialectName`]).

use std::path::PathBuf;

use casefilter::sql::{Datum, Dialect, Statement, Table};
use casefilter::{Catalog, Error, ErrorKind, Limits, SearchRequest};
use clap::ValueEnum;
use serde::Serialize;

use crate::commands::extra_columns::ExtraColumns;
use crate::input::request::{Asked, Line, envelope};
use crate::input::request_lines::Lines;
use crate::input::selection::Selection;
use crate::output::failure::Failure;
use crate::output::status::Status;
use crate::output::stdout::Output;

/// Print a search as SQL, for the table that `casefilter ddl` makes
///
/// Prints {"sql":"…","params":[…]}. The statement returns the id and the document of each case on the page, in the order of
/// `casefilter search`. With --count it also prints "count":{"sql":"…","params":[…]}, a separate statement that counts the cases.
/// Parameters are $1, $2 and so on for postgres and duckdb, p1, p2 and so on for clickhouse, and ? for spark.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter sql --dialect postgres --where 'status = open and tags in (vip, cash)' --order -createdAt
  casefilter sql --dialect duckdb --body filter.json --literal | duckdb cases.duckdb
  casefilter sql --dialect clickhouse --requests requests.ndjson
  casefilter sql --dialect duckdb --folded --where 'name matches \"garcia lopez\"'

ClickHouse reads no statement of more than 256 KiB unless max_query_size says so, as a setting of the
connection: clickhouse-client --max_query_size 16777216. Only --literal makes such statements.

A filter with `matches` needs a table with folded columns: give `export`, `ddl` and this command --folded.
A filter with `has (…)` needs a table with element columns: give them --elements.

PySpark takes small integers of Python for INT and large ones for BIGINT, and no list of both: give
spark.sql a parameter that is a list of integers as expr('array(1L, 2L)').")]
pub(crate) struct Args {
    /// The SQL dialect
    #[arg(long)]
    dialect: DialectName,

    #[command(flatten)]
    selection: Selection,

    /// Print a line for each line of FILE, which contains requests in the form of `casefilter search --requests`
    #[arg(long, value_name = "FILE|-")]
    requests: Option<PathBuf>,

    /// Print a statement that can be run directly: with literals instead of parameters
    ///
    /// With --count it prints two statements, and the count is the second. With --requests the statements are still printed as
    /// JSON.
    #[arg(long)]
    literal: bool,

    /// The name of the table
    #[arg(long, value_name = "NAME", default_value = "cases")]
    table: String,

    #[command(flatten)]
    extra: ExtraColumns,
}

/// The name of an SQL dialect on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// PostgreSQL, and engines with the same dialect, such as Citus
    Postgres,
    /// ClickHouse
    Clickhouse,
    /// Spark SQL
    Spark,
    /// DuckDB
    Duckdb,
}

impl From<DialectName> for Dialect {
    fn from(name: DialectName) -> Self {
        match name {
            DialectName::Postgres => Self::Postgres,
            DialectName::Clickhouse => Self::ClickHouse,
            DialectName::Spark => Self::Spark,
            DialectName::Duckdb => Self::DuckDb,
        }
    }
}

/// A statement, in the form in which it is printed.
#[derive(Serialize)]
struct Printed {
    sql: String,
    params: Vec<Datum<'static>>,
}

/// The statements of one request, in the form in which they are printed.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Page {
        #[serde(flatten)]
        page: Printed,
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<Printed>,
    },
    /// A statement for the total, and one for each facet.
    Counts { total: Printed, facets: Vec<Printed> },
}

impl Printed {
    fn new(statement: &Statement, literal: bool) -> Self {
        if literal {
            Self { sql: statement.to_literal(), params: Vec::new() }
        } else {
            Self { sql: statement.to_sql(), params: statement.params().to_vec() }
        }
    }
}

impl Args {
    fn page(&self, table: &Table, request: &SearchRequest) -> Result<(Printed, Option<Printed>), Error> {
        let dialect = self.dialect.into();
        let print = |statement| Printed::new(&statement, self.literal);
        let count = request.count.then(|| table.count(dialect, &request.filter)).transpose()?;
        Ok((print(table.page(dialect, request)?), count.map(print)))
    }

    fn answer(&self, table: &Table, request: &Asked) -> Result<Answer, Error> {
        match request {
            Asked::Page(request) => {
                let (page, count) = self.page(table, request)?;
                Ok(Answer::Page { page, count })
            }
            Asked::Counts(request) => {
                let statements = table.facets(self.dialect.into(), request)?;
                let print = |statement: &Statement| Printed::new(statement, self.literal);
                Ok(Answer::Counts {
                    total: print(&statements.total),
                    facets: statements.facets.iter().map(print).collect(),
                })
            }
        }
    }
}

/// Returns the table with the given name and columns.
pub(crate) fn table(catalog: &Catalog, name: &str, extra: &ExtraColumns) -> Result<Table, Failure> {
    let table = Table::new(catalog).named(name).map_err(|error| Failure::Usage(error.to_string()))?;
    extra.add_to(table)
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let catalog = args.selection.catalog_alone()?;
    let table = table(&catalog, &args.table, &args.extra)?;
    let mut out = Output::new();
    match &args.requests {
        None => {
            let request = args.selection.request(&catalog)?;
            let (page, count) = args.page(&table, &request).map_err(|error| match error.kind {
                ErrorKind::NoFoldedColumn | ErrorKind::NotInSql => Failure::Usage(error.to_string()),
                _ => Failure::from(error),
            })?;
            if args.literal {
                let statements = std::iter::once(page).chain(count);
                for statement in statements {
                    out.line(&format!("{};", statement.sql))?;
                }
            } else {
                out.json(&Answer::Page { page, count })?;
            }
        }
        Some(_) if !args.selection.is_empty() => {
            let message = "--requests holds the filters: it cannot be used with --body, --where, --order, --offset, --limit or --count";
            return Err(Failure::Usage(message.to_owned()));
        }
        Some(path) => {
            let mut lines = Lines::open(path)?;
            let limits = Limits::default();
            let mut number = 0_u64;
            while let Some(line) = lines.next()? {
                number = number.saturating_add(1);
                let request = Line::read(line).and_then(|line| line.request(&catalog, &limits));
                match request.and_then(|request| Ok(args.answer(&table, &request)?)) {
                    Ok(answer) => out.json(&answer)?,
                    Err(errors) => out.json(&envelope(number, &errors))?,
                }
                if lines.may_wait() {
                    out.flush()?;
                }
            }
        }
    }
    out.finish()?;
    Ok(Status::Fine)
}
