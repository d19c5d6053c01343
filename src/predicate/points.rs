//! Finite sets of strings or booleans, stored as sorted lists.

use smallvec::SmallVec;

/// A finite set of values, stored as a list.
///
/// Invariant: the list is strictly ascending, so it has no duplicates and equal sets are equal lists. `{b, a, b}` is stored as
/// `[a, b]`. A single value needs no allocation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Points<T>(pub(super) SmallVec<[T; 1]>);

impl<T: Ord + Clone> Points<T> {
    /// Returns the set of these values. The values may be in any order and may repeat: `b`, `a`, `b` give `[a, b]`.
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

    pub(super) fn intersect(&self, other: &Self) -> Self {
        let (small, large) = if self.0.len() <= other.0.len() { (self, other) } else { (other, self) };
        Self(small.0.iter().filter(|value| large.contains(*value)).cloned().collect())
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        Self(self.0.iter().filter(|value| !other.contains(*value)).cloned().collect())
    }

    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.0.len() <= other.0.len() && self.0.iter().all(|value| other.contains(value))
    }
}

impl Points<compact_str::CompactString> {
    /// Returns the strings, ascending.
    pub(crate) fn texts(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.0.iter().map(|text| &**text)
    }
}
