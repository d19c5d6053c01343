//! Stores sealed batches in the file, with their summaries and their live rows (the rows that are not deleted). Each part of a
//! batch, such as one column, is cut into *pieces* of at most 32 KiB. Each piece is one value of the redb table `batches`. Parts
//! may be compressed before they are cut.

use redb::{ReadableTable, WriteTransaction};

use super::error::Fault;
use super::packed_part::{pack, unpack};
use super::tables::{
    BATCHES, LIVE, PIECE_BYTES, SUMMARIES, live_from_bytes, live_to_bytes, summary_to_bytes,
};
use crate::batch::Batch;
use crate::batch::codec::{self, Part, ReadBatch};
use crate::catalog::Catalog;
use crate::column::{Bitmap, Selection};

/// The type of the keys of pieces: the batch number, the part number, and the number of the piece.
pub(super) type PieceKey = (u64, u16, u32);

/// Returns the table key of the first piece of a part.
fn first_piece(batch: u64, part: Part) -> PieceKey {
    (batch, part.number(), 0)
}

/// Stores a batch. Only one part at a time is in memory. If `is_packed` is true, also stores its summary and its [key
/// filters](crate::batch::KeyFilter), and compresses each part that becomes much smaller.
pub(super) fn write(
    transaction: &WriteTransaction,
    catalog: &Catalog,
    (number, batch): (u64, &Batch),
    is_packed: bool,
) -> Result<(), Fault> {
    let mut table = transaction.open_table(BATCHES)?;
    let filters = Part::filters(catalog).filter(|_| is_packed);
    for part in Part::all(catalog).chain(filters) {
        let bytes = codec::write(catalog, batch, number, part);
        let bytes = if is_packed { pack(bytes) } else { bytes };
        for (piece, bytes) in (0_u32..).zip(bytes.chunks(PIECE_BYTES)) {
            table.insert((number, part.number(), piece), bytes)?;
        }
    }
    if is_packed {
        let summary = summary_to_bytes(catalog, number, &batch.summary(catalog));
        transaction.open_table(SUMMARIES)?.insert(number, summary.as_slice())?;
    }
    Ok(())
}

/// Stores the live rows of a batch.
pub(super) fn write_live(
    transaction: &WriteTransaction,
    number: u64,
    live: &Selection,
    rows: usize,
) -> Result<(), Fault> {
    let mut table = transaction.open_table(LIVE)?;
    table.insert(number, live_to_bytes(number, live, rows).as_slice())?;
    Ok(())
}

/// Removes a batch with its live rows, and its summary if the file has summaries.
pub(super) fn remove(transaction: &WriteTransaction, number: u64, is_packed: bool) -> Result<(), Fault> {
    let mut table = transaction.open_table(BATCHES)?;
    table.retain_in((number, 0, 0)..=(number, u16::MAX, u32::MAX), |_, _| false)?;
    transaction.open_table(LIVE)?.remove(number)?;
    if is_packed {
        transaction.open_table(SUMMARIES)?.remove(number)?;
    }
    Ok(())
}

/// Returns the batch numbers of the stored batches, in ascending order.
pub(super) fn numbers(live: &impl ReadableTable<u64, &'static [u8]>) -> Result<Vec<u64>, Fault> {
    let count = usize::try_from(live.len()?).unwrap_or(usize::MAX);
    // The pages of a damaged file may form a cycle, so the count of entries bounds the loop.
    live.iter()?.take(count.saturating_add(1)).map(|entry| Ok(entry?.0.value())).collect()
}

/// Reads a whole batch.
pub(super) fn read(
    pieces: &impl ReadableTable<PieceKey, &'static [u8]>,
    catalog: &Catalog,
    number: u64,
) -> Result<ReadBatch, Fault> {
    codec::read(catalog, number, |part| self::part(pieces, number, part))
}

/// Reads the bytes of a part of a batch.
pub(super) fn part(
    pieces: &impl ReadableTable<PieceKey, &'static [u8]>,
    number: u64,
    part: Part,
) -> Result<Vec<u8>, Fault> {
    let first = first_piece(number, part);
    let mut bytes = Vec::new();
    let mut expected = first;
    for entry in pieces.range(first..=(number, part.number(), u32::MAX))? {
        let (key, piece) = entry?;
        if key.value() != expected {
            return Err(Fault::corrupt(format!("batch {number} lacks a piece of part {}", part.number())));
        }
        // The addition saturates only after the piece with the maximum number, which ends the range. So no piece is compared with a
        // saturated number.
        expected.2 = expected.2.saturating_add(1);
        bytes.extend_from_slice(piece.value());
    }
    unpack(bytes)
}

/// Reads the live rows of a batch.
pub(super) fn read_live(
    live: &impl ReadableTable<u64, &'static [u8]>,
    number: u64,
    rows: usize,
) -> Result<Bitmap, Fault> {
    let bytes = live.get(number)?;
    let bytes = bytes.ok_or_else(|| Fault::corrupt(format!("no live rows of batch {number}")))?;
    live_from_bytes(number, rows, bytes.value())
}
