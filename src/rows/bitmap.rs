//! The bitmap type that columns and indexes store. A batch can move the memory of its bitmaps to large pages.

use super::LANES;
use super::words::{self, clear_tail, has_bit};
use crate::kernels;
use crate::slice::{Move, Slice};

/// A bitmap with one bit for each row of a batch, as columns and indexes store it.
///
/// Invariant: bits after the last row are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bitmap {
    words: Slice<u64>,
    rows: usize,
}

impl Bitmap {
    /// Creates a bitmap of `rows` rows with no bit set: `zeros(70)` has the words `[0, 0]`.
    pub(crate) fn zeros(rows: usize) -> Self {
        Self { words: vec![0; rows.div_ceil(LANES)].into(), rows }
    }

    /// Creates a bitmap of `rows` rows with every row's bit set: `ones(70)` has the words `[u64::MAX, 0x3f]`.
    pub(crate) fn ones(rows: usize) -> Self {
        Self::filled_by(rows, |words| words.fill(u64::MAX))
    }

    /// Creates a bitmap of `rows` rows. `kernel` writes its words, which are zero at first. Bits after the last row are then
    /// cleared: `filled_by(3, |words| words.fill(u64::MAX))` has the word `0b111`.
    pub(crate) fn filled_by(rows: usize, kernel: impl FnOnce(&mut [u64])) -> Self {
        let mut words = vec![0; rows.div_ceil(LANES)];
        kernel(&mut words);
        clear_tail(&mut words, rows);
        Self { words: words.into(), rows }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> bool {
        has_bit(&self.words, row)
    }

    /// Returns a copy of the bitmap with the bits of `rows` cleared.
    pub(crate) fn without(&self, rows: impl IntoIterator<Item = usize>) -> Self {
        Self::filled_by(self.rows, |words| {
            words.copy_from_slice(&self.words);
            for row in rows {
                if let Some(word) = words.get_mut(row / LANES) {
                    *word &= !(1 << (row % LANES));
                }
            }
        })
    }

    /// Returns the number of set bits.
    pub(crate) fn count(&self) -> usize {
        kernels::count_ones(&self.words)
    }

    /// Returns the rows whose bit is set, in ascending order.
    pub(crate) fn ones_iter(&self) -> impl Iterator<Item = usize> {
        words::ones(self.words.iter().copied())
    }

    pub(crate) fn size_bytes(&self) -> usize {
        size_of_val::<[u64]>(&self.words)
    }

    pub(crate) fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
        all.push(&mut self.words);
    }

    /// Checks the invariants. Returns a description of the first violated invariant.
    pub(crate) fn validate(&self) -> Result<(), String> {
        let used = self.rows % LANES;
        let is_clean = used == 0 || self.words.last().is_none_or(|last| last >> used == 0);
        match self.words.len() == self.rows.div_ceil(LANES) && is_clean {
            true => Ok(()),
            false => Err(format!(
                "a bitmap of {} rows with {} words or bits after its end",
                self.rows,
                self.words.len()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_after_the_last_row_stay_zero() {
        for rows in [0, 1, 63, 64, 65, 65_535, 65_536] {
            let bitmap = Bitmap::ones(rows);
            assert_eq!(bitmap.count(), rows);
            assert_eq!(bitmap.ones_iter().count(), rows);
            assert_eq!(bitmap.validate(), Ok(()));
            assert_eq!(bitmap.without(0..rows), Bitmap::zeros(rows));
            let bitmap = Bitmap::filled_by(rows, |words| words.fill(u64::MAX));
            assert_eq!(bitmap.validate(), Ok(()));
            assert_eq!(bitmap, Bitmap::ones(rows));
        }
    }
}
