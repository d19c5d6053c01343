//! Addresses of rows in all batches of an index.
#![expect(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "places among some rows")]

use std::ops::Range;

/// A row of some batch of a snapshot: the batch's number in the upper half, the row's in the lower.
pub(crate) type GlobalRow = u32;

/// Returns the batch and the row of a global row.
#[inline]
pub(crate) fn split(row: GlobalRow) -> (usize, u16) {
    #[expect(clippy::cast_possible_truncation, reason = "the row in its batch is the lower half")]
    ((row >> 16) as usize, row as u16)
}

/// Returns the global row of a row in a batch; `None` beyond 65,536 batches.
#[inline]
pub(crate) fn join(batch: usize, row: usize) -> Option<GlobalRow> {
    let batch = u16::try_from(batch).ok()?;
    let row = u16::try_from(row).ok()?;
    Some(u32::from(batch) << 16 | u32::from(row))
}

/// Returns the places, among ascending rows, of those of the batch of a number.
pub(crate) fn places_of_batch(rows: &[GlobalRow], number: usize) -> Range<usize> {
    let start = join(number, 0).map_or(rows.len(), |first| rows.partition_point(|row| *row < first));
    let own = rows[start..].iter().take_while(|row| split(**row).0 == number).count();
    start..start + own
}
