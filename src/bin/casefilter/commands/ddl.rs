//! The command `ddl`: prints a script that creates a table of cases in another engine and loads an export.

use std::path::PathBuf;

use casefilter::sql::Table;

use crate::commands::extra_columns::ExtraColumns;
use crate::commands::sql::{DialectName, table};
use crate::input::catalog::CatalogFile;
use crate::output::failure::Failure;
use crate::output::status::Status;
use crate::output::stdout::Output;

/// Print a script that makes a table of cases in another engine and loads an export
///
/// The statements of `casefilter sql` search that table.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter export cases.db -o cases.tsv && casefilter ddl --dialect postgres | psql
  casefilter export cases.db --flat -o cases.parquet && casefilter ddl --dialect duckdb | duckdb cases.duckdb
  casefilter ddl --dialect clickhouse --table compliance.cases --file /data/cases.parquet
  casefilter export cases.db --folded=name,tags -o cases.tsv && casefilter ddl --dialect postgres --folded=name,tags | psql
      so that `matches` on these fields can be searched there
  casefilter export cases.db --elements --flat -o cases.parquet && casefilter ddl --dialect duckdb --elements | duckdb cases.duckdb
      so that `has (…)` can be searched there")]
pub(crate) struct Args {
    /// The SQL dialect
    #[arg(long)]
    dialect: DialectName,

    /// The name of the table
    #[arg(long, value_name = "NAME", default_value = "cases")]
    table: String,

    /// The file that `export` wrote [default: cases.tsv for postgres, else cases.parquet]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    extra: ExtraColumns,

    #[command(flatten)]
    catalog: CatalogFile,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let table: Table = table(&args.catalog.or_cases()?, &args.table, &args.extra)?;
    let file = match &args.file {
        Some(file) => file.display().to_string(),
        None if args.dialect == DialectName::Postgres => "cases.tsv".to_owned(),
        None => "cases.parquet".to_owned(),
    };
    let mut out = Output::new();
    out.lines(&table.script(args.dialect.into(), &file))?;
    out.finish()?;
    Ok(Status::Fine)
}
