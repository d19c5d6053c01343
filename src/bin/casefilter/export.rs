//! `export`: cases, or the records beside them, into a file.

use std::io;
use std::path::{Path, PathBuf};

use casefilter::Catalog;

use crate::Status;
use crate::admin::Admin;
use crate::args::{Criteria, ONE_STDIN};
use crate::cases::{Cases, Documents};
use crate::escape::one_line;
use crate::failure::Failure;
use crate::file::{cannot_write, to_file};
use crate::kind::Kind;
use crate::progress::Progress;
use crate::records;
use crate::rows::Rows;

/// Write cases to a file, as NDJSON or Parquet
///
/// NDJSON has the documents as they are stored, one a line. Parquet has the fields of the catalogue alone, structs and
/// lists nested as in the documents; a field that counts as absent is null.
///
/// A name that ends in .tsv, and --flat, make a row of columns of each case, as `casefilter ddl` defines them,
/// its place in the order and the whole document being two of them.
///
/// A file that is there is replaced when all is written, and keeps its mode, and its owner where that may be.
///
/// With --kind the records are written that a database has beside the cases, whole, as NDJSON that import --kind takes
/// again: levels, applicants with what the service changed of them, documents, AML cases.
///
/// Of a database that a service has open, a copy is written that the service makes beside it, and that is removed then.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter export cases.db -o cases.ndjson.zst
  casefilter export cases.db -o cases.parquet
  casefilter export cases.ndjson --where 'tags in (vip)' --order -createdAt -o vips.ndjson
  casefilter export cases.db --where 'priority = high' -o - | jq .id
  casefilter export cases.db --kind applicants -o applicants.ndjson
  casefilter export cases.db -o cases.tsv
      for PostgreSQL; see casefilter ddl
  casefilter export cases.db --flat -o cases.parquet
      for ClickHouse, Spark and DuckDB")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Cases,

    /// What is written
    #[arg(long, value_enum, default_value_t = Kind::Cases)]
    kind: Kind,

    #[command(flatten)]
    criteria: Criteria,

    /// Sort by this field, with - in front the greatest first
    /// [default: createdAt for Parquet without --flat, so that others can pass over parts of it; else stored order]
    ///
    /// An empty FIELD is stored order. The order of a file is the stored order of those who read it.
    #[arg(long, value_name = "FIELD", allow_hyphen_values = true)]
    order: Option<String>,

    /// Where to: Parquet if the name ends in .parquet, rows for PostgreSQL if in .tsv, else NDJSON; both
    /// compressed if it ends in .gz or .zst; - for NDJSON on standard output
    #[arg(short, long, value_name = "FILE|-")]
    output: PathBuf,

    #[command(flatten)]
    admin: Admin,

    /// Parquet with a column for each field, in place of structs nested as the case is
    #[arg(long)]
    flat: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    if let Some((kind, _)) = args.kind.records() {
        if args.criteria.is_given() || args.order.is_some() || args.flat {
            let message = "criteria, --order and --flat are for cases; records are written whole";
            return Err(Failure::Usage(message.to_owned()));
        }
        return records::export(args.cases.paths(), kind, &args.output, &args.admin);
    }
    if args.cases.uses_stdin() && args.criteria.uses_stdin() {
        return Err(Failure::Usage(ONE_STDIN.to_owned()));
    }
    let catalog = Catalog::cases();
    let rows = Rows::of(&args.output, args.flat)?;
    // Rows have their place in a column, so that they need not be sorted for others to know the order.
    let default = (rows.is_none() && is_parquet(&args.output)).then_some("createdAt");
    let request = args.criteria.request(&catalog, args.order.as_deref().or(default))?;
    // A copy goes with the end.
    let (loaded, _copy) = args.cases.load_or_copy(&catalog, Documents::Kept, &args.admin)?;
    if let Some(rows) = rows {
        return rows.write(&loaded.held, &request, &args.output);
    }
    let count = loaded.held.count(&request.filter)?;
    let mut failure = None;
    let written = to_file(&args.output, request.order, &mut |out| {
        let progress = Progress::of_cases(count);
        progress.say("writing".to_owned());
        let mut line = String::new();
        let result = loaded.held.each_document(&request, |document| {
            line.clear();
            line.push_str(document);
            one_line(&mut line);
            line.push('\n');
            progress.advance(1);
            out.write_all(line.as_bytes()).map_err(|error| cannot_write(&args.output, &error))
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

fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}
