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
use crate::input::as_of::AsOfArg;
use crate::input::cases::{Cases, Documents};
use crate::input::facets::{FacetArgs, Facets};
use crate::input::selection::Criteria;
use crate::input::source::Source;
use crate::output::dash::ONE_STDIN;
use crate::output::failure::Failure;
#[cfg(not(feature = "postgres"))]
use crate::output::part::Part;
use crate::output::refusals::report_left_out;
use crate::output::status::Status;
use crate::output::stdout::Output;

/// Count the selected cases by the values of fields
///
/// The filter is a JSON body (--body) or a text (--where). Without a filter, every case is counted. A case counts once for each
/// distinct value of a field, or once for each bucket of a histogram. A case without a value counts as absent.
///
/// If the output is not a terminal, prints JSON in the form of the service's answer: {"totalItems":…,"facets":[…]}. A facet is
/// {"field":…,"values":[{"value":…,"count":…},…],"absent":…,"otherValues":…,"otherCount":…}. Instead of values, a histogram has
/// "buckets":[{"from":…,"to":…,"count":…},…], and statistics have "stats":{"count":…,"min":…,"max":…,"sum":…,"mean":…}.
///
/// CSV has the columns field, kind, value, from, to and count. The kind is total, value, other, bucket, absent, count, min, max,
/// sum or mean. A row of the kind min, max, sum or mean has its result in the column `value`. In a row of the kind other, `value`
/// contains the number of values that are not listed, and `count` the sum of their counts.
///
/// If a service has the database open, the service counts the cases.
#[derive(clap::Args)]
#[command(mut_arg("paths", |paths| paths.required(false)), after_help = "\
Examples:
  casefilter stats cases.db --by status
  casefilter stats cases.db --by caseReview.assignee --limit 20 --where 'priority = high and not status = resolvedFalsePositive'
  casefilter stats cases.db --by createdAt:month --by totalAmountInDefaultCurrency:stats
  casefilter stats cases.db --by createdAt:week --where 'createdAt >= today - 90d' --utc-offset +02:00
  casefilter stats cases.ndjson --by totalAmountInDefaultCurrency:edges=0,1000,10000 --format csv > amounts.csv
  casefilter stats cases.db --by status --by tags --where 'status = open' --own-criteria-apart
      counts every status, and the tags of the open cases
  casefilter stats --source 'postgres://officer@db.example/compliance?sslmode=require' --by status
  casefilter stats cases.db --facets request.json --format json
      counts as the service does for a client that sends the body request.json")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Cases,

    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    facets: FacetArgs,

    #[command(flatten)]
    criteria: Criteria,

    #[command(flatten)]
    as_of: AsOfArg,

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
    /// JSON in the form of the service's answer
    Json,
    /// Bars and columns for people
    Table,
    /// Comma-separated values for spreadsheets, with a header line
    Csv,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    args.cases.check()?;
    let moment = args.as_of.of(&args.cases)?;
    let readers = [args.cases.uses_stdin(), args.criteria.uses_stdin(), args.facets.uses_stdin()];
    if readers.iter().filter(|reads| **reads).count() > 1 {
        return Err(Failure::Usage(ONE_STDIN.to_owned()));
    }
    let catalog = args.criteria.catalog(args.cases.first_database(), &args.admin)?;
    let facets = args.facets.request(&catalog, &args.criteria)?;
    let search = facets.search();
    warn(&search);
    if args.cases.is_empty() {
        let json = ask_server(&args.source.url()?, args, &catalog, &facets)?;
        args.print(&json, &catalog)?;
        return Ok(Status::Fine);
    }
    let mode = if args.lenient { ImportMode::Lenient } else { ImportMode::Strict };
    if let Some(scanned) = scan(
        &args.cases,
        (&catalog, mode),
        &search.clone().with_limit(0),
        Some(&facets.request),
        Documents::Forgotten,
    )?
    .answered()
        && let Some(counts) = &scanned.answer.facets
    {
        scanned.note_unknown_ids();
        let hints =
            scanned.hints(&args.cases, (&catalog, mode), (&search, scanned.answer.selected), |narrow| {
                args.criteria.request_again(narrow)
            });
        print_hints(&scanned.answer.report, &search, &hints);
        let status = report_left_out(&scanned.answer.report);
        args.print(&counts.to_json(), &catalog)?;
        return Ok(status);
    }
    let loaded =
        args.cases.load_or_ask(&catalog, mode, Documents::Forgotten, &args.admin)?.at_moment(moment)?;
    ids::note_unknown(&loaded.cases, &search.filter)?;
    let json = loaded.cases.facets(&facets)?;
    let total = Answer::read(&json)?.total;
    hint(&loaded.cases, &search, &loaded.report, || total == 0);
    let status = report_left_out(&loaded.report);
    // Close the database before printing, so that other processes can write to it.
    let closed = loaded.cases.close();
    args.print(&json, &catalog)?;
    closed.map(|()| status)
}

impl Args {
    /// Prints an answer.
    fn print(&self, json: &str, catalog: &Catalog) -> Result<(), Failure> {
        let mut out = Output::new();
        let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stdout());
        match self.format.unwrap_or(if is_terminal { StatsFormat::Table } else { StatsFormat::Json }) {
            StatsFormat::Json => out.json_line(json)?,
            StatsFormat::Table => {
                write_table(&Answer::read(json)?, catalog, self.criteria.utc_offset(), &mut out)?;
            }
            StatsFormat::Csv => write_csv(&Answer::read(json)?, &mut out)?,
        }
        out.finish()
    }
}

/// Counts on a PostgreSQL server.
#[cfg(feature = "postgres")]
fn ask_server(url: &str, args: &Args, catalog: &Catalog, facets: &Facets) -> Result<String, Failure> {
    args.source.connect(url, catalog)?.facets(&facets.request)
}

/// Returns an error, because this build cannot read from a server.
#[cfg(not(feature = "postgres"))]
fn ask_server(_: &str, _: &Args, _: &Catalog, _: &Facets) -> Result<String, Failure> {
    Err(Failure::Failed(Part::Postgres.missing("`--source`")))
}
