//! Chooses the strategies that find the total and the page of a request, in the order in which they are tried.
//!
//! A search tries the strategies in the order of `ALL`. It uses the first total strategy that [applies](TotalStrategy::applies),
//! and the first page strategy that applies. A page strategy may still fail on the actual data. Then the next page strategy that
//! applies is tried. The last strategy of each list always succeeds, so every other strategy must be faster. The doc of a strategy
//! names the lines in `benches/README.md` that show this, such as `c1`. Each column of the table shows one list, from its first
//! strategy to its last strategy. The two strategies in the same row of the table are not related.
//!
//! | total | page |
//! |---|---|
//! | [not requested](TotalStrategy::NotRequested) | [empty](PageStrategy::Empty) |
//! | [from the index](TotalStrategy::Index) | [key index](PageStrategy::KeyIndex) |
//! | [with the page](TotalStrategy::WithPage) | [insertion order](PageStrategy::InsertionOrder) |
//! | [the key index, and other branches](TotalStrategy::PartlyIndexed) | [top rows](PageStrategy::TopRows) |
//! | [ranges](TotalStrategy::Ranges) | [seek](PageStrategy::Seek) |
//! | [scan](TotalStrategy::Scan) | [estimated](PageStrategy::Estimated) |
//! | | [sorted](PageStrategy::Sorted) |
//!
//! If the total is [`WithPage`](TotalStrategy::WithPage), a page strategy that does not evaluate all batches must not apply,
//! because it would not count all selected documents.
//!
//! For an order by several fields and for a page after a cursor, [`run`](super::run) uses [`PageStrategy::KeyByKey`]. This strategy
//! runs several searches, each sorted by one field. Each search tries the strategies of the table.

use super::bound_request::BoundRequest;
use super::counting::Counted;
use crate::batch::RowAddr;
use crate::exec::{RangeCount, Scan};
use crate::topk::{LEAST_SOUGHT, PageRows};

/// A strategy for the total: the number of all selected documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum TotalStrategy {
    /// The request does not ask for the total.
    #[cfg_attr(feature = "serde", serde(rename = "not_asked"))]
    NotRequested,
    /// The filter is a single test of strings, and the index counts or lists the rows of these strings. Deleted rows are
    /// subtracted, and recent small batches are evaluated. This takes one look-up per string, and one more per string for each
    /// batch with deleted rows (benchmark lines `c1` and `p5`).
    #[cfg_attr(feature = "serde", serde(rename = "directory"))]
    Index,
    /// Each batch is evaluated once, both for its part of the page and for its count. Evaluating it twice would cost more.
    WithPage,
    /// The filter is an `or`, and the key index lists the rows of some branches. These rows are counted from the index. Batches are
    /// evaluated only for the other branches, which often exclude batches (benchmark line `p6`).
    #[cfg_attr(feature = "serde", serde(rename = "beside"))]
    PartlyIndexed,
    /// The filter is a range, or a range and a string. Each batch is counted without a plan. This takes two binary searches in its
    /// sorted rows. For the string, it also takes one count of bits (benchmark lines `c2` and `c7`).
    Ranges,
    /// Each batch is planned and counted, on several threads if that takes long (benchmark lines `c3` to `c6`).
    #[cfg_attr(feature = "serde", serde(rename = "counting"))]
    Scan,
}

/// A strategy for the page: the documents that are returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum PageStrategy {
    /// The limit is 0, so the page is empty.
    Empty,
    /// The key index lists the few selected documents, which are then sorted. Only recent small batches are evaluated (benchmark
    /// line `p4`).
    #[cfg_attr(feature = "serde", serde(rename = "listed"))]
    KeyIndex,
    /// Batches are read in stored order until the page is full. The request has no order, and the stored order is the insertion
    /// order.
    #[cfg_attr(feature = "serde", serde(rename = "stored"))]
    InsertionOrder,
    /// The top rows of all batches, which the index keeps in order, are evaluated one by one until the page is full. The cost
    /// depends on the number of rows skipped, not on the number of batches. Without this strategy, the first rows of each
    /// overlapping batch are read (benchmark line `p3`). It fails if selected rows are too rare among the top rows, or if the
    /// batches do not overlap.
    TopRows,
    /// For a large offset into overlapping batches: finds a key shortly before the offset by counting the rows with earlier keys in
    /// all batches. Without this strategy, all rows that the offset skips are sorted (benchmark `page/after single writes` of
    /// `benches/page.rs`). It fails if a batch has no sorted rows.
    Seek,
    /// Each overlapping batch is read in sort order, up to an estimate of the last key of the page. Without this strategy, the
    /// first batches are read as if the complete page came from them (benchmark `page/overlapping batches` of `benches/page.rs`).
    /// It fails if the estimate is too small.
    #[cfg_attr(feature = "serde", serde(rename = "shares"))]
    Estimated,
    /// For an order by several fields, and for a page after a [cursor](crate::Cursor): runs several searches, each sorted by one
    /// field. These searches use the other strategies. The page by the first field is found first. It shows the value of this field
    /// at the end of the page. Then the documents with this value are searched in the order of the next fields (benchmark
    /// `page/two fields` of `benches/page.rs`).
    KeyByKey,
    /// Top-k: batches are read in the order of their first possible key. Of the rows found so far, the search keeps only the rows
    /// that come first in the sort order. It ends when it has enough rows, and no remaining batch can have a row that comes before
    /// the last of them. A batch that is completely before the offset is counted, not sorted (benchmark lines `p1` and `p2`).
    Sorted,
}

impl TotalStrategy {
    /// All strategies, in the order in which they are tried.
    const ALL: [Self; 6] =
        [Self::NotRequested, Self::Index, Self::WithPage, Self::PartlyIndexed, Self::Ranges, Self::Scan];

    /// Returns the first strategy that applies.
    pub(super) fn of(bound: &BoundRequest<'_>) -> Self {
        Self::ALL.into_iter().find(|strategy| strategy.applies(bound)).unwrap_or(Self::Scan)
    }

    fn applies(self, bound: &BoundRequest<'_>) -> bool {
        match self {
            Self::NotRequested => !bound.search().count,
            Self::Index => bound.index_total().is_some(),
            Self::WithPage => bound.search().limit > 0 && !bound.query().is_listed(),
            Self::PartlyIndexed => bound.query().is_partly_listed(),
            Self::Ranges => RangeCount::new(bound.query()).is_some(),
            Self::Scan => true,
        }
    }

    /// Returns the total. Returns `None` if the request does not ask for it, or if it is counted with the page.
    fn run(self, bound: &BoundRequest<'_>) -> Option<Counted> {
        match self {
            Self::NotRequested | Self::WithPage => None,
            Self::Index => bound.index_total(),
            Self::PartlyIndexed => Some(bound.counted_beside()),
            Self::Ranges | Self::Scan => Some(bound.counted()),
        }
    }
}

impl PageStrategy {
    /// All strategies except [`KeyByKey`](Self::KeyByKey), in the order in which they are tried.
    const ALL: [Self; 7] = [
        Self::Empty,
        Self::KeyIndex,
        Self::InsertionOrder,
        Self::TopRows,
        Self::Seek,
        Self::Estimated,
        Self::Sorted,
    ];

    /// Returns the strategies that apply, in the order in which they are tried. `total` is the strategy for the total.
    pub(super) fn candidates(bound: &BoundRequest<'_>, total: TotalStrategy) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |strategy| strategy.applies(bound, total))
    }

    fn applies(self, bound: &BoundRequest<'_>, total: TotalStrategy) -> bool {
        let with_total = total == TotalStrategy::WithPage;
        let (offset, limit) = bound.page();
        match self {
            Self::Empty => limit == 0,
            Self::KeyIndex => bound.query().listed().is_some(),
            Self::InsertionOrder => !bound.is_sorted() && bound.view().is_ordered(),
            Self::TopRows => !with_total && bound.may_have_top_rows(),
            Self::Seek => offset >= LEAST_SOUGHT && bound.numbers().len() > 1,
            Self::Estimated => !with_total && bound.is_sorted() && bound.numbers().len() > 1,
            // `super::run` uses it for the requests that need it.
            Self::KeyByKey => false,
            Self::Sorted => true,
        }
    }
}

/// Finds the page by the first strategy that succeeds. Also returns the total if it is counted with the page.
fn page<'q>(
    bound: &'q BoundRequest<'_>,
    scan: &Scan<'q>,
    total: TotalStrategy,
    candidates: impl Iterator<Item = PageStrategy>,
) -> Option<(PageStrategy, PageRows)> {
    let with_total = total == TotalStrategy::WithPage;
    // All strategies for a sorted page read the batches in the same order, so they share one search.
    let mut sorted = None;
    for strategy in candidates {
        let found = match strategy {
            PageStrategy::Empty => Some((Vec::new(), None)),
            PageStrategy::KeyIndex => Some((bound.listed_page(scan), None)),
            PageStrategy::InsertionOrder => Some(bound.stored_page(scan, with_total)),
            PageStrategy::TopRows => bound.top_rows_page(scan).map(|rows| (rows, None)),
            PageStrategy::Seek | PageStrategy::Estimated | PageStrategy::Sorted => {
                let search = sorted.get_or_insert_with(|| bound.sorted_search(scan, with_total));
                match strategy {
                    PageStrategy::Seek => search.sought(),
                    PageStrategy::Estimated => search.estimated(),
                    _ => Some(search.walked()),
                }
            }
            PageStrategy::KeyByKey => None,
        };
        if let Some(found) = found {
            return Some((strategy, found));
        }
    }
    None
}

/// The result of a search, and the strategy that found the page.
pub(super) struct SearchOutcome {
    pub(super) rows: Vec<RowAddr>,
    /// True if the request asks for a cursor and the page is not the last page.
    pub(super) has_next: bool,
    /// The total, if the request asks for it.
    pub(super) total: Option<u64>,
    pub(super) page_by: PageStrategy,
    /// The number of rows in the evaluated batches.
    pub(super) examined: u64,
}

/// Returns the rows of the page of a search, and the number of rows in the evaluated batches. Does not count the total.
pub(super) fn page_rows(bound: &BoundRequest<'_>) -> (Vec<RowAddr>, u64) {
    let total = TotalStrategy::NotRequested;
    let scan = Scan::new(bound.query());
    let found = page(bound, &scan, total, PageStrategy::candidates(bound, total));
    (found.map(|(_, (rows, _))| rows).unwrap_or_default(), scan.examined())
}

/// Returns the total of a search without a page, and the number of rows in the evaluated batches.
pub(super) fn total(bound: &BoundRequest<'_>) -> (u64, u64) {
    let outcome = outcome(bound);
    (outcome.total.unwrap_or(0), outcome.examined)
}

/// Runs a search that sorts by one field at most.
pub(super) fn outcome(bound: &BoundRequest<'_>) -> SearchOutcome {
    let total_by = TotalStrategy::of(bound);
    let counted = total_by.run(bound);
    let Counted { selected, examined } = counted.unwrap_or_default();
    if bound.search().limit == 0 {
        // If the index determined the total, this path builds no query.
        let total = counted.map(|_| selected);
        let (rows, page_by) = (Vec::new(), PageStrategy::Empty);
        return SearchOutcome { rows, has_next: false, total, page_by, examined };
    }
    let scan = Scan::new(bound.query());
    scan.examine(examined);
    let found = page(bound, &scan, total_by, PageStrategy::candidates(bound, total_by));
    let (page_by, (rows, with_page)) = found.unwrap_or((PageStrategy::Sorted, (Vec::new(), None)));
    let total = counted.map(|_| selected).or(with_page);
    SearchOutcome { rows, has_next: false, total, page_by, examined: scan.examined() }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::catalog::Catalog;
    use crate::engine::Engine;
    use crate::engine::search::bound_request::Watch;
    use crate::error::{Error, ErrorKind};
    use crate::filter::Filter;
    use crate::filter::SearchRequest;
    use crate::filter::order::Order;
    use crate::stop::{CancelToken, Deadline};

    /// Creates cases in batches that overlap in some sort orders and are disjoint in others, and then single writes. The cases with
    /// numbers in `again` are written twice.
    fn engine(again: std::ops::Range<u64>) -> Engine {
        let engine = Engine::builder(Catalog::cases()).batch_rows(256).build();
        let case = |number: u64| {
            let shuffled = number * 7_919 % 6_000;
            let amount = match number % 9 {
                0 => String::new(),
                _ => format!(r#","totalAmountInDefaultCurrency":{}"#, shuffled / 3),
            };
            let status = ["open", "blocked", "resolved"][(shuffled % 3) as usize];
            let (year, month, day) = (2000 + number / 300, number % 12 + 1, number % 28 + 1);
            format!(
                r#"{{"id":"{shuffled:04}","applicantReference":{{"applicantId":"{}"}},"caseReview":{{"status":"{status}"}},"createdAt":"{year}-{month:02}-{day:02} 00:00:00"{amount}}}"#,
                number % 900
            )
        };
        let stored: Vec<String> = (0..5_900).map(case).collect();
        engine.upsert_many(format!("[{}]", stored.join(",")).as_bytes()).unwrap();
        for number in (5_900..6_000).chain(again) {
            engine.upsert(case(number).as_bytes()).unwrap();
        }
        engine
    }

    #[test]
    fn all_page_strategies_find_the_same_page() {
        let mut led = BTreeSet::new();
        for engine in [engine(17..40), engine(0..0)] {
            check_pages(&engine, &mut led);
        }
        assert_eq!(
            Vec::from_iter(led),
            ["Estimated", "InsertionOrder", "KeyIndex", "Seek", "Sorted", "TopRows"]
        );
    }

    /// Checks that all page strategies find the same page. Adds the name of each strategy that succeeds to the set `led`.
    fn check_pages(engine: &Engine, led: &mut BTreeSet<String>) {
        let (snapshot, limits) = (engine.current.load(), [1, 20, 300]);
        let view = snapshot.view(&engine.catalog, engine.keep);
        let filters = [
            "true",
            "status = open",
            "status <> open and createdAt > '2005-01-01 00:00:00'",
            "applicantReference.applicantId in (7, 8)",
        ];
        let orders = [
            "",
            "createdAt",
            "-createdAt",
            "totalAmountInDefaultCurrency",
            "-totalAmountInDefaultCurrency",
            "status",
        ];
        for (filter, order) in filters.iter().flat_map(|filter| orders.map(|order| (filter, order))) {
            let filter = Filter::compile_text(&engine.catalog, filter).unwrap();
            let order = Order::parse(&engine.catalog, order).unwrap();
            for (offset, limit) in
                [0, 5, 1_100, 3_000].into_iter().flat_map(|offset| limits.map(|limit| (offset, limit)))
            {
                let request = SearchRequest::new(filter.clone())
                    .with_order(order.clone())
                    .with_offset(offset)
                    .with_limit(limit);
                let keys = engine.check(&request).unwrap();
                let bound = BoundRequest::new(&engine.catalog, (&request, &keys), view, Watch::default());
                let total = TotalStrategy::of(&bound);
                let by = |strategy: PageStrategy| {
                    let scan = Scan::new(bound.query());
                    page(&bound, &scan, total, [strategy].into_iter()).map(|(_, (rows, _))| rows)
                };
                let expected = by(PageStrategy::Sorted).unwrap();
                for strategy in PageStrategy::candidates(&bound, total) {
                    let Some(rows) = by(strategy) else { continue };
                    led.insert(format!("{strategy:?}"));
                    assert_eq!(rows, expected, "{strategy:?}: {request:?}");
                }
            }
        }
    }

    /// Calls `search` repeatedly. The deadline passes at the first call of the stop check, then at the second, and so on, until the
    /// search is not stopped. `search` returns the error of a stopped search.
    fn stop_at_each_check(
        request: &SearchRequest,
        mut search: impl FnMut(&SearchRequest) -> Result<(), Error>,
    ) -> usize {
        let mut at = 0;
        loop {
            let asked = Arc::new(AtomicUsize::new(0));
            let own = Arc::clone(&asked);
            let deadline = Deadline::new(move || own.fetch_add(1, Ordering::Relaxed) >= at);
            let Err(error) = search(&request.clone().with_deadline(deadline)) else { return at };
            assert_eq!(error.kind, ErrorKind::DeadlineExceeded);
            assert_eq!(asked.load(Ordering::Relaxed), at + 1, "no check after the positive one");
            at += 1 + at / 5;
        }
    }

    #[test]
    fn each_strategy_can_be_stopped_at_each_of_its_checks() {
        let mut checks: BTreeMap<String, usize> = BTreeMap::new();
        for engine in [engine(17..40), engine(0..0)] {
            stop_each_strategy(&engine, &mut checks);
        }
        // `NotRequested` and `WithPage` count nothing when they run, so they do not call the stop check.
        let without: Vec<&str> =
            checks.iter().filter(|(_, at)| **at == 0).map(|(name, _)| name.as_str()).collect();
        assert_eq!(without, ["NotRequested", "WithPage"], "{checks:?}");
        let led: Vec<&str> = checks.keys().map(String::as_str).collect();
        let all = [
            "Empty",
            "Estimated",
            "Index",
            "InsertionOrder",
            "KeyIndex",
            "NotRequested",
            "PartlyIndexed",
            "Ranges",
            "Scan",
            "Seek",
            "Sorted",
            "TopRows",
            "WithPage",
        ];
        assert_eq!(led, all);
    }

    /// Runs each strategy repeatedly for some requests. The first run is stopped at the first call of the stop check, and later
    /// runs at later calls. For each strategy, records the largest number of calls in `checks`.
    fn stop_each_strategy(engine: &Engine, checks: &mut BTreeMap<String, usize>) {
        let snapshot = engine.current.load();
        let view = snapshot.view(&engine.catalog, engine.keep);
        for (filter, order, offset, limit, count) in [
            ("status <> open and createdAt > '2005-01-01 00:00:00'", "createdAt", 5, 20, false),
            ("status = open", "-totalAmountInDefaultCurrency", 5, 300, false),
            ("status = open", "-totalAmountInDefaultCurrency", 1_100, 20, false),
            ("status = open", "totalAmountInDefaultCurrency", 1_100, 3_000, true),
            ("status <> open", "status", 1_100, 300, false),
            ("applicantReference.applicantId in (7, 8)", "createdAt", 0, 20, true),
            ("createdAt > '2005-01-01 00:00:00' or status = blocked", "", 1_100, 300, true),
            ("createdAt > '2005-01-01 00:00:00' and status = open", "", 0, 0, true),
            (
                "applicantReference.applicantId in (7, 8) or status = open and totalAmountInDefaultCurrency > 900",
                "",
                0,
                0,
                true,
            ),
            (
                "createdAt < '2003-01-01 00:00:00' or status = open and totalAmountInDefaultCurrency > 9",
                "id",
                9,
                0,
                true,
            ),
            ("createdAt > '2005-01-01 00:00:00'", "", 0, 0, true),
        ] {
            let request = SearchRequest::new(Filter::compile_text(&engine.catalog, filter).unwrap())
                .with_order(Order::parse(&engine.catalog, order).unwrap())
                .with_offset(offset)
                .with_limit(limit)
                .with_count(count);
            let keys = engine.check(&request).unwrap();
            let bound = BoundRequest::new(&engine.catalog, (&request, &keys), view, Watch::default());
            let total = TotalStrategy::of(&bound);
            let by = |bound: &BoundRequest<'_>, strategy| {
                let scan = Scan::new(bound.query());
                page(bound, &scan, total, [strategy].into_iter()).map(|(_, rows)| rows)
            };
            let mut note = |strategy: String, at: usize| {
                let most = checks.entry(strategy).or_default();
                *most = at.max(*most);
            };
            for strategy in PageStrategy::candidates(&bound, total) {
                let expected = by(&bound, strategy);
                let at = stop_at_each_check(&request, |request| {
                    let stop = request.stop.check();
                    let watch = Watch { trace: None, stop: stop.as_ref() };
                    let bound = BoundRequest::new(&engine.catalog, (request, &keys), view, watch);
                    let found = by(&bound, strategy);
                    bound.verdict()?;
                    assert_eq!(found, expected, "{strategy:?}: {request:?}");
                    Ok(())
                });
                note(format!("{strategy:?}"), at);
            }
            for strategy in TotalStrategy::ALL.into_iter().filter(|strategy| strategy.applies(&bound)) {
                let expected = strategy.run(&bound);
                let at = stop_at_each_check(&request, |request| {
                    let stop = request.stop.check();
                    let watch = Watch { trace: None, stop: stop.as_ref() };
                    let bound = BoundRequest::new(&engine.catalog, (request, &keys), view, watch);
                    let counted = strategy.run(&bound);
                    bound.verdict()?;
                    assert_eq!(counted, expected, "{strategy:?}: {request:?}");
                    Ok(())
                });
                note(format!("{strategy:?}"), at);
            }
        }
    }

    #[test]
    fn a_stopped_search_leaves_no_wrong_result_for_others() {
        let (engine, other) = (engine(17..40), engine(17..40));
        for engine in [&engine, &other] {
            let gone = (0..200).filter(|number| engine.delete(&format!("{:04}", number * 29))).count();
            assert!(gone > 100);
        }
        for filter in
            ["true", "status in (open, blocked)", "tags <> x and status = open", "id in (0007, 0030)"]
        {
            for order in [
                "",
                "createdAt",
                "-totalAmountInDefaultCurrency",
                "status",
                "status,-totalAmountInDefaultCurrency",
            ] {
                for (offset, limit, count) in [(0, 20, true), (1_500, 20, false), (0, 0, true)] {
                    let request = SearchRequest::new(Filter::compile_text(&engine.catalog, filter).unwrap())
                        .with_order(Order::parse_list(&engine.catalog, order).unwrap())
                        .with_offset(offset)
                        .with_limit(limit)
                        .with_count(count);
                    let expected = other.search(&request).unwrap();
                    stop_at_each_check(&request, |request| {
                        let found = engine.search(request)?;
                        assert_eq!(found.total(), expected.total(), "{request:?}");
                        assert!(found.ids().eq(expected.ids()), "{request:?}");
                        Ok(())
                    });
                }
            }
        }
        engine.validate().unwrap();
    }

    #[test]
    fn explanations_and_hints_can_be_stopped_at_each_of_their_checks() {
        let engine = engine(0..0);
        let request = |text: &str| SearchRequest::new(Filter::compile_text(&engine.catalog, text).unwrap());
        let explained = request("status = open and totalAmountInDefaultCurrency > 9").with_count(true);
        let clock = || std::time::Duration::ZERO;
        let expected = (engine.explain(&explained).unwrap(), engine.analyze(&explained, &clock).unwrap());
        let checks = [
            stop_at_each_check(&explained, |request| {
                assert_eq!(engine.explain(request)?, expected.0);
                Ok(())
            }),
            stop_at_each_check(&explained, |request| {
                assert_eq!(engine.analyze(request, &clock)?, expected.1);
                Ok(())
            }),
        ];
        let unheard = request("status = Open and applicantReference.applicantId = 'x 7'");
        let hints = engine.hints(&unheard.filter);
        assert!(!hints.is_empty());
        let of_hints = stop_at_each_check(&unheard, |request| {
            assert_eq!(engine.hints_for(request)?, hints);
            Ok(())
        });
        assert!(checks.into_iter().chain([of_hints]).all(|checks| checks > 10), "{checks:?} {of_hints}");
    }

    #[test]
    fn another_thread_stops_a_search() {
        let engine = engine(0..0);
        let (ask, asked) = std::sync::mpsc::channel();
        let (told, wait) = std::sync::mpsc::channel();
        let token = CancelToken::new();
        let other = std::thread::spawn({
            let token = token.clone();
            move || {
                asked.recv().unwrap();
                token.cancel();
                told.send(()).unwrap();
            }
        });
        // The deadline never passes. The fifth call of its function wakes the other thread, and waits until that thread has set the
        // flag.
        let (checks, wait) = (AtomicUsize::new(0), std::sync::Mutex::new(wait));
        let deadline = Deadline::new(move || {
            if checks.fetch_add(1, Ordering::Relaxed) == 4 {
                ask.send(()).unwrap();
                wait.lock().unwrap().recv().unwrap();
            }
            assert!(checks.load(Ordering::Relaxed) <= 5, "a check after the flag was set asked the clock");
            false
        });
        let filter = Filter::compile_text(&engine.catalog, "totalAmountInDefaultCurrency <> 7").unwrap();
        let request = SearchRequest::new(filter).with_limit(0).with_count(true);
        assert!(engine.search(&request).is_ok());
        let stopped = engine.search(&request.with_cancel(token).with_deadline(deadline));
        assert_eq!(stopped.unwrap_err().kind, ErrorKind::SearchCancelled);
        other.join().unwrap();
    }

    #[test]
    fn all_total_strategies_find_the_same_total() {
        let engine = engine(17..40);
        let snapshot = engine.current.load();
        let view = snapshot.view(&engine.catalog, engine.keep);
        let mut led = BTreeSet::new();
        for text in [
            "true",
            "status in (open, resolved)",
            "applicantReference.applicantId in (7, 8, 9)",
            "createdAt > '2005-01-01 00:00:00'",
            "createdAt > '2005-01-01 00:00:00' and status = open",
            "applicantReference.applicantId in (7, 8) or status = open and totalAmountInDefaultCurrency > 900",
            "status = open and totalAmountInDefaultCurrency > 900 or createdAt < '2003-01-01 00:00:00'",
        ] {
            let filter = Filter::compile_text(&engine.catalog, text).unwrap();
            let with_page =
                engine.search(&SearchRequest::new(filter.clone()).with_count(true)).unwrap().total();
            let request = SearchRequest::new(filter).with_limit(0).with_count(true);
            let bound = BoundRequest::new(&engine.catalog, (&request, &[]), view, Watch::default());
            let all = TotalStrategy::ALL.into_iter().filter(|strategy| strategy.applies(&bound));
            for strategy in all {
                let total = strategy.run(&bound).map(|counted| counted.selected);
                led.insert(format!("{strategy:?}"));
                assert_eq!(total, with_page, "{strategy:?}: {text}");
            }
        }
        assert_eq!(Vec::from_iter(led), ["Index", "PartlyIndexed", "Ranges", "Scan"]);
    }
}
