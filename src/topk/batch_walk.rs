//! Chooses how to read the rows of one batch in sort order. Also skips rows in this order by counting them. Handles only rows with
//! a value: `top_k` appends the rows without a value.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "steps and counts of rows of one batch; at most `skip` rows are skipped"
)]

use super::key::SortBy;
use crate::batch::Batch;
use crate::column::{ColumnData, Postings, Sorted};
use crate::rows::RowSet;

/// A method to read the rows of a batch in sort order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BatchWalk<'b> {
    /// Read the rows from the list that the batch keeps sorted by value, unless collecting all selected rows is faster.
    Sorted(Sorted<'b>),
    /// Read the rows of each string, in the order of the strings.
    Strings(&'b Postings),
    /// Collect all selected rows, and sort them.
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

/// Returns the rows of a batch that have a value in the sort field, sorted by this value. For the insertion order, returns all
/// rows. Returns `None` if the batch does not keep its rows in this order.
pub(super) fn sorted_rows<'b>(batch: &'b Batch, by: SortBy<'_>) -> Option<Sorted<'b>> {
    match by {
        SortBy::Place { .. } => batch.ordered_places().map(|_| Sorted::AsStored(batch.rows())),
        SortBy::Field { id, .. } => match &batch.column(id)?.data {
            ColumnData::Ordered { sorted, .. } => Sorted::new(sorted, batch.column(id)?),
            _ => None,
        },
    }
}

/// Returns the row at index `step` of the sort order, or `None` if fewer rows are sorted.
pub(super) fn row_at(sorted: Sorted<'_>, step: usize, descending: bool) -> Option<usize> {
    sorted.get(if descending { sorted.len().checked_sub(step + 1)? } else { step })
}

/// Skips up to `skip` selected rows in sort order, and subtracts the number of skipped rows from `skip`. Returns the index in the
/// sort order of the next selected row, or the number of sorted rows if there is no such row.
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
        // With `AsStored(0)`, no row of the batch has a value. With any other `AsStored`, every row has a value.
        Sorted::AsStored(0) => {}
        Sorted::AsStored(_) => {
            let count = selected.count(rows);
            if *skip >= count {
                *skip -= count;
                return len;
            }
            let number = if descending { count - 1 - *skip } else { *skip };
            *skip = 0;
            // If rows are sorted as stored, the index of a row in the sort order is its row number.
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
