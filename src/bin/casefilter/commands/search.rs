//! `search`: the cases that a filter selects.

pub(crate) mod long_page;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use casefilter::{Catalog, Limits, Mode, Request};
use clap::ValueEnum;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Status;
use crate::commands::hints::{hints_on, tell_hints, warn};
use crate::commands::search::long_page::{LongPage, MOST_AT_ONCE, tell_cut};
use crate::commands::unknown_ids as ids;
use crate::input::admin::Admin;
use crate::input::cases::{Cases, Documents, Loaded, tell_left_out, write_report};
use crate::input::loaded::Found;
use crate::input::postgres::{self as source, Server};
use crate::input::requests::{Line, Lines, envelope};
use crate::input::selection::{ONE_STDIN, Selection, is_stdin};
use crate::output::escape::{has_line_breaks, one_line};
use crate::output::failure::{Failure, note};
use crate::output::file::check_report;
use crate::output::stdout::Output;
use crate::output::table::{self, Column, counted, duration, thousands};

/// Find the cases that a filter selects
///
/// The filter is a JSON body (--body), a text (--where), or neither, which selects every case. What its author may not
/// have meant is told on standard error, and, when it selects no case, in which form cases have its values.
#[derive(clap::Args)]
#[command(mut_arg("paths", |paths| paths.required(false)), after_help = "\
Examples:
  casefilter search cases.ndjson --where 'status = open and priority = high' --order -createdAt
  casefilter search cases.ndjson.zst --body filter.json --limit 20 --count --format json
  casefilter search a.ndjson b.json.gz --where 'tags all (vip, crypto)' --format ids
  cat cases.ndjson | casefilter search - --where 'totalAmountInDefaultCurrency > 10000'
  casefilter search cases.db --where 'status = open' --format ids --limit all > open.ids
  casefilter search cases.ndjson --requests requests.ndjson > answers.ndjson
  casefilter search --source 'postgres://officer@db.example/compliance?sslmode=require' --where 'status = open'
  casefilter search cases.db --where \"createdAt >= '$(date -d yesterday '+%F %T%z')'\" --order -createdAt

Filters for --where (`casefilter fields` lists the fields; README.md has all of it):
  status = open and priority <> low       one value, or any but that one
  tags in (vip, cash)                     at least one of these
  tags all (vip, cash)                    every one of these
  totalAmountInDefaultCurrency > 10000    also >=, <, <=; of numbers and times
  createdAt >= \"2026-01-31 00:00:00\"      a time in UTC, or with +0100 after it
  a = x and (b = y or c = z)              parentheses group
Values with spaces or signs stand in double quotes, the whole filter in single ones. --order takes one field; priority and
status sort by rank, other text by code point.")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Cases,

    /// Search a table of PostgreSQL that `casefilter ddl` made, instead of CASES
    ///
    /// A connection string such as postgres://USER:PASSWORD@HOST/DATABASE?sslmode=require. Default, if no CASES are given: the
    /// environment variable CASEFILTER_SOURCE, which other users cannot see.
    #[arg(long, value_name = "URL", conflicts_with_all = ["paths", "db", "lenient"], help_heading = "PostgreSQL")]
    source: Option<String>,

    #[command(flatten)]
    source_options: source::Options,

    #[command(flatten)]
    admin: Admin,

    #[command(flatten)]
    selection: Selection,

    /// Answer many requests: FILE (or -) holds one a line, and a line is printed for each
    ///
    /// A request is {"body":…,"offset":…,"limit":…,"order":…,"countTotalItems":…}; only `body` is
    /// required: the JSON filter as an object, or as a string that holds that JSON. Text filters, as --where takes them, are not
    /// accepted here. The line printed for it is the answer, or
    /// {"code":400,"correlationId":"request-<n>","description":"Invalid parameters: …"}, where n
    /// counts the requests from 1. Blank lines are skipped. Bad requests do not change the exit status without --fail-on-error.
    /// Warnings of their filters are not printed; `casefilter check` has them.
    #[arg(long, value_name = "FILE|-")]
    requests: Option<PathBuf>,

    /// With --requests: end with exit status 2 if any of the requests is bad; all of them are answered all the same
    #[arg(long, requires = "requests")]
    fail_on_error: bool,

    /// How to print the cases [default: table on a terminal, json in a pipe]
    #[arg(long, conflicts_with = "requests")]
    format: Option<Format>,

    /// Leave out malformed cases, and count malformed fields as absent, instead of refusing the files
    ///
    /// What was left out is told on standard error, faults of one kind in one line with the first of them: the first 20
    /// lines on a terminal. The exit status is 3 then, after the answer was printed.
    #[arg(long)]
    lenient: bool,

    /// Write what was left out, and why, to FILE as JSON
    #[arg(long, value_name = "FILE", requires = "lenient")]
    report: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The answer of the interface: {"list":{"items":[…],"pageInfo":{…}}}
    Json,
    /// The cases, one a line
    Ndjson,
    /// Their ids, one a line; as a JSON string an id that begins with a quote or has control characters
    Ids,
    /// A table for people
    Table,
}

impl Format {
    /// What was asked for, or what fits where standard output goes.
    fn or_fitting(asked: Option<Self>) -> Self {
        asked.unwrap_or(if io::stdout().is_terminal() { Self::Table } else { Self::Json })
    }
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    check_usage(args)?;
    let catalog = Catalog::cases();
    if args.cases.is_empty() {
        return ask_server(args, &catalog);
    }
    let mode = if args.lenient { Mode::Lenient } else { Mode::Strict };
    if let Some(path) = &args.requests {
        let mut lines = Lines::open(path)?;
        let loaded = load(args, &catalog, mode, Documents::Kept)?;
        let held = &loaded.held;
        let answered =
            answer_all(held.catalog(), &Limits::default(), |request| held.search(request), &mut lines);
        let left_out = tell_left_out(&loaded.report);
        let bad = loaded.held.close().and(answered)?;
        return Ok(if bad > 0 && args.fail_on_error { Status::BadFilter } else { left_out });
    }
    let request = args.selection.request(&catalog)?;
    warn(&request);
    let shows_none = request.limit == 0 || args.format == Some(Format::Ids);
    let documents = if shows_none { Documents::Forgotten } else { Documents::Kept };
    let loaded = load(args, &catalog, mode, documents)?;
    ids::tell_unknown(&loaded.held, &request.filter)?;
    let format = Format::or_fitting(args.format);
    if request.limit > MOST_AT_ONCE {
        print_long(&request, format, loaded, args.cases.database())
    } else {
        print_page(&request, format, loaded)
    }
}

/// Prints a page that is put together in memory.
fn print_page(request: &Request, format: Format, loaded: Loaded) -> Result<Status, Failure> {
    let Loaded { held, report, took: load_took } = loaded;
    let start = Instant::now();
    let found = held.search(request)?;
    let took = start.elapsed();
    // A table says it, and an answer with its total.
    let says_total = format == Format::Table || format == Format::Json && request.count;
    let is_full = found.len() == request.limit;
    let total = match found.total() {
        Some(total) => total,
        None if format == Format::Table || is_full || found.len() == 0 => held.count(&request.filter)?,
        None => found.len(),
    };
    let hints = hints_on(&held, request, || total == 0);
    let cases = held.len();
    // Others may write to the database while this is printed.
    let closed = held.close();
    let printed = print(&found, format, || summary_of(found.len(), total, cases, took, load_took));
    closed.and(printed)?;
    if !says_total && is_full {
        tell_cut(found.len(), request, total);
    }
    tell_hints(&report, request, &hints);
    Ok(tell_left_out(&report))
}

/// Prints a page of any length.
fn print_long(
    request: &Request,
    format: Format,
    loaded: Loaded,
    database: Option<&Path>,
) -> Result<Status, Failure> {
    let Loaded { held, report, took: load_took } = loaded;
    let start = Instant::now();
    let page = LongPage { request, format, total: held.count(&request.filter)?, database };
    let hints = hints_on(&held, request, || page.total == 0);
    let cases = held.len();
    page.write(held, || summary_of(page.len(), page.total, cases, start.elapsed(), load_took))?;
    if format != Format::Table {
        tell_cut(page.len(), request, page.total);
    }
    tell_hints(&report, request, &hints);
    Ok(tell_left_out(&report))
}

/// As [`run`], on a server.
fn ask_server(args: &Args, catalog: &Catalog) -> Result<Status, Failure> {
    let Some(url) = args.source.clone().or_else(|| std::env::var("CASEFILTER_SOURCE").ok()) else {
        let message = "expected CASES to search, `-` to read them from standard input, or --source with a server that has them";
        return Err(Failure::Usage(message.to_owned()));
    };
    let connect = || Server::connect(&url, &args.source_options, catalog);
    match &args.requests {
        None => {
            let request = args.selection.request(catalog)?;
            warn(&request);
            if request.limit > MOST_AT_ONCE {
                let message = format!(
                    "--source gives at most {MOST_AT_ONCE} cases at a time: expected a smaller --limit"
                );
                return Err(Failure::Usage(message));
            }
            let server = connect()?;
            let start = Instant::now();
            let found = server.search(&request)?;
            let took = start.elapsed();
            let format = Format::or_fitting(args.format);
            print(&found, format, || {
                let of = found.total().map(|total| format!(" of {} selected", thousands(total)));
                format!(
                    "{}{} · searched in {}",
                    counted(found.len(), "case"),
                    of.unwrap_or_default(),
                    duration(took)
                )
            })?;
            if format != Format::Table
                && found.total().is_none()
                && found.len() == request.limit
                && request.limit > 0
            {
                let len = thousands(found.len());
                note(format!(
                    "{len} cases written; more may be selected: --count counts them, --offset goes on\n"
                ));
            }
        }
        Some(path) => {
            let mut lines = Lines::open(path)?;
            let server = connect()?;
            let bad = answer_all(catalog, &Limits::default(), |request| server.search(request), &mut lines)?;
            if bad > 0 && args.fail_on_error {
                return Ok(Status::BadFilter);
            }
        }
    }
    Ok(Status::Fine)
}

/// What a table of cases in memory or in a database ends with.
fn summary_of(written: u64, total: u64, cases: u64, took: Duration, load_took: Duration) -> String {
    table::wrapped(
        &format!(
            "{} of {} selected, out of {} · searched in {} · loaded in {}",
            thousands(written),
            thousands(total),
            counted(cases, "case"),
            duration(took),
            duration(load_took)
        ),
        0,
    )
}

fn load(args: &Args, catalog: &Catalog, mode: Mode, documents: Documents) -> Result<Loaded, Failure> {
    let loaded = args.cases.load_or_ask(catalog, mode, documents, &args.admin)?;
    if let Some(path) = &args.report {
        write_report(path, &loaded.report)?;
    }
    Ok(loaded)
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
    let filters = args.selection.file().into_iter().chain(args.requests.as_deref());
    check_report(args.report.as_deref(), args.cases.paths().chain(filters))
}

/// Prints a line for each request: the answer or the error envelope. Returns how many of them are bad.
fn answer_all(
    catalog: &Catalog,
    limits: &Limits,
    search: impl Fn(&Request) -> Result<Found, Failure>,
    lines: &mut Lines,
) -> Result<u64, Failure> {
    let mut out = Output::new();
    let mut answer = String::new();
    let (mut number, mut bad) = (0_u64, 0_u64);
    while let Some(line) = lines.next()? {
        number = number.saturating_add(1);
        let request = Line::read(line).and_then(|line| line.request(catalog, limits));
        match request {
            Ok(request) => {
                answer.clear();
                let found = search(&request)?;
                found.write_json(&mut answer);
                if has_line_breaks(&answer) {
                    answer = on_one_line(&answer, found.documents());
                }
                out.json_line(&answer)?;
            }
            Err(errors) => {
                bad = bad.saturating_add(1);
                out.json(&envelope(number, &errors))?;
            }
        }
        if lines.may_wait() {
            out.flush()?;
        }
    }
    out.finish()?;
    Ok(bad)
}

/// An answer, each of its documents that holds line breaks on one line, and the others as they are stored. These are all its items, as
/// they stand in it.
fn on_one_line<'d>(answer: &str, documents: impl Iterator<Item = &'d str>) -> String {
    let items = answer.find('[').map_or(0, |bracket| bracket.saturating_add(1));
    let (front, mut rest) = answer.split_at_checked(items).unwrap_or_default();
    let mut line = front.to_owned();
    let mut of_one = String::new();
    for (number, document) in documents.enumerate() {
        if number > 0 {
            line.push(',');
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        rest = rest.strip_prefix(document).unwrap_or(rest);
        of_one.clear();
        of_one.push_str(document);
        one_line(&mut of_one);
        line.push_str(&of_one);
    }
    line.push_str(rest);
    line
}

/// Prints a page; `summary` is what a table ends with.
fn print(answer: &Found, format: Format, summary: impl FnOnce() -> String) -> Result<(), Failure> {
    let mut out = Output::new();
    match format {
        Format::Json => {
            let mut json = String::new();
            answer.write_json(&mut json);
            out.json_line(&json)?;
        }
        Format::Ndjson => {
            let mut line = String::new();
            for document in answer.documents() {
                line.clear();
                line.push_str(document);
                one_line(&mut line);
                out.json_line(&line)?;
            }
        }
        Format::Ids => {
            for id in answer.ids() {
                id_line(&mut out, id)?;
            }
        }
        Format::Table => {
            if answer.len() > 0 {
                out.escaped_lines(&table_of(answer.ids().zip(answer.documents())))?;
                out.line("")?;
            }
            out.line(&summary())?;
        }
    }
    out.finish()
}

/// Writes an id on a line of its own, such that no other id looks the same.
pub(crate) fn id_line<W: Write>(out: &mut Output<W>, id: &str) -> Result<(), Failure> {
    if id.starts_with('"') || id.contains(char::is_control) { out.json(&id) } else { out.line(id) }
}

/// The columns of a table of cases.
pub(crate) fn search_columns() -> &'static [Column] {
    const COLUMNS: [Column; 9] = [
        Column::whole("id"),
        Column::text("status"),
        Column::whole("priority"),
        Column::whole("createdAt"),
        Column::text("applicant"),
        Column::number("amount"),
        Column::text("assignee"),
        Column::text("tags"),
        Column::text("name"),
    ];
    &COLUMNS
}

/// Cases, each an id and a document, as a table.
pub(crate) fn table_of<'c>(cases: impl Iterator<Item = (&'c str, &'c str)>) -> String {
    let rows: Vec<Vec<String>> = cases.map(|(id, document)| row_of(id, document)).collect();
    table::render(search_columns(), &rows)
}

/// The cells of a case.
pub(crate) fn row_of(id: &str, document: &str) -> Vec<String> {
    Shown::read(document).row(id)
}

/// The id of a stored document.
pub(crate) fn id_of(document: &str) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Case {
        id: String,
    }
    serde_json::from_str::<Case>(document).unwrap_or_default().id
}

/// The members of a case that the table shows. A member of another type is shown as absent.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Shown<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    case_review: Option<&'a RawValue>,
    #[serde(borrow)]
    priority: Option<&'a RawValue>,
    #[serde(borrow)]
    created_at: Option<&'a RawValue>,
    #[serde(borrow)]
    applicant_reference: Option<&'a RawValue>,
    #[serde(borrow)]
    total_amount_in_default_currency: Option<&'a RawValue>,
    #[serde(borrow)]
    tags: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Review<'a> {
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    assignee: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Applicant<'a> {
    #[serde(borrow)]
    full_name: Option<&'a RawValue>,
}

impl<'a> Shown<'a> {
    fn read(document: &'a str) -> Self {
        serde_json::from_str(document).unwrap_or_default()
    }

    fn row(&self, id: &str) -> Vec<String> {
        let review: Review<'_> = parsed(self.case_review);
        let applicant: Applicant<'_> = parsed(self.applicant_reference);
        let tags: Vec<&RawValue> = parsed(self.tags);
        let amount = self.total_amount_in_default_currency.map(RawValue::get);
        vec![
            id.to_owned(),
            parsed(review.status),
            match self.priority {
                // What an absent one counts as.
                None => "(medium)".to_owned(),
                priority => parsed(priority),
            },
            parsed::<String>(self.created_at).trim_end_matches("+0000").to_owned(),
            parsed(applicant.full_name),
            amount
                .filter(|text| text.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
                .unwrap_or_default()
                .to_owned(),
            parsed(review.assignee),
            tags.into_iter().map(|tag| parsed::<String>(Some(tag))).collect::<Vec<_>>().join(", "),
            parsed(self.name),
        ]
    }
}

/// A member as a type, or the default when it is absent or something else.
fn parsed<'a, T: Deserialize<'a> + Default>(raw: Option<&'a RawValue>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}
