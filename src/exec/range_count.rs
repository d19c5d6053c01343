//! Counts the selected rows of a batch from its sorted rows and postings, without a plan. The query must have one range test and at
//! most one test of a string. The batch must have no deleted rows.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "rows that are left out are among the selected rows, and there is a lookup for each node of the predicate; \
              `Cost` saturates"
)]

use super::cost::{COST_OF_SEEKING, Cost};
use super::count_beside::count_sorted;
use super::index_lookup::IndexLookup;
use super::query::Query;
use super::ranges::sorted_parts;
use crate::batch::Batch;
use crate::column::ColumnData;
use crate::index::{StringPostings, places_of_batch, split};
use crate::predicate::{Intervals, Leaf, Node, Set, Test};
use crate::rows::{RowSet, Selection, has_bit};

/// A query that tests one field for ranges, and optionally another field for a string.
pub(crate) struct RangeCount<'q> {
    query: &'q Query<'q>,
    /// The leaf that tests ranges, and the ranges.
    ranges: (&'q Leaf, &'q Intervals),
    /// The leaf that tests a string, and the postings of the string.
    string: Option<(&'q Leaf, &'q StringPostings)>,
}

impl<'q> RangeCount<'q> {
    /// Creates the counter of a query. Returns `None` if the query has another form.
    pub(crate) fn new(query: &'q Query<'q>) -> Option<Self> {
        let root = query.covered_root()?;
        let (one, other) = match query.conjuncts(&root) {
            [only] => (only, None),
            [one, other] => (one, Some(other)),
            _ => return None,
        };
        let ranges = |node: &usize| match query.predicate.node(*node) {
            Node::Leaf(leaf @ Leaf { test: Test::Any(Set::Ordered(ranges)), .. }) => Some((leaf, ranges)),
            _ => None,
        };
        let string = |node: &usize| match (query.predicate.node(*node), &query.lookups[*node]) {
            (Node::Leaf(leaf @ Leaf { test: Test::Any(_), .. }), IndexLookup::Strings(found, _)) => {
                let [found] = found.as_slice() else { return None };
                Some((leaf, *found))
            }
            _ => None,
        };
        let (ranges, string) = match (other, ranges(one)) {
            (None, found) => (found?, None),
            (Some(other), Some(found)) => (found, Some(string(other)?)),
            (Some(other), None) => (ranges(other)?, Some(string(one)?)),
        };
        Some(Self { query, ranges, string })
    }

    /// Counts the selected rows of batch `number`, except the rows of [left-out](Query::without_indexed_branches) branches. Returns
    /// `None` if a plan is needed.
    pub(crate) fn count(&self, number: usize, batch: &Batch, live: &Selection) -> Option<usize> {
        // Strings and left-out rows are known only for covered batches.
        let is_known = self.query.index.covers(number) || (self.string.is_none() && !self.query.leaves_out());
        // A batch of few buffered rows must be tested row by row. It counts the filters that test its rows, and columns are used
        // only after many filters.
        if !is_known || !matches!(live, Selection::All) || batch.few_rows().is_some() {
            return None;
        }
        let string = match &self.string {
            None => None,
            Some((leaf, string)) => {
                let Some(code) = string.code(number) else { return Some(0) };
                let ColumnData::Strings { postings: Some(postings), .. } = &batch.column(leaf.field)?.data
                else {
                    return None;
                };
                match postings.get(code) {
                    RowSet::All => None,
                    RowSet::Bitmap(words) => Some((words, postings.count(code))),
                    _ => return None,
                }
            }
        };
        let (leaf, ranges) = self.ranges;
        let column = batch.column(leaf.field)?;
        let (sorted, parts) = sorted_parts(column, ranges, self.query.pace())?;
        let selected = parts.into_iter().map(|part| match &string {
            None => part.len(),
            Some((_, all)) if part.len() == batch.rows() => *all,
            Some((words, _)) => count_sorted(sorted, part, words, batch.rows()),
        });
        let selected: usize = selected.sum();
        let left_out = self.query.left_out_rows();
        let left_out = left_out[places_of_batch(left_out, number)].iter().filter(|row| {
            let row = usize::from(split(**row).1);
            string.as_ref().is_none_or(|(words, _)| has_bit(words, row)) && leaf.matches(column.values(row))
        });
        // A stopped search may have counted too few rows.
        Some(selected.saturating_sub(left_out.count()))
    }

    /// Returns an upper bound of the cost of counting the rows of a batch. The unit is the time to process one 64-row word.
    pub(crate) fn effort(&self, batch: &Batch) -> usize {
        let bitmap = if self.string.is_some() { Cost::of_bitmap(batch.rows()) } else { Cost::NONE };
        let (_, ranges) = self.ranges;
        ((bitmap * 3 + COST_OF_SEEKING) * ranges.as_slice().len()).get()
    }
}
