//! `bench`: how long one's own requests take on one's own cases.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use casefilter::{Catalog, Errors, FilterCache, Limits, Memory, Mode, Request};
use serde::Serialize;

use crate::Status;
use crate::input::admin::Admin;
use crate::input::cases::{Cases, Documents, tell_left_out};
use crate::input::loaded::Held;
use crate::input::requests::{Line, Lines};
use crate::input::selection::is_stdin;
use crate::output::escape::escape;
use crate::output::failure::{Failure, note};
use crate::output::stdout::{Format, Output};
use crate::output::table::{self, Column, counted, microseconds, thousands};

/// How many warnings of a request are told.
const MOST_WARNINGS: usize = 3;
/// Without --runs, each request is repeated for about this long …
const ENOUGH: Duration = Duration::from_millis(200);
/// … but at least so often …
const LEAST_RUNS: u32 = 5;
/// … and at most so often.
const MOST_RUNS: usize = 100_000;

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

#[derive(Serialize)]
struct Timed {
    request: u64,
    matched: u64,
    median_us: f64,
    min_us: f64,
    p99_us: f64,
    runs: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cold_us: Option<f64>,
}

#[derive(Serialize)]
struct Faulty {
    request: u64,
    error: String,
}

#[derive(Serialize)]
struct Taken<'m> {
    field: &'m str,
    column_bytes: u64,
    index_bytes: u64,
    bytes_per_case: f64,
}

#[derive(Serialize)]
struct Summary {
    cases: u64,
    load_s: f64,
    bytes_per_case: f64,
    threads: u16,
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
    let held = &loaded.held;
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
            && let Ok(request) = line.request(held.catalog(), &Limits::default())
        {
            held.search(&request)?;
            for warning in request.filter.warnings().iter().take(MOST_WARNINGS) {
                note(format!("warning: request {number}: {}\n", escape(&warning.to_string())));
            }
        }
        let timed = line.and_then(|line| time(held, &line, caches.as_ref(), args));
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
        // A request may take long, and whoever waits wants to see the ones before.
        out.flush()?;
    }
    let unknown = || Failure::Failed("a service does not say what its cases take in memory".to_owned());
    let memory = held.memory().ok_or_else(unknown)?;
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
    loaded.held.close()?;
    Ok(status)
}

impl Timed {
    const COLUMNS: [Column; 6] = [
        Column::number("request"),
        Column::number("matched"),
        Column::number("median"),
        Column::number("fastest"),
        Column::number("p99"),
        Column::number("runs"),
    ];
    const COLD: Column = Column::number("cold");

    fn row(&self) -> Vec<String> {
        let mut row = vec![
            self.request.to_string(),
            thousands(self.matched),
            microseconds(self.median_us),
            microseconds(self.min_us),
            microseconds(self.p99_us),
            self.runs.to_string(),
        ];
        row.extend(self.cold_us.map(microseconds));
        row
    }
}

/// What each field takes, the largest first; the places of cases are of no field.
fn taken(memory: &Memory) -> Vec<Taken<'_>> {
    let mut fields: Vec<Taken<'_>> = memory
        .fields
        .iter()
        .map(|field| Taken::new(&field.name, field.column_bytes, field.index_bytes, memory.cases))
        .collect();
    fields.sort_by_key(|taken| std::cmp::Reverse(taken.column_bytes.saturating_add(taken.index_bytes)));
    fields
}

impl<'m> Taken<'m> {
    const COLUMNS: [Column; 4] = [
        Column::whole("field"),
        Column::number("column bytes"),
        Column::number("index bytes"),
        Column::number("a case"),
    ];

    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    fn new(field: &'m str, column_bytes: u64, index_bytes: u64, cases: u64) -> Self {
        let bytes = column_bytes.saturating_add(index_bytes) as f64;
        let bytes_per_case = rounded(bytes / cases.max(1) as f64, 100.0);
        Self { field, column_bytes, index_bytes, bytes_per_case }
    }

    fn row(&self) -> Vec<String> {
        vec![
            self.field.to_owned(),
            thousands(self.column_bytes),
            thousands(self.index_bytes),
            format!("{:.2}", self.bytes_per_case),
        ]
    }
}

impl Summary {
    fn text(&self) -> String {
        format!(
            "{} · loaded in {:.2} s · {:.1} bytes a case without the documents · {}",
            counted(self.cases, "case"),
            self.load_s,
            self.bytes_per_case,
            counted(u64::from(self.threads), "thread")
        )
    }
}

/// Memory in whose company nothing else stays in the processor's caches.
struct Caches {
    other: Vec<u64>,
}

impl Caches {
    /// More than the largest caches hold.
    const WORDS: usize = (256 << 20) / size_of::<u64>();
    const WORDS_OF_A_LINE: usize = 64 / size_of::<u64>();

    fn new() -> Self {
        // Pages of zeros would all be the same one.
        Self { other: vec![1; Self::WORDS] }
    }

    fn empty(&self) {
        let lines = self.other.iter().step_by(Self::WORDS_OF_A_LINE);
        std::hint::black_box(lines.fold(0_u64, |sum, word| sum.wrapping_add(*word)));
    }
}

/// The times of one request, ascending.
struct Measured {
    matched: u64,
    times: Vec<Duration>,
    /// Those with empty caches.
    cold: Option<Vec<Duration>>,
}

impl Measured {
    fn timed(&self, request: u64) -> Timed {
        Timed {
            request,
            matched: self.matched,
            median_us: percentile(&self.times, 50),
            min_us: percentile(&self.times, 0),
            p99_us: percentile(&self.times, 99),
            runs: self.times.len(),
            cold_us: self.cold.as_deref().map(|times| percentile(times, 50)),
        }
    }
}

/// The smallest of some ascending times that so many hundredths of them do not exceed, in µs.
fn percentile(times: &[Duration], hundredths: usize) -> f64 {
    let rank = times.len().saturating_mul(hundredths).div_ceil(100).saturating_sub(1);
    let time = times.get(rank).copied().unwrap_or_default();
    rounded(time.as_secs_f64() * 1e6, 100.0)
}

fn rounded(value: f64, scale: f64) -> f64 {
    (value * scale).round() / scale
}

/// Room for every filter that a request can bring.
const CACHE_BYTES: usize = 1 << 30;

/// What makes requests of lines.
enum Compiler {
    Fresh(Limits),
    Cached(FilterCache),
}

impl Compiler {
    fn request(&self, catalog: &Catalog, line: &Line) -> Result<Request, Errors> {
        match self {
            Self::Fresh(limits) => line.request(catalog, limits),
            Self::Cached(cache) => line.request_cached(cache),
        }
    }
}

fn time(held: &Held, line: &Line, caches: Option<&Caches>, args: &Args) -> Result<Measured, Errors> {
    let compiler = &match args.cache {
        true => Compiler::Cached(FilterCache::new(held.catalog().clone(), Limits::default(), CACHE_BYTES)),
        false => Compiler::Fresh(Limits::default()),
    };
    // Cases that a service has are copied first.
    let matched = held.count(&compiler.request(held.catalog(), line)?.filter).unwrap_or_default();
    once(held, line, compiler, &mut String::new());
    let threads = u32::from(args.threads);
    let run = |answer: &mut String| once(held, line, compiler, answer);
    let (least, enough) = args.runs.map_or((LEAST_RUNS, Some(ENOUGH)), |runs| (runs, None));
    let part = |thread: u32| repeat(run, share(least, thread, threads), enough);
    let mut times = if threads == 1 {
        part(0)
    } else {
        thread::scope(|scope| {
            let part = &part;
            let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || part(thread))).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect()
        })
    };
    times.sort_unstable();
    let cold = caches.map(|caches| {
        let run_cold = |answer: &mut String| {
            caches.empty();
            run(answer)
        };
        let mut times = repeat(run_cold, least, enough);
        times.sort_unstable();
        times
    });
    Ok(Measured { matched, times, cold })
}

/// How many of the runs one of the threads does.
fn share(runs: u32, thread: u32, threads: u32) -> u32 {
    let extra = runs.checked_rem(threads).is_some_and(|rest| thread < rest);
    runs.checked_div(threads).unwrap_or(runs).saturating_add(u32::from(extra))
}

/// The times of a request that is run `least` times, and then until that has taken long enough, up to [`MOST_RUNS`].
fn repeat(run: impl Fn(&mut String) -> Duration, least: u32, enough: Option<Duration>) -> Vec<Duration> {
    let mut answer = String::new();
    let start = Instant::now();
    let mut times: Vec<Duration> = (0..least).map(|_| run(&mut answer)).collect();
    while enough.is_some_and(|enough| start.elapsed() < enough) && times.len() < MOST_RUNS {
        times.push(run(&mut answer));
    }
    times
}

/// The whole request, from body bytes to answer bytes.
fn once(held: &Held, line: &Line, compiler: &Compiler, answer: &mut String) -> Duration {
    answer.clear();
    let start = Instant::now();
    if let Ok(request) = compiler.request(held.catalog(), line)
        && let Ok(found) = held.search(&request)
    {
        found.write_json(answer);
    }
    std::hint::black_box(&answer);
    start.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_share_all_the_runs() {
        for (runs, threads) in [(1, 1), (5, 2), (7, 3), (2, 4), (100_000, 7)] {
            let shares: Vec<u32> = (0..threads).map(|thread| share(runs, thread, threads)).collect();
            assert_eq!(shares.iter().sum::<u32>(), runs);
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
    }

    #[test]
    fn what_was_read_last_takes_longer_to_read_with_empty_caches() {
        /// Lines that a near cache holds, each of which names the next one: they are read one behind the other.
        const LINES: usize = 1 << 12;
        // A step and a shift that together come past every line.
        let next = |line: usize| (line * 1_237 + 1_013) % LINES;
        let lines: Vec<[usize; 8]> = (0..LINES).map(|line| [next(line); 8]).collect();
        let read = || {
            let start = Instant::now();
            std::hint::black_box((0..LINES).fold(0, |line, _| lines[line][0]));
            start.elapsed()
        };
        let caches = Caches::new();
        read();
        let warm = (0..9).map(|_| read()).min();
        let cold = (0..9).map(|_| {
            caches.empty();
            read()
        });
        assert!(cold.min() > warm);
    }

    #[test]
    fn percentiles_are_times_that_occurred() {
        let times: Vec<Duration> = (1..=100).map(Duration::from_micros).collect();
        assert_eq!([0, 50, 99].map(|hundredths| percentile(&times, hundredths)), [1.0, 50.0, 99.0]);
        assert_eq!(percentile(&[], 50), 0.0);
    }
}
