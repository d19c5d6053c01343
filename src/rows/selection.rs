//! The set type that columns and indexes store: no rows, all rows, or a bitmap.

use super::{Bitmap, RowSet};
use crate::kernels::Combine;
use crate::slice::Move;

/// A set of rows that a column or an index stores: no rows, all rows, or a bitmap.
///
/// `None` and `All` are separate variants, so that operations on them read no bitmap. A `Bitmap` can still have no bit set or every
/// bit set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// No row.
    None,
    /// Every row.
    All,
    /// The rows whose bit is set. The bitmap has one bit for each row of the batch.
    Bitmap(Bitmap),
}

impl Selection {
    /// Converts a bitmap. Returns `Self::None` if no bit is set, and `Self::All` if every bit is set.
    /// Of three rows, the bits `000` give `None`, `111` gives `All`, and `101` gives `Bitmap`.
    pub(crate) fn from_bitmap(bitmap: Bitmap) -> Self {
        match bitmap.count() {
            0 => Self::None,
            count if count == bitmap.rows() => Self::All,
            _ => Self::Bitmap(bitmap),
        }
    }

    /// Returns the selection as a [`RowSet`] that borrows it.
    pub(crate) fn set(&self) -> RowSet<'_> {
        match self {
            Self::None => RowSet::None,
            Self::All => RowSet::All,
            Self::Bitmap(bitmap) => RowSet::bits(bitmap.words()),
        }
    }

    /// Returns the rows that are not selected. The batch has `rows` rows.
    pub(crate) fn others(&self, rows: usize) -> RowSet<'static> {
        RowSet::All.combined(Combine::AndNot, &self.set(), rows)
    }

    /// Returns the number of selected rows. The batch has `rows` rows.
    pub(crate) fn count(&self, rows: usize) -> usize {
        self.set().count(rows)
    }

    #[inline]
    pub(crate) fn contains(&self, row: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Bitmap(bitmap) => bitmap.get(row),
        }
    }

    /// Returns word `at` of the selection as a bitmap. Bits after the last row of the batch have no meaning.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> u64 {
        match self {
            Self::None => 0,
            Self::All => u64::MAX,
            Self::Bitmap(bitmap) => bitmap.words().get(at).copied().unwrap_or(0),
        }
    }

    /// Returns the selected rows in ascending order. The batch has `rows` rows.
    pub(crate) fn iter(&self, rows: usize) -> impl Iterator<Item = usize> {
        let all = matches!(self, Self::All).then_some(0..rows);
        let bitmap = match self {
            Self::Bitmap(bitmap) => Some(bitmap.ones_iter()),
            _ => None,
        };
        all.into_iter().flatten().chain(bitmap.into_iter().flatten())
    }

    /// Calls `take` with each row that is not selected, in ascending order. The batch has `rows` rows.
    pub(crate) fn each_other(&self, rows: usize, take: impl FnMut(usize)) {
        match self {
            Self::None => (0..rows).for_each(take),
            Self::All => {}
            Self::Bitmap(bitmap) => {
                let others = Bitmap::filled_by(rows, |words| {
                    words.iter_mut().zip(bitmap.words()).for_each(|(word, own)| *word = !own);
                });
                others.ones_iter().for_each(take);
            }
        }
    }

    pub(crate) fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
        if let Self::Bitmap(bitmap) = self {
            bitmap.slices(all);
        }
    }

    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::Bitmap(bitmap) => bitmap.size_bytes(),
            _ => 0,
        }
    }

    /// Checks the invariants for a batch of `rows` rows. Returns a description of the first violated invariant.
    pub(crate) fn validate(&self, rows: usize) -> Result<(), String> {
        match self {
            Self::Bitmap(bitmap) if bitmap.rows() != rows => {
                Err(format!("a bitmap of {} rows in a batch of {rows}", bitmap.rows()))
            }
            Self::Bitmap(bitmap) => bitmap.validate(),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_of_no_row_or_of_all_is_told_apart() {
        for rows in [0, 1, 63, 64, 65, 65_536] {
            let all = Selection::from_bitmap(Bitmap::ones(rows));
            assert_eq!(all, if rows == 0 { Selection::None } else { Selection::All });
            assert_eq!(Selection::from_bitmap(Bitmap::zeros(rows)), Selection::None);
            let mut others = Vec::new();
            Selection::from_bitmap(Bitmap::ones(rows).without([0])).each_other(rows, |row| others.push(row));
            assert_eq!(others, if rows == 0 { vec![] } else { vec![0] });
        }
    }
}
