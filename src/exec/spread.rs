//! Asking rows that lie in many batches, a few in each.

use std::cell::OnceCell;

use smallvec::SmallVec;

use super::few::{self, passing, rows_of};
use super::query::{Access, Query};
use super::source::codes_of;
use crate::batch::{Batch, GlobalRow, split};
use crate::column::{Column, Layout};
use crate::predicate::{Leaf, Test};

/// A query made ready to ask any row of the covered batches, `B` being what gives the batch of a number.
pub(crate) struct Spread<'q, 'b, B> {
    query: &'q Query<'q>,
    batch: B,
    /// By node of the predicate; made when the node is first asked.
    strings: Box<[OnceCell<ByBatch<'b>>]>,
}

/// By number of a batch; found when a row of the batch is first asked.
type ByBatch<'b> = Box<[OnceCell<Option<Strings<'b>>>]>;

/// A column, and the codes that the strings of a leaf have in it.
struct Strings<'b> {
    column: &'b Column,
    codes: SmallVec<[u32; 2]>,
}

/// More strings than this are sought among those of a row, rather than their codes.
const FEW_STRINGS: usize = 8;

impl<'q, 'b, B: Fn(usize) -> Option<&'b Batch>> Spread<'q, 'b, B> {
    pub(crate) fn new(query: &'q Query<'q>, batch: B) -> Self {
        Self { query, batch, strings: query.predicate.nodes().iter().map(|_| OnceCell::new()).collect() }
    }

    /// Those of at most 64 rows of covered batches that the query selects, dead ones among them, a bit each.
    pub(crate) fn select(&self, rows: &[GlobalRow]) -> u64 {
        if let Some(trace) = self.query.trace {
            trace.note(|work| work.rows_ranked = work.rows_ranked.saturating_add(rows.len() as u64));
        }
        few::selected(self.query.predicate, few::all(rows.len()), |node, leaf, asked| {
            let rows = rows_of(asked).filter_map(|at| Some((at, *rows.get(at)?)));
            self.passing(node, leaf, rows)
        })
    }

    /// A bit for each of some rows that passes a leaf.
    fn passing(&self, node: usize, leaf: &Leaf, rows: impl Iterator<Item = (usize, GlobalRow)>) -> u64 {
        let is_negated = matches!(leaf.test, Test::None(_));
        match (self.query.accesses.get(node), &leaf.test) {
            (Some(Access::Rows(found)), Test::Any(_) | Test::None(_)) => {
                let found = found.ascending();
                passing(rows, |row| found.binary_search(&row).is_ok() != is_negated)
            }
            (Some(access @ Access::Strings(found, _)), Test::Any(_) | Test::None(_))
                if found.len() <= FEW_STRINGS =>
            {
                let by_batch = self.by_batch(node);
                passing(rows, |row| {
                    let strings = by_batch.and_then(|by_batch| self.strings(by_batch, leaf, access, row));
                    strings.is_some_and(|strings| strings.are_any(split(row).1)) != is_negated
                })
            }
            (Some(access @ Access::Strings(found, wanted)), Test::All(_)) if *wanted <= FEW_STRINGS => {
                let by_batch = self.by_batch(node).filter(|_| found.len() == *wanted);
                passing(rows, |row| {
                    let strings = by_batch.and_then(|by_batch| self.strings(by_batch, leaf, access, row));
                    strings.is_some_and(|strings| {
                        strings.codes.len() == *wanted && strings.are_all(split(row).1)
                    })
                })
            }
            _ => passing(rows, |row| {
                let (number, row) = split(row);
                let column = (self.batch)(number).and_then(|batch| batch.column(leaf.field));
                column.map_or(is_negated, |column| leaf.matches(column.values(usize::from(row))))
            }),
        }
    }

    fn by_batch(&self, node: usize) -> Option<&ByBatch<'b>> {
        let numbers = 0..self.query.directory.numbers();
        Some(self.strings.get(node)?.get_or_init(|| numbers.map(|_| OnceCell::new()).collect()))
    }

    /// The strings of a leaf in the batch of a row.
    fn strings<'s>(
        &'s self,
        by_batch: &'s ByBatch<'b>,
        leaf: &Leaf,
        access: &Access<'_>,
        row: GlobalRow,
    ) -> Option<&'s Strings<'b>> {
        let (number, _) = split(row);
        let found = || {
            let column = (self.batch)(number)?.column(leaf.field)?;
            let Access::Strings(found, _) = access else { return None };
            let codes = found.iter().filter_map(|string| string.code(number)).collect();
            Some(Strings { column, codes })
        };
        by_batch.get(number)?.get_or_init(found).as_ref()
    }
}

impl Strings<'_> {
    /// Whether a row has one of them.
    #[inline]
    fn are_any(&self, row: u16) -> bool {
        let row = usize::from(row);
        match (&self.column.layout, self.codes.as_slice()) {
            (Layout::Single(_), [only]) => {
                self.column.code(row).is_some_and(|(_, code)| code == *only as usize)
            }
            _ => codes_of(self.column, row).any(|code| self.codes.contains(&code)),
        }
    }

    /// Whether a row has each of them.
    fn are_all(&self, row: u16) -> bool {
        self.codes.iter().all(|code| codes_of(self.column, usize::from(row)).any(|own| own == *code))
    }
}
