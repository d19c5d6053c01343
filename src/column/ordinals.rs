//! Stores the ordinals of the values of a column, in full width or as distances from the smallest ordinal.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "the base plus any number of steps is an ordinal, as `new` computes the steps and the codec checks them; \
              every index is that of a value"
)]

use crate::slice::{Move, Slice};
use std::borrow::Cow;

/// The [ordinals](crate::value::OrderedType) of a column, one ordinal for each value.
///
/// `Steps` stores each value as its distance from the smallest value, in steps. It is used if every distance is a whole number of
/// steps, less than 2^32. A step is 1,000 (one second for timestamps) or 1. The timestamps of one batch are usually within a few
/// years, and often in whole seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ordinals {
    Wide(Slice<i64>),
    Steps { base: i64, step: u32, steps: Slice<u32> },
}

impl Ordinals {
    /// Encodes `values` in the narrowest form. Only fillers may be less than `base`. If `base` is `None`, the values are stored in
    /// full width.
    ///
    /// `counts` takes an index of `values`. It returns true if the item at this index is the value of a row, and false if it is a
    /// filler. Fillers may be any numbers, and the encoding may change them.
    pub(crate) fn new(values: Vec<i64>, base: Option<i64>, counts: impl Fn(usize) -> bool) -> Self {
        let Some(base) = base else { return Self::Wide(values.into()) };
        // The step is a constant, so that the compiler can replace the division by a multiplication.
        let steps = steps_from::<1000>(&values, base, &counts).map(|steps| (1000, steps));
        match steps.or_else(|| Some((1, steps_from::<1>(&values, base, &counts)?))) {
            Some((step, steps)) => Self::Steps { base, step, steps: steps.into() },
            None => Self::Wide(values.into()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Wide(values) => values.len(),
            Self::Steps { steps, .. } => steps.len(),
        }
    }

    /// Returns the value at index `at`.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> i64 {
        match self {
            Self::Wide(values) => values[at],
            Self::Steps { base, step, steps } => base + i64::from(steps[at]) * i64::from(*step),
        }
    }

    /// Returns all values in full width.
    pub(crate) fn to_wide(&self) -> Cow<'_, [i64]> {
        match self {
            Self::Wide(values) => Cow::Borrowed(values),
            Self::Steps { .. } => (0..self.len()).map(|at| self.get(at)).collect(),
        }
    }

    pub(super) fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
        all.push(match self {
            Self::Wide(values) => values,
            Self::Steps { steps, .. } => steps,
        });
    }

    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::Wide(values) => size_of_val::<[i64]>(values),
            Self::Steps { steps, .. } => size_of_val::<[u32]>(steps),
        }
    }
}

/// Returns the number of steps from `base` to each value. Returns `None` if the distance of a value is not a whole number of steps,
/// or if the number of steps does not fit in 32 bits. Fillers are ignored: `counts` returns false for their indexes.
fn steps_from<const STEP: u64>(
    values: &[i64],
    base: i64,
    counts: impl Fn(usize) -> bool,
) -> Option<Vec<u32>> {
    let steps = values.iter().enumerate().map(|(at, value)| {
        // The result is correct even if the distance does not fit in an `i64`, because the value is not less than `base`.
        let distance = value.wrapping_sub(base).cast_unsigned();
        match u32::try_from(distance / STEP) {
            Ok(steps) if distance.is_multiple_of(STEP) => Some(steps),
            _ => (!counts(at)).then_some(0),
        }
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_in_whichever_form_holds_them() {
        let second = 1000;
        let wide = 1_i64 << 32;
        for (values, narrow) in [
            (vec![0], true),
            (vec![5 * second, -3 * second, 0], true),
            (vec![1, 2, 3, wide - 1 + 1], true),
            (vec![0, (wide - 1) * second], true),
            (vec![0, wide * second], false),
            (vec![0, 1, wide], false),
            (vec![i64::MIN, i64::MAX], false),
            (vec![i64::MAX, i64::MAX], true),
        ] {
            let ordinals = Ordinals::new(values.clone(), values.iter().min().copied(), |_| true);
            assert_eq!(matches!(ordinals, Ordinals::Steps { .. }), narrow, "{values:?}");
            assert_eq!(ordinals.to_wide(), values);
            assert_eq!(ordinals.len(), values.len());
        }
    }

    #[test]
    fn places_without_a_value_widen_nothing() {
        let ordinals = Ordinals::new(vec![7_000, 0, 9_000], Some(7_000), |at| at != 1);
        assert!(matches!(ordinals, Ordinals::Steps { base: 7_000, step: 1000, .. }));
        assert_eq!((ordinals.get(0), ordinals.get(2)), (7_000, 9_000));
    }
}
