//! Finds the strings of a dictionary that match a pattern of strings, such as all strings with a given prefix.
//!
//! A dictionary stores its strings as one text, in ascending order. The strings with a given prefix are next to each other, and are
//! found by binary search. For substrings and words, the column of a searchable field has an index that excludes most strings.
//! Without this index, all strings are candidates. The text of adjacent candidates is searched as one text. This takes about as
//! long as reading the text.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "positions in a text and codes of a dictionary, which are within both"
)]

use std::ops::Range;

use memchr::memmem::Finder;
use smallvec::{SmallVec, smallvec};

use crate::column::{Dictionary, SearchIndex, Windows};
use crate::predicate::{Matcher, TextPattern};
use crate::stop::Pace;

/// Up to this number of values, the text of many strings is searched once per value. Above it, each string is searched once for all
/// values.
const FEW: usize = 4;

/// The maximum number of windows for which the values are looked up in the index of substrings. A *window* is a part of a value, of
/// two or three characters. Looking up more windows could take as long as testing all strings.
const MOST_WINDOWS: usize = 1 << 10;

/// A pattern that is prepared for the dictionaries of many batches.
pub(super) struct PatternSearch<'q> {
    pattern: &'q TextPattern,
    /// The searchers for the values of a pattern of at most [`FEW`] substrings or words.
    finders: Option<Vec<Finder<'q>>>,
    /// The windows to look up in an index of substrings. Each `Windows` contains the windows of one substring, or of all words
    /// together. A string that matches the pattern contains all windows of at least one `Windows`. `None` if the pattern cannot be
    /// looked up, because a value is too short or there are too many windows.
    windows: Option<Vec<Windows>>,
    /// The test of single strings. It is used if the `finders` cannot search the text of several strings at once.
    matcher: Matcher<'q>,
}

/// The codes of the strings of a dictionary that a pattern matches.
pub(super) struct MatchingCodes {
    /// The codes, ascending. If the search must stop, some codes are missing.
    pub(super) codes: SmallVec<[u32; 4]>,
    /// The number of strings that were searched or tested.
    pub(super) tested: usize,
}

impl<'q> PatternSearch<'q> {
    pub(super) fn new(pattern: &'q TextPattern) -> Self {
        let values = pattern.values();
        let (finders, windows) = match pattern {
            TextPattern::Every | TextPattern::Prefixes(_) => (None, None),
            TextPattern::Substrings(_) | TextPattern::Words(_) => {
                let finders = || values.iter().map(|value| Finder::new(value.as_bytes())).collect();
                ((values.len() <= FEW).then(finders), windows(pattern))
            }
        };
        Self { pattern, finders, windows, matcher: Matcher::new(pattern) }
    }

    /// Returns true if the pattern can be looked up in an index of substrings.
    pub(super) fn has_windows(&self) -> bool {
        self.windows.is_some()
    }

    /// Returns the codes of the strings that the pattern matches. `index` is the index of the column, if it has one.
    pub(super) fn matching_codes(
        &self,
        dictionary: &Dictionary,
        index: Option<&SearchIndex>,
        pace: &Pace<'_>,
    ) -> MatchingCodes {
        let every = 0..dictionary.len();
        let (candidates, tested) = match (self.pattern, index, &self.windows) {
            (TextPattern::Every, ..) => return MatchingCodes { codes: codes(every).collect(), tested: 0 },
            (TextPattern::Prefixes(prefixes), ..) => {
                let ranges = prefixes.as_slice().iter().map(|prefix| dictionary.starting_with(prefix));
                return MatchingCodes { codes: ranges.flat_map(codes).collect(), tested: 0 };
            }
            (_, Some(index), Some(windows)) => {
                pace.spend(index.substrings.work(windows));
                let candidates = index.substrings.candidates(windows);
                let tested = candidates.iter().map(Range::len).sum();
                (candidates, tested)
            }
            _ => (smallvec![every.clone()], every.len()),
        };
        let mut found = SmallVec::new();
        for range in candidates {
            self.test(dictionary, range, pace, &mut found);
        }
        MatchingCodes { codes: found, tested }
    }

    /// Appends the codes in a range whose strings the pattern matches, in ascending order.
    fn test(
        &self,
        dictionary: &Dictionary,
        range: Range<usize>,
        pace: &Pace<'_>,
        found: &mut SmallVec<[u32; 4]>,
    ) {
        let bytes = dictionary.span_of(range.clone());
        let text = dictionary.text().get(bytes).unwrap_or_default();
        match (self.pattern, self.finders.as_deref()) {
            (TextPattern::Substrings(_), Some([finder])) => {
                containing(dictionary, text, range, finder, pace, |code| found.push(code));
            }
            (TextPattern::Substrings(_), Some(finders)) => {
                let start = found.len();
                for finder in finders {
                    containing(dictionary, text, range.clone(), finder, pace, |code| found.push(code));
                }
                let mut own: Vec<u32> = found.drain(start..).collect();
                own.sort_unstable();
                own.dedup();
                found.extend(own);
            }
            (TextPattern::Words(_), Some([first, others @ ..])) if text.is_ascii() => {
                // Folding ASCII keeps the length of each string.
                let folded = text.to_ascii_lowercase();
                let mut all: Vec<u32> = Vec::new();
                containing(dictionary, &folded, range.clone(), first, pace, |code| all.push(code));
                for finder in others {
                    let mut own: Vec<u32> = Vec::new();
                    containing(dictionary, &folded, range.clone(), finder, pace, |code| own.push(code));
                    all.retain(|code| own.binary_search(code).is_ok());
                }
                found.extend(all);
            }
            _ => {
                let texts = codes(range).map(|code| (code, dictionary.get(code as usize)));
                let tested = texts.take_while(|(_, text)| !pace.spend(work_of_matching(text)));
                found.extend(tested.filter(|(_, text)| self.matcher.is_match(text)).map(|(code, _)| code));
            }
        }
    }
}

/// Returns the windows of each substring, or of all words together. Returns `None` if a substring or all words are too short for
/// windows, or if there are too many windows.
fn windows(pattern: &TextPattern) -> Option<Vec<Windows>> {
    let values = pattern.values().iter().map(|value| &**value);
    let windows: Vec<Windows> = match pattern {
        TextPattern::Every | TextPattern::Prefixes(_) => None,
        TextPattern::Substrings(_) => {
            values.take(MOST_WINDOWS + 1).map(|value| Windows::of_all(std::iter::once(value))).collect()
        }
        TextPattern::Words(_) => Windows::of_all(values).map(|windows| vec![windows]),
    }?;
    (windows.iter().map(Windows::len).sum::<usize>() <= MOST_WINDOWS).then_some(windows)
}

/// Returns the estimated work of testing a string by a pattern (about 100 ns, and 5 ns for each byte), in units of [`Pace::spend`].
pub(super) fn work_of_matching(text: &str) -> usize {
    text.len().saturating_mul(20).saturating_add(400)
}

/// Calls `take` with the code of each string of a range that contains the needle of `finder`, in ascending order. `text` has the
/// strings of the range one after the other.
fn containing(
    dictionary: &Dictionary,
    text: &str,
    range: Range<usize>,
    finder: &Finder<'_>,
    pace: &Pace<'_>,
    mut take: impl FnMut(u32),
) {
    let (text, ends) = (text.as_bytes(), dictionary.ends().get(range.clone()).unwrap_or_default());
    let length = finder.needle().len();
    // The ends are offsets in the text of all strings of the dictionary, but `text` starts at this offset.
    let before = dictionary.span_of(range.clone()).start;
    let (mut from, mut place) = (0, 0);
    while !pace.spend(WORK_OF_AN_OCCURRENCE) {
        // Each piece overlaps the next piece, so that each occurrence is completely in one piece.
        let end = text.len().min(from + BYTES_OF_A_CHECK + length);
        let Some(piece) = text.get(from..end).filter(|piece| piece.len() >= length) else { break };
        let Some(at) = finder.find(piece) else {
            pace.spend(piece.len() / BYTES_OF_A_UNIT);
            from += (piece.len() + 1 - length).max(1);
            continue;
        };
        let at = from + at;
        place += ends.get(place..).map_or(0, |ends| skip_until(ends, before + at));
        let Some(end) = ends.get(place).map(|end| *end as usize - before) else { break };
        if at + length <= end {
            u32::try_from(range.start + place).into_iter().for_each(&mut take);
            // Further occurrences in this string do not matter.
            from = end;
        } else {
            // The occurrence spans two strings.
            from = at + 1;
        }
    }
}

/// The number of bytes that are searched between two stop checks. This takes about 20 µs.
const BYTES_OF_A_CHECK: usize = 1 << 17;
/// The number of bytes that are searched in the time of one unit of work.
const BYTES_OF_A_UNIT: usize = 2;
/// The estimated work of an occurrence (about 10 ns), in units of [`Pace::spend`].
const WORK_OF_AN_OCCURRENCE: usize = 40;

/// Returns the number of ends that are at most `at`. `ends` must be in ascending order. Uses exponential search, because the next
/// occurrence is often near.
fn skip_until(ends: &[u32], at: usize) -> usize {
    let mut step = 1;
    while ends.get(step).is_some_and(|end| *end as usize <= at) {
        step *= 2;
    }
    let window = ends.get(step / 2..ends.len().min(step + 1)).unwrap_or_default();
    step / 2 + window.partition_point(|end| *end as usize <= at)
}

fn codes(range: Range<usize>) -> impl Iterator<Item = u32> {
    range.map_while(|code| u32::try_from(code).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::catalog::{Field, FieldType};
    use crate::column::{Column, ColumnBuilder, ColumnData};
    use crate::value::Value;

    fn column(field: &Field, texts: &[impl AsRef<str>]) -> Column {
        let mut builder = ColumnBuilder::new(field, texts.len());
        for (row, text) in texts.iter().enumerate() {
            builder.push(row, &Value::from(text.as_ref()));
        }
        builder.seal(texts.len())
    }

    fn plain(texts: &[&str]) -> Column {
        column(&Field::new("name", FieldType::String), texts)
    }

    fn searchable(texts: &[impl AsRef<str>]) -> Column {
        column(&Field::new("name", FieldType::String).searchable(), texts)
    }

    /// Returns the codes that a pattern matches, and the number of tested strings.
    fn found(column: &Column, pattern: &TextPattern) -> (Vec<u32>, usize) {
        let ColumnData::Strings { dictionary, search, .. } = &column.data else { panic!() };
        let found =
            PatternSearch::new(pattern).matching_codes(dictionary, search.as_deref(), &Pace::new(None));
        (found.codes.into_vec(), found.tested)
    }

    fn expected(column: &Column, pattern: &TextPattern) -> Vec<u32> {
        let (dictionary, _) = column.dictionary().unwrap();
        codes(0..dictionary.len()).filter(|code| pattern.contains(dictionary.get(*code as usize))).collect()
    }

    #[test]
    fn codes_are_those_of_the_strings_that_match() {
        let ascii = ["", "a", "ab", "abab", "b", "ba", "bb", "A", "B a", "an Ab"];
        let all = [&ascii[..], &["é", "É a", "a\u{301}b", "🚩ab", "ß"]].concat();
        let values = ["a", "b", "ab", "ba", "aba", "bb", "A", "é", "e", "ss", "🚩", "B a", "ab b", "x"];
        for texts in [&ascii[..], &all] {
            let mut patterns = vec![TextPattern::Every];
            for count in [1, 2, 3, 5, 14] {
                for from in 0..values.len() {
                    let values = || values.iter().cycle().skip(from).take(count).copied();
                    patterns.extend(TextPattern::prefixes(values()));
                    patterns.extend(TextPattern::substrings(values()));
                    patterns.extend(TextPattern::words(values()));
                }
            }
            for column in [plain(texts), searchable(texts)] {
                for pattern in &patterns {
                    assert_eq!(found(&column, pattern).0, expected(&column, pattern), "{pattern:?}");
                }
            }
        }
    }

    #[test]
    fn an_occurrence_across_two_strings_does_not_count() {
        let column = plain(&["a", "aa", "b", "bb", "bba"]);
        let found = |value| found(&column, &TextPattern::substrings([value].into_iter()).unwrap()).0;
        assert_eq!(
            (found("ab"), found("aa"), found("ba"), found("bb")),
            (vec![], vec![1], vec![4], vec![3, 4])
        );
    }

    #[test]
    fn the_index_of_substrings_excludes_most_strings() {
        let texts: Vec<String> = (0..20_000_u64)
            .map(|number| {
                let hash = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                match number % 4 {
                    0 => format!("Größe {hash:016x}"),
                    1 => format!("{hash:016X}"),
                    2 => format!("Имя {}", char::from_u32(0x4e00 + (hash >> 52) as u32).unwrap()),
                    _ => format!("{hash:016x}"),
                }
            })
            .collect();
        let column = searchable(&texts);
        let substrings = |values: &[&str]| TextPattern::substrings(values.iter().copied()).unwrap();
        let words = |text: &str| TextPattern::words([text].into_iter()).unwrap();
        // A single window leaves about an eighth of the strings.
        let bound = texts.len() / 5;
        for (pattern, most) in [
            (substrings(&["79b9"]), bound),
            (substrings(&["79b97f4a"]), bound),
            (substrings(&["79b97", "ABCDE", "q", "zz"]), usize::MAX),
            (substrings(&["79b97", "ABCDE", "ößxy", "zzzz"]), bound),
            (substrings(&["79b97", "ABCDE", "ößxy", "zzzz", "12345", "FACE0"]), bound),
            (substrings(&["я \u{4eff}"]), bound),
            (substrings(&["7", "9"]), usize::MAX),
            (words("GROSSE 79b9"), bound),
            (words("a grosse 79B97f4"), bound),
            (words("имя"), usize::MAX),
            (words("a b"), usize::MAX),
        ] {
            let (codes, tested) = found(&column, &pattern);
            assert_eq!(codes, expected(&column, &pattern), "{pattern:?}");
            assert!(tested <= most && (most != usize::MAX || tested > bound), "{tested} tested: {pattern:?}");
        }
        // In a column without an index of substrings, every string is tested.
        let column = column_of(&texts);
        assert_eq!(Some(found(&column, &substrings(&["79b97f4a"])).1), column.strings());
    }

    fn column_of(texts: &[String]) -> Column {
        column(&Field::new("name", FieldType::String), texts)
    }

    /// Generates characters, many of which are hard to fold. Some fold to several characters or to no character. Normalisation
    /// changes the order of some characters, and composes others into one character.
    fn hostile_char() -> impl Strategy<Value = char> {
        const HARD: &str = "abA sSσςΣßẞİıﬁ﬷ﷺé각나中国王\u{1100}\u{1161}\u{11a8}\u{301}\u{323}\u{345}\u{302e}\u{302f}\u{16ff0}\u{1d165}\u{1d16d}\u{5b0}\u{f71}\u{0}\u{378}\u{7ff}\u{800}\u{1f600}";
        prop_oneof![
            8 => prop::sample::select(HARD.chars().collect::<Vec<char>>()),
            4 => prop::sample::select(vec!['a', 'b', 'A', ' ']),
            1 => any::<char>(),
        ]
    }

    fn hostile_text() -> impl Strategy<Value = String> {
        prop::collection::vec(hostile_char(), 0..9).prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        #[test]
        fn no_match_is_excluded(
            texts in prop::collection::vec(hostile_text(), 3..60),
            parts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..7),
            others in prop::collection::vec(hostile_text(), 0..3),
        ) {
            let column = searchable(&texts);
            // Some patterns have parts of the texts, so that some texts match. Others have values that need not occur in the texts.
            let parts = parts.iter().map(|(text, start, end)| {
                let chars: Vec<char> = text.get(&texts).chars().collect();
                let (start, end) = (start.index(chars.len() + 1), end.index(chars.len() + 1));
                chars[start.min(end)..start.max(end)].iter().collect::<String>()
            });
            let values: Vec<String> = parts.chain(others).filter(|value| !value.is_empty()).collect();
            let each: Vec<&[String]> = values.chunks(1).chain([&values[..]]).collect();
            for values in each {
                let values = || values.iter().map(String::as_str);
                let patterns =
                    [TextPattern::prefixes(values()), TextPattern::substrings(values()), TextPattern::words(values())];
                for pattern in patterns.into_iter().flatten() {
                    prop_assert_eq!(found(&column, &pattern).0, expected(&column, &pattern), "{:?}", pattern);
                }
            }
        }
    }
}
