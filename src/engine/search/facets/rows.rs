//! The set of selected rows of one batch, in which a facet counts values. [`Selected`] also counts the rows of the set that have a
//! value.

use crate::column::{Column, ColumnLayout};
use crate::kernels;
use crate::rows::{LANES, RowSet};

/// The selected rows of a batch.
pub(super) struct Selected<'r> {
    pub(super) rows: &'r RowSet<'r>,
    /// The number of selected rows.
    pub(super) count: usize,
    /// The number of rows of the batch.
    pub(super) all: usize,
}

impl Selected<'_> {
    /// Returns true if every row of the batch is selected.
    pub(super) fn is_all(&self) -> bool {
        self.count == self.all
    }

    /// Returns the number of selected rows that have a value.
    pub(super) fn with_value(&self, column: &Column) -> usize {
        match &column.layout {
            ColumnLayout::Single(present) => self.rows.count_both(&present.set(), self.all),
            ColumnLayout::Many(ends) if self.is_all() => {
                let first = usize::from(ends.first().is_some_and(|end| *end > 0));
                let others = ends.windows(2).map(|pair| usize::from(pair.first() != pair.last()));
                others.sum::<usize>().saturating_add(first)
            }
            ColumnLayout::Many(ends) if self.count > self.all / 64 => {
                let mut words = vec![0; self.all.div_ceil(LANES)];
                kernels::non_empty(ends, &mut words);
                self.rows.count_words(&words)
            }
            ColumnLayout::Many(_) => {
                self.rows.iter(self.all).filter(|row| !column.places(*row).is_empty()).count()
            }
        }
    }
}
