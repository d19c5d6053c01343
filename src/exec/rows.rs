//! Sets of rows of one batch while a predicate is being evaluated.

use std::borrow::Cow;
use std::ops::Range;

use super::kernels;
use crate::column::{Bitmap, LANES, Posting, Selection};

/// Some of the rows of a batch, borrowed from an index wherever one has them ready.
#[derive(Clone, Debug)]
pub(crate) enum Rows<'b> {
    /// No row.
    None,
    /// Every row.
    All,
    /// These rows, ascending, each once.
    List(Cow<'b, [u16]>),
    /// The rows whose bit is set; bits behind the last row are zero.
    Words(Cow<'b, [u64]>),
}

impl<'b> From<Posting<'b>> for Rows<'b> {
    fn from(posting: Posting<'b>) -> Self {
        match posting {
            Posting::All => Self::All,
            Posting::Words(words) => Self::Words(Cow::Borrowed(words)),
            Posting::List([]) => Self::None,
            Posting::List(list) => Self::List(Cow::Borrowed(list)),
        }
    }
}

impl<'b> From<&'b Selection> for Rows<'b> {
    fn from(selection: &'b Selection) -> Self {
        match selection {
            Selection::None => Self::None,
            Selection::All => Self::All,
            Selection::Bitmap(bitmap) => Self::Words(Cow::Borrowed(bitmap.words())),
        }
    }
}

impl From<Bitmap> for Rows<'_> {
    fn from(bitmap: Bitmap) -> Self {
        Self::Words(Cow::Owned(bitmap.into_words()))
    }
}

impl<'b> Rows<'b> {
    /// How many of `rows` rows these are.
    pub(crate) fn count(&self, rows: usize) -> usize {
        match self {
            Self::None => 0,
            Self::All => rows,
            Self::List(list) => list.len(),
            Self::Words(words) => kernels::count_ones(words),
        }
    }

    /// How many of these of `rows` rows are below a row.
    pub(crate) fn count_below(&self, row: usize, rows: usize) -> usize {
        match self {
            Self::None => 0,
            Self::All => row.min(rows),
            Self::List(list) => list.partition_point(|other| usize::from(*other) < row),
            Self::Words(words) => {
                let whole =
                    words.get(..row / LANES).map_or_else(|| kernels::count_ones(words), kernels::count_ones);
                let last = words.get(row / LANES).map_or(0, |word| word & !(u64::MAX << (row % LANES)));
                whole.saturating_add(last.count_ones() as usize)
            }
        }
    }

    #[inline]
    pub(crate) fn contains(&self, row: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::List(list) => u16::try_from(row).is_ok_and(|row| list.binary_search(&row).is_ok()),
            Self::Words(words) => has_bit(words, row),
        }
    }

    /// Keeps those of some rows, in any order, that are among them.
    pub(crate) fn retain(&self, rows: &mut Vec<u16>) {
        match self {
            Self::Words(words) => kernels::retain(rows, |row| has_bit(words, row)),
            _ => rows.retain(|row| self.contains(usize::from(*row))),
        }
    }

    /// Lists those in a range, ascending, behind what the list holds.
    pub(crate) fn list_within(&self, range: Range<usize>, list: &mut Vec<u16>) {
        match self {
            Self::None => {}
            // A batch has no more rows than that.
            Self::All => list.extend(range.map(|row| u16::try_from(row).unwrap_or(u16::MAX))),
            Self::List(own) => {
                let place = |row: usize| own.partition_point(|other| usize::from(*other) < row);
                list.extend_from_slice(own.get(place(range.start)..place(range.end)).unwrap_or_default());
            }
            Self::Words(words) => {
                let places = range.start / LANES..range.end.div_ceil(LANES);
                let within = |first: usize, word: u64| {
                    let below = |row: usize| {
                        let bits = u32::try_from(row.saturating_sub(first)).unwrap_or(u32::MAX);
                        1_u64.checked_shl(bits).map_or(u64::MAX, |bit| bit.wrapping_sub(1))
                    };
                    word & below(range.end) & !below(range.start)
                };
                let firsts = (0..).step_by(LANES).skip(places.start);
                for (first, word) in firsts.zip(words.get(places).unwrap_or_default()) {
                    push_bits(first, within(first, *word), list);
                }
            }
        }
    }

    /// How many of them have their bit set.
    pub(crate) fn count_words(&self, words: &[u64]) -> usize {
        match self {
            Self::None => 0,
            Self::All => kernels::count_ones(words),
            Self::List(list) => list.iter().filter(|row| has_bit(words, usize::from(**row))).count(),
            Self::Words(own) => kernels::count_both(own, words),
        }
    }

    /// How many of `rows` rows both have.
    pub(crate) fn count_both(&self, other: &Self, rows: usize) -> usize {
        match (self, other) {
            (Self::None, _) | (_, Self::None) => 0,
            (Self::All, other) | (other, Self::All) => other.count(rows),
            (Self::Words(words), other) | (other, Self::Words(words)) => other.count_words(words),
            (Self::List(a), Self::List(_)) => {
                a.iter().filter(|row| other.contains(usize::from(**row))).count()
            }
        }
    }

    /// These of `rows` rows that the other has too, ascending.
    pub(crate) fn iter_both<'s>(&'s self, other: &'s Self, rows: usize) -> impl Iterator<Item = usize> {
        let (words, more): (&[u64], &[u64]) = match (self, other) {
            (Self::Words(words), Self::Words(more)) => (words, more),
            _ => (&[], &[]),
        };
        // Whichever is listed is walked, and the other one asked.
        let (walked, asked) = match (self, other) {
            (Self::Words(_), Self::Words(_)) => (&Self::None, &Self::None),
            (Self::All, _) | (_, Self::List(_)) => (other, self),
            _ => (self, other),
        };
        let listed = walked.iter(rows).filter(|row| asked.contains(*row));
        listed.chain(ones(words.iter().zip(more).map(|(word, more)| word & more)))
    }

    /// The row behind so many of them.
    pub(crate) fn nth(&self, mut number: usize, rows: usize) -> Option<usize> {
        match self {
            Self::None => None,
            Self::All => (number < rows).then_some(number),
            Self::List(list) => list.get(number).map(|row| usize::from(*row)),
            Self::Words(words) => {
                for (first, span) in (0..).step_by(SPAN * LANES).zip(words.chunks(SPAN)) {
                    match number.checked_sub(kernels::count_ones(span)) {
                        Some(left) => number = left,
                        None => return Some(usize::saturating_add(first, nth_one(span, number)?)),
                    }
                }
                None
            }
        }
    }

    /// Rows in a list, ascending, each once.
    pub(crate) fn from_list(list: Vec<u16>) -> Self {
        if list.is_empty() { Self::None } else { Self::List(Cow::Owned(list)) }
    }

    /// These of `rows` rows, ascending.
    pub(crate) fn iter(&self, rows: usize) -> impl Iterator<Item = usize> {
        let all = matches!(self, Self::All).then_some(0..rows).into_iter().flatten();
        let list: &[u16] = if let Self::List(list) = self { list } else { &[] };
        let words: &[u64] = if let Self::Words(words) = self { words } else { &[] };
        let bits = ones(words.iter().copied());
        all.chain(list.iter().map(|row| usize::from(*row))).chain(bits)
    }
}

/// So many words are counted at once where a row is sought.
const SPAN: usize = 32;

/// The place of the set bit behind so many others.
fn nth_one(words: &[u64], mut number: usize) -> Option<usize> {
    for (first, word) in (0..).step_by(LANES).zip(words) {
        match number.checked_sub(word.count_ones() as usize) {
            Some(left) => number = left,
            None => return Some(usize::saturating_add(first, ones(std::iter::once(*word)).nth(number)?)),
        }
    }
    None
}

/// The places of the set bits.
fn ones(words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    (0..).step_by(LANES).zip(words).flat_map(|(first, word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest.wrapping_sub(1);
            Some(usize::saturating_add(first, bit))
        })
    })
}

#[inline]
pub(super) fn has_bit(words: &[u64], row: usize) -> bool {
    words.get(row / LANES).is_some_and(|word| word >> (row % LANES) & 1 == 1)
}

/// Lists the rows whose bit is set, at most 65,536, in the place of what the list held.
pub(super) fn list_bits(words: &[u64], list: &mut Vec<u16>) {
    list.clear();
    for (first, word) in (0_usize..).step_by(LANES).zip(words) {
        push_bits(first, *word, list);
    }
}

/// Adds the rows of a word, which starts at a row.
#[inline]
fn push_bits(first: usize, word: u64, list: &mut Vec<u16>) {
    let mut rest = word;
    while rest != 0 {
        #[expect(clippy::cast_possible_truncation, reason = "a row of a batch")]
        list.push((first | rest.trailing_zeros() as usize) as u16);
        rest &= rest.wrapping_sub(1);
    }
}

pub(super) fn clear_tail(words: &mut [u64], rows: usize) {
    let used = rows % LANES;
    if used > 0
        && let Some(last) = words.last_mut()
    {
        *last &= (1_u64 << used).wrapping_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::set_rows;

    #[test]
    fn rows_are_sought_across_spans() {
        let rows = 2 * SPAN * LANES + 65;
        for step in [1, 2, 63, 64, 100, SPAN * LANES, SPAN * LANES + 1] {
            let set: Vec<u16> = (0..rows as u16).filter(|row| usize::from(*row) % step == step - 1).collect();
            let mut words = vec![0; rows.div_ceil(LANES)];
            set_rows(&mut words, &set);
            let words = Rows::Words(Cow::Owned(words));
            for number in 0..=set.len() {
                assert_eq!(words.nth(number, rows), set.get(number).map(|row| usize::from(*row)));
            }
        }
    }

    #[test]
    fn every_form_is_the_set_it_is() {
        for rows in [1_usize, 63, 64, 65, 200] {
            for step in [1, 2, 3, 70, usize::MAX] {
                let set: Vec<u16> =
                    (0..rows).filter(|row| row % step == step - 1).map(|row| row as u16).collect();
                let mut words = vec![0; rows.div_ceil(LANES)];
                set_rows(&mut words, &set);
                let mut list = vec![7];
                list_bits(&words, &mut list);
                assert_eq!(list, set);
                let mut forms = vec![Rows::Words(Cow::Owned(words)), Rows::from_list(set.clone())];
                if set.len() == rows {
                    forms.push(Rows::All);
                }
                for form in forms {
                    assert_eq!(form.count(rows), set.len());
                    assert!(form.iter(rows).eq(set.iter().map(|row| usize::from(*row))));
                    for number in 0..=set.len() {
                        assert_eq!(form.nth(number, rows), set.get(number).map(|row| usize::from(*row)));
                    }
                    for row in 0..rows {
                        assert_eq!(form.contains(row), set.contains(&(row as u16)));
                    }
                    let mut some: Vec<u16> = (0..rows as u16).rev().step_by(3).collect();
                    let mut expected = some.clone();
                    expected.retain(|row| set.contains(row));
                    form.retain(&mut some);
                    assert_eq!(some, expected);
                    for start in 0..=rows {
                        let end = (start * 7 + 1).min(rows).max(start);
                        let mut within = vec![7];
                        form.list_within(start..end, &mut within);
                        let expected =
                            set.iter().copied().filter(|row| (start..end).contains(&usize::from(*row)));
                        assert!(within.into_iter().skip(1).eq(expected), "{start}..{end} of {rows}");
                    }
                }
            }
        }
    }
}
