//! Sets of numbers, integers, decimals or timestamps, stored as sorted lists of ranges.

use smallvec::{SmallVec, smallvec};

use crate::operator::{Ray, Side};
use crate::value::{OrderedType, OrdinalRange};

/// A set of values of an ordered type, stored as closed ranges of [ordinals](OrderedType).
///
/// Invariants: no range is empty; ranges are ascending; no two ranges share a value. A range may start directly after the end of
/// the previous range.
///
/// ```text
/// n in (3, 1)                  1..=1, 3..=3                 two points
/// n > 5                        above(5)..=greatest          one ray
/// n >= 1 and n <= 5            1..=5                        one range
/// n <= 1 or n >= 5             least..=1, 5..=greatest
/// ```
///
/// Here `1` denotes the ordinal of the value 1, and `above(5)` is the next ordinal after the ordinal of 5. So an excluded bound is
/// stored as an included bound at the neighbouring ordinal.
///
/// Equal sets can be different lists: `1..=2, 3..=3` and `1..=3` have the same members if the ordinal of 3 directly follows the
/// ordinal of 2. `==` compares the lists; to compare members, call [`is_within`](Self::is_within) in both directions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Intervals {
    kind: OrderedType,
    pub(super) ranges: SmallVec<[OrdinalRange; 1]>,
}

impl Intervals {
    /// Returns the union of ranges, which may be in any order, overlap or be empty.
    ///
    /// Ranges that share a value become one range. With `fuse`, adjacent ranges also become one range, unless all of them are
    /// points. Adjacent points stay separate, so that a printed criterion lists the same values as the criterion of the client.
    ///
    /// ```text
    /// ranges                   fuse = false             fuse = true
    /// 1..=3, 2..=5             1..=5                    1..=5
    /// 1..=3, 4..=6             1..=3, 4..=6             1..=6
    /// 1..=1, 2..=2             1..=1, 2..=2             1..=1, 2..=2
    /// ```
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

    /// Returns true if the value with this ordinal is in the set.
    pub(crate) fn contains(&self, ordinal: i64) -> bool {
        in_ranges(&self.ranges, ordinal)
    }

    /// Converts a set of one range to a ray: `{5}` with `>` becomes all values above 5.
    ///
    /// If the range has several values, `>` starts above its greatest value, and `>=` starts at its least value. Likewise, `<` ends
    /// below its least value, and `<=` ends at its greatest value.
    ///
    /// Returns `None` if the ray contains no value, or if this set does not have exactly one range.
    pub(super) fn ray(&self, ray: Ray) -> Option<Self> {
        let [(low, high)] = *self.ranges.as_slice() else { return None };
        let (least, greatest) = self.kind.range();
        let range = match ray {
            Ray { side: Side::Above, inclusive: false } => (self.kind.above(high)?, greatest),
            Ray { side: Side::Above, inclusive: true } => (low, greatest),
            Ray { side: Side::Below, inclusive: false } => (least, self.kind.below(low)?),
            Ray { side: Side::Below, inclusive: true } => (least, high),
        };
        Some(self.of(smallvec![range]))
    }

    /// Returns true if the set has the least and the greatest value of its type.
    pub(super) fn has_both_ends(&self) -> bool {
        let (least, greatest) = self.kind.range();
        let ends = self.ranges.first().zip(self.ranges.last());
        ends.is_some_and(|(first, last)| first.0 == least && last.1 == greatest)
    }

    pub(super) fn are_points(&self) -> bool {
        self.ranges.iter().all(|(low, high)| low == high)
    }

    /// Returns a set of the same type. The ranges must satisfy the invariants.
    pub(super) fn of(&self, ranges: SmallVec<[OrdinalRange; 1]>) -> Self {
        Self { kind: self.kind, ranges }
    }

    pub(super) fn intersect(&self, other: &Self) -> Self {
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

    pub(super) fn complement(&self) -> Self {
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

    pub(super) fn minus(&self, other: &Self) -> Self {
        self.intersect(&other.complement())
    }

    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.ranges.iter().all(|(low, high)| {
            let from = other.ranges.partition_point(|(_, end)| end < low);
            let mut wanted = Some(*low);
            // Usually one range of `other` covers this range. Adjacent ranges may cover it together.
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

/// Returns true if one of the ranges contains the ordinal. The ranges are ascending and do not overlap.
pub(crate) fn in_ranges(ranges: &[OrdinalRange], ordinal: i64) -> bool {
    let after = ranges.partition_point(|(low, _)| *low <= ordinal);
    after.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|(_, high)| ordinal <= *high)
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
    fn intervals_unite_intersect_and_subtract() {
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
    fn adjacent_intervals_fuse_on_request() {
        let (least, greatest) = NUMBER.range();
        let one = ordinal(1.0);
        let parts = vec![(least, one), (one + 1, greatest)];
        let union = |fuse| Intervals::new(NUMBER, parts.clone().into(), fuse);
        assert_eq!(union(true).as_slice(), [(least, greatest)]);
        assert_eq!(union(false).as_slice(), parts);
        assert_eq!(union(true).complement().as_slice(), []);
    }

    #[test]
    fn adjacent_points_stay_points() {
        let (one, greatest) = (ordinal(1.0), NUMBER.range().1);
        let points: Vec<OrdinalRange> = [one + 2, one, one + 1].map(|point| (point, point)).into();
        let ascending = [one, one + 1, one + 2].map(|point| (point, point));
        assert_eq!(Intervals::new(NUMBER, points.clone().into(), true).as_slice(), ascending);
        let with_range = [points, vec![(one + 2, greatest)]].concat();
        assert_eq!(Intervals::new(NUMBER, with_range.into(), true).as_slice(), [(one, greatest)]);
    }

    #[test]
    fn a_set_is_within_another_if_their_difference_is_empty() {
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
