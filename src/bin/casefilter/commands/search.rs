//! The command `search`: finds the cases that a filter selects.

mod answers;
mod format;
mod items;
mod long_page;
mod page;
mod summary;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use casefilter::{
    Catalog, Deadline, ImportMode, ImportReport, Limits, ScanAnswer, SearchAnswer, SearchRequest,
};

use crate::commands::hints::{hints_on, print_hints, warn};
use crate::commands::scanned::{ScannedFiles, scan};
use crate::commands::search::answers::answer_all;
use crate::commands::search::format::{SearchFormat, Shape};
use crate::commands::search::long_page::{LongPage, PageSource};
use crate::commands::search::page::print;
use crate::commands::search::summary::{Took, note_cut, summary_of};
use crate::commands::unknown_ids as ids;
use crate::input::admin::Admin;
use crate::input::as_of::AsOfArg;
use crate::input::cases::{Cases, Documents, Loaded};
use crate::input::columns::Columns;
use crate::input::duration::{VALUE, with_unit};
use crate::input::facets::Facets;
use crate::input::loaded::len_of;
use crate::input::request_lines::Lines;
use crate::input::selection::Selection;
use crate::input::source::Source;
use crate::output::dash::{ONE_STDIN, is_stdin};
use crate::output::failure::{Failure, note};
#[cfg(feature = "postgres")]
use crate::output::figures::{counted, duration, thousands};
use crate::output::overwrite::check_report;
#[cfg(not(feature = "postgres"))]
use crate::output::part::Part;
use crate::output::refusals::{report_left_out, write_report};
use crate::output::status::Status;

/// The maximum number of cases on a page that is collected in memory. A longer page is written while its cases are read.
const MOST_AT_ONCE: u64 = 10_000;

/// Find the cases that a filter selects
///
/// The filter is a JSON body (--body) or a text (--where). Without a filter, every case is selected. Standard error shows warnings
/// about parts of the filter that its author may have meant differently. If the filter selects no case, standard error also shows
/// hints, such as the form in which the cases contain the values.
#[derive(clap::Args)]
#[command(mut_arg("paths", |paths| paths.required(false)), after_help = "\
Examples:
  casefilter search cases.ndjson --where 'status = open and priority = high' --order -createdAt
  casefilter search cases.ndjson.zst --body filter.json --limit 20 --count --format json
  casefilter search a.ndjson b.json.gz --where 'tags all (vip, crypto)' --format ids
  cat cases.ndjson | casefilter search - --where 'totalAmountInDefaultCurrency > 10000'
  casefilter search cases.db --where 'status = open' --format ids --limit all > open.ids
  casefilter search cases.db --where 'status = open' --columns id,createdAt,tags --format csv --limit all > open.csv
  casefilter search cases.ndjson --requests requests.ndjson > answers.ndjson
  casefilter search --source 'postgres://officer@db.example/compliance?sslmode=require' --where 'status = open'
  casefilter search orders.ndjson --catalog orders.toml --where 'total > 100 and state = paid' --order -placed
  casefilter search cases.db --where \"createdAt >= '$(date -d yesterday '+%F %T%z')'\" --order -createdAt

Filters for --where (`casefilter fields` lists the fields; README.md has the whole language):
  status = open and priority <> low       this value, or any value but this one
  tags in (vip, cash)                     at least one of these values
  tags all (vip, cash)                    all of these values
  totalAmountInDefaultCurrency > 10000    also >=, <, <=, for numbers and times
  createdAt >= \"2026-01-31 00:00:00\"      a time in UTC; append +0100 for that offset
  caseReview.assignee is absent           no value; is present: any value
  name includes arc                       this text inside; also starts with; (arc, ana): any of them
  name matches \"garcia lopez\"           all of these words, without regard to case and accents
  a = x and (b = y or not c = z)          parentheses group criteria; not negates one
Put values with spaces or signs in double quotes, and the whole filter in single quotes. --order takes up to 8 fields, such as
priority,-createdAt; priority and status sort by rank, other text by code point.")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Cases,

    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    admin: Admin,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    as_of: AsOfArg,

    /// Execute many requests: FILE (or -) contains one request per line; an answer is printed for each, on one line
    ///
    /// A request for a page is {"body":…}, with the JSON filter as an object, or as a string that contains this JSON. It may also
    /// have `offset`, `limit`, `order` and `countTotalItems`; with --extended also `pageCursor` and `after`. A request for counts
    /// by value is {"facets":…}, as for `stats --facets`. Filters in the text syntax of --where are not accepted here. The printed
    /// line is the answer. For a bad request, it is {"code":400,"correlationId":"request-<n>","description":"Invalid parameters:
    /// …"}, where n is the number of the request, from 1. Blank lines are skipped. Without --fail-on-error, bad requests do not
    /// change the exit status. Warnings about the filters are not printed; `casefilter check` prints them.
    #[arg(long, value_name = "FILE|-")]
    requests: Option<PathBuf>,

    /// With --requests: exit with status 2 if any request is bad or is stopped; all requests are answered nevertheless
    #[arg(long, requires = "requests")]
    fail_on_error: bool,

    /// Form of the output [default: table on a terminal, json in a pipe]
    #[arg(long, conflicts_with = "requests")]
    format: Option<SearchFormat>,

    /// Show only these fields, by name or alias, in this order; for json and ndjson, keep only these members
    ///
    /// `casefilter fields` lists the names. A table then shows all of these fields, even if the terminal is narrow. CSV has all
    /// fields of the catalogue by default, and contains nothing else of a case. Several values of a field are in one cell, with
    /// `; ` between them. A field without a value has its default value, or an empty cell.
    #[arg(long, value_name = "FIELD,…", conflicts_with = "requests")]
    columns: Option<String>,

    /// For csv and tsv: write each cell without an apostrophe in front
    ///
    /// By default, a cell that a spreadsheet would run as a formula gets an apostrophe in front (CSV injection). Such a cell begins
    /// with =, +, -, @, a tab or a carriage return, and is not a number.
    #[arg(long)]
    raw: bool,

    /// Stop the search after this time, without an answer [default: no limit]
    ///
    /// The time for printing the cases is not included, and neither is the time for loading them. If the search tests the cases
    /// while it reads the files, the time for reading is included. With --requests, each request has this time. For a request that
    /// is stopped, the line is {"code":503,…}.
    #[arg(long, value_name = VALUE, value_parser = with_unit)]
    timeout: Option<Duration>,

    /// Leave out malformed cases, and treat malformed fields as absent, instead of rejecting the files
    ///
    /// Standard error lists what was left out, with one line for all errors of the same kind. On a terminal it shows only the first
    /// 20 lines. The exit status is then 3, although the answer was printed.
    #[arg(long)]
    lenient: bool,

    /// Write to FILE, as JSON, what was left out and why
    #[arg(long, value_name = "FILE", requires = "lenient")]
    report: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    check_usage(args)?;
    let catalog = args.selection.catalog(args.cases.first_database(), &args.admin)?;
    if args.cases.is_empty() {
        return ask_server(&args.source.url()?, args, &catalog);
    }
    let mode = if args.lenient { ImportMode::Lenient } else { ImportMode::Strict };
    if let Some(path) = &args.requests {
        let mut lines = Lines::open(path)?;
        let loaded = load(args, &catalog, mode, Documents::Kept)?;
        let cases = &loaded.cases;
        let search = |request: &SearchRequest| cases.search(&args.limited(request));
        let count = |facets: Facets| cases.facets(&facets.with_deadline(args.deadline()));
        let answered = answer_all(cases.catalog(), &Limits::default(), search, count, &mut lines);
        let left_out = report_left_out(&loaded.report);
        let bad = loaded.cases.close().and(answered)?;
        return Ok(if bad > 0 && args.fail_on_error { Status::BadFilter } else { left_out });
    }
    let request = args.selection.request(&catalog)?;
    let shape = args.shape(&catalog)?;
    if request.limit > MOST_AT_ONCE && (request.cursor || request.after.is_some()) {
        let message = format!(
            "--cursor and --after return at most {MOST_AT_ONCE} cases at a time: expected a smaller --limit"
        );
        return Err(Failure::Usage(message));
    }
    warn(&request);
    let shows_none = request.limit == 0 || shape.format == SearchFormat::Ids;
    let documents = if shows_none { Documents::Forgotten } else { Documents::Kept };
    if let Some(status) = scan_page((&request, documents), &shape, args, (&catalog, mode))? {
        return Ok(status);
    }
    let loaded = load(args, &catalog, mode, documents)?;
    ids::note_unknown(&loaded.cases, &request.filter)?;
    let request = args.limited(&request);
    if request.limit > MOST_AT_ONCE {
        print_long(&request, &shape, loaded, args.cases.database())
    } else {
        print_page(&request, &shape, loaded)
    }
}

impl Args {
    /// Returns the request with a deadline: the time of --timeout, from now.
    fn limited(&self, request: &SearchRequest) -> SearchRequest {
        request.clone().with_deadline(self.deadline())
    }

    /// Returns the deadline: the time of --timeout, from now.
    fn deadline(&self) -> Option<Deadline> {
        let end = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        end.map(|end| Deadline::new(move || Instant::now() >= end))
    }

    /// Returns the form of the output.
    fn shape(&self, catalog: &Catalog) -> Result<Shape, Failure> {
        let format = SearchFormat::or_fitting(self.format);
        if self.columns.is_some() && format == SearchFormat::Ids {
            let message = "--columns is for other formats: `--format ids` writes only the ids";
            return Err(Failure::Usage(message.to_owned()));
        }
        if self.raw && !matches!(format, SearchFormat::Csv | SearchFormat::Tsv) {
            return Err(Failure::Usage("--raw is for --format csv and --format tsv".to_owned()));
        }
        let columns = self.columns.as_deref().map(|text| Columns::parse(catalog, text)).transpose()?;
        Ok(Shape { format, columns, is_raw: self.raw })
    }
}

/// A page that is collected in memory, with the figures and hints that are printed beside it.
struct FoundPage {
    found: SearchAnswer,
    /// The number of selected cases.
    total: u64,
    /// The number of all cases.
    cases: u64,
    took: Took,
    report: ImportReport,
    hints: Vec<String>,
}

/// Searches the loaded cases, and prints a page that is collected in memory.
fn print_page(request: &SearchRequest, shape: &Shape, loaded: Loaded) -> Result<Status, Failure> {
    let Loaded { cases, report, took: loading } = loaded;
    let start = Instant::now();
    let found = cases.search(request)?;
    let searching = start.elapsed();
    let is_full = len_of(&found) == request.limit;
    let total = match found.total() {
        Some(total) => total,
        None if shape.format == SearchFormat::Table || is_full || len_of(&found) == 0 => {
            cases.total(request)?
        }
        None => len_of(&found),
    };
    let hints = hints_on(&cases, request, || total == 0);
    let (count, took) = (cases.len(), Took::Search { searching, loading });
    // Close the database before printing, so that other processes can write to it.
    let closed = cases.close();
    let page = FoundPage { found, total, cases: count, took, report, hints };
    let printed = page.print(request, shape);
    closed.and(printed)
}

/// Searches the files while they are read, and prints the page. Returns `None` if they have to be loaded for the request.
fn scan_page(
    (request, documents): (&SearchRequest, Documents),
    shape: &Shape,
    args: &Args,
    (catalog, mode): (&Catalog, ImportMode),
) -> Result<Option<Status>, Failure> {
    let scanned = scan(&args.cases, (catalog, mode), &args.limited(request), None, documents)?;
    let Some(scanned) = scanned.answered() else { return Ok(None) };
    write_report_of(args, &scanned.answer.report)?;
    scanned.note_unknown_ids();
    // Loading the files does not observe a deadline.
    let hints = match args.timeout {
        Some(_) => Vec::new(),
        None => scanned.hints(&args.cases, (catalog, mode), (request, scanned.answer.selected), |narrow| {
            args.selection.request_again(narrow)
        }),
    };
    let ScannedFiles { answer: scanned, took, .. } = scanned;
    let ScanAnswer { answer: found, report, documents: cases, selected: total, .. } = scanned;
    let took = Took::Scan(took);
    if request.limit > MOST_AT_ONCE {
        let page = LongPage { request, shape, total, database: None };
        page.write(PageSource::Scanned(Box::new(found)), || summary_of(page.len(), total, cases, took))?;
        return Ok(Some(page.print_notes(&report, &hints)));
    }
    FoundPage { found, total, cases, took, report, hints }.print(request, shape).map(Some)
}

impl FoundPage {
    fn print(self, request: &SearchRequest, shape: &Shape) -> Result<Status, Failure> {
        let Self { found, total, cases, took, report, hints } = self;
        let format = shape.format;
        // A table contains the total. A JSON answer contains the total if the request counts.
        let says_total = format == SearchFormat::Table || format == SearchFormat::Json && request.count;
        let is_full = len_of(&found) == request.limit;
        print(&found, shape, request.filter.catalog(), || summary_of(len_of(&found), total, cases, took))?;
        if !says_total && is_full && request.after.is_none() {
            note_cut(len_of(&found), request, total);
        }
        if let Some(next) = found.next().filter(|_| format != SearchFormat::Json) {
            note(format!("the next page: --after {next}\n"));
        }
        print_hints(&report, request, &hints);
        Ok(report_left_out(&report))
    }
}

/// Prints a page of any length.
fn print_long(
    request: &SearchRequest,
    shape: &Shape,
    loaded: Loaded,
    database: Option<&Path>,
) -> Result<Status, Failure> {
    let Loaded { cases, report, took: loading } = loaded;
    let start = Instant::now();
    let page = LongPage { request, shape, total: cases.total(request)?, database };
    let hints = hints_on(&cases, request, || page.total == 0);
    let count = cases.len();
    page.write(PageSource::Loaded(cases), || {
        summary_of(page.len(), page.total, count, Took::Search { searching: start.elapsed(), loading })
    })?;
    Ok(page.print_notes(&report, &hints))
}

/// Returns an error, because this build cannot search a server.
#[cfg(not(feature = "postgres"))]
fn ask_server(_: &str, _: &Args, _: &Catalog) -> Result<Status, Failure> {
    Err(Failure::Failed(Part::Postgres.missing("`--source`")))
}

/// Does the same as [`run`], but searches a PostgreSQL server.
#[cfg(feature = "postgres")]
fn ask_server(url: &str, args: &Args, catalog: &Catalog) -> Result<Status, Failure> {
    let connect = || args.source.connect(url, catalog);
    match &args.requests {
        None => {
            let request = args.selection.request(catalog)?;
            let shape = args.shape(catalog)?;
            warn(&request);
            if request.limit > MOST_AT_ONCE {
                let message = format!(
                    "--source returns at most {MOST_AT_ONCE} cases at a time: expected a smaller --limit"
                );
                return Err(Failure::Usage(message));
            }
            let server = connect()?;
            let start = Instant::now();
            let found = server.search(&args.limited(&request))?;
            let took = start.elapsed();
            let format = shape.format;
            print(&found, &shape, catalog, || {
                let of = found.total().map(|total| format!(" of {} selected", thousands(total)));
                format!(
                    "{}{} · searched in {}",
                    counted(len_of(&found), "case"),
                    of.unwrap_or_default(),
                    duration(took)
                )
            })?;
            if format != SearchFormat::Table
                && found.total().is_none()
                && len_of(&found) == request.limit
                && request.limit > 0
            {
                let len = thousands(len_of(&found));
                note(format!(
                    "{len} cases written; more may be selected: --count counts them, --offset continues\n"
                ));
            }
        }
        Some(path) => {
            let mut lines = Lines::open(path)?;
            let server = connect()?;
            let search = |request: &SearchRequest| server.search(&args.limited(request));
            let count = |facets: Facets| server.facets(&facets.with_deadline(args.deadline()).request);
            let bad = answer_all(catalog, &Limits::default(), search, count, &mut lines)?;
            if bad > 0 && args.fail_on_error {
                return Ok(Status::BadFilter);
            }
        }
    }
    Ok(Status::Fine)
}

fn load(args: &Args, catalog: &Catalog, mode: ImportMode, documents: Documents) -> Result<Loaded, Failure> {
    let loaded = args.cases.load_or_ask(catalog, mode, documents, &args.admin)?;
    let mut loaded = loaded.at_moment(args.as_of.of(&args.cases)?)?;
    loaded.cases.limit_service(args.timeout);
    write_report_of(args, &loaded.report)?;
    Ok(loaded)
}

/// Writes the file of --report, if it is given.
fn write_report_of(args: &Args, report: &ImportReport) -> Result<(), Failure> {
    args.report.as_deref().map_or(Ok(()), |path| write_report(path, report))
}

fn check_usage(args: &Args) -> Result<(), Failure> {
    if args.requests.is_some() && !args.selection.is_empty() {
        let message = "--requests holds the filters: it cannot be used with --body, --where, --order, --offset, --limit or --count";
        return Err(Failure::Usage(message.to_owned()));
    }
    if args.cases.uses_stdin() && args.requests.as_deref().is_some_and(is_stdin) {
        return Err(Failure::Usage(ONE_STDIN.to_owned()));
    }
    args.cases.check_beside(&args.selection)?;
    args.as_of.of(&args.cases)?;
    let filters = args.selection.file().into_iter().chain(args.requests.as_deref());
    check_report(args.report.as_deref(), args.cases.paths().chain(filters))
}
