//! Finds the strings of a dictionary that match a pattern of strings, such as all strings with a given prefix.
//!
//! A dictionary stores its strings as one text, in ascending order. Prefixes are looked up in this order. Substrings are searched
//! for in the whole text at once, which takes about as long as reading the text.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "positions in a text and codes of a dictionary, which are within both"
)]

use std::ops::Range;

use memchr::memmem::Finder;
use smallvec::SmallVec;

use super::index_lookup::work_of_matching;
use crate::column::Dictionary;
use crate::predicate::{Matcher, TextPattern};
use crate::stop::Pace;

/// Up to this number of values, the text of the whole dictionary is searched once per value. Above it, each string of the
/// dictionary is searched once for all values.
const FEW: usize = 4;

/// Returns the codes of the strings that the pattern matches, ascending.
///
/// If the search must stop, some codes are missing.
pub(super) fn matching_codes(
    dictionary: &Dictionary,
    pattern: &TextPattern,
    pace: &Pace<'_>,
) -> SmallVec<[u32; 4]> {
    let values = pattern.values();
    match pattern {
        TextPattern::Every => codes(0..dictionary.len()).collect(),
        TextPattern::Prefixes(_) => {
            values.iter().flat_map(|prefix| codes(dictionary.starting_with(prefix))).collect()
        }
        TextPattern::Substrings(_) if values.len() <= FEW => {
            let mut found: Vec<u32> = Vec::new();
            for value in values {
                found.extend(containing(dictionary, dictionary.text(), value, pace));
            }
            if values.len() > 1 {
                found.sort_unstable();
                found.dedup();
            }
            found.into()
        }
        TextPattern::Words(_) if values.len() <= FEW && dictionary.text().is_ascii() => {
            // Folding ASCII keeps the length of each string.
            let folded = dictionary.text().to_ascii_lowercase();
            let mut words = values.iter().map(|word| containing(dictionary, &folded, word, pace));
            let first = words.next().unwrap_or_default();
            words
                .fold(first, |mut all, word| {
                    all.retain(|code| word.binary_search(code).is_ok());
                    all
                })
                .into()
        }
        TextPattern::Substrings(_) | TextPattern::Words(_) => {
            let matcher = Matcher::new(pattern);
            codes(0..dictionary.len())
                .map(|code| (code, dictionary.get(code as usize)))
                .take_while(|(_, text)| !pace.spend(work_of_matching(text)))
                .filter(|(_, text)| matcher.is_match(text))
                .map(|(code, _)| code)
                .collect()
        }
    }
}

/// Returns the codes of the strings that contain a value, ascending. `text` has the strings of the dictionary one after the other.
fn containing(dictionary: &Dictionary, text: &str, value: &str, pace: &Pace<'_>) -> Vec<u32> {
    let finder = Finder::new(value.as_bytes());
    let (text, ends) = (text.as_bytes(), dictionary.ends());
    let mut found = Vec::new();
    let (mut from, mut code) = (0, 0);
    while !pace.spend(WORK_OF_AN_OCCURRENCE) {
        // Each piece overlaps the next piece, so that each occurrence is completely in one piece.
        let end = text.len().min(from + BYTES_OF_A_CHECK + value.len());
        let Some(piece) = text.get(from..end).filter(|piece| piece.len() >= value.len()) else { break };
        let Some(at) = finder.find(piece) else {
            pace.spend(piece.len() / BYTES_OF_A_UNIT);
            from += (piece.len() + 1 - value.len()).max(1);
            continue;
        };
        let at = from + at;
        code += ends.get(code..).map_or(0, |ends| skip_until(ends, at));
        let Some(end) = ends.get(code).map(|end| *end as usize) else { break };
        if at + value.len() <= end {
            found.extend(u32::try_from(code));
            // Further occurrences in this string do not matter.
            from = end;
        } else {
            // The occurrence spans two strings.
            from = at + 1;
        }
    }
    found
}

/// The number of bytes that are searched between two stop checks. This takes about 20 µs.
const BYTES_OF_A_CHECK: usize = 1 << 17;
/// The number of bytes that are searched in the time of one unit of work.
const BYTES_OF_A_UNIT: usize = 2;
/// The estimated work of an occurrence (about 10 ns), in units of [`Pace::spend`].
const WORK_OF_AN_OCCURRENCE: usize = 40;

/// Returns the number of ends that are at most `at`. `ends` must ascend. Uses exponential search, because the next occurrence is
/// often near.
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
    use super::*;
    use crate::catalog::{Field, FieldType};
    use crate::column::{Column, ColumnBuilder};
    use crate::value::Value;

    fn column(texts: &[&str]) -> Column {
        let mut builder = ColumnBuilder::new(&Field::new("name", FieldType::String), texts.len());
        for (row, text) in texts.iter().enumerate() {
            builder.push(row, &Value::from(*text));
        }
        builder.seal(texts.len())
    }

    #[test]
    fn codes_are_those_of_the_strings_that_match() {
        let ascii = ["", "a", "ab", "abab", "b", "ba", "bb", "A", "B a", "an Ab"];
        let all = [&ascii[..], &["é", "É a", "a\u{301}b", "🚩ab", "ß"]].concat();
        let values = ["a", "b", "ab", "ba", "aba", "bb", "A", "é", "e", "ss", "🚩", "B a", "ab b", "x"];
        for texts in [&ascii[..], &all] {
            let column = column(texts);
            let (dictionary, _) = column.dictionary().unwrap();
            let mut patterns = vec![TextPattern::Every];
            for count in [1, 2, 3, 5, 14] {
                for from in 0..values.len() {
                    let values = || values.iter().cycle().skip(from).take(count).copied();
                    patterns.extend(TextPattern::prefixes(values()));
                    patterns.extend(TextPattern::substrings(values()));
                    patterns.extend(TextPattern::words(values()));
                }
            }
            for pattern in patterns {
                let matches = |code: &u32| pattern.contains(dictionary.get(*code as usize));
                let expected: Vec<u32> = codes(0..dictionary.len()).filter(matches).collect();
                assert_eq!(
                    matching_codes(dictionary, &pattern, &Pace::new(None)).into_vec(),
                    expected,
                    "{pattern:?}"
                );
            }
        }
    }

    #[test]
    fn an_occurrence_across_two_strings_does_not_count() {
        let column = column(&["a", "aa", "b", "bb", "bba"]);
        let (dictionary, _) = column.dictionary().unwrap();
        let found = |value| containing(dictionary, dictionary.text(), value, &Pace::new(None));
        assert_eq!(
            (found("ab"), found("aa"), found("ba"), found("bb")),
            (vec![], vec![1], vec![4], vec![3, 4])
        );
    }
}
