//! `bench`: how long one's own requests take on one's own cases.

mod lines;
mod timing;

use std::path::PathBuf;

use casefilter::{Catalog, Limits, Mode};

use crate::commands::bench::lines::{Faulty, Summary, Taken, Timed, rounded, taken};
use crate::commands::bench::timing::{Caches, Runs, time};
use crate::input::admin::Admin;
use crate::input::cases::{Cases, Documents};
use crate::input::request::Line;
use crate::input::request_lines::Lines;
use crate::output::dash::is_stdin;
use crate::output::escape::escape;
use crate::output::failure::{Failure, note};
use crate::output::refusals::tell_left_out;
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};
use crate::output::table::{self};

/// How many warnings of a request are told.
const MOST_WARNINGS: usize = 3;

/// Replay requests and tell how long each takes
///
/// The time is that of the whole request, from the bytes of the body to the bytes of the answer:
/// compile, search, write. With --cache the body is compiled once and found again in each run, as by
/// a host that keeps compiled filters. Each is run once before it is timed, and then again and again, so
/// that the processor's caches hold what it reads; with --cold it is also run after they were emptied.
/// `matched` is how many cases the filter selects, on the page or not. In a pipe: a JSON line for each
/// request, {"request":n,"matched":…,"median_us":…,"min_us":…,"p99_us":…,"runs":…}, with --cold also
/// "cold_us", or "error" instead of the times, and at the end
/// {"cases":…,"load_s":…,"bytes_per_case":…,"threads":…}, where bytes_per_case are those of columns and
/// index, without the documents. With --memory, a line
/// {"field":…,"column_bytes":…,"index_bytes":…,"bytes_per_case":…} for each field stands before the last.
///
/// A database that a service has open is measured on a copy without a name, which the service sends: the times are those of this
/// process, not of the service under its load.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter bench cases.ndjson --requests requests.ndjson
  casefilter bench cases.ndjson --requests requests.ndjson --threads 4 --runs 1000 --format json
  casefilter bench cases.ndjson --requests requests.ndjson --memory

A line of requests.ndjson, only body is required:
  {\"body\":{\"criteria\":[{\"field\":\"status\",\"op\":\"=\",\"values\":[\"open\"]}]},\"order\":\"-createdAt\",\"limit\":20}")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Cases,

    #[command(flatten)]
    admin: Admin,

    /// The requests, one a line, as for search --requests
    #[arg(long, value_name = "FILE|-")]
    requests: PathBuf,

    /// How many threads share the runs of each request
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,

    /// How often each request is timed [default: for 0.2 s, at least 5 times]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,

    /// Tell what the column and the indexes of each field take in memory too
    #[arg(long)]
    memory: bool,

    /// Take compiled filters from a cache, so that the times leave compiling out
    #[arg(long)]
    cache: bool,

    /// Also tell the median time of runs before which the caches of the processor were emptied
    ///
    /// For that, 256 MiB of other memory are read before each of them; they are on one thread. A request that comes once in a
    /// while takes about this time, and one that comes again and again the other times.
    #[arg(long)]
    cold: bool,

    /// Keep no documents in memory, but columns and indexes alone: pages are then of ids alone
    ///
    /// Loading takes less time, as that of engines which keep columns alone. A database keeps its documents in its file.
    #[arg(long)]
    without_documents: bool,

    /// JSON lines or a table [default: table on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,

    /// Leave out malformed cases, and count malformed fields as absent, instead of refusing the files
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
    let mode = if args.lenient { Mode::Lenient } else { Mode::Strict };
    let loaded = args.cases.load_or_copy(&Catalog::cases(), mode, documents, &args.admin)?;
    let status = tell_left_out(&loaded.report);
    let cases = &loaded.cases;
    let caches = args.cold.then(Caches::new);
    let format = Format::or_fitting(args.format);
    let mut out = Output::new();
    let mut rows = Vec::new();
    let mut faults = String::new();
    let mut request = 0_u64;
    while let Some(line) = lines.next()? {
        request = request.saturating_add(1);
        let (line, number) = (Line::read(line), request);
        // A database that cannot be read is no answer to be timed.
        if let Ok(line) = &line
            && let Ok(request) = line.request(cases.catalog(), &Limits::default())
        {
            cases.search(&request)?;
            for warning in request.filter.warnings().iter().take(MOST_WARNINGS) {
                note(format!("warning: request {number}: {}\n", escape(&warning.to_string())));
            }
        }
        let timed = line.and_then(|line| time(cases, &line, caches.as_ref(), &args.runs()));
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
        // A request may take long, and the ones before it can be read meanwhile.
        out.flush()?;
    }
    let unknown = || Failure::Failed("a service does not say what its cases take in memory".to_owned());
    let memory = cases.memory().ok_or_else(unknown)?;
    let summary = Summary {
        cases: memory.cases,
        load_s: rounded(loaded.took.as_secs_f64(), 1e3),
        bytes_per_case: rounded(memory.bytes_per_case(), 10.0),
        threads: args.threads,
    };
    let taken = if args.memory { taken(&memory) } else { Vec::new() };
    match format {
        Format::Json => {
            taken.iter().try_for_each(|taken| out.json(taken))?;
            out.json(&summary)?;
        }
        Format::Table => {
            let mut columns = Timed::COLUMNS.to_vec();
            columns.extend(caches.is_some().then_some(Timed::COLD));
            out.escaped_lines(&table::render(&columns, &rows))?;
            out.line("")?;
            out.lines(&faults)?;
            if args.memory {
                let rows: Vec<Vec<String>> = taken.iter().map(Taken::row).collect();
                out.escaped_lines(&format!("\n{}\n\n", table::render(&Taken::COLUMNS, &rows)))?;
            }
            out.line(&summary.text())?;
        }
    }
    out.finish()?;
    loaded.cases.close()?;
    Ok(status)
}
