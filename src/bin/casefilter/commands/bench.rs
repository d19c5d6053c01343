//! The command `bench`: measures how long the user's requests take on the user's cases.

mod lines;
mod timing;

use std::path::PathBuf;

use casefilter::{ImportMode, Limits};

use crate::commands::bench::lines::{Faulty, FieldBytes, Summary, Timed, field_bytes, rounded};
use crate::commands::bench::timing::{Caches, Runs, time};
use crate::input::admin::Admin;
use crate::input::cases::{Cases, Documents};
use crate::input::catalog::CatalogFile;
use crate::input::request::{Asked, Line};
use crate::input::request_lines::Lines;
use crate::input::syntax::extended;
use crate::output::dash::is_stdin;
use crate::output::escape::escape;
use crate::output::failure::{Failure, note};
use crate::output::refusals::report_left_out;
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};
use crate::output::table::{self, Fit};

/// The maximum number of warnings that are printed for one request. Further warnings are not printed.
const MOST_WARNINGS: usize = 3;

/// Replay requests and measure how long each takes
///
/// The time covers a complete request, from the bytes of the body to the bytes of the answer: compile, search, write. With --cache
/// the body is compiled once, and every run takes the compiled filter from a cache. A program that uses the library can do the
/// same. Each request runs once before it is timed, and then many times, so that its data is in the processor's caches. With --cold
/// it is also timed with empty caches. `matched` is the number of all cases that the filter selects, not only of those on the page.
///
/// If the output is not a terminal, each request is a JSON line:
/// {"request":n,"matched":…,"median_us":…,"min_us":…,"p99_us":…,"runs":…}. With --cold the line also has "cold_us". A request that
/// fails has "error" instead of the times. With --memory, each field follows as a line:
/// {"field":…,"column_bytes":…,"index_bytes":…,"bytes_per_case":…}. The last line is
/// {"cases":…,"load_s":…,"bytes_per_case":…,"threads":…}. Its bytes_per_case is the memory of columns and indexes, without
/// documents.
///
/// If a service has the database open, the service sends a copy, which is measured in this process. So the times do not include the
/// load of the service.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter bench cases.ndjson --requests requests.ndjson
  casefilter bench cases.ndjson --requests requests.ndjson --threads 4 --runs 1000 --format json
  casefilter bench cases.ndjson --requests requests.ndjson --memory

A line of requests.ndjson, of which only body is required; or a line with only facets, which counts by value:
  {\"body\":{\"criteria\":[{\"field\":\"status\",\"op\":\"=\",\"values\":[\"open\"]}]},\"order\":\"-createdAt\",\"limit\":20}
  {\"facets\":{\"criteria\":[{\"field\":\"status\",\"op\":\"=\",\"values\":[\"open\"]}],\"facets\":[{\"field\":\"priority\"}]}}")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Cases,

    #[command(flatten)]
    admin: Admin,

    /// A file of requests, one per line, as for search --requests
    #[arg(long, value_name = "FILE|-")]
    requests: PathBuf,

    /// End with exit status 2 if any request is bad; all other requests are measured nevertheless
    #[arg(long)]
    fail_on_error: bool,

    /// Also allow $not, $elem, $exists, $startsWith, $substring and $match in the bodies of requests
    #[arg(long)]
    extended: bool,

    #[command(flatten)]
    catalog: CatalogFile,

    /// Number of threads that share the runs of each request
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,

    /// Number of timed runs of each request [default: as many as take 0.2 s, but at least 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,

    /// Also print the memory that the column and the indexes of each field take
    #[arg(long)]
    memory: bool,

    /// Take compiled filters from a cache, so that the times do not include compiling
    #[arg(long)]
    cache: bool,

    /// Also measure the median time of runs with empty processor caches
    ///
    /// Before each of these runs, 256 MiB of other memory are read, which evicts everything else from the caches. The runs use one
    /// thread. A rare request takes about this time. A frequent request takes about the times that are measured without this
    /// option.
    #[arg(long)]
    cold: bool,

    /// Keep only columns and indexes in memory, without documents; pages then contain only ids
    ///
    /// Loading then takes less time. This has no effect on a database, whose documents stay in its file.
    #[arg(long)]
    without_documents: bool,

    /// JSON lines or a table [default: table on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,

    /// Leave out malformed cases, and treat malformed fields as absent, instead of rejecting the files
    #[arg(long)]
    lenient: bool,
}

impl Args {
    fn runs(&self) -> Runs {
        Runs { threads: self.threads, runs: self.runs, is_cached: self.cache }
    }
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    args.cases.check()?;
    if args.cases.uses_stdin() && is_stdin(&args.requests) {
        let message = "standard input cannot be both the cases and the requests: give one of them as a file";
        return Err(Failure::Usage(message.to_owned()));
    }
    let mut lines = Lines::open(&args.requests)?;
    let documents = if args.without_documents { Documents::Forgotten } else { Documents::Kept };
    let mode = if args.lenient { ImportMode::Lenient } else { ImportMode::Strict };
    let catalog = args.catalog.or_stored(args.cases.first_database(), &args.admin)?;
    let loaded = args.cases.load_or_copy(&extended(catalog, args.extended), mode, documents, &args.admin)?;
    let status = report_left_out(&loaded.report);
    let cases = &loaded.cases;
    cases.warm()?;
    let caches = args.cold.then(Caches::new);
    let format = Format::or_fitting(args.format);
    let mut out = Output::new();
    let mut rows = Vec::new();
    let mut faults = String::new();
    let (mut request, mut is_bad) = (0_u64, false);
    while let Some(line) = lines.next()? {
        request = request.saturating_add(1);
        let (line, number) = (Line::read(line), request);
        // If the database cannot be read, the command ends. Such a failure is not an answer that could be timed.
        if let Ok(line) = &line
            && let Ok(request) = line.request(cases.catalog(), &Limits::default())
        {
            if let Asked::Page(request) = &request {
                cases.search(request)?;
            }
            for warning in request.filter().warnings().iter().take(MOST_WARNINGS) {
                note(format!("warning: request {number}: {}\n", escape(&warning.to_string())));
            }
        }
        let timed = line.and_then(|line| time(cases, &line, caches.as_ref(), &args.runs()));
        is_bad |= timed.is_err();
        match (timed, format) {
            (Ok(measured), Format::Json) => {
                out.json(&measured.timed(request))?;
            }
            (Ok(measured), Format::Table) => rows.push(measured.timed(request).row()),
            (Err(errors), Format::Json) => out.json(&Faulty { request, error: errors.to_string() })?,
            (Err(errors), Format::Table) => {
                rows.push(vec![request.to_string(), "error".to_owned()]);
                faults.push_str(&format!("request {request}: {}\n", escape(&errors.to_string())));
            }
        }
        // The next request may take long, so the results so far are printed first.
        out.flush()?;
    }
    let unknown = || Failure::Failed("a service does not report the memory of its cases".to_owned());
    let memory = cases.memory().ok_or_else(unknown)?;
    let summary = Summary {
        cases: memory.documents,
        load_s: rounded(loaded.took.as_secs_f64(), 1e3),
        bytes_per_case: rounded(memory.bytes_per_document(), 10.0),
        threads: args.threads,
    };
    let fields = if args.memory { field_bytes(&memory) } else { Vec::new() };
    match format {
        Format::Json => {
            fields.iter().try_for_each(|field| out.json(field))?;
            out.json(&summary)?;
        }
        Format::Table => {
            let mut columns = Timed::COLUMNS.to_vec();
            columns.extend(caches.is_some().then_some(Timed::COLD));
            out.escaped_lines(&table::render(&columns, &rows, Fit::LeaveOut))?;
            out.line("")?;
            out.lines(&faults)?;
            if args.memory {
                let rows: Vec<Vec<String>> = fields.iter().map(FieldBytes::row).collect();
                out.escaped_lines(&format!(
                    "\n{}\n\n",
                    table::render(&FieldBytes::COLUMNS, &rows, Fit::LeaveOut)
                ))?;
            }
            out.line(&summary.text())?;
        }
    }
    out.finish()?;
    loaded.cases.close()?;
    Ok(if is_bad && args.fail_on_error { Status::BadFilter } else { status })
}
