//! `export`: cases into a file.

use std::io;
use std::path::PathBuf;

use casefilter::{Catalog, Mode};

use crate::Status;
use crate::cases::Cases;
use crate::escape::one_line;
use crate::failure::Failure;
use crate::generate::to_file;
use crate::progress::Progress;
use crate::rows::Rows;

/// Write cases to a file, as NDJSON or Parquet
///
/// Documents are written as they are stored, one a line, in stored order. Parquet has the fields of the
/// catalogue alone; other members are left out there.
///
/// A name that ends in .tsv, and --flat, make a row of columns of each case, as `casefilter ddl` defines them,
/// the whole document being one of them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter export cases.db -o cases.ndjson.zst
  casefilter export cases.db -o cases.parquet
  casefilter export cases.db -o cases.tsv                 for PostgreSQL; see casefilter ddl
  casefilter export cases.db --flat -o cases.parquet      for ClickHouse, Spark and DuckDB")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Cases,

    /// Where to: Parquet if the name ends in .parquet, rows for PostgreSQL if in .tsv, else NDJSON; both
    /// compressed if it ends in .gz or .zst
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Parquet with a column for each field, in place of structs nested as the case is
    #[arg(long)]
    flat: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    if let Some(rows) = Rows::of(&args.output, args.flat)? {
        return rows.write(&args.cases.load(&Catalog::cases(), Mode::Strict)?.held, &args.output);
    }
    let loaded = args.cases.load(&Catalog::cases(), Mode::Strict)?;
    let mut failure = None;
    let written = to_file(&args.output, &mut |out| {
        let progress = Progress::of_cases(loaded.held.len());
        progress.say("writing".to_owned());
        let mut line = Vec::new();
        let result = loaded.held.each_document(|document| {
            line.clear();
            line.extend_from_slice(document.as_bytes());
            one_line(&mut line);
            line.push(b'\n');
            progress.advance(1);
            out.write_all(&line)
                .map_err(|error| Failure::io("cannot write", &args.output.display().to_string(), &error))
        });
        result.map_err(|fault| {
            failure = Some(fault);
            io::Error::other("stopped")
        })
    });
    match failure {
        Some(failure) => Err(failure),
        None => written.map(|()| Status::Fine),
    }
}
