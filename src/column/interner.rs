//! Builds the dictionary of a string column. Assigns a code to each string while rows are added, and sorts the strings when the
//! column is sealed.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "every code is that of a string that was added; the texts of a batch stay below 4 GiB, since their documents do"
)]

use std::mem::take;

use super::code_table::{CodeTable, StringKey};
use super::dictionary::{Codes, Dictionary, span};
use super::order::ascending;

/// A builder of a [`Dictionary`]. Until [`seal`](Self::seal), codes are in the order in which the strings first occurred.
///
/// In some columns, such as ids, strings hardly ever recur. For such a column, the builder stops looking up strings, because each
/// lookup costs a cache miss. Then every value gets a new code, and `seal` removes the duplicates.
#[derive(Default)]
pub(super) struct DictionaryBuilder {
    text: String,
    ends: Vec<u32>,
    /// The codes of strings of up to sixteen bytes.
    short: CodeTable<2>,
    /// The codes of longer strings.
    long: Box<CodeTable<4>>,
    /// The number of strings for which memory is reserved when the first string is added.
    expected: usize,
    /// The number of values since the builder last checked how often strings recur.
    values: usize,
    /// True if the builder no longer looks up strings. Then a string may have several codes.
    is_loose: bool,
}

/// The assumed size of a string in bytes, until the first string is known.
const STRING_BYTES: usize = 16;
/// The maximum number of bytes that [`reserve`](DictionaryBuilder::reserve) reserves per expected string. If the strings are longer
/// on average, the reserved memory is too small, and the buffer grows later.
const LONGEST_EXPECTED: usize = 64;
/// The number of new strings after which the builder checks how often strings recur.
const LOOK_STRINGS: usize = 1 << 11;
/// The limit for the check after [`LOOK_STRINGS`] new strings. If at most this number of values have been added since the last
/// check, strings hardly ever recur. Then the builder stops looking up strings.
const LOOSE_VALUES: usize = LOOK_STRINGS + LOOK_STRINGS / 16;

impl DictionaryBuilder {
    /// Creates an empty builder. When its first string is added, it reserves memory for `strings` strings.
    pub(super) fn expecting(strings: usize) -> Self {
        Self { expected: strings, ..Self::default() }
    }

    /// Raises the number of expected strings to `strings`, unless it is already higher. If strings hardly ever recur, also reserves
    /// memory for `strings` strings in total.
    pub(super) fn reserve(&mut self, strings: usize) {
        self.expected = self.expected.max(strings);
        // In any other column, the number of distinct strings usually stays small.
        if self.is_loose {
            // `ends` is not empty, because lookups stop only after thousands of strings.
            let likely_bytes = (self.text.len() / self.ends.len() + 1).min(LONGEST_EXPECTED) * strings;
            self.ends.reserve(strings.saturating_sub(self.ends.len()));
            self.text.reserve(likely_bytes.saturating_sub(self.text.len()));
        }
    }

    /// Adds a value, and returns the code of its string. Adds the string to the dictionary if it is new.
    // Inlined, so that a known short string, the most frequent case, needs no call.
    #[inline(always)]
    pub(super) fn code(&mut self, text: &str) -> u32 {
        if !self.is_loose
            && let Some(key) = StringKey::of_short(text.as_bytes())
            && let Some(code) = self.short.find(&key, |_| true)
        {
            self.values += 1;
            return code;
        }
        self.code_of_any(text)
    }

    /// Does the same as [`code`](Self::code), without inlining.
    #[inline(never)]
    fn code_of_any(&mut self, text: &str) -> u32 {
        if self.is_loose {
            return self.append(text);
        }
        self.values += 1;
        if let Some(key) = StringKey::of_short(text.as_bytes()) {
            self.short
                .find(&key, |_| true)
                .unwrap_or_else(|| self.add(text, |codes, code| codes.short.insert(key, code)))
        } else {
            let key = self.long.key(text.as_bytes());
            let (own, ends) = (self.text.as_bytes(), &self.ends);
            let found = self.long.find(&key, |code| &own[span(ends, code as usize)] == text.as_bytes());
            found.unwrap_or_else(|| self.add(text, |codes, code| codes.long.insert(key, code)))
        }
    }

    /// Appends a new string and returns its code. Calls `note`, which inserts the code into a code table.
    #[inline(never)]
    fn add(&mut self, text: &str, note: impl FnOnce(&mut Self, u32)) -> u32 {
        if self.ends.is_empty() {
            self.ends.reserve(self.expected);
            self.text.reserve((self.expected * STRING_BYTES).max(text.len()));
        }
        let code = self.append(text);
        note(self, code);
        if self.ends.len().is_multiple_of(LOOK_STRINGS) && take(&mut self.values) <= LOOSE_VALUES {
            self.is_loose = true;
            (self.short, self.long) = Default::default();
        }
        code
    }

    #[inline]
    /// Appends a string without looking it up, and returns its code.
    fn append(&mut self, text: &str) -> u32 {
        let code = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.text.push_str(text);
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        code
    }

    pub(super) fn get(&self, code: u32) -> &str {
        &self.text[span(&self.ends, code as usize)]
    }

    /// Returns the bytes of the string of `code`. This method is slightly faster than [`get`](Self::get).
    fn bytes(&self, code: u32) -> &[u8] {
        &self.text.as_bytes()[span(&self.ends, code as usize)]
    }

    /// Removes all strings. Keeps the expected number of strings, and the memory of the text and of the end offsets.
    pub(super) fn clear(&mut self) {
        let (text, ends) = (take(&mut self.text), take(&mut self.ends));
        *self = Self { text, ends, expected: self.expected, ..Self::default() };
        self.text.clear();
        self.ends.clear();
    }

    /// Returns the dictionary, and `codes` converted to codes of that dictionary.
    pub(super) fn seal(&self, codes: &[u32]) -> (Dictionary, Codes) {
        let strings = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        let mut order = ascending(strings, |code| self.bytes(code));
        let mut ranks = vec![0_u32; order.len()];
        let mut distinct = 0_u32;
        order.retain(|ranked| {
            // The first string is never marked as repeated, so `distinct` is at least 1 here.
            distinct += u32::from(!ranked.is_repeated);
            ranks[ranked.number as usize] = distinct - 1;
            !ranked.is_repeated
        });
        let rank = |code: &u32| ranks[*code as usize];
        let strings = order.iter().map(|ranked| self.get(ranked.number));
        let dictionary = Dictionary::from_ascending(self.text.len(), strings);
        (dictionary, Codes::new(codes.iter().map(rank), order.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_ranks_by_code_point() {
        let mut builder = DictionaryBuilder::default();
        let codes: Vec<u32> =
            ["b", "a", "", "é", "a", "z", "😀", "\u{ffff}"].iter().map(|text| builder.code(text)).collect();
        let (dictionary, codes) = builder.seal(&codes);
        assert_eq!(dictionary.validate(), Ok(()));
        let texts: Vec<&str> = (0..dictionary.len()).map(|code| dictionary.get(code)).collect();
        assert_eq!(texts, ["", "a", "b", "z", "é", "\u{ffff}", "😀"]);
        assert_eq!(
            (0..8).map(|at| dictionary.get(codes.get(at))).collect::<Vec<_>>(),
            ["b", "a", "", "é", "a", "z", "😀", "\u{ffff}"]
        );
    }

    #[test]
    fn room_that_is_expected_is_never_less_than_before() {
        let mut builder = DictionaryBuilder::expecting(1000);
        builder.reserve(0);
        builder.code("a");
        assert!(builder.ends.capacity() >= 1000 && builder.text.capacity() >= 1000 * STRING_BYTES);
    }

    #[test]
    fn strings_that_share_their_beginnings_are_in_order() {
        let ends = [
            "",
            "\0",
            "\0\0",
            "1",
            "1\0",
            "12345678",
            "123456789",
            "12345678\0",
            "12345678\0\0",
            "1234567\0",
            "1234567812345678",
            "12345678123456781",
            "1234567812345678\0",
            "é",
            "\u{e8}x",
            "9",
        ];
        for shared in ["", "a", "é", "id-0000000", "id-0000000000000"] {
            for also in [None, Some("b"), Some("i"), Some("id-00000001")] {
                let mut texts: Vec<String> = ends.iter().map(|end| format!("{shared}{end}")).collect();
                texts.extend(also.map(str::to_owned));
                let mut builder = DictionaryBuilder::default();
                let codes: Vec<u32> = texts.iter().map(|text| builder.code(text)).collect();
                let (dictionary, codes) = builder.seal(&codes);
                assert_eq!(dictionary.validate(), Ok(()));
                for (at, text) in texts.iter().enumerate() {
                    assert_eq!(dictionary.get(codes.get(at)), text);
                }
            }
        }
    }

    #[test]
    fn strings_that_hardly_ever_occur_again_are_told_apart_when_sealed() {
        let text = |n: u32| format!("{:05}", n.wrapping_mul(7919) % 100_000);
        // First come so few repeated values that the builder stops looking up strings. Then come 1,000 copies of one value and
        // 3,000 distinct values.
        let few =
            (0..LOOK_STRINGS as u32).flat_map(|n| std::iter::repeat_n(n, if n % 30 == 0 { 2 } else { 1 }));
        let values: Vec<u32> = few.chain([5; 1000]).chain(0..3000).collect();
        let mut builder = DictionaryBuilder::default();
        let codes: Vec<u32> = values.iter().map(|n| builder.code(&text(*n))).collect();
        assert!(builder.is_loose);
        let (dictionary, codes) = builder.seal(&codes);
        assert_eq!((dictionary.validate(), dictionary.len()), (Ok(()), 3000));
        for (at, n) in values.iter().enumerate() {
            assert_eq!(dictionary.get(codes.get(at)), text(*n));
        }
    }

    #[test]
    fn strings_that_differ_in_a_byte_or_in_length_are_told_apart() {
        let letters = ["\0", "a", "é"];
        let mut texts: Vec<String> = vec![String::new()];
        for len in 1..=40 {
            for (letter, other) in letters.iter().flat_map(|a| letters.iter().map(move |b| (a, b))) {
                texts.extend((0..len).map(|at| {
                    (0..len).map(|place| if place == at { *other } else { *letter }).collect::<String>()
                }));
            }
        }
        texts.sort();
        texts.dedup();
        let mut builder = DictionaryBuilder::default();
        for _ in 0..2 {
            for (code, text) in texts.iter().enumerate() {
                // Each string is added twice, so that the builder continues to look up strings.
                assert_eq!([builder.code(text), builder.code(text)], [code as u32; 2], "{text:?}");
            }
        }
    }

    #[test]
    fn every_string_has_a_code_of_its_own_however_many_there_are() {
        let mut builder = DictionaryBuilder::default();
        let text = |n: u32| format!("{:x}", n.wrapping_mul(0x9e37_79b9));
        for round in 0..2 {
            for n in 0..5000 {
                // Each string is added twice, so that the builder continues to look up strings.
                assert_eq!([builder.code(&text(n)), builder.code(&text(n))], [n; 2], "round {round}");
            }
        }
        assert!((0..5000).all(|n| builder.get(n) == text(n)));
    }
}
