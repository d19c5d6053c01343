//! The rows of one batch in the order of their keys.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "steps and counts of rows of one batch; no fewer are to be passed over than are passed over"
)]

use super::key::SortBy;
use crate::batch::Batch;
use crate::column::{ColumnData, Postings, Sorted};
use crate::rows::RowSet;

/// The way in which the rows of a batch are read in order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BatchWalk<'b> {
    /// In the order of their values, unless gathering them is faster.
    Sorted(Sorted<'b>),
    /// String by string.
    Strings(&'b Postings),
    /// All are gathered first.
    Gather,
}

impl<'b> BatchWalk<'b> {
    pub(crate) fn new(batch: &'b Batch, by: SortBy<'_>) -> Self {
        let SortBy::Field { id, .. } = by else { return Self::Gather };
        let Some(column) = batch.column(id) else { return Self::Gather };
        match &column.data {
            ColumnData::Ordered { sorted, .. } => {
                Sorted::new(sorted, column).map_or(Self::Gather, Self::Sorted)
            }
            ColumnData::Strings { postings: Some(postings), .. } => Self::Strings(postings),
            _ => Self::Gather,
        }
    }
}

/// Returns the rows of a batch that have a key, sorted by it; `None` where the batch does not keep them sorted.
pub(super) fn sorted_rows<'b>(batch: &'b Batch, by: SortBy<'_>) -> Option<Sorted<'b>> {
    match by {
        SortBy::Place => batch.ordered_places().map(|_| Sorted::AsStored(batch.rows())),
        SortBy::Field { id, .. } => match &batch.column(id)?.data {
            ColumnData::Ordered { sorted, .. } => Sorted::new(sorted, batch.column(id)?),
            _ => None,
        },
    }
}

/// Returns the row at a step in sorted order.
pub(super) fn row_at(sorted: Sorted<'_>, step: usize, descending: bool) -> Option<usize> {
    sorted.get(if descending { sorted.len().checked_sub(step + 1)? } else { step })
}

/// Returns the number of steps in sorted order that pass over up to `skip` selected rows, and lowers `skip` by those passed over.
pub(super) fn pass_over(
    sorted: Sorted<'_>,
    selected: &RowSet<'_>,
    rows: usize,
    descending: bool,
    skip: &mut usize,
) -> usize {
    let len = sorted.len();
    let place = |step: usize| if descending { len - 1 - step } else { step };
    let mut step: usize = 0;
    match sorted {
        // Either every row has a value, or none has.
        Sorted::AsStored(0) => {}
        Sorted::AsStored(_) => {
            let count = selected.count(rows);
            if *skip >= count {
                *skip -= count;
                return len;
            }
            let number = if descending { count - 1 - *skip } else { *skip };
            *skip = 0;
            // Its place is its row.
            return selected.nth(number, rows).map_or(len, place);
        }
        Sorted::Listed(list) => {
            let counts: Vec<(usize, usize)> = std::iter::once((0, 0))
                .chain(list.fences().map(|(fence, words)| (fence, selected.count_words(words))))
                .collect();
            let total = counts.last().map_or(0, |(_, count)| *count);
            let passed = |(fence, count): (usize, usize)| {
                if descending { (len - fence, total - count) } else { (fence, count) }
            };
            let possible = counts.into_iter().map(passed).filter(|(_, count)| *count <= *skip);
            if let Some((steps, count)) = possible.max_by_key(|(steps, _)| *steps) {
                step = steps;
                *skip -= count;
            }
        }
    }
    while step < len {
        if sorted.get(place(step)).is_some_and(|row| selected.contains(row)) {
            if *skip == 0 {
                break;
            }
            *skip -= 1;
        }
        step += 1;
    }
    step
}
