//! The explanation of a request.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::strategy::{PageStrategy, TotalStrategy};
use crate::exec::{Means, Work};

/// How a request is answered, and after [`Engine::analyze`](crate::Engine::analyze) what that cost.
///
/// It is made by the planner that searches use, on the cases as they are now. Printed, it is a tree to read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// How many cases there are.
    pub cases: u64,
    /// The batches that they lie in.
    pub batches: Batches,
    /// The criteria of the normal form, each before those it is made of; those come in the order in which
    /// most batches evaluate them.
    pub nodes: Vec<Node>,
    /// How the page is found.
    pub page: Page,
    /// How the number of all selected cases is found.
    pub total: Total,
    /// What a search did and took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Analysis>,
}

/// The batches of an engine, as one request sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Batches {
    /// All that there are.
    pub all: u64,
    /// Those that indexes over all batches rule out, and that are not asked. Counting [beside](TotalStrategy::Beside) what is
    /// listed may ask fewer.
    pub ruled_out: u64,
}

/// A criterion of the normal form.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Node {
    /// How many criteria it lies in.
    pub depth: usize,
    /// What it demands: `all of`, `any of`, `every case`, `no case`, or a test in the text syntax.
    pub test: String,
    /// What answers it in the batches that are not ruled out.
    pub answered: Vec<Answered>,
    /// How many rows of those the planner expects it to select, replaced and deleted cases counted too.
    pub expected: u64,
    /// True when that is known, not guessed.
    pub exact: bool,
    /// What the planner expects evaluating it to take; one is about what combining 64 rows takes.
    pub work: u64,
    /// How many cases it selects by itself, in all batches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
    /// What it takes by itself, in all batches: a test to be planned and answered, a branch to combine what is below it.
    #[serde(rename = "time_us", serialize_with = "microseconds", skip_serializing_if = "Option::is_none")]
    pub time: Option<Duration>,
}

/// By what a criterion is answered, in how many batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Answered {
    /// What answers it.
    pub by: Means,
    /// Whether it is settled so for every row, or for none, and nothing is left to evaluate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settles: Option<bool>,
    /// In how many batches.
    pub batches: u64,
}

/// How the page of a request is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Page {
    /// The first way that applies.
    pub by: PageStrategy,
    /// The field that cases are sorted by, `-` in front for descending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// How many selected cases are passed over.
    pub offset: u64,
    /// How many are wanted.
    pub limit: u64,
    /// Whether the search ends when the page is full; otherwise every batch is asked.
    pub stops_early: bool,
    /// Batches whose rows can be met in the order of their sorted values.
    pub by_sorted_rows: u64,
    /// Batches whose rows can be met string by string.
    pub by_strings: u64,
    /// Batches whose selected rows have to be gathered and sorted.
    pub by_gathering: u64,
}

/// How the number of all selected cases is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Total {
    /// Which way.
    pub by: TotalStrategy,
    /// The total, if the index alone knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cases: Option<u64>,
    /// Batches whose indexes know how many they have, so that no row of them need be evaluated for it.
    pub known_batches: u64,
}

/// What one search did and took.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Analysis {
    /// How many cases are selected.
    pub selected: u64,
    /// How many are on the page.
    pub on_page: u64,
    /// How the page was found: as the plan says, or, where that did not lead to a page, by a later way of the list.
    pub page_by: PageStrategy,
    /// What was done.
    pub work: Work,
    /// What it took, in order; whoever compiled the filter may put that in front.
    pub phases: Vec<Phase>,
}

/// A part of the time that a request takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// `plan`: looking the filter up in the index and ordering its evaluation. `evaluate`: finding the rows of
    /// whole batches. `page`: everything else, such as asking rows one by one in the order of the page. Where several threads
    /// count, the first two are the sums over all of them.
    pub name: &'static str,
    /// How long.
    #[serde(rename = "time_us", serialize_with = "microseconds")]
    pub time: Duration,
}

fn microseconds<'t, S: Serializer>(
    time: impl Into<Option<&'t Duration>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    // Nanoseconds are as fine as clocks are.
    time.into().map(|time| time.as_nanos() as f64 / 1e3).serialize(serializer)
}
