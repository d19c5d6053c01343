//! The rows of a batch in the order of their ids.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "codes below the number of distinct ids, and counts of the rows of one batch"
)]

use std::sync::OnceLock;

use crate::column::Codes;

/// A cell for the rows of a batch in the order of their ids. It is filled when a search first needs this order. The list then takes
/// two bytes for each row.
#[derive(Debug, Default)]
pub(super) struct RowsByIdCell(OnceLock<Box<[u16]>>);

/// The rows of a batch in ascending order of their ids.
#[derive(Clone, Copy)]
pub(crate) struct RowsById<'b> {
    rows: &'b [u16],
    /// The codes of the ids. They ascend with the ids.
    codes: &'b Codes,
}

impl RowsByIdCell {
    /// Returns the rows in ascending order of their ids, given the codes of the ids and the number of distinct ids. The first call
    /// sorts the rows.
    pub(super) fn get<'b>(&'b self, codes: &'b Codes, distinct: usize, rows: usize) -> RowsById<'b> {
        RowsById { rows: self.0.get_or_init(|| sorted(codes, distinct, rows)), codes }
    }

    /// Returns the size of the list in bytes. Returns 0 if the cell is empty.
    pub(super) fn size_bytes(&self) -> usize {
        self.0.get().map_or(0, |rows| size_of_val::<[u16]>(rows))
    }
}

/// Sorts rows by their codes (counting sort).
fn sorted(codes: &Codes, distinct: usize, rows: usize) -> Box<[u16]> {
    // For each code, the place of its next row in the list.
    let mut next = vec![0_usize; distinct + 1];
    (0..rows).for_each(|row| next[codes.get(row) + 1] += 1);
    (1..next.len()).for_each(|code| next[code] += next[code - 1]);
    let mut list = vec![0; rows];
    for row in 0..=u16::MAX {
        if usize::from(row) >= rows {
            break;
        }
        let place = &mut next[codes.get(usize::from(row))];
        list[*place] = row;
        *place += 1;
    }
    list.into()
}

impl<'b> RowsById<'b> {
    /// Returns the rows whose code is `first` or greater, each with its code, in ascending order of codes.
    pub(crate) fn starting_at(self, first: usize) -> impl Iterator<Item = (usize, u16)> + use<'b> {
        let code = move |row: u16| self.codes.get(usize::from(row));
        let start = self.rows.partition_point(|row| code(*row) < first);
        self.rows.iter().skip(start).map(move |row| (code(*row), *row))
    }
}
