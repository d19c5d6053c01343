//! The types of an explanation: the criteria, the strategies, and the measured work and time of a request.

use std::time::Duration;

use super::strategy::{PageStrategy, TotalStrategy};
use crate::exec::{Means, Work};

/// An explanation of how a request is answered. [`Engine::analyze`](crate::Engine::analyze) adds the measured cost.
///
/// An explanation is computed for the current documents, by the same planner as a search. `Display` prints it as a tree.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Explanation {
    /// The number of documents.
    #[cfg_attr(feature = "serde", serde(rename = "cases"))]
    pub documents: u64,
    /// The number of batches.
    pub batches: Batches,
    /// The criteria of the normal form of the filter. Each criterion comes before its children. Children are ordered by their
    /// average position in the order of evaluation, over all planned batches.
    pub nodes: Vec<Node>,
    /// The strategy for the page.
    pub page: Page,
    /// The strategy for the total.
    pub total: Total,
    /// The measured work and time of a search.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub analysis: Option<Analysis>,
}

impl Explanation {
    /// Adds the time that the caller took to compile the filter, as the first phase `compile`. Does nothing if this explanation has
    /// no measured times.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use casefilter::{Catalog, Engine, Filter, SearchRequest};
    /// let catalog = Catalog::cases();
    /// let engine = Engine::new(catalog.clone());
    /// let request = SearchRequest::new(Filter::all(&catalog));
    /// let explanation = engine.analyze(&request, &|| Duration::ZERO)?.with_compile_time(Duration::from_micros(7));
    /// assert_eq!(explanation.analysis.unwrap().phases[0].time, Duration::from_micros(7));
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    #[must_use]
    pub fn with_compile_time(mut self, time: Duration) -> Self {
        if let Some(analysis) = &mut self.analysis {
            analysis.phases.insert(0, Phase { name: "compile", time });
        }
        self
    }
}

/// The number of all batches of an engine, and the number of batches that a request need not evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Batches {
    /// The number of all batches.
    pub all: u64,
    /// The number of batches that the index excludes, so that they are not evaluated. The strategy
    /// [`PartlyIndexed`](TotalStrategy::PartlyIndexed) may evaluate even fewer batches.
    pub ruled_out: u64,
}

/// A criterion of the normal form of the filter.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Node {
    /// The number of criteria that enclose this criterion.
    pub depth: usize,
    /// The test: `all of`, `any of`, `every case`, `no case`, or a test in the text syntax.
    pub test: String,
    /// The means by which the criterion is evaluated, in the batches that the index does not exclude.
    pub answered: Vec<Answered>,
    /// The number of rows that the planner expects the criterion to select. It includes rows of replaced and deleted documents.
    pub expected: u64,
    /// True if `expected` is exact.
    pub exact: bool,
    /// The cost that the planner expects. One unit is about the cost of combining 64 rows.
    pub work: u64,
    /// The number of documents that the criterion by itself selects in all batches.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub kept: Option<u64>,
    /// The time that the criterion by itself takes in all batches. For a test, this is the time to plan and evaluate it. For a
    /// branch, it is the time to combine its children.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "time_us", serialize_with = "microseconds", skip_serializing_if = "Option::is_none")
    )]
    pub time: Option<Duration>,
}

/// The means by which a criterion is evaluated in some of the batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Answered {
    /// The means of evaluation, such as an index or a column.
    pub by: Means,
    /// The result, if the planner knows that it is the same for every row of these batches. Then the criterion is not evaluated in
    /// these batches.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub settles: Option<bool>,
    /// The number of batches.
    pub batches: u64,
}

/// The strategy for the page of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Page {
    /// The first strategy that applies to the request.
    pub by: PageStrategy,
    /// The fields by which documents are sorted, joined by commas, each with a leading `-` for descending order. `None` for the
    /// insertion order.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub order: Option<String>,
    /// The number of selected documents before the page.
    pub offset: u64,
    /// The maximum number of documents on the page.
    pub limit: u64,
    /// True if the search ends when the page is full. False if it evaluates every batch.
    pub stops_early: bool,
    /// The number of batches whose rows are read in the sort order that the batch keeps.
    pub by_sorted_rows: u64,
    /// The number of batches whose rows are read in the order of their strings: the rows of the first string, then the rows of the
    /// next string, and so on.
    pub by_strings: u64,
    /// The number of batches whose selected rows are collected and sorted.
    pub by_gathering: u64,
}

/// The strategy for the total: the number of all selected documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Total {
    /// The strategy that finds the total.
    pub by: TotalStrategy,
    /// The total, if the index determines it.
    #[cfg_attr(feature = "serde", serde(rename = "cases", skip_serializing_if = "Option::is_none"))]
    pub documents: Option<u64>,
    /// The number of batches in which the indexes of the batch give the number of selected rows. No row of these batches is
    /// evaluated for the total.
    pub known_batches: u64,
}

/// The measured work and time of one search.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Analysis {
    /// The number of selected documents.
    pub selected: u64,
    /// The number of documents on the page.
    pub on_page: u64,
    /// The strategy that found the page. If the planned strategy found no page, this is a later strategy of the list in
    /// [`PageStrategy`].
    pub page_by: PageStrategy,
    /// The work that the search did.
    pub work: Work,
    /// The phases of the search and their times, in order. [`Explanation::with_compile_time`] adds a phase at the front.
    pub phases: Vec<Phase>,
}

/// A phase of a request and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Phase {
    /// The name of the phase.
    ///
    /// - `plan`: looking the filter up in the index, and ordering its evaluation.
    /// - `evaluate`: finding the selected rows of complete batches.
    /// - `page`: everything else, such as evaluating single rows in the order of the page.
    ///
    /// If several threads count, the times of the first two phases are sums over all threads.
    pub name: &'static str,
    /// The time that the phase took.
    #[cfg_attr(feature = "serde", serde(rename = "time_us", serialize_with = "microseconds"))]
    pub time: Duration,
}

#[cfg(feature = "serde")]
fn microseconds<'t, S: serde::Serializer>(
    time: impl Into<Option<&'t Duration>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    // A nanosecond is the finest resolution of a clock, so the conversion loses nothing that matters.
    serde::Serialize::serialize(&time.into().map(|time| time.as_nanos() as f64 / 1e3), serializer)
}
