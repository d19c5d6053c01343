//! Infinite sets of strings: all strings, or the strings that start with, contain or match given texts.

use std::borrow::Cow;

use aho_corasick::AhoCorasick;
use compact_str::CompactString;
use memchr::memmem;
use smallvec::SmallVec;

use super::points::Points;
use crate::value::{fold, words};

/// An infinite set of strings.
///
/// Invariant: no value is superfluous. No prefix starts with another prefix. No substring contains another substring, and no word
/// contains another word.
///
/// ```text
/// $exists                       Every
/// $startsWith (Gar, Garcia)     Prefixes {Gar}
/// $substring (arc, Garcia)      Substrings {arc}
/// $match "garcia gar LOPEZ"     Words {garcia, lopez}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TextPattern {
    /// Every string.
    Every,
    /// The strings that start with at least one of these prefixes.
    Prefixes(Points<CompactString>),
    /// The strings that contain at least one of these substrings.
    Substrings(Points<CompactString>),
    /// The strings that, after [folding](fold), contain all of these words. The words are folded.
    Words(Points<CompactString>),
}

/// Up to this number of substrings or words, each of them is searched for separately. Above it, one automaton searches for all of
/// them at once.
const FEW: usize = 8;

/// Up to this number of pairs of values, two patterns of prefixes or substrings are compared. Above it, they count as unrelated,
/// because the comparison would take long.
const MOST_PAIRS: usize = 1 << 12;

/// A single string of up to this length in bytes is searched for each value separately. Above it, building a [`Matcher`] first is
/// worth its cost.
const SHORT: usize = 1024;

impl TextPattern {
    /// Returns the pattern of the strings that start with at least one of these texts. Returns `None` if there are no texts. `Gar`
    /// and `Garcia` give `Prefixes([Gar])`.
    pub(crate) fn prefixes<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Self> {
        let all = sorted(texts)?;
        let mut kept: SmallVec<[CompactString; 1]> = SmallVec::new();
        // In sorted order, all strings that start with a prefix follow directly after this prefix.
        for text in all.as_slice() {
            if !kept.last().is_some_and(|prefix| text.starts_with(&**prefix)) {
                kept.push(text.clone());
            }
        }
        Some(Self::Prefixes(Points(kept)))
    }

    /// Returns the pattern of the strings that contain at least one of these texts. Returns `None` if there are no texts. `arc` and
    /// `Garcia` give `Substrings([arc])`.
    pub(crate) fn substrings<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Self> {
        let all = sorted(texts)?;
        let is_kept = kept(all.as_slice(), Superfluous::Longer);
        Some(Self::Substrings(keep(all, &is_kept)))
    }

    /// Returns the pattern of the strings that contain every word of these texts. Returns `None` if the texts have no word. `garcia
    /// gar` and `LOPEZ` give `Words([garcia, lopez])`: a string that contains `garcia` also contains `gar`.
    pub(crate) fn words<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Self> {
        let words: Vec<String> = texts.flat_map(words).collect();
        Self::of_words(words.iter().map(String::as_str))
    }

    fn of_words<'t>(words: impl Iterator<Item = &'t str>) -> Option<Self> {
        let all = sorted(words)?;
        let is_kept = kept(all.as_slice(), Superfluous::Shorter);
        Some(Self::Words(keep(all, &is_kept)))
    }

    /// Returns true for a pattern of words (`$match`). After folding, a matching string contains all values of the pattern.
    #[cfg(feature = "sql")]
    pub(crate) fn has_words(&self) -> bool {
        matches!(self, Self::Words(_))
    }

    /// Returns the values of the pattern. Empty if the pattern matches every string.
    pub(crate) fn values(&self) -> &[CompactString] {
        match self {
            Self::Every => &[],
            Self::Prefixes(values) | Self::Substrings(values) | Self::Words(values) => values.as_slice(),
        }
    }

    /// Returns true if the set contains the string. For many strings, a [`Matcher`] is faster.
    pub(crate) fn contains(&self, text: &str) -> bool {
        match self {
            // Building an automaton takes longer than searching a short text for each value separately.
            Self::Substrings(values) if text.len() <= SHORT => {
                values.texts().any(|value| memmem::find(text.as_bytes(), value.as_bytes()).is_some())
            }
            Self::Words(words) if text.len() <= SHORT => {
                let text = fold(text);
                words.texts().all(|word| memmem::find(text.as_bytes(), word.as_bytes()).is_some())
            }
            Self::Every | Self::Prefixes(_) | Self::Substrings(_) | Self::Words(_) => {
                Matcher::new(self).is_match(text)
            }
        }
    }

    /// Returns true if every string of this set is in the other set. May return false even if every string is in it.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Every) => true,
            (Self::Prefixes(own), Self::Prefixes(_) | Self::Substrings(_))
            | (Self::Substrings(own), Self::Substrings(_)) => {
                let pairs = own.as_slice().len().saturating_mul(other.values().len());
                pairs <= MOST_PAIRS && own.texts().all(|value| other.contains(value))
            }
            (Self::Words(own), Self::Words(_)) => {
                // Words contain no white space. So a word of `other` that occurs in the joined text is a part of one of these
                // words.
                let joined: Vec<&str> = own.as_slice().iter().map(|word| &**word).collect();
                Matcher::new(other).is_match(&joined.join(" "))
            }
            // A prefix or substring could fold differently together with the text around it, so it cannot be compared with words.
            (Self::Every | Self::Prefixes(_) | Self::Substrings(_) | Self::Words(_), _) => false,
        }
    }

    /// Returns patterns with the same union. Merges all patterns of prefixes into one pattern, and all patterns of substrings into
    /// another pattern. Other patterns stay unchanged.
    pub(super) fn union(patterns: Vec<Self>) -> Vec<Self> {
        if patterns.contains(&Self::Every) {
            return vec![Self::Every];
        }
        let (mut prefixes, mut substrings, mut united) = (Vec::new(), Vec::new(), Vec::new());
        for pattern in &patterns {
            match pattern {
                Self::Prefixes(values) => prefixes.extend(values.texts()),
                Self::Substrings(values) => substrings.extend(values.texts()),
                Self::Every | Self::Words(_) => united.push(pattern.clone()),
            }
        }
        united.extend(Self::prefixes(prefixes.into_iter()));
        united.extend(Self::substrings(substrings.into_iter()));
        united
    }

    /// Returns patterns with the same intersection. Merges all patterns of words into one pattern. Other patterns stay unchanged.
    pub(super) fn intersection(patterns: Vec<Self>) -> Vec<Self> {
        let (mut words, mut common) = (Vec::new(), Vec::new());
        for pattern in &patterns {
            match pattern {
                Self::Words(values) => words.extend(values.texts()),
                // Every other pattern is within `Every`, so `Every` is superfluous.
                Self::Every if patterns.iter().any(|other| *other != Self::Every) => {}
                Self::Every | Self::Prefixes(_) | Self::Substrings(_) => common.push(pattern.clone()),
            }
        }
        common.extend(Self::of_words(words.into_iter()));
        common
    }

    /// Returns the heap memory in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        let heap = |text: &CompactString| if text.is_heap_allocated() { text.capacity() } else { 0 };
        let own = |text| heap(text).saturating_add(size_of::<CompactString>());
        self.values().iter().map(own).fold(size_of::<Self>(), usize::saturating_add)
    }
}

/// Returns the set of these strings. Returns `None` if there are no strings.
fn sorted<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Points<CompactString>> {
    let texts = Points::new(texts.map(CompactString::from).collect());
    (!texts.as_slice().is_empty()).then_some(texts)
}

/// The superfluous string of a pair of strings, in which the longer string contains the shorter string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Superfluous {
    Longer,
    Shorter,
}

/// Returns a flag for each string: false if another string makes it superfluous. The strings must be different.
///
/// Takes linear time, apart from sorting. For many strings, the function works in two steps. It first sorts, to find the pairs in
/// which one string is the start or the end of the other. Then it searches each remaining string for all other remaining strings,
/// with an Aho-Corasick automaton. After the first step, no remaining string is the end of another remaining string. So the
/// automaton finds at most one string that ends at each position.
fn kept(texts: &[CompactString], superfluous: Superfluous) -> Vec<bool> {
    let mut kept = vec![true; texts.len()];
    let mut drop = |longer: usize, shorter: usize| {
        let at = if superfluous == Superfluous::Longer { longer } else { shorter };
        if let Some(kept) = kept.get_mut(at) {
            *kept = false;
        }
    };
    if texts.len() <= FEW {
        for (longer, text) in texts.iter().enumerate() {
            for (shorter, other) in texts.iter().enumerate() {
                if longer != shorter && text.contains(&**other) {
                    drop(longer, shorter);
                }
            }
        }
        return kept;
    }
    // Sort once by the starts and once by the ends of the strings. In this order, a string is directly before the strings that
    // start, or end, with it.
    let mut sorted: Vec<usize> = (0..texts.len()).collect();
    let text = |at: usize| texts.get(at).map(|text| &**text).unwrap_or_default();
    for is_start in [true, false] {
        if is_start {
            sorted.sort_unstable_by(|a, b| text(*a).cmp(text(*b)));
        } else {
            sorted.sort_unstable_by(|a, b| text(*a).bytes().rev().cmp(text(*b).bytes().rev()));
        }
        let is_part = |part: &str, of: &str| if is_start { of.starts_with(part) } else { of.ends_with(part) };
        let mut last: Option<usize> = None;
        for at in sorted.iter().copied() {
            match last {
                Some(shorter) if is_part(text(shorter), text(at)) => {
                    drop(at, shorter);
                    // To drop longer strings, compare the next string with the shortest string. To drop shorter strings, compare
                    // it with the longest string so far.
                    if superfluous == Superfluous::Shorter {
                        last = Some(at);
                    }
                }
                _ => last = Some(at),
            }
        }
    }
    let left: Vec<usize> = (0..texts.len()).filter(|at| kept.get(*at) == Some(&true)).collect();
    let Some(automaton) = automaton(left.iter().map(|at| text(*at))) else { return kept };
    for longer in left.iter().copied() {
        for found in automaton.find_overlapping_iter(text(longer)) {
            let shorter = left.get(found.pattern().as_usize()).copied().unwrap_or(longer);
            if longer != shorter
                && let Some(kept) =
                    kept.get_mut(if superfluous == Superfluous::Longer { longer } else { shorter })
            {
                *kept = false;
            }
        }
    }
    kept
}

fn keep(texts: Points<CompactString>, is_kept: &[bool]) -> Points<CompactString> {
    Points(texts.0.into_iter().zip(is_kept).filter(|(_, kept)| **kept).map(|(text, _)| text).collect())
}

/// Builds the automaton that searches for all of these texts at once. Returns `None` if the total length of the texts is about 2
/// GiB or more.
fn automaton<'t>(texts: impl Iterator<Item = &'t str>) -> Option<AhoCorasick> {
    AhoCorasick::new(texts.map(str::as_bytes)).ok()
}

/// A pattern that is prepared for many strings: the searchers for its values are built once.
///
/// Matching takes linear time in the length of a string. With more than [`FEW`] values, the time does not depend on their count.
pub(crate) struct Matcher<'p> {
    pattern: Cow<'p, TextPattern>,
    search: Search<'p>,
}

enum Search<'p> {
    /// No searcher: the pattern matches every string, or is a list of prefixes. In both cases, no search inside the string is
    /// needed.
    Nothing,
    Finders(Vec<memmem::Finder<'p>>),
    Automaton(AhoCorasick),
}

impl<'p> Matcher<'p> {
    pub(crate) fn new(pattern: &'p TextPattern) -> Self {
        let search = match pattern {
            TextPattern::Every | TextPattern::Prefixes(_) => Search::Nothing,
            TextPattern::Substrings(values) | TextPattern::Words(values) => {
                let values = values.as_slice();
                match if values.len() > FEW { automaton(values.iter().map(|value| &**value)) } else { None } {
                    Some(automaton) => Search::Automaton(automaton),
                    None => Search::Finders(
                        values.iter().map(|value| memmem::Finder::new(value.as_bytes())).collect(),
                    ),
                }
            }
        };
        Self { pattern: Cow::Borrowed(pattern), search }
    }

    /// Returns the same matcher with its own copy of the pattern.
    pub(crate) fn into_owned(self) -> Matcher<'static> {
        let search = match self.search {
            Search::Nothing => Search::Nothing,
            Search::Finders(finders) => {
                Search::Finders(finders.into_iter().map(memmem::Finder::into_owned).collect())
            }
            Search::Automaton(automaton) => Search::Automaton(automaton),
        };
        Matcher { pattern: Cow::Owned(self.pattern.into_owned()), search }
    }

    /// Returns true if the pattern matches the string.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        match &*self.pattern {
            TextPattern::Every => true,
            TextPattern::Prefixes(prefixes) => {
                // At most one of the prefixes can match: the greatest prefix that is not greater than the text.
                let prefixes = prefixes.as_slice();
                let after = prefixes.partition_point(|prefix| **prefix <= *text);
                let before = after.checked_sub(1).and_then(|at| prefixes.get(at));
                before.is_some_and(|prefix| text.starts_with(&**prefix))
            }
            TextPattern::Substrings(_) => self.has_any(text),
            TextPattern::Words(words) => self.has_all(&fold(text), words.as_slice().len()),
        }
    }

    fn has_any(&self, text: &str) -> bool {
        match &self.search {
            Search::Nothing => false,
            Search::Finders(finders) => finders.iter().any(|finder| finder.find(text.as_bytes()).is_some()),
            Search::Automaton(automaton) => automaton.is_match(text),
        }
    }

    /// Returns true if a folded text contains all `count` words.
    fn has_all(&self, folded: &str, count: usize) -> bool {
        match &self.search {
            Search::Nothing => false,
            Search::Finders(finders) => finders.iter().all(|finder| finder.find(folded.as_bytes()).is_some()),
            Search::Automaton(automaton) => {
                // No word contains another word, so at most one word ends at each position.
                let mut found = vec![false; count];
                let mut missing = count;
                for word in automaton.find_overlapping_iter(folded) {
                    if let Some(found) = found.get_mut(word.pattern().as_usize())
                        && !std::mem::replace(found, true)
                    {
                        missing = missing.saturating_sub(1);
                    }
                    if missing == 0 {
                        return true;
                    }
                }
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns() -> Vec<TextPattern> {
        let lists: [&[&str]; 9] =
            [&["a"], &["b"], &["ab"], &["A"], &["a", "b"], &["ab", "ba"], &["abc", "b"], &["é"], &["e"]];
        let mut all = vec![TextPattern::Every];
        for list in lists {
            all.extend(TextPattern::prefixes(list.iter().copied()));
            all.extend(TextPattern::substrings(list.iter().copied()));
            all.extend(TextPattern::words(list.iter().copied()));
        }
        all
    }

    fn texts() -> Vec<String> {
        let mut texts = vec![String::new()];
        for _ in 0..3 {
            for at in 0..texts.len() {
                for letter in ["a", "b", "c", "A", "é", " "] {
                    texts.push(format!("{}{letter}", texts[at]));
                }
            }
            texts.sort();
            texts.dedup();
        }
        texts
    }

    #[test]
    fn sets_of_patterns_agree_with_their_members() {
        let (patterns, texts) = (patterns(), texts());
        for a in &patterns {
            let matcher = Matcher::new(a);
            assert!(texts.iter().all(|text| matcher.is_match(text) == a.contains(text)), "{a:?}");
            for b in &patterns {
                if a.is_within(b) {
                    let outside = texts.iter().find(|text| a.contains(text) && !b.contains(text));
                    assert_eq!(outside, None, "{a:?} {b:?}");
                }
                let union = TextPattern::union(vec![a.clone(), b.clone()]);
                let both = TextPattern::intersection(vec![a.clone(), b.clone()]);
                for text in &texts {
                    let (in_a, in_b) = (a.contains(text), b.contains(text));
                    let in_union = union.iter().any(|pattern| pattern.contains(text));
                    let in_both = both.iter().all(|pattern| pattern.contains(text));
                    assert_eq!((in_union, in_both), (in_a || in_b, in_a && in_b), "{a:?} {b:?} {text:?}");
                }
            }
        }
    }

    #[test]
    fn superfluous_values_are_dropped() {
        let values = |pattern: Option<TextPattern>| pattern.unwrap().values().to_vec();
        assert_eq!(
            values(TextPattern::prefixes(["Garcia", "Gar", "G\u{1f600}"].into_iter())),
            ["Gar", "G\u{1f600}"]
        );
        assert_eq!(values(TextPattern::substrings(["Garcia", "arc"].into_iter())), ["arc"]);
        assert_eq!(values(TextPattern::words(["GARCÍA gar", "lopez"].into_iter())), ["garcia", "lopez"]);
        assert_eq!(TextPattern::words([" ", "\u{301}"].into_iter()), None);
    }

    #[test]
    fn superfluous_values_are_found_among_many_as_among_few() {
        let mut state = 3_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..500 {
            let count = FEW as u64 + 1 + next(20);
            let longest = 1 + next(6);
            let letters = ["a", "b", "é", "c"];
            let texts: Vec<CompactString> = (0..count)
                .map(|_| (0..=next(longest)).map(|_| letters[next(4) as usize]).collect::<CompactString>())
                .collect();
            let texts = Points::new(texts.into());
            let has_other = |text: &CompactString, is_part: &dyn Fn(&str) -> bool| {
                texts.as_slice().iter().any(|other| other != text && is_part(other))
            };
            let all = texts.as_slice().iter();
            let shortest: Vec<bool> =
                all.clone().map(|text| !has_other(text, &|other| text.contains(other))).collect();
            let longest: Vec<bool> =
                all.map(|text| !has_other(text, &|other| other.contains(&**text))).collect();
            if texts.as_slice().len() > FEW {
                assert_eq!(kept(texts.as_slice(), Superfluous::Longer), shortest, "{texts:?}");
                assert_eq!(kept(texts.as_slice(), Superfluous::Shorter), longest, "{texts:?}");
            }
        }
    }

    #[test]
    fn a_long_text_is_searched_like_a_short_one() {
        let numbers: Vec<String> = (0..300).map(|number| format!("n{number}x")).collect();
        let patterns = [
            TextPattern::substrings(numbers.iter().map(String::as_str)).unwrap(),
            TextPattern::words(numbers.iter().map(String::as_str)).unwrap(),
        ];
        let all = numbers.join(" ").to_uppercase();
        assert!(all.len() > SHORT && patterns[1].contains(&all) && !patterns[0].contains(&all));
        let texts = ["n299x".to_owned(), "n299".to_owned(), format!("{all} n7x"), all.replace('9', "")];
        for text in texts {
            for pattern in &patterns {
                assert_eq!(pattern.contains(&text), Matcher::new(pattern).is_match(&text), "{text}");
            }
        }
    }

    #[test]
    fn many_values_are_handled_like_few() {
        let numbers: Vec<String> = (0..300).map(|number| format!("n{number}")).collect();
        let texts = || numbers.iter().map(String::as_str);
        let substrings = TextPattern::substrings(texts()).unwrap();
        assert_eq!(substrings.values().len(), 10);
        let words = TextPattern::words(texts()).unwrap();
        // `n1` to `n29` are parts of other words.
        assert_eq!(words.values().len(), 300 - 29);
        let all = numbers.join(" ");
        assert!(words.contains(&all.to_uppercase()));
        assert!(!words.contains(&all.replace("n299", "")));
        let ends: Vec<String> = (100..300).map(|number| format!("{number}e")).collect();
        let ends = TextPattern::substrings(ends.iter().map(String::as_str)).unwrap();
        assert_eq!(ends.values().len(), 200);
        assert!(ends.contains("a1234e") && !ends.contains("a1299 e"));
        assert!(TextPattern::words(["n12 n13"].into_iter()).unwrap().contains(&all));
        assert!(words.is_within(&TextPattern::words(["n1 n29"].into_iter()).unwrap()));
    }
}
