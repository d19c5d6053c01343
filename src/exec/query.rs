//! Prepares a predicate for a snapshot. Looks up its leaves once in the index over all batches, and finds the rows that are known
//! from the index alone.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "rows and batches of one index, at most 65,536 batches, and a lookup for each node of the predicate"
)]

use std::sync::Arc;

use smallvec::SmallVec;

use super::index_lookup::{IndexLookup, KeyRows, ZonedLeaf, look_up, unstopped};
use super::scratch::PooledScratch;
use super::trace::{Trace, Work};
use crate::batch::Batch;
use crate::catalog::FieldId;
use crate::index::{BatchIndex, GlobalRow, StringIndex, StringPostings};
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Set, Test, Tree};
use crate::stop::{Pace, StopCheck};

/// A predicate that is prepared for evaluation on the batches of one snapshot.
pub(crate) struct Query<'q> {
    pub(super) predicate: &'q Tree<Leaf>,
    pub(super) index: &'q BatchIndex,
    /// The result of the index lookup for each node of the predicate. The results are used only for leaves, and only on batches
    /// that the index covers.
    pub(super) lookups: Arc<[IndexLookup<'q>]>,
    /// The result of [`zoned_leaves`](Self::zoned_leaves).
    pub(super) zoned: Vec<ZonedLeaf<'q>>,
    /// The branches that are not part of this query.
    left_out: Option<Arc<IndexedBranches>>,
    /// Scratch space for combining rows.
    pub(super) scratch: PooledScratch,
    /// The trace that records work, if any.
    pub(super) trace: Option<&'q Trace<'q>>,
    /// The work counter of the search, which checks if the search must stop.
    pub(super) pace: Pace<'q>,
}

/// Branches of a top-level `or` whose rows the key index lists. These rows are counted from the index, not per batch.
struct IndexedBranches {
    /// The node ids of the branches. On a covered batch, these nodes are evaluated as false. Small batches with lazy columns are an
    /// exception: there, all nodes are evaluated. The caller subtracts the rows that are then counted twice.
    nodes: SmallVec<[usize; 2]>,
    /// The root of the predicate without the left-out branches. `None` if no other branch remains.
    root: Option<usize>,
    /// The rows of the left-out branches, ascending and distinct, deleted rows included.
    rows: Vec<GlobalRow>,
}

/// The selected rows of all covered batches, if the index knows them without reading a batch. Deleted rows are included.
pub(crate) enum Known<'q> {
    /// The rows that have one of these strings in a field. No row has two of these strings.
    Strings(FieldId, &'q [&'q StringPostings]),
    /// A list of rows, in any order.
    Rows(&'q [GlobalRow]),
}

impl<'q> Query<'q> {
    /// Looks the predicate up in the index. `batch` returns the covered batch with the given batch number. `stop` is the stop check
    /// of the search.
    pub(crate) fn new<'b>(
        predicate: &'q Tree<Leaf>,
        index: &'q BatchIndex,
        batch: impl Fn(usize) -> Option<&'b Batch>,
        stop: Option<&'q StopCheck<'q>>,
    ) -> Self {
        let pace = Pace::new(stop);
        let lookups = predicate.nodes().iter().map(|node| match node {
            Node::Leaf(leaf) => look_up(leaf, index, &batch, &pace),
            _ => IndexLookup::Column,
        });
        let lookups = lookups.collect();
        let query = Self {
            predicate,
            index,
            lookups,
            zoned: Vec::new(),
            left_out: None,
            scratch: PooledScratch::default(),
            trace: None,
            pace,
        };
        let zoned = query.zoned_leaves();
        Self { zoned, ..query }
    }

    /// Returns the root node to evaluate on batch `number`.
    pub(super) fn root(&self, number: usize) -> usize {
        match &self.left_out {
            Some(left_out) if self.index.covers(number) => {
                left_out.root.unwrap_or_else(|| self.predicate.root())
            }
            _ => self.predicate.root(),
        }
    }

    /// Returns the root node without left-out branches, or `None` if all branches are left out.
    pub(super) fn covered_root(&self) -> Option<usize> {
        self.left_out.as_ref().map_or(Some(self.predicate.root()), |left_out| left_out.root)
    }

    /// Returns the conjuncts of the node `root`: its children if it is an `and`, otherwise the node itself.
    pub(super) fn conjuncts<'c>(&'c self, root: &'c usize) -> &'c [usize] {
        match self.predicate.node(*root) {
            Node::Branch(Connective::And, children) => children,
            _ => std::slice::from_ref(root),
        }
    }

    /// Returns true if the key index lists the rows of some branches of a top-level `or`, and these rows are few. It is then
    /// faster to count the other branches [separately](Self::without_indexed_branches).
    pub(crate) fn is_partly_listed(&self) -> bool {
        /// Up to this average number of listed rows per batch, the search counts the listed rows, and evaluates only the other
        /// branches in each batch. It also tests each listed row against the other branches, so that no row is counted twice. With
        /// more listed rows, these tests take longer than evaluating all branches in each batch.
        const MOST_PER_BATCH: usize = 64;
        let rows = self.listed_alternatives().map(|(_, rows)| rows.found().len());
        let (alternatives, rows) =
            rows.fold((0, 0), |(all, sum): (usize, usize), rows| (all + 1, sum + rows));
        alternatives > 0 && rows <= self.index.numbers() * MOST_PER_BATCH
    }

    /// Returns this query without the branches of a top-level `or` whose rows the key index lists. On batches outside the index,
    /// the query is unchanged.
    pub(crate) fn without_indexed_branches(&self) -> Self {
        let mut left_out = IndexedBranches { nodes: SmallVec::new(), root: None, rows: Vec::new() };
        for (node, rows) in self.listed_alternatives() {
            left_out.nodes.push(node);
            left_out.rows.extend_from_slice(rows.found());
        }
        left_out.rows.sort_unstable();
        left_out.rows.dedup();
        let root = self.predicate.root();
        if let Node::Branch(_, children) = self.predicate.node(root) {
            let mut others = children.iter().filter(|child| !left_out.nodes.contains(child));
            left_out.root = match (others.next(), others.next()) {
                (only, None) => only.copied(),
                _ => Some(root),
            };
        }
        let query = Self {
            predicate: self.predicate,
            index: self.index,
            lookups: Arc::clone(&self.lookups),
            zoned: Vec::new(),
            left_out: Some(Arc::new(left_out)),
            scratch: self.scratch.hand_on(),
            trace: self.trace,
            pace: Pace::new(self.pace.check()),
        };
        let zoned = query.zoned_leaves();
        Self { zoned, ..query }
    }

    /// Returns the rows of the left-out branches, ascending and distinct, deleted rows included.
    pub(crate) fn left_out_rows(&self) -> &[GlobalRow] {
        self.left_out.as_ref().map_or(&[], |left_out| &left_out.rows)
    }

    /// Returns the branches of a top-level `or` whose rows the key index lists, each with these rows.
    fn listed_alternatives(&self) -> impl Iterator<Item = (usize, &KeyRows<'q>)> {
        let children = match self.predicate.node(self.predicate.root()) {
            Node::Branch(Connective::Or, children) => &children[..],
            _ => &[],
        };
        children.iter().filter_map(|child| match (self.predicate.node(*child), &self.lookups[*child]) {
            (Node::Leaf(Leaf { test: Test::Any(_), .. }), IndexLookup::Rows(rows)) => Some((*child, rows)),
            _ => None,
        })
    }

    pub(super) fn leaves_out(&self) -> bool {
        self.left_out.is_some()
    }

    pub(super) fn is_left_out(&self, node: usize) -> bool {
        self.left_out.as_ref().is_some_and(|left_out| left_out.nodes.contains(&node))
    }

    /// Returns a function that creates this query on another thread, with its own scratch space and without a trace.
    #[cfg(feature = "parallel")]
    pub(crate) fn fork(&self) -> impl Fn() -> Query<'q> + Sync + use<'q> {
        let (predicate, index) = (self.predicate, self.index);
        let (lookups, zoned) = (Arc::clone(&self.lookups), self.zoned.clone());
        let (left_out, stop) = (self.left_out.clone(), self.pace.check());
        move || Query {
            predicate,
            index,
            lookups: Arc::clone(&lookups),
            zoned: zoned.clone(),
            left_out: left_out.clone(),
            scratch: PooledScratch::default(),
            trace: None,
            pace: Pace::new(stop),
        }
    }

    /// Returns the work counter of the search, which checks if the search must stop.
    pub(crate) fn pace(&self) -> &Pace<'q> {
        &self.pace
    }

    /// Returns the trace that records work, if any.
    #[cfg(feature = "parallel")]
    pub(crate) fn trace(&self) -> Option<&'q Trace<'q>> {
        self.trace
    }

    /// Records work, if the search is traced.
    #[inline]
    pub(crate) fn note(&self, note: impl FnOnce(&mut Work)) {
        if let Some(trace) = self.trace {
            trace.note(note);
        }
    }

    /// Returns this query with a trace that records its work.
    pub(crate) fn traced(self, trace: &'q Trace<'q>) -> Self {
        Self { trace: Some(trace), ..self }
    }

    /// Returns the index lookup of the leaf `node` in batch `number`.
    pub(super) fn lookup(&self, node: usize, number: usize) -> &IndexLookup<'q> {
        match self.index.covers(number) {
            true if self.is_left_out(node) => &IndexLookup::Nowhere,
            true => &self.lookups[node],
            // The index does not cover the batch.
            false => match &self.lookups[node] {
                pattern @ IndexLookup::Pattern(_) => pattern,
                _ => &IndexLookup::Column,
            },
        }
    }

    /// Returns true if testing a row takes about one lookup for each leaf.
    pub(crate) fn asks_rows_fast(&self) -> bool {
        /// The maximum number of values of an `all` test that still counts as fast. The test looks up each value.
        const FEW_VALUES: usize = 8;
        self.predicate.nodes().iter().all(|node| match node {
            Node::Leaf(Leaf { test: Test::All(set) | Test::NotAll(set), .. }) => set.len() <= FEW_VALUES,
            Node::Leaf(leaf) => leaf.test.elements().is_none(),
            _ => true,
        })
    }

    /// Returns true if the predicate is a single test of strings whose rows the index counts or lists.
    pub(crate) fn is_listed(&self) -> bool {
        let root = self.predicate.root();
        matches!(self.predicate.node(root), Node::Leaf(Leaf { test: Test::Any(_), .. }))
            && matches!(self.lookups[root], IndexLookup::Strings(..) | IndexLookup::Rows(_))
    }

    /// Returns the selected rows of the covered batches in any order, deleted rows included. Returns `None` unless the index
    /// lists them and they are few.
    pub(crate) fn listed(&self) -> Option<&[GlobalRow]> {
        /// Up to this number of rows, the search sorts the rows from the index. Above it, the search evaluates the batches, because
        /// sorting the rows would take longer.
        const MOST_LISTED: usize = 1 << 12;
        match self.known()? {
            Known::Rows(rows) if rows.len() <= MOST_LISTED => Some(rows),
            _ => None,
        }
    }

    /// Returns the selected rows of the covered batches, if the index knows them without reading a batch.
    pub(crate) fn known(&self) -> Option<Known<'_>> {
        let root = self.predicate.root();
        match (self.predicate.node(root), &self.lookups[root]) {
            // The rows of several strings are disjoint only if no row has two of these strings.
            (Node::Leaf(Leaf { field, test: Test::Any(_) }), IndexLookup::Strings(found, wanted))
                if are_disjoint(self.index, *field, *wanted) =>
            {
                Some(Known::Strings(*field, found))
            }
            (Node::Leaf(Leaf { test: Test::Any(_), .. }), IndexLookup::Rows(rows)) => {
                Some(Known::Rows(rows.found()))
            }
            _ => None,
        }
    }
}

/// Returns the field and the postings of the strings of a predicate that is a single test of strings. Returns `None` for other
/// predicates, and if the index does not know the number of selected rows. This is a special case of [`Query::known`] that does not
/// create a query.
pub(crate) fn counted_strings<'q>(
    predicate: &Tree<Leaf>,
    index: &'q BatchIndex,
    pace: &Pace<'_>,
) -> Option<(FieldId, SmallVec<[&'q StringPostings; 8]>)> {
    let Node::Leaf(Leaf { field, test: Test::Any(Set::Strings(points)) }) = predicate.node(predicate.root())
    else {
        return None;
    };
    let strings = index.strings(*field)?;
    let texts = points.as_slice();
    are_disjoint(index, *field, texts.len())
        .then(|| (*field, unstopped(texts, pace).filter_map(|text| strings.get(text)).collect()))
}

/// Returns true if no row can have more than one of the strings that a test looks for in a field. `wanted` is the number of these
/// strings.
fn are_disjoint(index: &BatchIndex, field: FieldId, wanted: usize) -> bool {
    wanted == 1 || index.strings(field).is_some_and(StringIndex::is_single)
}
