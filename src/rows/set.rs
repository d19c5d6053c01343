//! A set of rows of one batch in any representation (`RowSet`). Each operation is a `match` over the representations.

use std::borrow::Cow;
use std::ops::Range;

use super::{LANES, list, range, words};
use crate::kernels::{self, Combine, Uniform};

/// A set of rows of one batch. The [module docs](super) describe the representations and their invariants.
#[derive(Clone, Debug)]
pub(crate) enum RowSet<'b> {
    /// No row.
    None,
    /// Every row.
    All,
    /// The listed rows, in ascending order and without duplicates.
    List(Cow<'b, [u16]>),
    /// The rows in `start..end`.
    Range(Range<usize>),
    /// The rows whose bit is set. Bits after the last row are zero.
    Bitmap(Cow<'b, [u64]>),
}

impl<'b> RowSet<'b> {
    /// Creates a set from an owned list of rows, in ascending order and without duplicates. An empty list gives `None`, and `[1,
    /// 5]` gives `List([1, 5])`.
    pub(crate) fn from_list(list: Vec<u16>) -> Self {
        if list.is_empty() { Self::None } else { Self::List(Cow::Owned(list)) }
    }

    /// Creates a set from a borrowed list of rows, in ascending order and without duplicates. An empty list gives `None`.
    pub(crate) fn listed(list: &'b [u16]) -> Self {
        if list.is_empty() { Self::None } else { Self::List(Cow::Borrowed(list)) }
    }

    /// Creates a set of the rows whose bit is set in `words`, which are borrowed: `[0b101]` gives the rows 0 and 2.
    pub(crate) fn bits(words: &'b [u64]) -> Self {
        Self::Bitmap(Cow::Borrowed(words))
    }

    /// Returns the number of rows in the set. The batch has `rows` rows.
    pub(crate) fn count(&self, rows: usize) -> usize {
        match self {
            Self::None => 0,
            Self::All => rows,
            Self::List(list) => list.len(),
            Self::Range(range) => range.len(),
            Self::Bitmap(words) => kernels::count_ones(words),
        }
    }

    /// Returns the number of rows in the set that are less than `row`. The batch has `rows` rows.
    pub(crate) fn count_below(&self, row: usize, rows: usize) -> usize {
        match self {
            Self::None => 0,
            Self::All => row.min(rows),
            Self::List(list) => list::count_below(list, row),
            Self::Range(range) => (range.start..range.end.min(row)).len(),
            Self::Bitmap(words) => words::count_below(words, row),
        }
    }

    /// Returns true if the set contains `row`.
    #[inline]
    pub(crate) fn contains(&self, row: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::List(list) => list::contains(list, row),
            Self::Range(range) => range.contains(&row),
            Self::Bitmap(words) => words::has_bit(words, row),
        }
    }

    /// Retains the rows of `list` that are in the set. The list may be in any order.
    pub(crate) fn retain(&self, list: &mut Vec<u16>) {
        self.retain_unless(false, list);
    }

    /// Retains the rows of `list` that are in the set or, if `negated`, the rows that are not in the set. The list may be in
    /// any order.
    pub(crate) fn retain_unless(&self, negated: bool, list: &mut Vec<u16>) {
        match self {
            Self::None | Self::All => {
                if matches!(self, Self::None) != negated {
                    list.clear();
                }
            }
            Self::List(own) => kernels::retain(list, |row| list::contains(own, row) != negated),
            Self::Range(range) => kernels::retain(list, |row| range.contains(&row) != negated),
            Self::Bitmap(words) => kernels::retain(list, |row| words::has_bit(words, row) != negated),
        }
    }

    /// Appends to `list` the rows of the set that are in `range`, in ascending order.
    pub(crate) fn list_within(&self, range: Range<usize>, list: &mut Vec<u16>) {
        match self {
            Self::None => {}
            Self::All => list.extend(range.filter_map(|row| u16::try_from(row).ok())),
            Self::List(own) => list.extend_from_slice(list::within(own, range)),
            Self::Range(own) => {
                let both = own.start.max(range.start)..own.end.min(range.end);
                list.extend(both.filter_map(|row| u16::try_from(row).ok()));
            }
            Self::Bitmap(words) => words::list_within(words, range, list),
        }
    }

    /// Returns the number of rows of the set whose bit is set in `words`.
    pub(crate) fn count_words(&self, words: &[u64]) -> usize {
        match self {
            Self::None => 0,
            Self::All => kernels::count_ones(words),
            Self::List(list) => list.iter().filter(|row| words::has_bit(words, usize::from(**row))).count(),
            Self::Range(range) => range::count_range(words, range.clone()),
            Self::Bitmap(own) => kernels::count_both(own, words),
        }
    }

    /// Returns the number of rows that are in both sets. The batch has `rows` rows.
    pub(crate) fn count_both(&self, other: &Self, rows: usize) -> usize {
        match (self, other) {
            (Self::None, _) | (_, Self::None) => 0,
            (Self::All, other) | (other, Self::All) => other.count(rows),
            (Self::Bitmap(words), other) | (other, Self::Bitmap(words)) => other.count_words(words),
            (Self::Range(range), other) | (other, Self::Range(range)) => {
                let [start, end] = [range.start, range.end].map(|row| other.count_below(row, rows));
                (start..end).len()
            }
            (Self::List(list), Self::List(other)) => {
                list.iter().filter(|row| list::contains(other, usize::from(**row))).count()
            }
        }
    }

    /// Returns the rows that are in both sets, in ascending order. The batch has `rows` rows.
    pub(crate) fn iter_both<'s>(&'s self, other: &'s Self, rows: usize) -> impl Iterator<Item = usize> {
        let (both, walked, tested): ([&[u64]; 2], _, _) = match (self, other) {
            (Self::Bitmap(one), Self::Bitmap(other)) => ([one, other], &Self::None, &Self::None),
            _ if self.rank() <= other.rank() => ([&[], &[]], self, other),
            _ => ([&[], &[]], other, self),
        };
        let [one, other] = both;
        let walked = walked.iter(rows).filter(|row| tested.contains(*row));
        walked.chain(words::ones(one.iter().zip(other).map(|(one, other)| one & other)))
    }

    /// Returns the rank of the representation by the cost of iterating over it and testing each row against another set. The
    /// cheapest representation has rank 0.
    fn rank(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::List(_) => 1,
            Self::Range(_) => 2,
            Self::Bitmap(_) => 3,
            Self::All => 4,
        }
    }

    /// Returns the row at index `number` of the set, or `None` if the set has fewer rows. The batch has `rows` rows.
    pub(crate) fn nth(&self, number: usize, rows: usize) -> Option<usize> {
        match self {
            Self::None => None,
            Self::All => (number < rows).then_some(number),
            Self::List(list) => list.get(number).map(|row| usize::from(*row)),
            Self::Range(range) => range.clone().nth(number),
            Self::Bitmap(words) => words::nth(words, number),
        }
    }

    /// Returns the rows in the set, in ascending order. The batch has `rows` rows.
    pub(crate) fn iter(&self, rows: usize) -> impl Iterator<Item = usize> {
        let (range, list, words): (_, &[u16], &[u64]) = match self {
            Self::None => (0..0, &[], &[]),
            Self::All => (0..rows, &[], &[]),
            Self::List(list) => (0..0, list, &[]),
            Self::Range(range) => (range.clone(), &[], &[]),
            Self::Bitmap(words) => (0..0, &[], words),
        };
        range.chain(list.iter().map(|row| usize::from(*row))).chain(words::ones(words.iter().copied()))
    }

    /// Overwrites the bitmap `words` with the bits of the set. The batch has `rows` rows.
    pub(crate) fn write(&self, words: &mut [u64], rows: usize) {
        match self {
            Self::Bitmap(own) => words.iter_mut().zip(&**own).for_each(|(word, own)| *word = *own),
            _ => {
                words.fill(0);
                self.combine_into(Combine::Or, words, rows);
            }
        }
    }

    /// Combines the bitmap `words` with the set, in place: `words & set`, `words | !set` and so on. The batch has `rows` rows.
    ///
    /// Returns the value that all bits have, if the operation finds it without extra work. `Some(false)` means that no bit is set,
    /// and `Some(true)` that every bit is set. Bits after the last row stay zero.
    pub(crate) fn combine_into(&self, how: Combine, words: &mut [u64], rows: usize) -> Uniform {
        match (self, how) {
            (Self::None, Combine::And) | (Self::All, Combine::AndNot) => {
                words.fill(0);
                return Some(false);
            }
            (Self::None, Combine::OrNot) | (Self::All, Combine::Or) => {
                words::fill(words, rows);
                return Some(true);
            }
            (Self::None | Self::All, _) => {}
            (Self::List(list), Combine::Or) => words::set_rows(words, list),
            (Self::List(list), Combine::AndNot) => words::clear_rows(words, list),
            (Self::List(list), Combine::And) => {
                let mut list = list.to_vec();
                kernels::retain(&mut list, |row| words::has_bit(words, row));
                words.fill(0);
                words::set_rows(words, &list);
            }
            (Self::List(list), Combine::OrNot) => {
                let mut list = list.to_vec();
                kernels::retain(&mut list, |row| !words::has_bit(words, row));
                words::fill(words, rows);
                words::clear_rows(words, &list);
            }
            (Self::Range(range), Combine::Or) => range::set_range(words, range.clone()),
            (Self::Range(range), Combine::AndNot) => range::clear_range(words, range.clone()),
            (Self::Range(range), Combine::And) => {
                range::clear_range(words, 0..range.start);
                range::clear_range(words, range.end..rows);
            }
            (Self::Range(range), Combine::OrNot) => {
                range::set_range(words, 0..range.start);
                range::set_range(words, range.end..rows);
            }
            (Self::Bitmap(own), _) => {
                let uniform = kernels::combine(how, words, own);
                words::clear_tail(words, rows);
                return uniform;
            }
        }
        None
    }

    /// Combines the set with `other`, and returns an owned set. The batch has `rows` rows.
    pub(crate) fn combined(&self, how: Combine, other: &RowSet<'_>, rows: usize) -> RowSet<'static> {
        let mut words = vec![0; rows.div_ceil(LANES)];
        self.write(&mut words, rows);
        match other.combine_into(how, &mut words, rows) {
            Some(false) => RowSet::None,
            Some(true) => RowSet::All,
            None => RowSet::Bitmap(Cow::Owned(words)),
        }
    }

    /// Prefetches the memory of the set, which the caller will read from front to back.
    pub(crate) fn prefetch_start(&self) {
        match self {
            Self::None | Self::All | Self::Range(_) => {}
            Self::List(list) => kernels::prefetch_start(list),
            Self::Bitmap(words) => kernels::prefetch_start(words),
        }
    }

    /// Prefetches the memory that [`contains`](Self::contains) reads for `row`, if the set is a bitmap.
    #[inline]
    pub(crate) fn prefetch(&self, row: usize) {
        if let Self::Bitmap(words) = self {
            kernels::prefetch(words, row / LANES);
        }
    }
}

#[cfg(test)]
mod tests;
