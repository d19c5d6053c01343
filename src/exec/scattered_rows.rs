//! Tests a query on top rows, which are scattered over many batches.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a count of what one search does, in 64 bits; bits of the top rows given, numbers of indexed batches, and a lookup \
              for each node of the predicate"
)]

use std::cell::OnceCell;

use smallvec::SmallVec;

use super::access_path::codes_of;
use super::index_lookup::IndexLookup;
use super::query::Query;
use super::row_at_a_time::{self, passing, rows_of};
use crate::batch::Batch;
use crate::column::Column;
use crate::index::{TopRow, TopRows, split};
use crate::kernels::equal_numbers;
use crate::predicate::{Leaf, Test};

/// A query that is prepared for testing the top rows of the covered batches. The function `batch` returns the batch with the given
/// batch number.
///
/// The query must not test elements: see [`Query::asks_rows_fast`].
pub(crate) struct ScatteredRows<'q, 'b, B> {
    query: &'q Query<'q>,
    top_rows: &'q TopRows,
    batch: B,
    /// For each node of the predicate, the codes of its strings in each batch. The table of a node is created when the node is
    /// first tested.
    strings: Box<[OnceCell<ByBatch<'b>>]>,
}

/// The codes of a leaf for each batch number. Computed when a row of the batch is first tested.
type ByBatch<'b> = Box<[OnceCell<Option<LeafCodes<'b>>>]>;

/// A column, and the codes of the strings of a leaf in it.
struct LeafCodes<'b> {
    column: &'b Column,
    codes: SmallVec<[u32; 2]>,
}

/// The maximum number of strings for which a test compares codes. The codes of the strings are looked up in each batch, and
/// compared with the codes of a row. For more strings, the strings of a row are compared instead.
const FEW_STRINGS: usize = 8;

impl<'q, 'b, B: Fn(usize) -> Option<&'b Batch>> ScatteredRows<'q, 'b, B> {
    pub(crate) fn new(query: &'q Query<'q>, top_rows: &'q TopRows, batch: B) -> Self {
        Self {
            query,
            top_rows,
            batch,
            strings: query.predicate.nodes().iter().map(|_| OnceCell::new()).collect(),
        }
    }

    /// Returns the bits of the selected rows among `rows`, deleted rows included. `rows` are the top rows of chunk number
    /// `chunk`, at most 64.
    pub(crate) fn select(&self, chunk: usize, rows: &[TopRow]) -> u64 {
        if let Some(trace) = self.query.trace {
            trace.note(|work| work.rows_ranked += rows.len() as u64);
        }
        row_at_a_time::selected(self.query.predicate, row_at_a_time::all(rows.len()), |node, leaf, asked| {
            if self.query.pace.spend(row_at_a_time::WORK_OF_A_LEAF) {
                return 0;
            }
            self.passing(node, leaf, chunk, rows, asked)
        })
    }

    /// Returns the bits of the rows in `asked` that pass a leaf.
    fn passing(&self, node: usize, leaf: &Leaf, chunk: usize, rows: &[TopRow], asked: u64) -> u64 {
        let is_negated = leaf.test.is_negated();
        let rows = rows_of(asked).map(|at| (at, rows[at].row));
        match (&self.query.lookups[node], &leaf.test) {
            (IndexLookup::Rows(found), Test::Any(_) | Test::None(_)) => {
                let found = found.ascending();
                passing(rows, |row| found.binary_search(&row).is_ok() != is_negated)
            }
            (lookup @ IndexLookup::Strings(found, _), Test::Any(_) | Test::None(_))
                if found.len() <= FEW_STRINGS =>
            {
                let index = self.query.index;
                if let Some(numbers) = index.strings_of(self.top_rows, chunk, leaf.field, &self.batch) {
                    let bits =
                        found.iter().fold(0, |bits, string| bits | equal_numbers(numbers, string.number));
                    return if is_negated { asked & !bits } else { asked & bits };
                }
                let by_batch = self.by_batch(node);
                passing(rows, |row| {
                    let (number, row) = split(row);
                    let strings = self.strings(by_batch, leaf, lookup, number);
                    strings.is_some_and(|strings| strings.are_any(row)) != is_negated
                })
            }
            (IndexLookup::Strings(found, wanted), Test::All(_) | Test::NotAll(_))
                if found.len() < *wanted =>
            {
                if is_negated {
                    asked
                } else {
                    0
                }
            }
            (lookup @ IndexLookup::Strings(_, wanted), Test::All(_) | Test::NotAll(_))
                if *wanted <= FEW_STRINGS =>
            {
                let by_batch = self.by_batch(node);
                passing(rows, |row| {
                    let (number, row) = split(row);
                    let strings = self.strings(by_batch, leaf, lookup, number);
                    let are_all =
                        strings.is_some_and(|strings| strings.codes.len() == *wanted && strings.are_all(row));
                    are_all != is_negated
                })
            }
            _ => passing(rows, |row| {
                let (number, row) = split(row);
                let column = (self.batch)(number).and_then(|batch| batch.column(leaf.field));
                column.map_or(is_negated, |column| leaf.matches(column.values(usize::from(row))))
            }),
        }
    }

    fn by_batch(&self, node: usize) -> &ByBatch<'b> {
        let numbers = 0..self.query.index.numbers();
        self.strings[node].get_or_init(|| numbers.map(|_| OnceCell::new()).collect())
    }

    /// Returns the codes of the strings of a leaf in batch `number`.
    fn strings<'s>(
        &'s self,
        by_batch: &'s ByBatch<'b>,
        leaf: &Leaf,
        lookup: &IndexLookup<'_>,
        number: usize,
    ) -> Option<&'s LeafCodes<'b>> {
        let found = || {
            let column = (self.batch)(number)?.column(leaf.field)?;
            let IndexLookup::Strings(found, _) = lookup else { return None };
            let codes = found.iter().filter_map(|string| string.code(number)).collect();
            Some(LeafCodes { column, codes })
        };
        by_batch[number].get_or_init(found).as_ref()
    }
}

impl LeafCodes<'_> {
    /// Returns true if a row has at least one of the codes.
    fn are_any(&self, row: u16) -> bool {
        codes_of(self.column, usize::from(row)).any(|code| self.codes.contains(&code))
    }

    /// Returns true if a row has all of the codes.
    fn are_all(&self, row: u16) -> bool {
        self.codes.iter().all(|code| codes_of(self.column, usize::from(row)).any(|own| own == *code))
    }
}
