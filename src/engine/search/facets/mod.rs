//! Counts by value: one pass over the batches for all facets of a request that count the same documents.
//!
//! | file | contents |
//! |---|---|
//! | `strategy` | the strategies by which a facet is counted in a batch |
//! | `tally` | the counts of one facet so far, in one of three forms |
//! | `values`, `histogram`, `stats` | the counts by value, the buckets and the statistics, one batch after the other |
//! | `rows` | the selected rows of a batch |
//!
//! Facets that count the same documents form a group. A facet that is counted [without the criteria on its own
//! field](crate::Facet::with_own_criteria_apart) may need another group. Each group evaluates its filter once per batch.
#![expect(clippy::arithmetic_side_effects, reason = "counts of documents and of batches, in 64 bits")]

mod histogram;
mod rows;
mod stats;
mod strategy;
mod tally;
mod values;

use std::fmt;

use rows::Selected;
pub use strategy::FacetStrategy;
use tally::Tally;

use super::answer::SearchAnswer;
use super::bound_request::{BoundRequest, Watch};
use super::found_rows::FoundRows;
use super::requests::ENGINE;
use crate::engine::snapshot::View;
use crate::engine::{Engine, Snapshot};
use crate::error::Error;
use crate::exec::{self, Collector, Need, Scan, Visit};
use crate::facet::{FacetAnswer, FacetGroup, FacetsAnswer, FacetsRequest, place_of};
use crate::filter::SearchRequest;
use crate::limits::Limits;
use crate::stop::{Pace, StopCheck};

/// The explanation of one facet: the strategies that counted it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FacetExplanation {
    /// The name of the field.
    pub field: String,
    /// The strategies, each with the number of batches that it counted. Batches that the index excludes are not included.
    pub answered: Vec<(FacetStrategy, u64)>,
}

impl fmt::Display for FacetExplanation {
    /// Prints one line, such as `status is counted by zone maps in 1 batch, by codes of the selected documents in 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.answered.is_empty() {
            return write!(f, "{}: no batch can have a selected document", self.field);
        }
        write!(f, "{} is counted", self.field)?;
        for (at, (strategy, batches)) in self.answered.iter().enumerate() {
            let unit = if at > 0 {
                ""
            } else if *batches == 1 {
                " batch"
            } else {
                " batches"
            };
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma} by {strategy} in {batches}{unit}")?;
        }
        Ok(())
    }
}

/// The answer of one group: the number of its documents, and the answer and the explanation of each facet.
struct Counted {
    total: u64,
    facets: Vec<(usize, FacetAnswer, FacetExplanation)>,
}

impl Engine {
    /// Counts the values of fields in the selected documents.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Facet, FacetCounts, FacetsRequest, Filter, Value};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a","priority":"high"},{"id":"b","tags":["vip"]},{"id":"c"}]"#)?;
    /// let request = FacetsRequest::new(Filter::all(engine.catalog()))
    ///     .with_facet(Facet::values(engine.catalog(), "priority")?);
    /// let answer = engine.facets(&request)?;
    /// assert_eq!(answer.total, 3);
    /// let FacetCounts::Values(counts) = &answer.facets[0].counts else { unreachable!() };
    /// // Documents without a priority count as `medium`, the default of the field. Known values are listed with a count of 0.
    /// let expected = [("medium", 2), ("high", 1), ("low", 0)];
    /// assert!(counts.values.iter().cloned().eq(expected.map(|(value, count)| (Value::from(value), count))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`ErrorKind::TooManyFacets`](crate::ErrorKind::TooManyFacets) or
    ///   [`ErrorKind::PageTooLarge`](crate::ErrorKind::PageTooLarge) if the facets exceed the [`Limits`] of the engine.
    /// - [`ErrorKind::TooManyBuckets`](crate::ErrorKind::TooManyBuckets) if a histogram has more buckets than
    ///   [`Limits::facet_buckets`]. This depends on the selected documents.
    /// - [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch) if the catalogue of a filter is not
    ///   [within](crate::Catalog::is_within) the catalogue of the engine. Also if the catalogue of the filter hides the field of a
    ///   facet.
    /// - [`ErrorKind::SearchCancelled`](crate::ErrorKind::SearchCancelled) or
    ///   [`ErrorKind::DeadlineExceeded`](crate::ErrorKind::DeadlineExceeded) if the request was cancelled or stopped at its
    ///   deadline.
    ///
    /// # Complexity
    /// After the evaluation of the filter, at most linear in the number of selected documents and their values, for each facet. See
    /// [`FacetStrategy`].
    pub fn facets(&self, request: &FacetsRequest) -> Result<FacetsAnswer, Error> {
        self.facets_in(&self.current.load(), request)
    }

    /// Counts the values of fields in a snapshot.
    pub(crate) fn facets_in(
        &self,
        snapshot: &Snapshot,
        request: &FacetsRequest,
    ) -> Result<FacetsAnswer, Error> {
        self.facets_of(snapshot.view(&self.catalog, self.keep), request).map(|(answer, _)| answer)
    }

    /// Answers a search, and counts the values of fields in the same snapshot. The two requests may have different filters.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Facet, FacetsRequest, Filter, SearchRequest};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a","tags":["vip"]},{"id":"b"}]"#)?;
    /// let filter = Filter::compile_text(engine.catalog(), "tags = vip")?;
    /// let facets = FacetsRequest::new(filter.clone()).with_facet(Facet::values(engine.catalog(), "status")?);
    /// let (page, counts) = engine.search_with_facets(&SearchRequest::new(filter), &facets)?;
    /// assert_eq!((page.len(), counts.total), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`search`](Self::search) and of [`facets`](Self::facets).
    pub fn search_with_facets(
        &self,
        search: &SearchRequest,
        facets: &FacetsRequest,
    ) -> Result<(SearchAnswer, FacetsAnswer), Error> {
        let (rows, answer) = self.find_with_facets(search, facets)?;
        Ok((SearchAnswer::of_rows(rows, search), answer))
    }

    /// Finds the rows of a page, and counts the values of fields in the same snapshot.
    pub(crate) fn find_with_facets(
        &self,
        search: &SearchRequest,
        facets: &FacetsRequest,
    ) -> Result<(FoundRows, FacetsAnswer), Error> {
        search.check_page(&self.limits)?;
        let snapshot = self.current.load();
        let rows = self.find_in(&snapshot, search)?;
        let (answer, _) = self.facets_of(snapshot.view(&self.catalog, self.keep), facets)?;
        Ok((rows, answer))
    }

    /// Counts the values of fields, and returns the strategies that counted each facet.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Facet, FacetsRequest, Filter};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a","tags":["vip"]},{"id":"b"}]"#)?;
    /// let request = FacetsRequest::new(Filter::all(engine.catalog()))
    ///     .with_facet(Facet::values(engine.catalog(), "tags")?);
    /// let explained = engine.explain_facets(&request)?;
    /// assert_eq!(explained[0].to_string(), "tags is counted by counts of each batch in 1 batch");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`facets`](Self::facets).
    pub fn explain_facets(&self, request: &FacetsRequest) -> Result<Vec<FacetExplanation>, Error> {
        self.explain_facets_in(&self.current.load(), request)
    }

    /// Returns the strategies that count each facet in a snapshot.
    pub(crate) fn explain_facets_in(
        &self,
        snapshot: &Snapshot,
        request: &FacetsRequest,
    ) -> Result<Vec<FacetExplanation>, Error> {
        self.facets_of(snapshot.view(&self.catalog, self.keep), request).map(|(_, explained)| explained)
    }

    /// Counts the values of fields in one view.
    fn facets_of(
        &self,
        view: &View,
        request: &FacetsRequest,
    ) -> Result<(FacetsAnswer, Vec<FacetExplanation>), Error> {
        request.check(&self.catalog, &self.limits, ENGINE)?;
        let stop = request.stop.check();
        let mut total = 0;
        let mut answers = Vec::with_capacity(request.facets.len());
        for (number, group) in request.groups()?.iter().enumerate() {
            let counted = self.count_group(view, (request, group), stop.as_ref())?;
            if number == 0 {
                total = counted.total;
            }
            answers.extend(counted.facets);
        }
        answers.sort_by_key(|(number, ..)| *number);
        let (facets, explained) =
            answers.into_iter().map(|(_, answer, explained)| (answer, explained)).unzip();
        Ok((FacetsAnswer { total, facets }, explained))
    }

    /// Counts the values of one group of facets.
    fn count_group(
        &self,
        view: &View,
        (request, group): (&FacetsRequest, &FacetGroup),
        stop: Option<&StopCheck<'_>>,
    ) -> Result<Counted, Error> {
        let count = SearchRequest::new(group.filter.clone()).with_limit(0).with_count(true);
        let bound = BoundRequest::new(&self.catalog, (&count, &[]), view, Watch { trace: None, stop });
        bound.check_stop()?;
        let pace = Pace::new(stop);
        let tally = |(number, _): &(usize, bool)| {
            let facet = request.facets.get(*number)?;
            Some((*number, Tally::new(facet, self.catalog.field(facet.field_id()))))
        };
        let mut tallies: Vec<(usize, Tally<'_>)> = group.facets.iter().filter_map(tally).collect();
        let is_all = group.filter.is_all();
        if is_all {
            let covered = view.slots().count().saturating_sub(view.uncovered_numbers().len()) as u64;
            tallies.iter_mut().for_each(|(_, tally)| tally.add_index(view, covered, &pace));
        }
        let mut selected = None;
        if is_all && tallies.iter().all(|(_, tally)| tally.is_indexed) {
            selected = Some(view.cases() as u64);
        } else if tallies.is_empty() {
            selected = Some(bound.total());
        }
        let uncovered = view.uncovered_numbers();
        let first = if selected.is_some() { uncovered.start } else { 0 };
        if !tallies.is_empty() {
            let scan = Scan::new(bound.query());
            let mut collector = FacetCollector {
                tallies: &mut tallies,
                uncovered: uncovered.start,
                total: 0,
                limits: &self.limits,
                pace: &pace,
            };
            scan.run(bound.visits().filter(|visit| visit.number >= first), &mut collector);
            let total = collector.total;
            selected.get_or_insert(total);
        }
        bound.verdict()?;
        let total = selected.unwrap_or(0);
        let mut facets = Vec::with_capacity(tallies.len());
        for ((number, tally), (_, with_own_criteria)) in tallies.into_iter().zip(&group.facets) {
            let answered = tally.uses.list();
            let answer = tally.finish((total, *with_own_criteria), &self.limits, &pace);
            let answer = answer.map_err(|error| error.at(place_of(number)))?;
            let field = answer.field.clone();
            facets.push((number, answer, FacetExplanation { field, answered }));
        }
        bound.verdict()?;
        Ok(Counted { total, facets })
    }
}

/// A collector that passes the selected rows of each batch to the facets of a group.
struct FacetCollector<'t, 'v> {
    tallies: &'t mut [(usize, Tally<'v>)],
    /// The batch number of the first uncovered batch.
    uncovered: usize,
    /// The number of selected documents so far.
    total: u64,
    limits: &'t Limits,
    pace: &'t Pace<'t>,
}

impl<'v> Collector<'v> for FacetCollector<'_, 'v> {
    type Item = Visit<'v>;

    fn visit<'i>(item: &'i Self::Item) -> &'i Visit<'v> {
        item
    }

    fn need(&mut self, _item: &Self::Item) -> Need {
        match self.tallies.iter().any(|(_, tally)| tally.is_over(self.limits)) {
            true => Need::End,
            false => Need::Rows,
        }
    }

    fn collect(&mut self, item: &Self::Item, selected: exec::Selected<'v>) {
        if selected.is_known_none() {
            return;
        }
        let rows = selected.rows();
        let all = item.batch.rows();
        let selected = Selected { rows: &rows, count: rows.count(all), all };
        self.total += selected.count as u64;
        if selected.count == 0 {
            return;
        }
        let is_covered = item.number < self.uncovered;
        for (_, tally) in self.tallies.iter_mut().filter(|(_, tally)| !(is_covered && tally.is_indexed)) {
            if self.pace.spend(0) {
                return;
            }
            tally.add(item.batch, &selected, self.pace);
        }
    }
}
