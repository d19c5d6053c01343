//! Sets of values: what a test compares a field's values with.

use std::borrow::Cow;

use compact_str::CompactString;
use smallvec::{SmallVec, smallvec};

use crate::catalog::FieldType;
use crate::operator::Operator;
use crate::value::{OrderedType, OrdinalRange, Value};

/// A finite set: strictly ascending.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Points<T>(SmallVec<[T; 1]>);

impl<T: Ord + Clone> Points<T> {
    pub(crate) fn new(mut values: SmallVec<[T; 1]>) -> Self {
        if values.len() > 1 {
            values.sort_unstable();
            let all = values.len();
            values.dedup();
            if values.len() < all {
                values.shrink_to_fit();
            }
        }
        Self(values)
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &self.0
    }

    pub(crate) fn contains<Q: Ord + ?Sized>(&self, value: &Q) -> bool
    where
        T: std::borrow::Borrow<Q>,
    {
        self.0.binary_search_by(|member| member.borrow().cmp(value)).is_ok()
    }

    fn intersect(&self, other: &Self) -> Self {
        let (small, large) = if self.0.len() <= other.0.len() { (self, other) } else { (other, self) };
        Self(small.0.iter().filter(|value| large.contains(*value)).cloned().collect())
    }

    fn minus(&self, other: &Self) -> Self {
        Self(self.0.iter().filter(|value| !other.contains(*value)).cloned().collect())
    }

    fn is_within(&self, other: &Self) -> bool {
        self.0.len() <= other.0.len() && self.0.iter().all(|value| other.contains(value))
    }
}

/// A set of values of an ordered type: closed ranges of ordinals, none empty, ascending, no two of which share a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Intervals {
    kind: OrderedType,
    ranges: SmallVec<[OrdinalRange; 1]>,
}

impl Intervals {
    /// Returns the union of some ranges.
    ///
    /// With `fuse`, ranges without a value between them become one, but for runs of points
    /// alone: those stay points, so that a criterion can name them as it named them before.
    pub(crate) fn new(kind: OrderedType, mut ranges: SmallVec<[OrdinalRange; 1]>, fuse: bool) -> Self {
        ranges.retain(|(low, high)| low <= high);
        if ranges.len() < 2 {
            return Self { kind, ranges };
        }
        ranges.sort_unstable();
        let all = ranges.len();
        let mut merged: SmallVec<[OrdinalRange; 1]> = SmallVec::with_capacity(all);
        for (low, high) in ranges {
            match merged.last_mut() {
                Some((_, end)) if low <= *end => *end = (*end).max(high),
                _ => merged.push((low, high)),
            }
        }
        if !fuse {
            if merged.len() < all {
                merged.shrink_to_fit();
            }
            return Self { kind, ranges: merged };
        }
        let mut fused: SmallVec<[OrdinalRange; 1]> = SmallVec::with_capacity(merged.len());
        for run in merged.chunk_by(|(_, high), (low, _)| kind.above(*high) == Some(*low)) {
            match run {
                [(low, _), .., (_, high)] if run.iter().any(|(low, high)| low != high) => {
                    fused.push((*low, *high));
                }
                _ => fused.extend(run.iter().copied()),
            }
        }
        if fused.len() < all {
            fused.shrink_to_fit();
        }
        Self { kind, ranges: fused }
    }

    /// Returns the type of the values.
    pub(crate) fn kind(&self) -> OrderedType {
        self.kind
    }

    /// Returns the ranges, ascending.
    pub(crate) fn as_slice(&self) -> &[OrdinalRange] {
        &self.ranges
    }

    /// True when the value with this ordinal is in the set.
    pub(crate) fn contains(&self, ordinal: i64) -> bool {
        in_ranges(&self.ranges, ordinal)
    }

    /// Returns all values that compare so with the only point of this set.
    fn ray(&self, operator: Operator) -> Option<Self> {
        let [(bound, _)] = *self.ranges.as_slice() else { return None };
        let (least, greatest) = self.kind.range();
        let range = match operator {
            Operator::Greater => (self.kind.above(bound)?, greatest),
            Operator::GreaterOrEqual => (bound, greatest),
            Operator::Less => (least, self.kind.below(bound)?),
            Operator::LessOrEqual => (least, bound),
            Operator::Equal | Operator::NotEqual | Operator::Contains | Operator::All => return None,
        };
        Some(self.of(smallvec![range]))
    }

    fn are_points(&self) -> bool {
        self.ranges.iter().all(|(low, high)| low == high)
    }

    /// Returns a set of the same type, of ranges that keep the invariant.
    fn of(&self, ranges: SmallVec<[OrdinalRange; 1]>) -> Self {
        Self { kind: self.kind, ranges }
    }

    fn intersect(&self, other: &Self) -> Self {
        let mut out = SmallVec::new();
        let (mut left, mut right) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            let (low, high) = (a.0.max(b.0), a.1.min(b.1));
            if low <= high {
                out.push((low, high));
            }
            if a.1 <= b.1 {
                left.next();
            } else {
                right.next();
            }
        }
        self.of(out)
    }

    fn complement(&self) -> Self {
        let mut out = SmallVec::with_capacity(self.ranges.len().saturating_add(1));
        let (least, greatest) = self.kind.range();
        let mut from = Some(least);
        for (low, high) in &self.ranges {
            if let (Some(from), Some(to)) = (from, self.kind.below(*low))
                && from <= to
            {
                out.push((from, to));
            }
            from = self.kind.above(*high);
        }
        if let Some(from) = from {
            out.push((from, greatest));
        }
        self.of(out)
    }

    fn minus(&self, other: &Self) -> Self {
        self.intersect(&other.complement())
    }

    fn is_within(&self, other: &Self) -> bool {
        self.ranges.iter().all(|(low, high)| {
            let from = other.ranges.partition_point(|(_, end)| end < low);
            let mut wanted = Some(*low);
            // Most often one interval covers this one; those that touch may do so together.
            for (start, end) in other.ranges.iter().skip(from) {
                if wanted.is_none_or(|wanted| *start > wanted) {
                    return false;
                }
                if high <= end {
                    return true;
                }
                wanted = self.kind.above(*end);
            }
            false
        })
    }
}

/// True when an ordinal lies in one of some ranges, ascending and apart.
pub(crate) fn in_ranges(ranges: &[OrdinalRange], ordinal: i64) -> bool {
    let behind = ranges.partition_point(|(low, _)| *low <= ordinal);
    behind.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|(_, high)| ordinal <= *high)
}

/// The first eight bytes of a text, zeros where it ends before: of texts for which these differ, they tell the order.
fn prefix(text: &str) -> u64 {
    let bytes = text.as_bytes();
    u64::from_be_bytes(bytes.first_chunk().copied().unwrap_or_else(|| {
        let mut first = [0; 8];
        first.iter_mut().zip(bytes).for_each(|(first, byte)| *first = *byte);
        first
    }))
}

/// A set of values of one type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
// With a tag narrower than a word, a set is copied in words that lie across those just written, and waits for them: benches/README.md,
// "Compile".
#[repr(usize)]
pub(crate) enum Set {
    Strings(Points<CompactString>),
    Ordered(Intervals),
    Booleans(Points<bool>),
}

/// Applies the same operation to both sides when they are of one type, which they always are.
macro_rules! pairwise {
    ($left:expr, $right:expr, $method:ident, $wrap:expr) => {
        match ($left, $right) {
            (Set::Strings(a), Set::Strings(b)) => $wrap(Set::Strings(a.$method(b))),
            (Set::Ordered(a), Set::Ordered(b)) => $wrap(Set::Ordered(a.$method(b))),
            (Set::Booleans(a), Set::Booleans(b)) => $wrap(Set::Booleans(a.$method(b))),
            (own, _) => {
                debug_assert!(false, "sets of one field have one type");
                own.clone()
            }
        }
    };
}

impl Set {
    /// The set of these values, which are of one type; `None` when there are none.
    pub(crate) fn from_values(values: &[Value<'_>]) -> Option<Self> {
        fn all<T>(values: &[Value<'_>], take: impl Fn(&Value<'_>) -> Option<T>) -> SmallVec<[T; 1]> {
            let mut all = SmallVec::with_capacity(values.len());
            all.extend(values.iter().filter_map(take));
            all
        }
        Some(match values.first()? {
            Value::String(_) => {
                return Self::of_strings(values.iter().filter_map(|value| match value {
                    Value::String(text) => Some(&**text),
                    _ => None,
                }));
            }
            first @ (Value::Number(_) | Value::Timestamp(_)) => {
                let (kind, _) = first.ordinal()?;
                let points = all(values, |value| value.ordinal().map(|(_, ordinal)| (ordinal, ordinal)));
                Self::Ordered(Intervals::new(kind, points, false))
            }
            Value::Boolean(_) => Self::Booleans(Points::new(all(values, |value| match value {
                Value::Boolean(boolean) => Some(*boolean),
                _ => None,
            }))),
        })
    }

    /// The set of these strings; `None` when there are none.
    pub(crate) fn of_strings<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Self> {
        // Sorted as they stand in the request, which moves and reads less than strings of our own.
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

    /// The set of the values that these texts name; `None` when there are none, or one names no value of the type.
    pub(crate) fn from_texts<'t>(
        kind: FieldType,
        texts: impl ExactSizeIterator<Item = &'t str>,
    ) -> Option<Self> {
        fn all<T>(values: impl ExactSizeIterator<Item = Option<T>>) -> Option<SmallVec<[T; 1]>> {
            let mut all = SmallVec::with_capacity(values.len());
            for value in values {
                all.push(value?);
            }
            (!all.is_empty()).then_some(all)
        }
        Some(match kind {
            FieldType::String => return Self::of_strings(texts),
            FieldType::Number | FieldType::Timestamp => {
                let kind = OrderedType::of_field(kind)?;
                let point = |text| kind.parse(text).map(|ordinal| (ordinal, ordinal));
                Self::Ordered(Intervals::new(kind, all(texts.map(point))?, false))
            }
            FieldType::Boolean => Self::Booleans(Points::new(all(texts.map(|text| text.parse().ok()))?)),
        })
    }

    /// All values that compare so with the only one of this set; `None` when there are none, or no order.
    pub(crate) fn ray(&self, operator: Operator) -> Option<Self> {
        match self {
            Self::Ordered(points) => points.ray(operator).map(Self::Ordered),
            Self::Strings(_) | Self::Booleans(_) => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Strings(points) => points.0.is_empty(),
            Self::Ordered(intervals) => intervals.ranges.is_empty(),
            Self::Booleans(points) => points.0.is_empty(),
        }
    }

    /// True when the set holds single values only, no interval of several.
    pub(crate) fn are_points(&self) -> bool {
        match self {
            Self::Strings(_) | Self::Booleans(_) => true,
            Self::Ordered(intervals) => intervals.are_points(),
        }
    }

    /// How many points or intervals the set is made of.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Strings(points) => points.0.len(),
            Self::Ordered(intervals) => intervals.ranges.len(),
            Self::Booleans(points) => points.0.len(),
        }
    }

    /// About how many bytes the members take.
    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::Strings(points) => {
                let heap = |text: &CompactString| if text.is_heap_allocated() { text.capacity() } else { 0 };
                let own = |text| heap(text).saturating_add(size_of::<CompactString>());
                points.0.iter().map(own).sum()
            }
            Self::Ordered(intervals) => size_of_val(intervals.as_slice()),
            Self::Booleans(points) => size_of_val(points.as_slice()),
        }
    }

    /// The members of a set of points.
    pub(crate) fn points(&self) -> Vec<Value<'static>> {
        match self {
            Self::Strings(points) => {
                points.0.iter().map(|text| Value::String(Cow::Owned(text.to_string()))).collect()
            }
            Self::Ordered(intervals) => {
                intervals.ranges.iter().map(|(point, _)| intervals.kind.value(*point)).collect()
            }
            Self::Booleans(points) => points.0.iter().map(|boolean| Value::Boolean(*boolean)).collect(),
        }
    }

    pub(crate) fn contains(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Strings(points), Value::String(text)) => points.contains(&**text),
            (Self::Ordered(intervals), value) => value
                .ordinal()
                .is_some_and(|(kind, ordinal)| kind == intervals.kind && intervals.contains(ordinal)),
            (Self::Booleans(points), Value::Boolean(boolean)) => points.contains(boolean),
            _ => false,
        }
    }

    pub(crate) fn intersect(&self, other: &Self) -> Self {
        pairwise!(self, other, intersect, |set| set)
    }

    pub(crate) fn minus(&self, other: &Self) -> Self {
        pairwise!(self, other, minus, |set| set)
    }

    pub(crate) fn intersects(&self, other: &Self) -> bool {
        !self.intersect(other).is_empty()
    }

    pub(crate) fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Strings(a), Self::Strings(b)) => a.is_within(b),
            (Self::Booleans(a), Self::Booleans(b)) => a.is_within(b),
            (Self::Ordered(a), Self::Ordered(b)) => a.is_within(b),
            _ => {
                debug_assert!(false, "sets of one field have one type");
                false
            }
        }
    }

    /// The union of sets of one type; with `fuse`, intervals that touch become one.
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
            Self::Ordered(Intervals { kind, ranges }) => Self::Ordered(Intervals::new(kind, ranges, fuse)),
            Self::Booleans(points) => Self::Booleans(Points::new(points.0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Number;

    const NUMBER: OrderedType = OrderedType::Number;

    fn ordinal(value: f64) -> i64 {
        Number::new(value).unwrap().ordinal()
    }

    fn numbers(intervals: &[(f64, f64)]) -> Intervals {
        let ranges = intervals.iter().map(|(low, high)| (ordinal(*low), ordinal(*high)));
        Intervals::new(NUMBER, ranges.collect(), true)
    }

    #[test]
    fn intervals_merge_meet_and_part() {
        let set = numbers(&[(5.0, 7.0), (1.0, 2.0), (2.0, 3.0)]);
        assert_eq!(set, numbers(&[(1.0, 3.0), (5.0, 7.0)]));
        assert_eq!(set.intersect(&numbers(&[(2.0, 6.0)])), numbers(&[(2.0, 3.0), (5.0, 6.0)]));
        assert_eq!(set.complement().complement(), set);
        assert_eq!(set.minus(&set), numbers(&[]));
        assert!(set.contains(ordinal(3.0)));
        assert!(!set.contains(ordinal(4.0)));
        assert_eq!(numbers(&[(3.0, 2.0)]), numbers(&[]));
    }

    #[test]
    fn repeated_values_take_no_room() {
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
    fn strings_are_sorted_by_their_bytes_whatever_their_first_eight_are() {
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

    #[test]
    fn touching_intervals_fuse_when_asked() {
        let (least, greatest) = NUMBER.range();
        let one = ordinal(1.0);
        let parts = vec![(least, one), (one + 1, greatest)];
        let union = |fuse| Intervals::new(NUMBER, parts.clone().into(), fuse);
        assert_eq!(union(true).as_slice(), [(least, greatest)]);
        assert_eq!(union(false).as_slice(), parts);
        assert_eq!(union(true).complement().as_slice(), []);
    }

    #[test]
    fn touching_points_stay_points() {
        let (one, greatest) = (ordinal(1.0), NUMBER.range().1);
        let points: Vec<OrdinalRange> = [one + 2, one, one + 1].map(|point| (point, point)).into();
        let ascending = [one, one + 1, one + 2].map(|point| (point, point));
        assert_eq!(Intervals::new(NUMBER, points.clone().into(), true).as_slice(), ascending);
        let with_range = [points, vec![(one + 2, greatest)]].concat();
        assert_eq!(Intervals::new(NUMBER, with_range.into(), true).as_slice(), [(one, greatest)]);
    }

    #[test]
    fn being_within_is_having_nothing_outside() {
        let ends = [-1.0, 0.0, 5e-324, 1.0, 2.0].map(ordinal);
        let mut sets = vec![numbers(&[])];
        for low in ends {
            for high in ends {
                for point in ends {
                    sets.push(Intervals::new(NUMBER, vec![(low, high), (point, point)].into(), false));
                }
            }
        }
        for a in &sets {
            for b in &sets {
                assert_eq!(a.is_within(b), a.minus(b).as_slice().is_empty(), "{a:?} {b:?}");
            }
        }
    }
}
