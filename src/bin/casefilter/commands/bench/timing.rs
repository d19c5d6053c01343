//! Measures the time that a request takes, over many runs.

use std::thread;
use std::time::{Duration, Instant};

use casefilter::{Catalog, Errors, FilterBuilder, FilterCache, Limits};

use crate::commands::bench::lines::{Timed, rounded};
use crate::input::facets::Facets;
use crate::input::loaded::LoadedCases;
use crate::input::request::{Asked, Line};

/// The time for which each request is repeated if --runs is not given. [`LEAST_RUNS`] and [`MOST_RUNS`] limit the number of runs.
const ENOUGH: Duration = Duration::from_millis(200);

/// The minimum number of runs of a request if --runs is not given.
const LEAST_RUNS: u32 = 5;

/// The maximum number of runs of a request on each thread if --runs is not given.
const MOST_RUNS: usize = 100_000;

/// The options of a measurement.
pub(super) struct Runs {
    pub(super) threads: u16,
    /// The number of runs. If it is `None`, a request is repeated for the time [`ENOUGH`].
    pub(super) runs: Option<u32>,
    /// True if compiled filters are taken from a cache.
    pub(super) is_cached: bool,
}

/// A block of memory. Reading it evicts all other data from the processor's caches.
pub(super) struct Caches {
    other: Vec<u64>,
}

impl Caches {
    /// The size of the block in words. It is larger than any processor cache.
    const WORDS: usize = (256 << 20) / size_of::<u64>();
    /// The number of words per cache line.
    const WORDS_OF_A_LINE: usize = 64 / size_of::<u64>();

    pub(super) fn new() -> Self {
        // If the pages contained only zeros, the system would map all of them to one physical page.
        Self { other: vec![1; Self::WORDS] }
    }

    fn empty(&self) {
        let lines = self.other.iter().step_by(Self::WORDS_OF_A_LINE);
        std::hint::black_box(lines.fold(0_u64, |sum, word| sum.wrapping_add(*word)));
    }
}

/// The times of one request, in ascending order.
pub(super) struct Measured {
    pub(super) matched: u64,
    pub(super) times: Vec<Duration>,
    /// The times of runs with empty processor caches.
    pub(super) cold: Option<Vec<Duration>>,
}

impl Measured {
    pub(super) fn timed(&self, request: u64) -> Timed {
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

/// Returns a percentile of ascending times by the nearest-rank method, in µs.
fn percentile(times: &[Duration], hundredths: usize) -> f64 {
    let rank = times.len().saturating_mul(hundredths).div_ceil(100).saturating_sub(1);
    let time = times.get(rank).copied().unwrap_or_default();
    rounded(time.as_secs_f64() * 1e6, 100.0)
}

/// The capacity of the filter cache, in bytes. It is larger than the filter of any request.
const CACHE_BYTES: usize = 1 << 30;

/// The compiler of request lines.
enum Compiler {
    Fresh(Limits),
    Cached(FilterCache),
}

impl Compiler {
    fn request(&self, catalog: &Catalog, line: &Line) -> Result<Asked, Errors> {
        match self {
            Self::Fresh(limits) => line.request(catalog, limits),
            Self::Cached(cache) => line.request_cached(cache),
        }
    }
}

pub(super) fn time(
    cases: &LoadedCases,
    line: &Line,
    caches: Option<&Caches>,
    args: &Runs,
) -> Result<Measured, Errors> {
    let compiler = &match args.is_cached {
        true => Compiler::Cached(FilterCache::new(FilterBuilder::new(cases.catalog()), CACHE_BYTES)),
        false => Compiler::Fresh(Limits::default()),
    };
    // The columns of all cases are in this process (the service has sent a copy of its cases), so counting the cases cannot fail.
    let matched = cases.count(compiler.request(cases.catalog(), line)?.filter()).unwrap_or_default();
    once(cases, line, compiler, &mut Vec::new());
    let threads = u32::from(args.threads);
    let run = |answer: &mut Vec<u8>| once(cases, line, compiler, answer);
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
        let run_cold = |answer: &mut Vec<u8>| {
            caches.empty();
            run(answer)
        };
        let mut times = repeat(run_cold, least, enough);
        times.sort_unstable();
        times
    });
    Ok(Measured { matched, times, cold })
}

/// Divides `runs` among the threads, and returns the part of one thread.
fn share(runs: u32, thread: u32, threads: u32) -> u32 {
    let extra = runs.checked_rem(threads).is_some_and(|rest| thread < rest);
    runs.checked_div(threads).unwrap_or(runs).saturating_add(u32::from(extra))
}

/// Runs a request at least `least` times. If `enough` is given, continues until the runs have taken this time, but stops after
/// [`MOST_RUNS`] runs. Returns the time of each run.
fn repeat(run: impl Fn(&mut Vec<u8>) -> Duration, least: u32, enough: Option<Duration>) -> Vec<Duration> {
    let mut answer = Vec::new();
    let start = Instant::now();
    let mut times: Vec<Duration> = (0..least).map(|_| run(&mut answer)).collect();
    while enough.is_some_and(|enough| start.elapsed() < enough) && times.len() < MOST_RUNS {
        times.push(run(&mut answer));
    }
    times
}

/// Runs a request once, from the bytes of its body to the bytes of its answer. Returns the time that this took.
fn once(cases: &LoadedCases, line: &Line, compiler: &Compiler, answer: &mut Vec<u8>) -> Duration {
    answer.clear();
    let start = Instant::now();
    match compiler.request(cases.catalog(), line) {
        Ok(Asked::Page(request)) => {
            if let Ok(found) = cases.search(&request) {
                let written = found.write_json(&mut *answer);
                debug_assert!(written.is_ok(), "memory takes all bytes");
            }
        }
        Ok(Asked::Counts(request)) => {
            let counted = cases.facets(&Facets::of_body(request, ""));
            *answer = counted.unwrap_or_default().into_bytes();
        }
        Err(_) => {}
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
    fn a_read_takes_longer_with_empty_caches() {
        /// The number of cache lines that are read. They fit a small cache. Each line contains the index of the next line, so the
        /// lines are read one after the other.
        const LINES: usize = 1 << 12;
        // With this step and this shift, every line is visited.
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
