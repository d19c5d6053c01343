//! The command `match`: shows which standing filters select each case.

use std::path::PathBuf;

use casefilter::{Document, Errors, Filter, FilterMatches, FilterSet, ImportMode, Limits, SearchRequest};
use serde::Serialize;

use crate::input::admin::Admin;
use crate::input::cases::{Cases, Documents};
use crate::input::standing::read_filters;
use crate::input::syntax::Syntax;
use crate::output::dash::{ONE_STDIN, is_stdin};
use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::refusals::report_left_out;
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};
use crate::output::table::{Column, Fit, TableWriter};

/// Show which of many filters select each case
///
/// FILE contains one standing filter per line. The line {"name":…,"where":"…"} has a filter in the text syntax. The line
/// {"name":…,"body":…} has a JSON filter as an object, or as a string that contains this JSON. A name has 1 to 128 bytes. Blank
/// lines are skipped. The words `now` and `today` are errors: with them, a filter could stop selecting a case although the case has
/// not changed.
///
/// If the output is not a terminal, prints a line of JSON for each case: {"id":…,"names":[…]}. The names are sorted. All cases are
/// loaded before the first line is printed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter match --filters filters.ndjson cases.ndjson
  casefilter match --filters filters.ndjson cases.db --format json > matches.ndjson
  tail -n 1 cases.ndjson | casefilter match --filters filters.ndjson -

A file of filters:
  {\"name\": \"urgent\", \"where\": \"status = open and priority = high\"}
  {\"name\": \"not vip\", \"body\": {\"criteria\": [{\"field\": \"tags\", \"op\": \"<>\", \"values\": [\"vip\"]}]}}")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Cases,

    /// The standing filters, one per line
    #[arg(long, value_name = "FILE|-")]
    filters: PathBuf,

    #[command(flatten)]
    syntax: Syntax,

    #[command(flatten)]
    admin: Admin,

    /// Leave out malformed cases, and treat malformed fields as absent, instead of rejecting the files
    #[arg(long)]
    lenient: bool,

    /// JSON lines, or a table for people [default: table on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

/// The line of JSON that the command prints for a case.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    names: Vec<&'a str>,
}

/// The number of rows that determine the widths of the columns.
const ROWS_MEASURED: usize = 1000;

const COLUMNS: [Column<'static>; 2] = [Column::whole("id"), Column::text("names")];

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    args.cases.check()?;
    if args.cases.uses_stdin() && is_stdin(&args.filters) {
        return Err(Failure::Usage(ONE_STDIN.to_owned()));
    }
    let catalog = args.syntax.catalog(args.cases.first_database(), &args.admin)?;
    // The builder knows the present time, so that the error for `now` explains why a standing filter cannot contain `now`.
    let builder = args.syntax.builder(&catalog);
    let set = read_filters(&args.filters, &catalog, &builder)?;
    let mode = if args.lenient { ImportMode::Lenient } else { ImportMode::Strict };
    let loaded = args.cases.load_or_ask(&catalog, mode, Documents::Kept, &args.admin)?;
    let status = report_left_out(&loaded.report);
    let cases = loaded.cases;
    let all = SearchRequest::new(Filter::all(cases.catalog())).with_limit(u64::MAX);
    let mut out = match args.cases.database() {
        Some(database) => Output::from_database(database)?,
        None => Output::from_memory(),
    };
    let mut matches = FilterMatches::new();
    let written = match Format::or_fitting(args.format) {
        Format::Json => cases.each_document(&all, |text| {
            let document = matched(&set, text, &mut matches)?;
            out.json(&Line { id: document.id(), names: matches.sorted() })
        }),
        Format::Table => {
            let mut table = TableWriter::new(&COLUMNS, ROWS_MEASURED, Fit::LeaveOut);
            let rows = cases.each_document(&all, |text| {
                let document = matched(&set, text, &mut matches)?;
                let row = vec![document.id().to_owned(), matches.sorted().join(", ")];
                table.push(row, &mut |text| out.escaped_lines(text))
            });
            rows.and_then(|()| table.finish(&mut |text| out.escaped_lines(text)))
        }
    };
    cases.close().and(written)?;
    out.finish()?;
    Ok(status)
}

/// Writes the names of the filters that select the case `text` to `matches`. Returns the parsed case.
fn matched(set: &FilterSet, text: &str, matches: &mut FilterMatches) -> Result<Document, Failure> {
    // The limits of documents were checked when the case was loaded or stored.
    let limits = Limits::default().with_document_bytes(usize::MAX).with_document_depth(usize::MAX);
    let failure = |errors: &Errors| Failure::Failed(escape(&errors.to_string()).into_owned());
    // A database may contain cases from a lenient import.
    let (document, _) = Document::parse_lenient(set.catalog(), text.as_bytes(), &limits)
        .map_err(|errors| failure(&errors))?;
    set.matching_into(&document, matches)?;
    Ok(document)
}
