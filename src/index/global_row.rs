//! The address of a row in a covered batch, packed into 32 bits. Outside the index, rows have a `RowAddr`.
#![expect(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "indexes into a list of rows")]

use std::ops::Range;

/// The address of a row in a snapshot. The upper 16 bits are the batch number. The lower 16 bits are the index of the row in its
/// batch.
pub(crate) type GlobalRow = u32;

/// Returns the batch number, and the index of the row in its batch.
#[inline]
pub(crate) fn split(row: GlobalRow) -> (usize, u16) {
    #[expect(clippy::cast_possible_truncation, reason = "the row in its batch is the lower half")]
    ((row >> 16) as usize, row as u16)
}

/// Returns the address of row `row` in batch `batch`. Returns `None` if one of the two exceeds 16 bits.
/// `join(2, 5)` is `Some(0x0002_0005)`.
#[inline]
pub(crate) fn join(batch: usize, row: usize) -> Option<GlobalRow> {
    let batch = u16::try_from(batch).ok()?;
    let row = u16::try_from(row).ok()?;
    Some(u32::from(batch) << 16 | u32::from(row))
}

/// Returns the index range of the rows of batch `number` in `rows`, which must ascend.
pub(crate) fn places_of_batch(rows: &[GlobalRow], number: usize) -> Range<usize> {
    let start = join(number, 0).map_or(rows.len(), |first| rows.partition_point(|row| *row < first));
    let own = rows[start..].iter().take_while(|row| split(**row).0 == number).count();
    start..start + own
}
