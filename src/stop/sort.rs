//! Sorts lists of millions of items in steps, so that the search can be stopped during the sort.
//!
//! A sort of the standard library cannot be interrupted. This sort partitions long lists by pivots, as quicksort does, and calls
//! the stop check regularly. Short lists are sorted by the standard library. Parts of the list that the caller does not need are
//! not sorted.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "ranges within the list, which are divided at places within them"
)]

use std::cmp::Ordering;
use std::ops::Range;

use super::check::Pace;

/// The maximum length of a list that the standard library sorts at once, which takes at most about 300 µs. A longer list is divided
/// first, so that the search can be stopped in between. Unit tests use a smaller number.
pub(crate) const PART: usize = if cfg!(test) { 1 << 6 } else { 1 << 13 };
/// The number of items that are partitioned between two calls of [`Pace::spend`].
const STEP: usize = PART / 2;
/// The estimated work of one comparison: 20 units of [`Pace::spend`], which take about 5 ns in total.
const COMPARING: usize = 20;
/// The number of items that are sampled. Their median is the pivot.
const SAMPLES: usize = 15;

/// Sorts only a part of the list: afterwards, `window` contains the same items, in the same order, as if the complete list were
/// sorted. The items before `window` are the items that come before it in sort order, but in any order. Takes expected O(n + k log
/// k) for a window of k items.
///
/// If the search is stopped, the items are in any order.
pub(crate) fn sort_window<T: Copy>(
    items: &mut [T],
    window: Range<usize>,
    pace: &Pace<'_>,
    compare: impl Fn(&T, &T) -> Ordering,
) {
    let mut open: Vec<Range<usize>> = std::iter::once(0..items.len()).collect();
    while let Some(range) = open.pop() {
        if range.end <= window.start || range.start >= window.end {
            continue;
        }
        let part = &mut items[range.clone()];
        if part.len() <= PART {
            if pace.spend(part.len() * COMPARING * PART.ilog2() as usize) {
                return;
            }
            part.sort_unstable_by(&compare);
            continue;
        }
        let pivot = pivot(part, &compare);
        let Some(equal) = divide(part, &pivot, pace, &compare) else { return };
        open.push(range.start + equal.end..range.end);
        open.push(range.start..range.start + equal.start);
    }
}

/// Returns the median of items at scattered indexes.
fn pivot<T: Copy>(items: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> T {
    // Multiplying a sample number by the constant, 2^64/φ (Fibonacci hashing), scatters the sample indexes evenly over the list.
    // The XOR makes the indexes differ between lists of different lengths.
    let place = |number: usize| {
        let scattered = (number as u64 ^ items.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        usize::try_from(scattered).unwrap_or_default() % items.len()
    };
    let mut samples: [T; SAMPLES] = std::array::from_fn(|number| items[place(number)]);
    samples.sort_unstable_by(compare);
    samples[SAMPLES / 2]
}

/// Moves items that sort before the pivot to the front, and items that sort after it to the back. Returns the range of the items
/// that equal the pivot, or `None` if the search is stopped.
fn divide<T: Copy>(
    items: &mut [T],
    pivot: &T,
    pace: &Pace<'_>,
    compare: &impl Fn(&T, &T) -> Ordering,
) -> Option<Range<usize>> {
    // Items at indexes below `less` sort before the pivot, items in `less..at` equal it, and items from index `more` on sort after
    // it.
    let (mut less, mut at, mut more) = (0, 0, items.len());
    while at < more {
        if pace.spend(STEP * COMPARING) {
            return None;
        }
        for _ in 0..STEP {
            if at >= more {
                break;
            }
            match compare(&items[at], pivot) {
                Ordering::Less => {
                    items.swap(less, at);
                    less += 1;
                    at += 1;
                }
                Ordering::Equal => at += 1,
                Ordering::Greater => {
                    more -= 1;
                    items.swap(at, more);
                }
            }
        }
    }
    Some(less..more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::{Deadline, StopConditions};

    #[test]
    fn a_window_has_the_items_of_a_sorted_list() {
        let len = 5 * PART + 77;
        let spreads: [fn(usize) -> usize; 5] = [
            |at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20,
            |at| at % 3,
            |at| at,
            |at| usize::MAX - at,
            |_| 7,
        ];
        for spread in spreads {
            let items: Vec<(usize, usize)> = (0..len).map(|at| (spread(at), at)).collect();
            // The first comparison has ties, the second has no ties.
            for compare in [
                |a: &(usize, usize), b: &(usize, usize)| a.0.cmp(&b.0),
                |a: &(usize, usize), b: &(usize, usize)| a.cmp(b),
            ] {
                let mut sorted = items.clone();
                sorted.sort_by(compare);
                for window in [0..len, 0..1, len - 1..len, 999..1_000, PART - 5..3 * PART, len..len + 9, 5..5]
                {
                    let mut own = items.clone();
                    sort_window(&mut own, window.clone(), &Pace::new(None), compare);
                    let window = window.start.min(len)..window.end.min(len);
                    let keys = |items: &[(usize, usize)]| items.iter().map(|item| item.0).collect::<Vec<_>>();
                    assert_eq!(keys(&own[window.clone()]), keys(&sorted[window.clone()]), "{window:?}");
                    if let Some(first) = own[window.clone()].first() {
                        assert!(own[..window.start].iter().all(|item| compare(item, first).is_le()));
                    }
                    own.sort_unstable();
                    assert!(own.iter().eq(items.iter().collect::<std::collections::BTreeSet<_>>()));
                }
            }
        }
    }

    #[test]
    fn a_stopped_sort_keeps_all_items() {
        let conditions = StopConditions { cancel: None, deadline: Some(Deadline::new(|| true)) };
        let check = conditions.check().unwrap();
        let mut items: Vec<usize> = (0..20 * PART).rev().collect();
        sort_window(&mut items, 0..20 * PART, &Pace::new(Some(&check)), Ord::cmp);
        assert!(check.verdict().is_err() && !items.is_sorted());
        items.sort_unstable();
        assert!(items.into_iter().eq(0..20 * PART));
    }
}
