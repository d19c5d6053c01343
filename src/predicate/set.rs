//! The set of values of one type that a [`Test`](super::Test) compares with the values of a case, and its operations.

use std::borrow::Cow;

use compact_str::CompactString;
use smallvec::{SmallVec, smallvec};

use super::intervals::Intervals;
use super::points::Points;
use super::reading::Reading;
use super::text_pattern::{Matcher, TextPattern};
use crate::catalog::FieldType;
use crate::operator::Pattern;
use crate::value::{Operand, OrderedType, OrdinalRange, Value, ValueClass};

/// Returns the first eight bytes of a text as a number, padded with zeros.
///
/// If the prefixes of two texts differ, they are in the same order as the texts. Comparing numbers first makes sorting faster.
fn prefix(text: &str) -> u64 {
    let bytes = text.as_bytes();
    u64::from_be_bytes(bytes.first_chunk().copied().unwrap_or_else(|| {
        let mut first = [0; 8];
        first.iter_mut().zip(bytes).for_each(|(first, byte)| *first = *byte);
        first
    }))
}

/// A set of values of one type.
///
/// A set of strings is a sorted list or a pattern. A set of booleans is a sorted list. A set of numbers, integers, decimals or
/// timestamps is a sorted list of ranges. A single value is a range of one value, called a *point*.
///
/// ```text
/// status in (open, blocked)          Strings    {blocked, open}
/// amount in (1, 2)                   Ordered    1..=1, 2..=2        two points
/// amount >= 1 and amount <= 5        Ordered    1..=5
/// checked = true                     Booleans   {true}
/// name starts with Gar               Matching   Prefixes {Gar}
/// ```
///
/// Operations on two sets need sets of the same type. All tests of one field have sets of the same type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
// The tag has the size of a machine word on purpose. With a narrower tag, copying a set reads across words that were just
// written, which stalls store forwarding: benches/HISTORY.md.
#[repr(usize)]
pub(crate) enum Set {
    Strings(Points<CompactString>),
    Ordered(Intervals),
    Booleans(Points<bool>),
    /// The infinite set of the strings that a pattern matches. The pattern is boxed so that the other variants stay small.
    Matching(Box<TextPattern>),
}

/// Applies an operation to two sets of the same type, neither of which is a pattern. Other sets are a bug.
macro_rules! pairwise {
    ($left:expr, $right:expr, $method:ident, $wrap:expr) => {
        match ($left, $right) {
            (Set::Strings(a), Set::Strings(b)) => $wrap(Set::Strings(a.$method(b))),
            (Set::Ordered(a), Set::Ordered(b)) => $wrap(Set::Ordered(a.$method(b))),
            (Set::Booleans(a), Set::Booleans(b)) => $wrap(Set::Booleans(a.$method(b))),
            (own, _) => {
                debug_assert!(false, "sets of one field have one type, and a pattern is only the second set");
                own.clone()
            }
        }
    };
}

impl Set {
    /// Returns the set of these operands, which have the same type. Returns `None` if there are no operands.
    ///
    /// The strings `b`, `a`, `b` give `Strings([a, b])`. The integers 2 and 1 give the ranges 1 to 1 and 2 to 2.
    pub(crate) fn from_values(values: &[Operand<'_>], is_many: bool) -> Option<Self> {
        fn all<T>(values: &[Operand<'_>], take: impl Fn(&Operand<'_>) -> Option<T>) -> SmallVec<[T; 1]> {
            let mut all = SmallVec::with_capacity(values.len());
            all.extend(values.iter().filter_map(take));
            all
        }
        Some(match values.first()?.first() {
            Value::String(_) => {
                return Self::of_strings(values.iter().filter_map(|value| match value.first() {
                    Value::String(text) => Some(&**text),
                    _ => None,
                }));
            }
            Value::Boolean(_) => Self::Booleans(Points::new(all(values, |value| match value.first() {
                Value::Boolean(boolean) => Some(*boolean),
                _ => None,
            }))),
            ordered => {
                let (kind, _) = ordered.ordinal()?;
                let ranges =
                    all(values, |value| Some((value.first().ordinal()?.1, value.last().ordinal()?.1)));
                Self::of_ranges(kind, ranges, is_many)
            }
        })
    }

    /// Returns the set of these strings. Returns `None` if there are no strings.
    pub(crate) fn of_strings<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Self> {
        // Sorting the borrowed strings moves and reads less memory than sorting owned strings.
        let mut texts: SmallVec<[(u64, &str); 4]> = texts.map(|text| (prefix(text), text)).collect();
        let sorted = texts.as_mut_slice();
        sorted.sort_unstable();
        let points = match sorted {
            [] => return None,
            [(_, only)] => smallvec![CompactString::from(*only)],
            several => {
                let mut points = Vec::with_capacity(several.len());
                let mut last = None;
                for text in several.iter() {
                    if last != Some(text) {
                        points.push(CompactString::from(text.1));
                        last = Some(text);
                    }
                }
                if points.len() < several.len() {
                    points.shrink_to_fit();
                }
                SmallVec::from_vec(points)
            }
        };
        Some(Self::Strings(Points(points)))
    }

    /// Parses these texts as operands of a field of the type, and returns their set. Returns `None` if there are no texts, or if a
    /// text is malformed. For numbers, `2` and `1e0` give the ranges of 1 and 2 in this order, and `x` gives `None`.
    pub(crate) fn from_texts<'t>(
        kind: FieldType,
        reading: Reading,
        is_many: bool,
        texts: impl ExactSizeIterator<Item = &'t str>,
    ) -> Option<Self> {
        fn all<T>(values: impl ExactSizeIterator<Item = Option<T>>) -> Option<SmallVec<[T; 1]>> {
            let mut all = SmallVec::with_capacity(values.len());
            for value in values {
                all.push(value?);
            }
            (!all.is_empty()).then_some(all)
        }
        Some(match ValueClass::of_field(kind) {
            ValueClass::Strings => return Self::of_strings(texts),
            ValueClass::Ordered(kind) => {
                let range = |text| reading.range(kind, text);
                Self::of_ranges(kind, all(texts.map(range))?, is_many)
            }
            ValueClass::Booleans => Self::Booleans(Points::new(all(texts.map(|text| text.parse().ok()))?)),
        })
    }

    /// Returns the set of the operands with these ranges. On a single-valued field, adjacent spans of time become one range, as
    /// in a union of sets.
    fn of_ranges(kind: OrderedType, ranges: SmallVec<[OrdinalRange; 1]>, is_many: bool) -> Self {
        let fuse = !is_many && ranges.iter().any(|(low, high)| low != high);
        Self::Ordered(Intervals::new(kind, ranges, fuse))
    }

    /// Applies a pattern to this set of operands: the pattern of `>` turns `{5}` into all values above 5.
    ///
    /// Returns `None` if the result is empty.
    pub(crate) fn matching(self, pattern: Pattern) -> Option<Self> {
        match (pattern, self) {
            (Pattern::Points, points) => Some(points),
            (Pattern::Ray(ray), Self::Ordered(points)) => points.ray(ray).map(Self::Ordered),
            (Pattern::Prefixes, Self::Strings(texts)) => TextPattern::prefixes(texts.texts()).map(Self::from),
            (Pattern::Substrings, Self::Strings(texts)) => {
                TextPattern::substrings(texts.texts()).map(Self::from)
            }
            (Pattern::Words, Self::Strings(texts)) => TextPattern::words(texts.texts()).map(Self::from),
            // The caller handles `Present` by `every`. Lowering rejects the other combinations.
            (
                Pattern::Present | Pattern::Ray(_) | Pattern::Prefixes | Pattern::Substrings | Pattern::Words,
                _,
            ) => None,
        }
    }

    /// Returns the set of all values of a field type: `Matching(Every)` for strings, one range from the least to the greatest
    /// ordinal for ordered types, and `Booleans([false, true])`.
    pub(crate) fn every(kind: FieldType) -> Self {
        match ValueClass::of_field(kind) {
            ValueClass::Strings => TextPattern::Every.into(),
            ValueClass::Ordered(kind) => Self::Ordered(Intervals::new(kind, smallvec![kind.range()], false)),
            ValueClass::Booleans => Self::Booleans(Points::new(smallvec![false, true])),
        }
    }

    /// Returns true if the set has all values of its type. Returns false if no single range has all values, even if several ranges
    /// together have them.
    pub(crate) fn is_every(&self) -> bool {
        match self {
            Self::Strings(_) => false,
            Self::Ordered(intervals) => intervals.as_slice() == [intervals.kind().range()],
            Self::Booleans(points) => points.0.len() == 2,
            Self::Matching(pattern) => **pattern == TextPattern::Every,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Strings(points) => points.0.is_empty(),
            Self::Ordered(intervals) => intervals.ranges.is_empty(),
            Self::Booleans(points) => points.0.is_empty(),
            Self::Matching(_) => false,
        }
    }

    /// Returns true if the set has only points: no range has more than one value.
    pub(crate) fn are_points(&self) -> bool {
        match self {
            Self::Strings(_) | Self::Booleans(_) => true,
            Self::Ordered(intervals) => intervals.are_points(),
            Self::Matching(_) => false,
        }
    }

    /// Returns the number of points or ranges, not of values: 1 for `amount > 5`.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Strings(points) => points.0.len(),
            Self::Ordered(intervals) => intervals.ranges.len(),
            Self::Booleans(points) => points.0.len(),
            Self::Matching(pattern) => pattern.values().len(),
        }
    }

    /// Returns the approximate memory of the members in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::Strings(points) => {
                let heap = |text: &CompactString| if text.is_heap_allocated() { text.capacity() } else { 0 };
                let own = |text| heap(text).saturating_add(size_of::<CompactString>());
                points.0.iter().map(own).sum()
            }
            Self::Ordered(intervals) => size_of_val(intervals.as_slice()),
            Self::Booleans(points) => size_of_val(points.as_slice()),
            Self::Matching(pattern) => pattern.size_bytes(),
        }
    }

    /// Returns the members of a set of [points](Self::are_points). For a range of several values, returns only the smallest value.
    pub(crate) fn points(&self) -> Vec<Value<'static>> {
        match self {
            Self::Strings(points) => {
                points.0.iter().map(|text| Value::String(Cow::Owned(text.to_string()))).collect()
            }
            Self::Ordered(intervals) => {
                intervals.ranges.iter().map(|(point, _)| intervals.kind().value(*point)).collect()
            }
            Self::Booleans(points) => points.0.iter().map(|boolean| Value::Boolean(*boolean)).collect(),
            Self::Matching(_) => Vec::new(),
        }
    }

    pub(crate) fn contains(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Strings(points), Value::String(text)) => points.contains(&**text),
            (Self::Ordered(intervals), value) => value
                .ordinal()
                .is_some_and(|(kind, ordinal)| kind == intervals.kind() && intervals.contains(ordinal)),
            (Self::Booleans(points), Value::Boolean(boolean)) => points.contains(boolean),
            (Self::Matching(pattern), Value::String(text)) => pattern.contains(text),
            _ => false,
        }
    }

    /// Returns the index of a value among the [points](Self::points) of the set. Returns `None` if the value is not among them.
    pub(super) fn position(&self, value: &Value<'_>) -> Option<usize> {
        match (self, value) {
            (Self::Strings(points), Value::String(text)) => {
                points.0.binary_search_by(|point| (**point).cmp(text)).ok()
            }
            (Self::Ordered(intervals), value) => {
                let (_, ordinal) = value.ordinal().filter(|(kind, _)| *kind == intervals.kind())?;
                intervals.ranges.binary_search_by(|(point, _)| point.cmp(&ordinal)).ok()
            }
            (Self::Booleans(points), Value::Boolean(boolean)) => points.0.binary_search(boolean).ok(),
            _ => None,
        }
    }

    /// Returns true for a pattern of strings.
    pub(crate) fn is_pattern(&self) -> bool {
        matches!(self, Self::Matching(_))
    }

    /// Returns the strings of a list of strings. Empty for other sets.
    pub(in crate::predicate) fn texts(&self) -> impl Iterator<Item = &str> {
        let points = match self {
            Self::Strings(points) => points.as_slice(),
            _ => &[],
        };
        points.iter().map(|text| &**text)
    }

    /// Keeps the strings for which `is_kept` returns true. Sets that are not lists of strings stay unchanged.
    pub(super) fn retain_texts(&mut self, is_kept: impl Fn(&str) -> bool) {
        if let Self::Strings(points) = self {
            points.0.retain(|text| is_kept(text));
        }
    }

    pub(crate) fn intersect(&self, other: &Self) -> Self {
        pairwise!(self, other, intersect, |set| set)
    }

    pub(crate) fn minus(&self, other: &Self) -> Self {
        pairwise!(self, other, minus, |set| set)
    }

    /// Returns true if both sets have a common value. The second set may be a pattern.
    pub(crate) fn intersects(&self, other: &Self) -> bool {
        if let (Self::Strings(points), Self::Matching(pattern)) = (self, other) {
            let matcher = Matcher::new(pattern);
            return points.texts().any(|text| matcher.is_match(text));
        }
        !self.intersect(other).is_empty()
    }

    pub(crate) fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Strings(a), Self::Strings(b)) => a.is_within(b),
            (Self::Booleans(a), Self::Booleans(b)) => a.is_within(b),
            (Self::Ordered(a), Self::Ordered(b)) => a.is_within(b),
            (Self::Strings(points), Self::Matching(pattern)) => {
                let matcher = Matcher::new(pattern);
                points.texts().all(|text| matcher.is_match(text))
            }
            (Self::Matching(a), Self::Matching(b)) => a.is_within(b),
            // A pattern matches infinitely many strings, so no list contains all of them.
            (Self::Matching(_), Self::Strings(_)) => false,
            _ => {
                debug_assert!(false, "sets of one field have one type");
                false
            }
        }
    }

    /// Returns the union of sets of the same type, or `None` if there are no sets. For `fuse`, see [`Intervals::new`].
    pub(crate) fn union(sets: impl IntoIterator<Item = Self>, fuse: bool) -> Option<Self> {
        let mut sets = sets.into_iter();
        let mut union = sets.next()?;
        for set in sets {
            match (&mut union, set) {
                (Self::Strings(all), Self::Strings(more)) => all.0.extend(more.0),
                (Self::Ordered(all), Self::Ordered(more)) => all.ranges.extend(more.ranges),
                (Self::Booleans(all), Self::Booleans(more)) => all.0.extend(more.0),
                _ => debug_assert!(false, "sets of one field have one type"),
            }
        }
        Some(match union {
            Self::Strings(points) => Self::Strings(Points::new(points.0)),
            Self::Ordered(all) => Self::Ordered(Intervals::new(all.kind(), all.ranges, fuse)),
            Self::Booleans(points) => Self::Booleans(Points::new(points.0)),
            Self::Matching(pattern) => Self::Matching(pattern),
        })
    }
}

impl From<TextPattern> for Set {
    /// Returns the set of the strings that the pattern matches: `Matching(pattern)`.
    fn from(pattern: TextPattern) -> Self {
        Self::Matching(Box::new(pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::OrderedType;

    const NUMBER: OrderedType = OrderedType::Number;

    #[test]
    fn repeated_values_take_no_memory() {
        let texts = ["2", "1"].into_iter().cycle().take(1000);
        let numbers = texts.clone().map(|text| NUMBER.parse(text).unwrap()).map(|number| (number, number));
        let Some(Set::Strings(strings)) = Set::of_strings(texts) else { panic!("no strings") };
        assert_eq!((strings.0.len(), strings.0.capacity()), (2, 2));
        for fuse in [false, true] {
            let numbers = Intervals::new(NUMBER, numbers.clone().collect(), fuse);
            assert_eq!((numbers.ranges.len(), numbers.ranges.capacity()), (2, 2));
        }
        let booleans = Points::new([true, false].into_iter().cycle().take(1000).collect());
        assert_eq!(booleans.0.len(), 2);
        assert!(booleans.0.capacity() <= size_of::<[usize; 2]>());
    }

    #[test]
    fn strings_are_sorted_by_all_their_bytes() {
        let texts = [
            "",
            "\0",
            "a",
            "a\0",
            "a\0\0\0\0\0\0\0",
            "a\0\0\0\0\0\0\0b",
            "abcdefgh",
            "abcdefgh\0",
            "abcdefgi",
            "é",
            "\u{10ffff}",
        ];
        for step in [1, 2, 3, 5, 7] {
            let shuffled = (0..2 * texts.len()).map(|at| texts[at * step % texts.len()]);
            let Some(Set::Strings(strings)) = Set::of_strings(shuffled) else { panic!("no strings") };
            assert_eq!(strings.as_slice(), texts);
        }
    }
}
