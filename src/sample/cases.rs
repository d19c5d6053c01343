//! Generates a sequence of sample cases that are spread over three years.

use super::case::{CASES_IN_THREE_YEARS, write_case};
use super::draws::Draws;

/// An iterator over sample cases, spread evenly over the three years 2023 to 2025. The oldest case comes first.
///
/// ```
/// use casefilter::sample::Cases;
/// let cases: Vec<Vec<u8>> = Cases::new(2, 1).collect();
/// assert_eq!(cases.len(), 2);
/// assert!(cases[0].starts_with(br#"{"id":""#));
/// ```
///
/// Every case has a [`number`](Cases::number), and its content depends only on that number and the seed. So each case can be
/// created without the others. For more than [`CASES_IN_THREE_YEARS`] cases, the numbers are 0, 1, 2, …, and the dates continue
/// after the three years.
#[derive(Clone, Debug)]
pub struct Cases {
    pub(super) count: u64,
    seed: u64,
    next: u64,
}

impl Cases {
    /// Creates an iterator over `count` cases with this seed.
    #[must_use]
    pub fn new(count: u64, seed: u64) -> Self {
        Self { count, seed, next: 0 }
    }

    /// Returns the case number of the case at `index`. It increases strictly with the index. If there is no case at `index`,
    /// returns `index`.
    #[must_use]
    pub fn number(&self, index: u64) -> u64 {
        if self.count >= CASES_IN_THREE_YEARS || self.count == 0 || index >= self.count {
            return index;
        }
        let start = |index: u64| index * CASES_IN_THREE_YEARS / self.count;
        let (from, to) = (start(index), start(index + 1));
        from + Draws::new(index, !self.seed).below(to.saturating_sub(from).max(1))
    }

    /// Appends the next case to `out`, without a newline. Returns false if there are no more cases.
    ///
    /// This is faster than the iterator, which allocates memory for each case.
    pub fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        if self.next >= self.count {
            return false;
        }
        write_case(self.number(self.next), self.seed, out);
        self.next += 1;
        true
    }
}

/// Returns each case as JSON on one line, without a newline.
impl Iterator for Cases {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut case = Vec::with_capacity(1_500);
        self.write_next(&mut case).then_some(case)
    }
}
