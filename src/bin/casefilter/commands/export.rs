//! The command `export`: writes cases or records to a file.

use std::io::{self, Write};
use std::path::PathBuf;

use casefilter::ImportMode;
use casefilter::sql::Table;

use crate::commands::extra_columns::ExtraColumns;
use crate::commands::hints::{hint, warn};
#[cfg(feature = "service")]
use crate::commands::records;
use crate::commands::unknown_ids as ids;
use crate::input::admin::Admin;
use crate::input::cases::{Cases, Documents};
use crate::input::kind::Kind;
use crate::input::selection::Criteria;
use crate::output::array::Array;
use crate::output::dash::ONE_STDIN;
use crate::output::ending::Ending;
use crate::output::escape::one_line;
use crate::output::failure::Failure;
use crate::output::file::{Columns, cannot_write, from_database, to_file};
use crate::output::progress::Progress;
use crate::output::refusals::report_left_out;
use crate::output::rows::Rows;
use crate::output::status::Status;

/// Write cases to a file, as NDJSON, JSON or Parquet
///
/// NDJSON contains the documents as they are stored, one per line. JSON contains them in one array. Parquet contains only the
/// fields of the catalogue, with structs and lists nested as in the documents. A field that is treated as absent is null.
///
/// If the name ends in .tsv, or with --flat, the command writes one row per case, with the columns that `casefilter ddl` defines.
/// Two of these columns contain the position of the case in the order, and the complete document.
///
/// An existing file is replaced only after everything has been written. It keeps its mode, and also its owner if permitted. A new
/// file can be read only by its owner.
///
/// With --kind the command writes the other records of a database: levels, applicants, documents, AML cases. It writes complete
/// records, including the changes that the service made to them, as NDJSON that import --kind accepts.
///
/// If a service has the database open, the service sends a copy, which is exported. The copy is an unnamed temporary file, which is
/// removed when the command ends.
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

    /// Contents of the output
    #[arg(long, value_enum, default_value_t = Kind::Cases)]
    kind: Kind,

    #[command(flatten)]
    criteria: Criteria,

    /// Sort by up to 8 fields, joined by commas; `-createdAt` sorts descending [default: createdAt for Parquet without --flat, so
    /// that readers can skip parts of the file; otherwise stored order]
    ///
    /// `--order ''` keeps the stored order.
    #[arg(long, value_name = "FIELD", allow_hyphen_values = true)]
    order: Option<String>,

    /// Output file; the ending of its name determines the format: .ndjson or .jsonl, .json (one array), .tsv (rows for PostgreSQL),
    /// each optionally followed by .gz or .zst, or .parquet; the name `-` means NDJSON on standard output
    #[arg(short, long, value_name = "FILE|-")]
    output: PathBuf,

    #[command(flatten)]
    admin: Admin,

    /// Write Parquet with one column per field, instead of nested structs
    #[arg(long)]
    flat: bool,

    #[command(flatten)]
    extra: ExtraColumns,

    /// Leave out malformed cases, and treat malformed fields as absent, instead of rejecting the files
    ///
    /// Standard error lists what was left out. The exit status is then 3, although the file was written.
    #[arg(long)]
    lenient: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    args.kind.check()?;
    #[cfg(feature = "service")]
    if let Some((kind, _)) = args.kind.records() {
        let has_columns = args.flat || args.extra.given().is_some();
        if args.criteria.is_given() || args.order.is_some() || has_columns || args.lenient {
            let message = "criteria, --order, --flat, --folded, --elements and --lenient are for cases; records are written whole";
            return Err(Failure::Usage(message.to_owned()));
        }
        if Ending::of(&args.output, false)? != Ending::Ndjson {
            let message = "records are written as NDJSON: expected a name that ends in .ndjson or .jsonl";
            return Err(Failure::Usage(message.to_owned()));
        }
        return records::export(args.cases.paths(), kind, &args.output, &args.admin);
    }
    if args.cases.uses_stdin() && args.criteria.uses_stdin() {
        return Err(Failure::Usage(ONE_STDIN.to_owned()));
    }
    let catalog = args.criteria.catalog(args.cases.first_database(), &args.admin)?;
    let ending = Ending::of(&args.output, true)?;
    let rows = Rows::of(ending, args.flat)?;
    if let (None, Some(given)) = (rows, args.extra.given()) {
        let message = format!("{given} is for rows: for --flat, or for a file whose name ends in .tsv");
        return Err(Failure::Usage(message));
    }
    let table = args.extra.add_to(Table::new(&catalog))?;
    // Rows contain their position in a column, so readers can restore the order.
    let is_ordered = |id| catalog.get(id).is_some_and(|field| !field.is_many());
    let default = (rows.is_none() && ending == Ending::Parquet).then_some("createdAt");
    let default = default.filter(|name| catalog.find(name).is_some_and(is_ordered));
    let request = args.criteria.request(&catalog, args.order.as_deref().or(default))?;
    warn(&request);
    let mode = if args.lenient { ImportMode::Lenient } else { ImportMode::Strict };
    let loaded = args.cases.load_or_copy(&catalog, mode, Documents::Kept, &args.admin)?;
    let status = report_left_out(&loaded.report);
    ids::note_unknown(&loaded.cases, &request.filter)?;
    hint(&loaded.cases, &request, &loaded.report, || matches!(loaded.cases.count(&request.filter), Ok(0)));
    if let Some(rows) = rows {
        let count = loaded.cases.count(&request.filter)?;
        let written =
            rows.write(&args.output, &table, count, &|take| loaded.cases.each_document(&request, take));
        return loaded.cases.close().and(written).map(|()| status);
    }
    let count = loaded.cases.count(&request.filter)?;
    let (mut failure, mut closed) = (None, Ok(()));
    let mut cases = Some(loaded.cases);
    let mut fill = |out: &mut dyn Write| {
        let Some(cases) = cases.take() else { return Ok(()) };
        let progress = Progress::of_cases(count);
        progress.say("writing".to_owned());
        let mut line = String::new();
        let mut write = |out: &mut dyn Write| {
            let result = cases.each_document(&request, |document| {
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
        };
        let mut array = None;
        let written = match ending {
            Ending::Json => write(array.insert(Array::new(out))),
            _ => write(out),
        };
        // Close the database before the rest is written, so that other processes can write to it.
        closed = cases.close();
        written.and_then(|()| array.map_or(Ok(()), Array::finish))
    };
    let columns = Columns { catalog: &catalog, order: request.order.as_ref() };
    let written = match args.cases.database() {
        Some(database) => from_database(database, &args.output, columns, &mut fill),
        None => to_file(&args.output, columns, &mut fill),
    };
    match failure {
        Some(failure) => Err(failure),
        None => closed.and(written).map(|()| status),
    }
}
