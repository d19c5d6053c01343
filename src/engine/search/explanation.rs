//! The explanation of a request.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::strategy::{PageStrategy, TotalStrategy};
use crate::exec::{Means, Work};

/// An explanation of how a request is answered. [`Engine::analyze`](crate::Engine::analyze) adds the measured cost.
///
/// It is computed by the planner that searches use, for the current cases. `Display` prints it as a tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The number of cases.
    pub cases: u64,
    /// The number of batches.
    pub batches: Batches,
    /// The criteria of the normal form, each before its children. Children are in the order in which most batches evaluate them.
    pub nodes: Vec<Node>,
    /// The strategy for the page.
    pub page: Page,
    /// The strategy for the total.
    pub total: Total,
    /// The measured work and time of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Analysis>,
}

/// The number of batches of an engine, and the number that one request uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Batches {
    /// The number of all batches.
    pub all: u64,
    /// The number of batches that the index rules out, so that they are not evaluated. The strategy [`Beside`](TotalStrategy::Beside) may
    /// evaluate even fewer.
    pub ruled_out: u64,
}

/// A criterion of the normal form.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Node {
    /// The number of enclosing criteria.
    pub depth: usize,
    /// The test: `all of`, `any of`, `every case`, `no case`, or a test in the text syntax.
    pub test: String,
    /// The means that evaluate the criterion, in the batches that are not ruled out.
    pub answered: Vec<Answered>,
    /// The number of rows that the planner expects the criterion to select, including replaced and deleted cases.
    pub expected: u64,
    /// True if `expected` is exact.
    pub exact: bool,
    /// The cost that the planner expects. The unit is about the cost of combining 64 rows.
    pub work: u64,
    /// The number of cases that the criterion selects alone, in all batches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
    /// The time that the criterion takes alone, in all batches: to plan and evaluate a test, or to combine the children of a branch.
    #[serde(rename = "time_us", serialize_with = "microseconds", skip_serializing_if = "Option::is_none")]
    pub time: Option<Duration>,
}

/// The means that evaluate a criterion in some of the batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Answered {
    /// The means.
    pub by: Means,
    /// The result, if it is the same for every row of these batches, so that nothing remains to be evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settles: Option<bool>,
    /// The number of batches.
    pub batches: u64,
}

/// The strategy for the page of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Page {
    /// The first strategy that applies.
    pub by: PageStrategy,
    /// The field that cases are sorted by, with a leading `-` for descending order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// The number of selected cases before the page.
    pub offset: u64,
    /// The maximum number of cases on the page.
    pub limit: u64,
    /// True if the search ends when the page is full. Otherwise it evaluates every batch.
    pub stops_early: bool,
    /// The number of batches whose rows are read in the order of their sorted index.
    pub by_sorted_rows: u64,
    /// The number of batches whose rows are read string by string.
    pub by_strings: u64,
    /// The number of batches whose selected rows are collected and sorted.
    pub by_gathering: u64,
}

/// The strategy for the total: the number of all selected cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Total {
    /// The strategy.
    pub by: TotalStrategy,
    /// The total, if the index determines it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cases: Option<u64>,
    /// The number of batches whose indexes determine their count, so that no row is evaluated for it.
    pub known_batches: u64,
}

/// The measured work and time of one search.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Analysis {
    /// The number of selected cases.
    pub selected: u64,
    /// The number of cases on the page.
    pub on_page: u64,
    /// The strategy that found the page. If the planned strategy found no page, this is a later strategy of the list in [`PageStrategy`].
    pub page_by: PageStrategy,
    /// The work.
    pub work: Work,
    /// The times, in order. The caller may insert the time to compile the filter at the front.
    pub phases: Vec<Phase>,
}

/// A phase of a request and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// The name of the phase.
    ///
    /// - `plan`: looking the filter up in the index, and ordering its evaluation.
    /// - `evaluate`: finding the selected rows of whole batches.
    /// - `page`: everything else, such as evaluating single rows in the order of the page.
    ///
    /// If several threads count, the first two are sums over all threads.
    pub name: &'static str,
    /// The duration.
    #[serde(rename = "time_us", serialize_with = "microseconds")]
    pub time: Duration,
}

fn microseconds<'t, S: Serializer>(
    time: impl Into<Option<&'t Duration>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    // Clocks have a resolution of a nanosecond at most.
    time.into().map(|time| time.as_nanos() as f64 / 1e3).serialize(serializer)
}
