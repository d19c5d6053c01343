//! The command `explain`: shows how a request is executed, and the cost of each step.

mod of_scan;

use std::time::Duration;

use casefilter::internal::FacetDefaults;
use casefilter::{Catalog, ImportMode, SearchRequest};

use crate::commands::hints::{hint, print_hints, warn};
use crate::commands::scanned::{Scanned, scan};
use crate::input::admin::Admin;
use crate::input::cases::{Cases, Documents};
use crate::input::explained::Explained;
use crate::input::facets::Facets;
use crate::input::load_reason::LoadReason;
use crate::input::selection::Selection;
use crate::output::failure::Failure;
use crate::output::refusals::report_left_out;
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};
use crate::output::tree::explanation;
use crate::output::wrap::line_width;

/// Show how a request is executed, and with --analyze the cost and the result of each step
///
/// For each criterion, the output shows the number of cases that it is expected to select (~ marks an estimate). It also shows the
/// methods that evaluate the criterion, each with its number of batches of up to 65,536 cases. With --analyze the request is
/// executed once, and each criterion is also evaluated separately on all cases. The column `kept` then has the number of cases that
/// the criterion selects, and `alone` has the time that its evaluation takes. If the output is not a terminal, prints the members
/// of casefilter::explain::Explanation as JSON.
///
/// These methods evaluate a criterion in a batch. constant: the same result for every row. zone map: the least and the greatest
/// value. dictionary: the list of distinct strings. substring index: tests of the strings that may contain the sought text. key
/// index: a hash table of all values. postings: a list of rows for each value. bitmap: a bit for each row. sorted rows: a binary
/// search. stored order: a binary search, if the cases are stored in the order of the field. offsets: the number of values of each
/// row. scan: the value of each row. elements: the elements of an array of objects. few rows: the latest cases, which have no index
/// yet. criteria below: the nested criteria.
///
/// `search`, `stats` and `why` do not load files: they test each case while they read the files. `explain` also does this, and then
/// shows how much of the files it has read. With --loaded, it loads the files, and explains how the request is answered from the
/// loaded cases. A database is always explained in this way. A Parquet file with a malformed value has to be loaded. Then the last
/// line is the reason, and the JSON has the reason as loaded_because.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter explain cases.db --where 'status = open and priority = high' --analyze
  casefilter explain cases.db --where 'status = open' --by priority --by createdAt:month
  casefilter explain cases.parquet --where 'totalAmountInDefaultCurrency > 50000'
  casefilter explain cases.ndjson --where 'status = open' --loaded
  casefilter explain cases.db --body filter.json --count --format json")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Cases,

    #[command(flatten)]
    admin: Admin,

    #[command(flatten)]
    selection: Selection,

    /// Also show how the values of a field are counted; may be repeated
    ///
    /// FIELD and FORM are those of `casefilter stats`. The counts are executed once. The JSON has the additional member `facets`.
    #[arg(long, value_name = "FIELD[:FORM]")]
    by: Vec<String>,

    /// Run the request, and show the time and the work of each step
    #[arg(long)]
    analyze: bool,

    /// Load the files, as `search --requests` does, and explain how the request is answered from the loaded cases
    #[arg(long)]
    loaded: bool,

    /// JSON, or a table with the criteria as a tree [default: table on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,

    /// Leave out malformed cases, and treat malformed fields as absent, instead of rejecting the files
    #[arg(long)]
    lenient: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    args.cases.check_beside(&args.selection)?;
    let catalog = args.selection.catalog(args.cases.first_database(), &args.admin)?;
    let (request, compiling) = args.selection.timed_request(&catalog)?;
    let defaults =
        FacetDefaults { utc_offset: Some(args.selection.utc_offset()), ..FacetDefaults::default() };
    let facets = Facets::parse(&catalog, request.filter.clone(), &args.by, &defaults)?;
    warn(&request);
    let mode = if args.lenient { ImportMode::Lenient } else { ImportMode::Strict };
    let reason = match explain_scan(args, (&catalog, mode), (&request, &facets), compiling)? {
        Ok((explained, status)) => {
            print(args, &explained)?;
            return Ok(status);
        }
        Err(reason) => reason.as_ref().and_then(LoadReason::clause),
    };
    let loaded = args.cases.load_or_ask(&catalog, mode, Documents::Forgotten, &args.admin)?;
    let status = report_left_out(&loaded.report);
    hint(&loaded.cases, &request, &loaded.report, || matches!(loaded.cases.count(&request.filter), Ok(0)));
    let mut explained = loaded.cases.explain(&request, args.analyze.then_some(compiling))?;
    if !args.by.is_empty() {
        explained = explained.with_facets(&loaded.cases.explain_facets(&facets)?)?;
    }
    if let Some(reason) = reason {
        explained = explained.with_load_reason(&reason)?;
    }
    // Close the database before printing, so that other processes can write to it.
    let closed = loaded.cases.close();
    print(args, &explained)?;
    closed?;
    Ok(status)
}

/// Scans the files, and explains the scan. If the files have to be loaded, returns the reason. The reason is `None` with --loaded.
fn explain_scan(
    args: &Args,
    (catalog, mode): (&Catalog, ImportMode),
    (request, facets): (&SearchRequest, &Facets),
    compiling: Duration,
) -> Result<Result<(Explained, Status), Option<LoadReason>>, Failure> {
    if args.loaded {
        return Ok(Err(None));
    }
    let counted = (!args.by.is_empty()).then_some(&facets.request);
    let scanned = match scan(&args.cases, (catalog, mode), request, counted, Documents::Kept)? {
        Scanned::Answered(scanned) => scanned,
        Scanned::Loads(reason) => return Ok(Err(Some(reason))),
    };
    let hints = scanned.hints(&args.cases, (catalog, mode), (request, scanned.answer.selected), |narrow| {
        args.selection.request_again(narrow)
    });
    print_hints(&scanned.answer.report, request, &hints);
    let status = report_left_out(&scanned.answer.report);
    let files = args.cases.paths().count();
    let compiling = args.analyze.then_some(compiling);
    let explained = of_scan::explain(&scanned, files, catalog, (request, &facets.request), compiling)?;
    Ok(Ok((explained, status)))
}

fn print(args: &Args, explained: &Explained) -> Result<(), Failure> {
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&explained.json)?,
        Format::Table => out.escaped_lines(&explanation(&explained.text, line_width()))?,
    }
    out.finish()
}
