//! The rows of a batch in the order of their ids.

use std::sync::OnceLock;

use super::sealed::{Batch, Columns};
use crate::catalog::FieldId;
use crate::column::{Codes, ColumnData};

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

impl Batch {
    /// Returns the rows in ascending order of their ids. The first call sorts them. Returns `None` for a batch of buffered rows.
    pub(crate) fn rows_by_id(&self) -> Option<RowsById<'_>> {
        if matches!(self.columns, Columns::Lazy(_)) {
            return None;
        }
        let ColumnData::Strings { codes, .. } = &self.column(FieldId::ID)?.data else { return None };
        let rows = self.rows_by_id.0.get_or_init(|| {
            let mut rows: Vec<(usize, u16)> =
                (0..=u16::MAX).take(self.rows).map(|row| (codes.get(usize::from(row)), row)).collect();
            rows.sort_unstable();
            rows.into_iter().map(|(_, row)| row).collect()
        });
        Some(RowsById { rows, codes })
    }

    /// Returns the size in bytes of the list of rows in the order of their ids. Returns 0 if no search has needed it.
    pub(crate) fn rows_by_id_bytes(&self) -> usize {
        self.rows_by_id.0.get().map_or(0, |rows| size_of_val::<[u16]>(rows))
    }
}

impl<'b> RowsById<'b> {
    /// Returns the rows whose code is `first` or greater, each with its code, in ascending order of codes.
    pub(crate) fn starting_at(self, first: usize) -> impl Iterator<Item = (usize, u16)> + use<'b> {
        let code = move |row: u16| self.codes.get(usize::from(row));
        let start = self.rows.partition_point(|row| code(*row) < first);
        self.rows.iter().skip(start).map(move |row| (code(*row), *row))
    }
}
