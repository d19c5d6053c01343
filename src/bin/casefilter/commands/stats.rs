//! The command `stats`: counts cases by the values of fields.

mod answer;
mod show;

use casefilter::{Catalog, ImportMode};
use clap::ValueEnum;

use crate::commands::hints::{hint, print_hints, warn};
use crate::commands::scanned::scan;
use crate::commands::stats::answer::Answer;
use crate::commands::stats::show::{write_csv, write_table};
use crate::commands::unknown_ids as ids;
use crate::input::admin::Admin;
use crate::input::cases::{Cases, Documents};
use crate::input::facets::FacetArgs;
use crate::input::selection::Criteria;
use crate::output::dash::ONE_STDIN;
use crate::output::failure::Failure;
use crate::output::refusals::report_left_out;
use crate::output::status::Status;
use crate::output::stdout::Output;

/// Count the selected cases by the values of fields
///
/// The filter is a JSON body (--body) or a text (--where). Without a filter, every case is counted. A case counts once for each
/// distinct value of a field, and as absent if it has none.
///
/// If the output is not a terminal, prints the answer of the service as JSON: {"totalItems":…,"facets":[…]}. A facet is
/// {"field":…,"values":[{"value":…,"count":…},…],"absent":…,"otherValues":…,"otherCount":…}; a histogram has
/// "buckets":[{"from":…,"to":…,"count":…},…], and statistics have "stats":{"count":…,"min":…,"max":…,"sum":…,"mean":…}.
///
/// CSV has the columns field, kind, value, from, to and count. kind is total, value, other, bucket, absent, count, min, max, sum or
/// mean.
///
/// If a service has the database open, the service counts the cases.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter stats cases.db --by status
  casefilter stats cases.db --by caseReview.assignee --limit 20 --where 'priority = high and not status = resolvedFalsePositive'
  casefilter stats cases.db --by createdAt:month --by totalAmountInDefaultCurrency:stats
  casefilter stats cases.db --by createdAt:week --where 'createdAt >= today - 90d' --utc-offset +02:00
  casefilter stats cases.ndjson --by totalAmountInDefaultCurrency:edges=0,1000,10000 --format csv > amounts.csv
  casefilter stats cases.db --by status --by tags --where 'status = open' --own-criteria-apart
      counts every status, and the tags of the open cases
  casefilter stats cases.db --facets request.json --format json
      counts as the service does for a client that sends the body request.json")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Cases,

    #[command(flatten)]
    facets: FacetArgs,

    #[command(flatten)]
    criteria: Criteria,

    #[command(flatten)]
    admin: Admin,

    /// Form of the output [default: table on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<StatsFormat>,

    /// Leave out malformed cases, and treat malformed fields as absent, instead of rejecting the files
    #[arg(long)]
    lenient: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StatsFormat {
    /// The answer of the service
    Json,
    /// Bars and columns for people
    Table,
    /// Comma-separated values for spreadsheets, with a header line
    Csv,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    args.cases.check()?;
    let readers = [args.cases.uses_stdin(), args.criteria.uses_stdin(), args.facets.uses_stdin()];
    if readers.iter().filter(|reads| **reads).count() > 1 {
        return Err(Failure::Usage(ONE_STDIN.to_owned()));
    }
    let catalog = args.criteria.catalog(args.cases.first_database(), &args.admin)?;
    let facets = args.facets.request(&catalog, &args.criteria)?;
    let search = facets.search();
    warn(&search);
    let mode = if args.lenient { ImportMode::Lenient } else { ImportMode::Strict };
    if let Some(scanned) = scan(
        &args.cases,
        (&catalog, mode),
        &search.clone().with_limit(0),
        Some(&facets.request),
        Documents::Forgotten,
    )? && let Some(counts) = &scanned.answer.facets
    {
        scanned.note_unknown_ids();
        let hints = scanned
            .hints(&args.cases, (&catalog, mode), &search, |narrow| args.criteria.request_again(narrow));
        print_hints(&scanned.answer.report, &search, &hints);
        let status = report_left_out(&scanned.answer.report);
        print(args, &counts.to_json(), &catalog)?;
        return Ok(status);
    }
    let loaded = args.cases.load_or_ask(&catalog, mode, Documents::Forgotten, &args.admin)?;
    ids::note_unknown(&loaded.cases, &search.filter)?;
    let json = loaded.cases.facets(&facets)?;
    let total = Answer::read(&json)?.total;
    hint(&loaded.cases, &search, &loaded.report, || total == 0);
    let status = report_left_out(&loaded.report);
    let closed = loaded.cases.close();
    print(args, &json, &catalog)?;
    closed.map(|()| status)
}

/// Prints the answer, which is JSON in the form of the service.
fn print(args: &Args, json: &str, catalog: &Catalog) -> Result<(), Failure> {
    let answer = Answer::read(json)?;
    let mut out = Output::new();
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stdout());
    match args.format.unwrap_or(if is_terminal { StatsFormat::Table } else { StatsFormat::Json }) {
        StatsFormat::Json => out.json_line(json)?,
        StatsFormat::Table => write_table(&answer, catalog, args.criteria.utc_offset(), &mut out)?,
        StatsFormat::Csv => write_csv(&answer, &mut out)?,
    }
    out.finish()
}
