//! Bitmaps over the rows of a batch, and selections made of them.

use super::slice::{Move, Slice};

/// Words of a full batch: with so many, no row of 16 bits lies beyond them.
const FULL: usize = (1 << 16) / LANES;

/// Sets the bits of rows, in any order.
pub(crate) fn set_rows(words: &mut [u64], rows: &[u16]) {
    update_rows(words, rows, |word, bit| word | bit);
}

/// Turns the bits of rows over, which are different ones, in any order.
pub(crate) fn flip_rows(words: &mut [u64], rows: &[u16]) {
    update_rows(words, rows, |word, bit| word ^ bit);
}

#[inline(always)]
fn update_rows(words: &mut [u64], rows: &[u16], update: impl Fn(u64, u64) -> u64) {
    let one = |word: Option<&mut u64>, row: u16| {
        if let Some(word) = word {
            *word = update(*word, 1 << (row & 63));
        }
    };
    let place = |row: u16| usize::from(row >> 6);
    // In a full batch the compiler sees that every row has a word.
    match <&mut [u64; FULL]>::try_from(&mut *words) {
        Ok(words) => update_each(rows, |row| one(words.get_mut(place(row)), row)),
        Err(_) => update_each(rows, |row| one(words.get_mut(place(row)), row)),
    }
}

/// Goes through four parts of the rows side by side: rows that follow each other often share a word, which cannot be read again before
/// it has been written.
#[inline(always)]
fn update_each(rows: &[u16], mut update: impl FnMut(u16)) {
    let quarter = rows.len() / 4;
    let (first, rest) = rows.split_at(quarter);
    let (second, rest) = rest.split_at(quarter);
    let (third, rest) = rest.split_at(quarter);
    let (fourth, rest) = rest.split_at(quarter);
    for (((first, second), third), fourth) in first.iter().zip(second).zip(third).zip(fourth) {
        update(*first);
        update(*second);
        update(*third);
        update(*fourth);
    }
    rest.iter().for_each(|row| update(*row));
}

/// One bit a row. Invariant: bits behind the last row are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bitmap {
    words: Slice<u64>,
    rows: usize,
}

/// Lanes of a word.
pub(crate) const LANES: usize = 64;

impl Bitmap {
    /// No row's bit set.
    pub(crate) fn zeros(rows: usize) -> Self {
        Self { words: vec![0; rows.div_ceil(LANES)].into(), rows }
    }

    /// Every row's bit set.
    pub(crate) fn ones(rows: usize) -> Self {
        Self::filled_by(rows, |words| words.fill(u64::MAX))
    }

    /// The bits that a kernel writes into the words it is handed; those behind the last row are cleared.
    pub(crate) fn filled_by(rows: usize, kernel: impl FnOnce(&mut [u64])) -> Self {
        let mut words = vec![0; rows.div_ceil(LANES)];
        kernel(&mut words);
        let used = rows % LANES;
        if used > 0
            && let Some(last) = words.last_mut()
        {
            *last &= (1_u64 << used).wrapping_sub(1);
        }
        Self { words: words.into(), rows }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn into_words(self) -> Vec<u64> {
        self.words.to_vec()
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> bool {
        self.words.get(row / LANES).is_some_and(|word| word >> (row % LANES) & 1 == 1)
    }

    /// This without the bits of these rows.
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

    /// How many bits are set.
    pub(crate) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The rows whose bit is set, ascending.
    pub(crate) fn ones_iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest.wrapping_sub(1);
                Some(at.wrapping_mul(LANES).wrapping_add(bit))
            })
        })
    }

    pub(crate) fn size_bytes(&self) -> usize {
        size_of_val::<[u64]>(&self.words)
    }

    pub(super) fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
        all.push(&mut self.words);
    }

    /// Says which invariant does not hold.
    pub(crate) fn validate(&self) -> Result<(), String> {
        let used = self.rows % LANES;
        let is_clean = used == 0 || self.words.last().is_none_or(|last| last >> used == 0);
        match self.words.len() == self.rows.div_ceil(LANES) && is_clean {
            true => Ok(()),
            false => Err(format!(
                "a bitmap of {} rows with {} words or bits behind its end",
                self.rows,
                self.words.len()
            )),
        }
    }
}

/// Some of the rows of a batch.
///
/// The extremes stand apart so that what they decide touches no word. A bitmap may still hold
/// no bit or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// No row.
    None,
    /// Every row.
    All,
    /// The rows whose bit is set.
    Bitmap(Bitmap),
}

impl Selection {
    /// The rows of a bitmap, the extremes told apart.
    pub(crate) fn from_bitmap(bitmap: Bitmap) -> Self {
        match bitmap.count() {
            0 => Self::None,
            count if count == bitmap.rows() => Self::All,
            _ => Self::Bitmap(bitmap),
        }
    }

    /// How many of `rows` rows are selected.
    pub(crate) fn count(&self, rows: usize) -> usize {
        match self {
            Self::None => 0,
            Self::All => rows,
            Self::Bitmap(bitmap) => bitmap.count(),
        }
    }

    #[inline]
    pub(crate) fn contains(&self, row: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Bitmap(bitmap) => bitmap.get(row),
        }
    }

    /// A bit for each selected one of the 64 rows of a word; of rows behind the last one any.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> u64 {
        match self {
            Self::None => 0,
            Self::All => u64::MAX,
            Self::Bitmap(bitmap) => bitmap.words.get(at).copied().unwrap_or(0),
        }
    }

    /// The selected ones of `rows` rows, ascending.
    pub(crate) fn iter(&self, rows: usize) -> impl Iterator<Item = usize> {
        let all = matches!(self, Self::All).then_some(0..rows);
        let bitmap = match self {
            Self::Bitmap(bitmap) => Some(bitmap.ones_iter()),
            _ => None,
        };
        all.into_iter().flatten().chain(bitmap.into_iter().flatten())
    }

    /// Hands over those of `rows` rows that are not selected, ascending.
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

    pub(super) fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
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

    /// Says which invariant does not hold for a batch of `rows` rows.
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
    fn bits_behind_the_last_row_stay_zero() {
        for rows in [0, 1, 63, 64, 65, 65_535, 65_536] {
            let bitmap = Bitmap::ones(rows);
            assert_eq!(bitmap.count(), rows);
            assert_eq!(bitmap.ones_iter().count(), rows);
            assert_eq!(bitmap.validate(), Ok(()));
            assert_eq!(bitmap.without(0..rows), Bitmap::zeros(rows));
            let bitmap = Bitmap::filled_by(rows, |words| words.fill(u64::MAX));
            assert_eq!(bitmap.validate(), Ok(()));
            assert_eq!(
                Selection::from_bitmap(bitmap),
                if rows == 0 { Selection::None } else { Selection::All }
            );
        }
    }

    #[test]
    fn rows_are_set_and_turned_over_one_by_one() {
        for words in [1, 3, FULL] {
            // Several in one word, and some in the last one.
            let all: Vec<u16> = [0, 1, 5, 63, 62, 40]
                .into_iter()
                .chain((words * LANES - 7..words * LANES).map(|row| row as u16))
                .collect();
            for len in 0..=all.len() {
                let rows = &all[..len];
                let before: Vec<u64> =
                    (0..words as u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
                let (mut set, mut turned) = (before.clone(), before.clone());
                set_rows(&mut set, rows);
                flip_rows(&mut turned, rows);
                let mut distinct = rows.to_vec();
                distinct.sort_unstable();
                distinct.dedup();
                for row in 0..words * LANES {
                    let bit = |words: &[u64]| words[row / LANES] >> (row % LANES) & 1 == 1;
                    let is_in = distinct.contains(&(row as u16));
                    assert_eq!(bit(&set), bit(&before) || is_in, "row {row} of {len} in {words} words");
                    if distinct.len() == len {
                        assert_eq!(
                            bit(&turned),
                            bit(&before) != is_in,
                            "row {row} of {len} in {words} words"
                        );
                    }
                }
            }
        }
    }
}
