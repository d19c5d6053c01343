//! Explains plans: how each node of a predicate is evaluated, what it costs, and how many rows it selects by itself.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a step and a set for each node before its parents, rows and batches of one engine, in 64 bits; a place is below the number of open children, which were added before"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use super::access_path::AccessPath;
use super::cost::Cost;
use super::evaluate::rows_of;
use super::index_lookup::IndexLookup;
use super::plan::{all_steps, leaf_step};
use super::query::Query;
use super::ranges::{covers, overlapping};
use super::step::{PlanStep, estimate};
use crate::batch::Batch;
use crate::column::{Column, ColumnData, Sorted};
use crate::index::StringPostings;
use crate::kernels::Combine;
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Set, Test, TextPattern};
use crate::rows::{RowSet, Selection};

/// The data structure or method that answers a criterion on a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Means {
    /// The filter itself: the criterion is constant.
    Constant,
    /// The smallest and the greatest value of the batch.
    ZoneMap,
    /// The distinct strings of the batch.
    Dictionary,
    /// The index of substrings of the batch, and tests of the distinct strings that it does not exclude.
    SubstringIndex,
    /// An index from keys to rows, over all batches.
    Keys,
    /// A stored bitmap of the rows that have a value, or that have one of the two Boolean values.
    Bitmap,
    /// The stored rows of each string.
    Postings,
    /// A binary search in the rows sorted by value.
    SortedRows,
    /// A binary search in rows that are stored in the order of their values.
    StoredOrder,
    /// The offsets of the values of each row.
    Offsets,
    /// A scan of the values of all rows.
    Scan,
    /// The elements of an array of objects, in the columns of the fields below it.
    Elements,
    /// Tests of single rows: the few most recently written rows, which have no columns yet.
    Rows,
    /// The results of the child criteria.
    Children,
}

impl Means {
    /// Returns the name of the means, in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::ZoneMap => "zone map",
            Self::Dictionary => "dictionary",
            Self::SubstringIndex => "substring index",
            Self::Keys => "key index",
            Self::Bitmap => "bitmap",
            Self::Postings => "postings",
            Self::SortedRows => "sorted rows",
            Self::StoredOrder => "stored order",
            Self::Offsets => "offsets",
            Self::Scan => "scan",
            Self::Elements => "elements",
            Self::Rows => "few rows",
            Self::Children => "criteria below",
        }
    }
}

/// The plans of one node, added up over batches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Explained {
    /// The number of batches for each pair of a means and the constant value that it determined. The value is `None` if the node
    /// is not constant in a batch.
    pub(crate) by: BTreeMap<(Means, Option<bool>), u64>,
    /// The number of rows that the node is expected to select.
    pub(crate) rows: u64,
    /// The number of batches in which the number of selected rows is known without reading a row.
    pub(crate) exact: u64,
    /// The estimated cost. The unit is the time to process one 64-row word.
    pub(crate) cost: u64,
    /// For each child, the sum of its positions in the order of evaluation, over all batches.
    pub(crate) places: BTreeMap<usize, u64>,
}

/// Adds the plan of one batch to `nodes`, which has an entry for each node of the predicate.
pub(crate) fn explain(
    query: &Query<'_>,
    number: usize,
    batch: &Batch,
    live: &Selection,
    nodes: &mut [Explained],
) {
    let steps = all_steps(query, number, batch);
    let rows = batch.rows();
    for (id, (node, explained)) in query.predicate.nodes().iter().zip(nodes).enumerate() {
        let step = &steps[id];
        let settles = if let PlanStep::Settled(value) = step { Some(*value) } else { None };
        let batches =
            explained.by.entry((means(query, (id, node), number, batch, step), settles)).or_default();
        *batches += 1;
        let all_live = matches!(live, Selection::All);
        let (expected, is_exact, cost) = match step {
            PlanStep::Settled(true) => (live.count(rows), true, Cost::NONE),
            _ => {
                let known = estimate(&steps, id);
                (known.rows.min(rows), known.is_exact && (all_live || known.rows == 0), known.cost)
            }
        };
        explained.rows += expected as u64;
        explained.exact += u64::from(is_exact);
        // Saturates, like `Cost`.
        explained.cost = explained.cost.saturating_add(cost.get() as u64);
        if let Node::Branch(_, children) = node {
            let open: &[usize] = match step {
                PlanStep::Branch(_, open, _) => open,
                PlanStep::Same(only) => std::slice::from_ref(only),
                _ => &[],
            };
            // Children that need no evaluation come last.
            let behind = open.len() as u64;
            for child in children {
                let sum = explained.places.entry(*child).or_default();
                *sum += behind;
            }
            for (place, child) in (0_u64..).zip(open) {
                let sum = explained.places.entry(*child).or_default();
                *sum -= behind - place;
            }
        }
    }
}

fn means(
    query: &Query<'_>,
    (id, node): (usize, &Node<Leaf>),
    number: usize,
    batch: &Batch,
    step: &PlanStep<'_>,
) -> Means {
    match (step, node) {
        (_, Node::Constant(_)) => Means::Constant,
        (_, Node::Leaf(leaf)) if uses_substrings(query.lookup(id, number), leaf, batch) => {
            Means::SubstringIndex
        }
        (PlanStep::Branch(..) | PlanStep::Same(_), _) | (_, Node::Branch(..)) => Means::Children,
        (PlanStep::Leaf { path, .. }, node) => match path {
            AccessPath::Present(_) => Means::Offsets,
            AccessPath::Elements(_) => Means::Elements,
            AccessPath::StringBitmaps(_) | AccessPath::AnyPosting(..) | AccessPath::EachPosting(..) => {
                Means::Postings
            }
            AccessPath::Sorted { sorted, .. } => of_sorted(*sorted),
            AccessPath::Scan(..) => Means::Scan,
            AccessPath::Rows(_) if batch.few_rows().is_some() => Means::Rows,
            AccessPath::Rows(_) if matches!(query.lookup(id, number), IndexLookup::Rows(_)) => Means::Keys,
            // The rows of the strings of a searchable field.
            AccessPath::Rows(_) if tests_strings(node) => Means::Dictionary,
            AccessPath::Rows(_) => Means::Bitmap,
        },
        (PlanStep::Settled(_), Node::Leaf(leaf)) => match query.lookup(id, number) {
            IndexLookup::Rows(_) => Means::Keys,
            IndexLookup::Strings(found, _) if are_in_every_row(found, number, leaf, batch) => Means::Postings,
            _ => settled_by(leaf, batch),
        },
    }
}

/// Returns true if a leaf is a pattern that is looked up in the index of substrings of a batch.
fn uses_substrings(lookup: &IndexLookup<'_>, leaf: &Leaf, batch: &Batch) -> bool {
    let has_index = || match batch.column(leaf.field).map(|column| &column.data) {
        Some(ColumnData::Strings { search, .. }) => search.is_some(),
        _ => false,
    };
    matches!(lookup, IndexLookup::Pattern(search) if search.has_windows())
        && batch.few_rows().is_none()
        && has_index()
}

/// Returns true if a node is a leaf that compares strings. Returns false for a leaf that tests only the presence of a string.
fn tests_strings(node: &Node<Leaf>) -> bool {
    let Node::Leaf(leaf) = node else { return false };
    match leaf.test.set() {
        Some(Set::Strings(_)) => true,
        Some(Set::Matching(pattern)) => **pattern != TextPattern::Every,
        Some(Set::Ordered(_) | Set::Booleans(_)) | None => false,
    }
}

/// Returns true if, in the index, every row of a batch has each of these strings. Returns false if the column has only one string,
/// because the explanation then names the dictionary instead of the postings.
fn are_in_every_row(found: &[&StringPostings], number: usize, leaf: &Leaf, batch: &Batch) -> bool {
    let is_in_every_row =
        |string: &&StringPostings| string.bitmap(number).is_some_and(|bitmap| bitmap.words().is_none());
    let strings = batch.column(leaf.field).and_then(Column::strings);
    !found.is_empty() && found.iter().all(is_in_every_row) && strings > Some(1)
}

fn of_sorted(sorted: Sorted<'_>) -> Means {
    match sorted {
        Sorted::AsStored(_) => Means::StoredOrder,
        Sorted::Listed(_) => Means::SortedRows,
    }
}

/// Returns the means by which a column determined that a leaf is constant.
fn settled_by(leaf: &Leaf, batch: &Batch) -> Means {
    if leaf.test.elements().is_some() {
        return Means::Elements;
    }
    if batch.few_rows().is_some() {
        return Means::Rows;
    }
    let Some(column) = batch.column(leaf.field) else { return Means::Constant };
    let is_all = matches!(leaf.test, Test::All(_) | Test::NotAll(_));
    let (by_zone, sorted) = match (&column.data, leaf.test.set()) {
        (ColumnData::Strings { .. }, _) => return Means::Dictionary,
        (ColumnData::Booleans { .. }, _) => return Means::Bitmap,
        (ColumnData::Ordered { zone, sorted, .. }, Some(Set::Ordered(ranges))) => {
            let by_zone = match overlapping(ranges.as_slice(), *zone) {
                [] => true,
                [range] => covers(*range, *zone),
                _ => false,
            };
            (by_zone, sorted)
        }
        _ => return Means::Constant,
    };
    match Sorted::new(sorted, column) {
        Some(sorted) if !(by_zone || is_all) => of_sorted(sorted),
        _ => Means::ZoneMap,
    }
}

/// The number of rows that a node selects by itself, and the time to find them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    /// The number of selected rows that are not deleted.
    pub(crate) rows: u64,
    pub(crate) time: Duration,
}

/// Adds the number of rows that each node selects on one batch, and the time, to `nodes`. A branch combines the rows of its
/// children.
pub(crate) fn measure(
    query: &Query<'_>,
    number: usize,
    batch: &Batch,
    live: &Selection,
    clock: &dyn Fn() -> Duration,
    nodes: &mut [Measured],
) {
    let rows = batch.rows();
    let mut found: Vec<RowSet<'_>> = Vec::with_capacity(nodes.len());
    for (id, (node, measured)) in query.predicate.nodes().iter().zip(nodes).enumerate() {
        let start = clock();
        let own = match node {
            // The result of a stopped search is not used, but each node needs a set.
            _ if query.pace().spend(Cost::of_bitmap(rows).get()) => RowSet::None,
            Node::Constant(true) => RowSet::All,
            Node::Constant(false) => RowSet::None,
            Node::Leaf(leaf) => {
                rows_of(query, leaf_step(query, leaf, query.lookup(id, number), number, batch), batch)
            }
            Node::Branch(connective, children) => {
                combine(*connective, children.iter().map(|child| &found[*child]), rows)
            }
        };
        // The host supplies the clock, which may return arbitrary values, so the arithmetic saturates.
        measured.time = measured.time.saturating_add(clock().saturating_sub(start));
        measured.rows += own.count_both(&live.set(), rows) as u64;
        found.push(own);
    }
}

/// Returns the rows that are in every member for `and`, or in at least one member for `or`.
fn combine<'r, 'b: 'r>(
    connective: Connective,
    members: impl Iterator<Item = &'r RowSet<'b>>,
    rows: usize,
) -> RowSet<'static> {
    let (neutral, how) = match connective {
        Connective::And => (RowSet::All, Combine::And),
        Connective::Or => (RowSet::None, Combine::Or),
    };
    members.fold(neutral, |own, member| own.combined(how, member, rows))
}
