//! Stores the distinct strings of a column (the dictionary), and a code for each value.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "codes are below the number of strings, and ends are character boundaries within the text, as checked \
              when a column is created or read; a midpoint is between its bounds"
)]

use std::ops::Range;

use smallvec::SmallVec;

use crate::slice::{Move, Slice};

/// The distinct strings of a column in one batch, sorted by code point. The code of a string is its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dictionary {
    text: Box<str>,
    /// The end offset of each string in `text`.
    ends: Slice<u32>,
}

impl Dictionary {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Creates a dictionary from strictly ascending strings. Reserves `size_bytes` of memory, which should be about the total size
    /// of the strings.
    pub(super) fn from_ascending<'t>(size_bytes: usize, strings: impl Iterator<Item = &'t str>) -> Self {
        let mut text = String::with_capacity(size_bytes);
        let mut ends = Vec::with_capacity(strings.size_hint().0);
        for string in strings {
            text.push_str(string);
            ends.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
        }
        Self { text: text.into(), ends: ends.into() }
    }

    /// Returns the string of `code`.
    #[inline]
    pub(crate) fn get(&self, code: usize) -> &str {
        &self.text[span(&self.ends, code)]
    }

    /// Returns the bytes of the string of `code`. This method is slightly faster than [`get`](Self::get).
    #[inline]
    pub(crate) fn bytes(&self, code: usize) -> &[u8] {
        &self.text.as_bytes()[span(&self.ends, code)]
    }

    /// Returns the range of bytes in [`text`](Self::text()) that contains the strings with these codes.
    pub(crate) fn span_of(&self, codes: Range<usize>) -> Range<usize> {
        let before = |code: usize| code.checked_sub(1).map_or(0, |last| self.ends[last] as usize);
        before(codes.start)..before(codes.end)
    }

    /// Returns, for each string, its end offset in the text of all strings.
    pub(crate) fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Returns the text of all strings, and the end offset of each string in the text.
    #[cfg(feature = "store")]
    pub(super) fn parts(&self) -> (&str, &[u32]) {
        (&self.text, &self.ends)
    }

    /// Returns the total size of the strings in bytes.
    #[cfg(feature = "store")]
    pub(crate) fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Creates a dictionary from its [parts](Self::parts). The caller must then call [`validate`](Self::validate).
    #[cfg(feature = "store")]
    pub(super) fn from_parts(text: Box<str>, ends: Vec<u32>) -> Self {
        Self { text, ends: ends.into() }
    }

    /// Returns the first code in `from..` whose string is not less than `text`. The second value is true if that string equals
    /// `text`.
    fn seek(&self, from: usize, text: &str) -> (usize, bool) {
        let mut low = from;
        let mut high = self.len();
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle).cmp(text) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return (middle, true),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        (low, false)
    }

    /// Returns the concatenation of all strings.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the codes of the strings that start with `prefix`.
    pub(crate) fn starting_with(&self, prefix: &str) -> Range<usize> {
        let from = self.count_below(prefix);
        // For most prefixes, few strings start with the prefix, so the last of these strings is near.
        let mut step = 1;
        while from + step < self.len() && self.get(from + step).starts_with(prefix) {
            step *= 2;
        }
        let (mut low, mut high) = (from + step / 2, self.len().min(from + step));
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).starts_with(prefix) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        from..low
    }

    /// Returns the number of strings that are less than `text`.
    pub(crate) fn count_below(&self, text: &str) -> usize {
        self.seek(0, text).0
    }

    /// Returns the codes of those `texts` that the dictionary contains, in ascending order. `texts` must be in ascending order.
    ///
    /// If `texts` is much shorter than the dictionary, searches for each text by binary search. If not, goes through both lists
    /// once, as a merge does.
    pub(crate) fn find_all(&self, texts: &[impl AsRef<str>]) -> SmallVec<[u32; 4]> {
        let mut found = SmallVec::new();
        let walk = texts.len() >= self.len() / 8;
        let mut code = 0;
        for text in texts {
            let text = text.as_ref();
            let equal = if walk {
                while code < self.len() && self.get(code) < text {
                    code += 1;
                }
                code < self.len() && self.get(code) == text
            } else {
                let (at, equal) = self.seek(code, text);
                code = at;
                equal
            };
            if equal && let Ok(code) = u32::try_from(code) {
                found.push(code);
            }
        }
        found
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.text.len() + size_of_val::<[u32]>(&self.ends)
    }

    /// Checks that the end offsets fit the text, and that the strings are strictly ascending.
    pub(crate) fn validate(&self) -> Result<(), String> {
        if self.ends.last().map_or(0, |end| *end as usize) != self.text.len() {
            return Err("a dictionary whose text does not end with its last string".into());
        }
        if self.ends.iter().any(|end| !self.text.is_char_boundary(*end as usize)) || !self.ends.is_sorted() {
            return Err("a dictionary with string ends out of order or inside a character".into());
        }
        for code in 1..self.len() {
            if self.get(code - 1) >= self.get(code) {
                return Err(format!("a dictionary out of order at code {code}"));
            }
        }
        Ok(())
    }
}

/// Returns the byte range of the string of `code` in the text of all strings. `ends` contains the end offset of each string.
#[inline]
pub(super) fn span(ends: &[u32], code: usize) -> Range<usize> {
    let start = if code == 0 { 0 } else { ends[code - 1] };
    start as usize..ends[code] as usize
}

/// The code of each value of a column, in the smallest integer type for the number of distinct strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Codes {
    U8(Slice<u8>),
    U16(Slice<u16>),
    U32(Slice<u32>),
}

impl Codes {
    /// Creates codes in the smallest integer type for `distinct` strings. Every code must be less than `distinct`.
    pub(super) fn new(codes: impl ExactSizeIterator<Item = u32>, distinct: usize) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the codes are below `distinct`, which the width holds"
        )]
        if distinct <= 1 << 8 {
            Self::U8(codes.map(|code| code as u8).collect())
        } else if distinct <= 1 << 16 {
            Self::U16(codes.map(|code| code as u16).collect())
        } else {
            Self::U32(codes.collect())
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::U8(codes) => codes.len(),
            Self::U16(codes) => codes.len(),
            Self::U32(codes) => codes.len(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> usize {
        match self {
            Self::U8(codes) => usize::from(codes[at]),
            Self::U16(codes) => usize::from(codes[at]),
            Self::U32(codes) => codes[at] as usize,
        }
    }

    pub(super) fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
        all.push(match self {
            Self::U8(codes) => codes,
            Self::U16(codes) => codes,
            Self::U32(codes) => codes,
        });
    }

    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::U8(codes) => codes.len(),
            Self::U16(codes) => size_of_val::<[u16]>(codes),
            Self::U32(codes) => size_of_val::<[u32]>(codes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::interner::DictionaryBuilder;
    use super::*;

    #[test]
    fn few_and_many_texts_are_found_alike() {
        let mut builder = DictionaryBuilder::default();
        let codes: Vec<u32> = (0..1000).map(|n| builder.code(&format!("{:04}", n * 2))).collect();
        let (dictionary, codes) = builder.seal(&codes);
        assert!(matches!(codes, Codes::U16(_)));
        let all: Vec<Box<str>> = (0..2000).map(|n| format!("{n:04}").into()).collect();
        assert_eq!(dictionary.find_all(&all).into_vec(), (0..1000).collect::<Vec<u32>>());
        assert_eq!(dictionary.find_all(&all[10..15]).into_vec(), [5, 6, 7]);
        assert!(dictionary.find_all(&["zzz"]).is_empty());
    }
}
