//! Sets of rows of one batch while a predicate is being evaluated.

use std::borrow::Cow;

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
    pub(crate) fn of(all: bool) -> Self {
        if all { Self::All } else { Self::None }
    }

    /// How many of `rows` rows these are.
    pub(crate) fn count(&self, rows: usize) -> usize {
        match self {
            Self::None => 0,
            Self::All => rows,
            Self::List(list) => list.len(),
            Self::Words(words) => kernels::count_ones(words),
        }
    }

    pub(crate) fn contains(&self, row: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::List(list) => u16::try_from(row).is_ok_and(|row| list.binary_search(&row).is_ok()),
            Self::Words(words) => has_bit(words, row),
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, _) | (_, Self::None) => Self::None,
            (Self::All, rows) | (rows, Self::All) => rows,
            (Self::List(a), Self::List(b)) => {
                let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
                let kept: Vec<u16> = if short.len().saturating_mul(16) < long.len() {
                    short.iter().copied().filter(|row| long.binary_search(row).is_ok()).collect()
                } else {
                    let mut rest = long.iter().copied().peekable();
                    short
                        .iter()
                        .copied()
                        .filter(|row| {
                            while rest.next_if(|other| other < row).is_some() {}
                            rest.peek() == Some(row)
                        })
                        .collect()
                };
                Self::from_list(kept)
            }
            (Self::List(list), Self::Words(words)) | (Self::Words(words), Self::List(list)) => {
                Self::from_list(
                    list.iter().copied().filter(|row| has_bit(&words, usize::from(*row))).collect(),
                )
            }
            (Self::Words(a), Self::Words(b)) => {
                // Whichever was made for this query is written over.
                let (own, other) = if matches!(a, Cow::Owned(_)) { (a, b) } else { (b, a) };
                let mut own = own.into_owned();
                kernels::and(&mut own, &other);
                Self::Words(Cow::Owned(own))
            }
        }
    }

    /// Rows in a list, ascending, each once.
    pub(crate) fn from_list(list: Vec<u16>) -> Self {
        if list.is_empty() { Self::None } else { Self::List(Cow::Owned(list)) }
    }

    pub(crate) fn or(self, other: Self, rows: usize) -> Self {
        match (self, other) {
            (Self::All, _) | (_, Self::All) => Self::All,
            (Self::None, other) | (other, Self::None) => other,
            (Self::Words(mut own @ Cow::Owned(_)), other) | (other, Self::Words(mut own @ Cow::Owned(_))) => {
                // What was made for this query is written over.
                match &other {
                    Self::List(list) => set_bits(own.to_mut(), list),
                    Self::Words(words) => kernels::or(own.to_mut(), words),
                    _ => {}
                }
                Self::Words(own)
            }
            (one, other) => {
                let mut union = Union::new(rows);
                union.add(&one);
                union.add(&other);
                union.finish()
            }
        }
    }

    pub(crate) fn invert(self, rows: usize) -> Self {
        match self {
            Self::None => Self::All,
            Self::All => Self::None,
            other => {
                let mut words = other.into_words(rows);
                for word in &mut words {
                    *word = !*word;
                }
                clear_tail(&mut words, rows);
                Self::Words(Cow::Owned(words))
            }
        }
    }

    /// A bit for each of `rows` rows.
    pub(crate) fn into_words(self, rows: usize) -> Vec<u64> {
        match self {
            Self::Words(words) => words.into_owned(),
            Self::None => vec![0; rows.div_ceil(LANES)],
            Self::All => {
                let mut words = vec![u64::MAX; rows.div_ceil(LANES)];
                clear_tail(&mut words, rows);
                words
            }
            Self::List(list) => {
                let mut words = vec![0; rows.div_ceil(LANES)];
                set_bits(&mut words, &list);
                words
            }
        }
    }

    /// These of `rows` rows, ascending.
    pub(crate) fn iter(&self, rows: usize) -> impl Iterator<Item = usize> {
        let all = matches!(self, Self::All).then_some(0..rows).into_iter().flatten();
        let list: &[u16] = if let Self::List(list) = self { list } else { &[] };
        let words: &[u64] = if let Self::Words(words) = self { words } else { &[] };
        let bits = words.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest.wrapping_sub(1);
                Some(at.wrapping_mul(LANES).wrapping_add(bit))
            })
        });
        all.chain(list.iter().map(|row| usize::from(*row))).chain(bits)
    }
}

/// A union of many sets of rows: a list while it is short, then words.
pub(super) struct Union {
    rows: usize,
    list: Vec<u16>,
    words: Option<Vec<u64>>,
    all: bool,
}

impl Union {
    pub(super) fn new(rows: usize) -> Self {
        Self { rows, list: Vec::new(), words: None, all: false }
    }

    pub(super) fn add(&mut self, rows: &Rows<'_>) {
        match rows {
            Rows::None => {}
            Rows::All => self.all = true,
            Rows::List(list) => match &mut self.words {
                Some(words) => set_bits(words, list),
                None if self.list.len().saturating_add(list.len()).saturating_mul(LANES) <= self.rows => {
                    self.list.extend_from_slice(list);
                }
                None => set_bits(self.words(), list),
            },
            Rows::Words(more) => kernels::or(self.words(), more),
        }
    }

    /// The words, the rows listed so far among them.
    fn words(&mut self) -> &mut Vec<u64> {
        let (rows, list) = (self.rows, &mut self.list);
        self.words.get_or_insert_with(|| {
            let mut words = vec![0; rows.div_ceil(LANES)];
            set_bits(&mut words, list);
            words
        })
    }

    pub(super) fn finish<'b>(mut self) -> Rows<'b> {
        if self.all {
            return Rows::All;
        }
        match self.words {
            Some(words) => Rows::Words(Cow::Owned(words)),
            None => {
                self.list.sort_unstable();
                self.list.dedup();
                Rows::from_list(self.list)
            }
        }
    }
}

fn has_bit(words: &[u64], row: usize) -> bool {
    words.get(row / LANES).is_some_and(|word| word >> (row % LANES) & 1 == 1)
}

fn set_bits(words: &mut [u64], rows: &[u16]) {
    for row in rows {
        if let Some(word) = words.get_mut(usize::from(*row) / LANES) {
            *word |= 1 << (usize::from(*row) % LANES);
        }
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

    /// The same set in each of the forms that it can have.
    fn forms(rows: usize, set: &[u16]) -> Vec<Rows<'static>> {
        let list = Rows::List(Cow::Owned(set.to_vec()));
        let words = Rows::Words(Cow::Owned(list.clone().into_words(rows)));
        let mut forms = vec![words];
        match set.len() {
            0 => forms.push(Rows::None),
            len if len == rows => forms.extend([Rows::All, list]),
            _ => forms.push(list),
        }
        forms
    }

    #[test]
    fn every_form_combines_as_the_set_it_is() {
        for rows in [1_usize, 63, 64, 65, 200] {
            let sets: Vec<Vec<u16>> = [1, 2, 3, 70, usize::MAX]
                .iter()
                .map(|step| (0..rows).filter(|row| row % step == step - 1).map(|row| row as u16).collect())
                .collect();
            for a in sets.iter().flat_map(|set| forms(rows, set)) {
                for b in sets.iter().flat_map(|set| forms(rows, set)) {
                    let (and, or, not) =
                        (a.clone().and(b.clone()), a.clone().or(b.clone(), rows), a.clone().invert(rows));
                    for row in 0..rows {
                        assert_eq!(and.contains(row), a.contains(row) && b.contains(row));
                        assert_eq!(or.contains(row), a.contains(row) || b.contains(row));
                        assert_eq!(not.contains(row), !a.contains(row));
                    }
                    for set in [and, or, not] {
                        assert_eq!(set.iter(rows).count(), set.count(rows));
                        assert!(set.iter(rows).is_sorted() && set.iter(rows).all(|row| set.contains(row)));
                    }
                }
            }
        }
    }
}
