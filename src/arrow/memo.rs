//! Remembers the results of tests on the strings of an array, so that a repeated string is tested once.

use super::values::Values;

/// The results of tests on values of one array.
///
/// Arrow describes each string of an array by a view of 128 bits. Strings with equal views are equal. If a Parquet file stores a
/// column with a dictionary, all rows that refer to the same dictionary entry have the same view. So the test runs about once for
/// each entry.
pub(super) struct Memo<'b> {
    /// The views of the strings. Empty for values of other types, and after too many misses.
    views: &'b [u128],
    /// Views and their results. The bits of a view determine its slot.
    slots: Vec<Option<(u128, bool)>>,
    /// After this number of further misses, results are no longer remembered. Each hit increases the number by one.
    misses_left: usize,
}

/// The number of slots: a power of two.
const SLOTS: usize = 1 << 8;

/// The number of low bits of the product in [`slot_of`] that do not determine the slot.
const SHIFT: u32 = u64::BITS - SLOTS.trailing_zeros();

/// The initial and the greatest value of `misses_left`. In an array without repeated strings, only the results of this number of
/// strings are remembered.
const MOST_MISSES: usize = 1 << 9;

impl<'b> Memo<'b> {
    pub(super) fn new(values: &Values<'b>) -> Self {
        let views: &[u128] = match values {
            Values::Text(texts) => texts.views(),
            _ => &[],
        };
        let slots = if views.is_empty() { Vec::new() } else { vec![None; SLOTS] };
        Self { views, slots, misses_left: MOST_MISSES }
    }

    /// Returns the result for the value at an index: a remembered result, or that of `test`. Errors are not remembered.
    ///
    /// # Errors
    /// Returns the error of `test`.
    #[inline]
    pub(super) fn result<E>(&mut self, at: usize, test: impl FnOnce() -> Result<bool, E>) -> Result<bool, E> {
        let Some(view) = self.views.get(at) else { return test() };
        let Some(slot) = self.slots.get_mut(slot_of(*view)) else { return test() };
        match slot {
            Some((known, result)) if known == view => {
                self.misses_left = MOST_MISSES.min(self.misses_left.saturating_add(1));
                Ok(*result)
            }
            _ => {
                let result = test()?;
                *slot = Some((*view, result));
                self.misses_left = self.misses_left.saturating_sub(1);
                if self.misses_left == 0 {
                    self.views = &[];
                }
                Ok(result)
            }
        }
    }
}

/// Returns the slot of a view. It depends on all bits of the view.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the two halves of the view, and 8 bits of their product"
)]
fn slot_of(view: u128) -> usize {
    let mixed = (view as u64 ^ (view >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> SHIFT) as usize
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, StringViewArray};

    use super::*;
    use crate::arrow::values::values;

    /// Returns the results for all values of an array, and the number of tests.
    fn results(
        texts: &[String],
        test: impl Fn(usize) -> Result<bool, usize>,
    ) -> (Result<Vec<bool>, usize>, usize) {
        let array: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
        let values = values(&array).unwrap();
        let (mut memo, mut tests) = (Memo::new(&values), 0);
        let results = (0..texts.len()).map(|at| {
            memo.result(at, || {
                tests += 1;
                test(at)
            })
        });
        (results.collect(), tests)
    }

    #[test]
    fn each_result_is_that_of_its_own_test() {
        // Strings of up to 12 bytes are part of their views, and an empty string has a view of zeros. Equal strings of more bytes
        // have different views here, because the array was not made from a dictionary.
        for (distinct, length) in [(1, 5), (2, 5), (100, 5), (5000, 5), (100, 50)] {
            let text = |number: usize| "x".repeat(number % length) + &number.to_string();
            let texts: Vec<String> = (0..10_000).map(|at| text(at * 7 % distinct)).collect();
            let texts = [texts, vec![String::new(); 3]].concat();
            let (found, tests) = results(&texts, |at| Ok(texts[at].len() % 2 == 0));
            let expected: Vec<bool> = texts.iter().map(|text| text.len() % 2 == 0).collect();
            assert_eq!(found, Ok(expected));
            // Strings of one slot displace each other.
            assert!(distinct > 100 || length > 5 || tests < 5000, "{tests} tests of {distinct} strings");
        }
    }

    #[test]
    fn errors_are_not_remembered() {
        let texts = vec!["a".to_owned(); 3];
        assert_eq!(results(&texts, |at| if at < 2 { Ok(true) } else { Err(at) }).0, Ok(vec![true; 3]));
        assert_eq!(results(&texts, Err).0, Err(0));
    }
}
