//! Counts the selected rows of all batches, on several threads if that takes long.
//!
//! Each thread has its own [`Scan`], and its own query with scratch space.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of rows, in 64 bits, of which the left-out rows were counted before; estimates of work saturate"
)]

#[cfg(feature = "parallel")]
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(feature = "parallel")]
use std::sync::{Mutex, PoisonError};

use crate::engine::snapshot::View;
use crate::exec::{Collector, Need, Query, RangeCount, Scan, Selected, Visit};
#[cfg(feature = "parallel")]
use crate::exec::{Notes, Trace};

/// The result of counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// The number of selected live rows.
    pub(super) selected: u64,
    /// The number of rows in the batches that were evaluated.
    pub(super) examined: u64,
}

impl Counted {
    /// Returns the sum of two results.
    pub(super) fn and(self, other: Self) -> Self {
        Self { selected: self.selected + other.selected, examined: self.examined + other.examined }
    }
}

/// Counts the selected rows of these batches, except the rows that the query leaves out.
///
/// The first batches give an estimate of the work for the remaining batches. If the estimate is high, threads of rayon's pool help.
pub(super) fn count(query: &Query<'_>, view: &View, numbers: &[usize]) -> Counted {
    #[cfg(feature = "parallel")]
    return count_shared(query, view, numbers, LONG);
    #[cfg(not(feature = "parallel"))]
    count_here(query, view, numbers.iter().copied()).0
}

/// Counts on several threads if the expected work is at least `long`.
///
/// The calling thread counts, too. Each thread takes a few batches at a time, so it costs little if a helper starts late. (The
/// system may take tens of microseconds to wake a thread.) The calling thread waits until each helper has finished.
#[cfg(feature = "parallel")]
fn count_shared(query: &Query<'_>, view: &View, numbers: &[usize], long: usize) -> Counted {
    let alone = |numbers: &[usize]| count_here(query, view, numbers.iter().copied()).0;
    let Some((first, rest)) = numbers.split_at_checked(SAMPLE).filter(|(_, rest)| !rest.is_empty()) else {
        return alone(numbers);
    };
    let others = rayon::current_num_threads().saturating_sub(1);
    if others == 0 {
        return alone(numbers);
    }
    let (counted, effort) = count_here(query, view, first.iter().copied());
    let expected = (effort / SAMPLE).saturating_mul(rest.len());
    if expected < long {
        return counted.and(alone(rest));
    }
    let next = AtomicUsize::new(0);
    let numbers = || {
        let some = std::iter::from_fn(|| rest.chunks(CHUNK).nth(next.fetch_add(1, Ordering::Relaxed)));
        some.flatten().copied()
    };
    let helped = Mutex::new((counted, Vec::new()));
    let enough = expected.checked_div(long / 4).unwrap_or(usize::MAX).saturating_sub(1);
    let helpers = others.min(enough).min(rest.len().div_ceil(CHUNK) - 1);
    let (fork, clock) = (query.fork(), query.trace().map(Trace::clock));
    let own = rayon::in_place_scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(|_| {
                let trace = clock.map(Trace::new);
                let query = match &trace {
                    Some(trace) => fork().traced(trace),
                    None => fork(),
                };
                let (counted, _) = count_here(&query, view, numbers());
                drop(query);
                let mut all = helped.lock().unwrap_or_else(PoisonError::into_inner);
                all.0 = all.0.and(counted);
                all.1.extend(trace.map(Trace::into_notes));
            });
        }
        count_here(query, view, numbers()).0
    });
    let (counted, notes): (Counted, Vec<Notes>) = helped.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(trace) = query.trace() {
        notes.into_iter().for_each(|notes| trace.add(notes));
    }
    own.and(counted)
}

/// The number of batches that are counted before the calling thread decides if helpers are used for the remaining batches.
#[cfg(feature = "parallel")]
const SAMPLE: usize = 4;
/// The number of batches that a thread takes at a time.
#[cfg(feature = "parallel")]
const CHUNK: usize = 4;
/// The minimum expected work for which helpers are used (about half a millisecond), in the unit of [`Selected::effort`]. For less
/// work, waking the helpers would take longer than it saves. Each helper gets at least a quarter of this work.
#[cfg(feature = "parallel")]
const LONG: usize = 2_000_000;

/// Counts on this thread. Returns the count and the estimated work.
fn count_here(query: &Query<'_>, view: &View, numbers: impl Iterator<Item = usize>) -> (Counted, usize) {
    let scan = Scan::new(query);
    let range_count = RangeCount::new(query);
    let mut count = RowCount { range_count, query, next: None, selected: 0, left_out: 0, effort: 0 };
    scan.run(numbers.filter_map(|number| view.visit(number)), &mut count);
    count.take_next(None);
    // If the search was stopped, `selected` may be less than `left_out`.
    let selected = count.selected.saturating_sub(count.left_out);
    (Counted { selected, examined: scan.examined() }, count.effort)
}

/// A collector that counts the selected rows of each batch.
struct RowCount<'q> {
    /// The counter that needs no plan. It is used for a query with one range test, or with one range test and one string.
    range_count: Option<RangeCount<'q>>,
    query: &'q Query<'q>,
    /// The next batch, which has been planned but not counted. Its data are prefetched while the previous batch is counted.
    next: Option<Selected<'q>>,
    selected: u64,
    /// The number of rows in `selected` that the query leaves out. They are subtracted at the end.
    left_out: u64,
    effort: usize,
}

impl<'q> RowCount<'q> {
    /// Counts the batch in `next`, and replaces it by the following batch.
    fn take_next(&mut self, next: Option<Selected<'q>>) {
        let planned = std::mem::replace(&mut self.next, next);
        let count = planned.as_ref().map_or(0, Selected::count);
        self.selected += count as u64;
    }
}

impl<'q> Collector<'q> for RowCount<'q> {
    type Item = Visit<'q>;

    fn visit<'i>(item: &'i Visit<'q>) -> &'i Visit<'q> {
        item
    }

    fn need(&mut self, visit: &Visit<'q>) -> Need {
        let Some(range_count) = &self.range_count else { return Need::Rows };
        let Some(rows) = range_count.count(visit.number, visit.batch, visit.live) else { return Need::Rows };
        self.query.note(|work| work.counts_known += 1);
        self.effort = self.effort.saturating_add(range_count.effort(visit.batch));
        self.selected += rows as u64;
        Need::Answered
    }

    fn collect(&mut self, visit: &Visit<'q>, selected: Selected<'q>) {
        self.effort = self.effort.saturating_add(selected.effort());
        selected.prefetch_start();
        self.left_out += selected.count_left_out(visit.number) as u64;
        self.take_next(Some(selected));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    #[cfg(feature = "parallel")]
    use super::*;
    use crate::catalog::Catalog;
    use crate::engine::Engine;
    #[cfg(feature = "parallel")]
    use crate::engine::search::bound_request::{BoundRequest, Watch};
    use crate::filter::Filter;
    #[cfg(feature = "parallel")]
    use crate::filter::SearchRequest;

    /// Creates cases in batches of four, with ascending years.
    fn engine() -> Engine {
        let engine = Engine::builder(Catalog::cases()).batch_rows(4).build();
        let mut cases = Vec::new();
        for number in 0..400_u64 {
            let status = ["open", "blocked", "resolved"][(number % 3) as usize];
            let priority = ["low", "high"][(number % 5 / 4) as usize];
            let day = number % 28 + 1;
            let year = 2000 + number / 20;
            let text = format!(
                r#"{{"id":"{number}","caseReview":{{"status":"{status}"}},"priority":"{priority}","createdAt":"{year}-01-{day:02} 00:00:00"}}"#
            );
            cases.push(text);
        }
        engine.upsert_many(format!("[{}]", cases.join(",")).as_bytes()).unwrap();
        engine
    }

    fn is_open(number: u64) -> bool {
        number.is_multiple_of(3)
    }

    fn is_early(number: u64) -> bool {
        number / 20 < 5
    }

    /// A filter, and a function that takes the number of a case. The function returns true if the filter selects this case.
    type Selecting = (&'static str, fn(u64) -> bool);

    const FILTERS: [Selecting; 4] = [
        ("status = open", is_open),
        ("createdAt < '2005-01-01 00:00:00' or status = blocked", |number| {
            is_early(number) || number % 3 == 1
        }),
        // The same criterion occurs twice: joined by `and` with a range that excludes most batches, and in another branch without
        // this range.
        (
            "createdAt < '2005-01-01 00:00:00' and status = open or priority = high and (status = open or id = 4)",
            |number| {
                is_early(number) && is_open(number) || number % 5 == 4 && (is_open(number) || number == 4)
            },
        ),
        ("createdAt >= '2100-01-01 00:00:00'", |_| false),
    ];

    #[test]
    fn zone_maps_that_settle_one_branch_do_not_affect_another() {
        let engine = engine();
        for (text, selects) in FILTERS {
            let filter = Filter::compile_text(engine.catalog(), text).unwrap();
            let expected = (0..400).filter(|number| selects(*number)).count() as u64;
            assert_eq!(engine.count(&filter).unwrap(), expected, "{text}");
        }
    }

    /// Returns cases for batches of 128 rows. A string occurs in no row, in few rows, in many rows or in all rows of a batch. In
    /// some batches, a range selects no row. In some other batches, it selects every row.
    fn varied() -> Vec<String> {
        let case = |number: u64| {
            let batch = number / 128;
            let status = match batch % 5 {
                0 => "open",
                1 => ["open", "blocked"][(number % 2) as usize],
                2 => ["open", "blocked", "resolved"][(number * 7 % 3) as usize],
                3 if number % 128 == 5 => "open",
                3 => "resolved",
                _ => ["blocked", "resolved"][(number % 2) as usize],
            };
            let tags = match number % 6 {
                0 => r#"["cash"]"#,
                1 if batch.is_multiple_of(3) => r#"["cash","crypto"]"#,
                2 => r#"["crypto","pep"]"#,
                3 if batch.is_multiple_of(2) => r#"["pep","cash","pep"]"#,
                _ => "[]",
            };
            let priority = match number % 7 {
                0 | 1 => "",
                2 => r#","priority":"high""#,
                _ => r#","priority":"low""#,
            };
            let amount = match batch % 4 {
                0 => number % 10,
                1 => 1_000,
                _ => number * 37 % 5_000,
            };
            let (year, day) = (2000 + batch / 8, number % 28 + 1);
            format!(
                r#"{{"id":"{number}","caseReview":{{"status":"{status}"}},"tags":{tags},"totalAmountInDefaultCurrency":{amount},"createdAt":"{year}-01-{day:02} 00:00:00"{priority}}}"#
            )
        };
        (0..5_000).map(case).collect()
    }

    /// Filters of all kinds on these cases.
    const VARIED: [&str; 10] = [
        "status = open",
        "status <> open",
        "status = open and priority = high or totalAmountInDefaultCurrency > 900 and tags = cash",
        "(status <> blocked or priority in (high, low)) and totalAmountInDefaultCurrency >= 5 and totalAmountInDefaultCurrency < 2000",
        "tags all (cash, crypto)",
        "tags all (cash, pep) or status in (open, resolved) and createdAt >= '2003-01-05 00:00:00'",
        "(status <> resolved or tags <> cash and tags <> pep) and priority <> low",
        "createdAt < '2002-01-10 00:00:00' and (tags <> pep or priority = low) or status = blocked",
        "priority in (high, low) and status = resolved or tags in (pep, nothing)",
        "id in (7, 8, 900, 4000) or status = open and totalAmountInDefaultCurrency > 900 and priority <> high",
    ];

    #[test]
    fn batches_of_different_kinds_are_counted_in_a_row() {
        let cases = varied();
        let engine = Engine::builder(Catalog::cases()).batch_rows(128).build();
        engine.upsert_many(format!("[{}]", cases.join(",")).as_bytes()).unwrap();
        let check = |cases: &HashMap<usize, String>, when: &str| {
            for text in VARIED {
                let filter = Filter::compile_text(engine.catalog(), text).unwrap();
                let selects = |case: &&String| crate::reference::matches(&filter, case).unwrap();
                let expected = cases.values().filter(selects).count() as u64;
                assert_eq!(engine.count(&filter).unwrap(), expected, "{text} {when}");
            }
        };
        let mut cases: HashMap<usize, String> = cases.into_iter().enumerate().collect();
        check(&cases, "as stored at once");
        // Some rows of some batches are deleted.
        for number in (3..5_000).step_by(1_111) {
            assert!(engine.delete(&number.to_string()));
            cases.remove(&number);
        }
        check(&cases, "without some");
        // Other rows are replaced, so their cases are now in uncovered batches.
        for number in (100..5_000).step_by(97) {
            let Some(case) = cases.get_mut(&number) else { continue };
            *case = case.replace("\"low\"", "\"high\"").replace("blocked", "open");
            engine.upsert(case.as_bytes()).unwrap();
        }
        check(&cases, "with some written again");
        // Whole batches are deleted, and their batch numbers are reused.
        for number in 512..1_700 {
            engine.delete(&number.to_string());
            cases.remove(&number);
        }
        let more: Vec<String> = varied()
            .into_iter()
            .skip(3_000)
            .map(|case| case.replacen("\"id\":\"", "\"id\":\"x", 1))
            .collect();
        engine.upsert_many(format!("[{}]", more.join(",")).as_bytes()).unwrap();
        cases.extend((10_000..).zip(more));
        check(&cases, "with new batches");
        engine.validate().unwrap();
    }

    #[cfg(feature = "parallel")]
    #[test]
    fn all_threads_of_a_count_stop() {
        use std::sync::Arc;

        use crate::stop::Deadline;

        const THREADS: usize = 4;
        let engine = Engine::builder(Catalog::cases()).batch_rows(128).build();
        engine.upsert_many(format!("[{}]", varied().join(",")).as_bytes()).unwrap();
        let snapshot = engine.current.load();
        let view = snapshot.view(&engine.catalog, engine.keep);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build().unwrap();
        for text in VARIED {
            let request = SearchRequest::new(Filter::compile_text(engine.catalog(), text).unwrap());
            let expected = engine.count(&request.filter).unwrap();
            let mut at = 0;
            loop {
                let asked = Arc::new(AtomicUsize::new(0));
                let own = Arc::clone(&asked);
                let deadline = Deadline::new(move || own.fetch_add(1, Ordering::Relaxed) >= at);
                let request = request.clone().with_deadline(deadline);
                let stop = request.stop.check();
                let selected = threads.install(|| {
                    let watch = Watch { trace: None, stop: stop.as_ref() };
                    let bound = BoundRequest::new(&engine.catalog, (&request, &[]), view, watch);
                    count_shared(bound.query(), view, bound.numbers(), 0).selected
                });
                if stop.unwrap().verdict().is_ok() {
                    assert_eq!(selected, expected, "{text}");
                    break;
                }
                assert!(asked.load(Ordering::Relaxed) <= at + THREADS, "{text}: a thread continued");
                at += 1 + at / 5;
            }
            assert!(at > 0, "{text}");
        }
    }

    #[cfg(feature = "parallel")]
    #[test]
    fn threads_count_the_same_as_one_thread() {
        let engine = Engine::builder(Catalog::cases()).batch_rows(128).build();
        engine.upsert_many(format!("[{}]", varied().join(",")).as_bytes()).unwrap();
        let snapshot = engine.current.load();
        let view = snapshot.view(&engine.catalog, engine.keep);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        for text in VARIED {
            let request = SearchRequest::new(Filter::compile_text(engine.catalog(), text).unwrap());
            let count = || {
                let bound = BoundRequest::new(&engine.catalog, (&request, &[]), view, Watch::default());
                let (query, numbers) = (bound.query(), bound.numbers());
                [
                    count_here(query, view, numbers.iter().copied()).0,
                    count_shared(query, view, numbers, 0),
                    count_shared(query, view, numbers, usize::MAX),
                ]
            };
            // The count runs once on a thread of the pool, and once on another thread.
            for _ in 0..20 {
                let [alone, shared, not_shared] = threads.install(count);
                assert_eq!((shared, not_shared), (alone, alone), "{text}");
            }
            let [alone, shared, not_shared] = count();
            assert_eq!((shared, not_shared), (alone, alone), "{text}");
        }
    }
}
