//! Timestamps of a column, in the narrower of two forms.

use super::slice::{Move, Slice};
use std::borrow::Cow;

/// Milliseconds since the Unix epoch, one for each value of a column.
///
/// Where all are a whole number of steps from the least, fewer than 2^32 of them, they are kept as
/// that number: cases of one batch tend to lie within years of each other, in whole seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Millis {
    Wide(Slice<i64>),
    Steps { base: i64, step_ms: u32, steps: Slice<u32> },
}

impl Millis {
    /// Of these values, none of them less than `base`; those that `counts` denies stand for no value, and
    /// may change.
    pub(crate) fn new(values: Vec<i64>, base: Option<i64>, counts: impl Fn(usize) -> bool) -> Self {
        let Some(base) = base else { return Self::Wide(values.into()) };
        // Of two constants, so that dividing by them takes no division.
        let steps = steps_from::<1000>(&values, base, &counts).map(|steps| (1000, steps));
        match steps.or_else(|| Some((1, steps_from::<1>(&values, base, &counts)?))) {
            Some((step_ms, steps)) => Self::Steps { base, step_ms, steps: steps.into() },
            None => Self::Wide(values.into()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Wide(values) => values.len(),
            Self::Steps { steps, .. } => steps.len(),
        }
    }

    /// The value at a place.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<i64> {
        match self {
            Self::Wide(values) => values.get(at).copied(),
            Self::Steps { base, step_ms, steps } => {
                let distance = i64::from(*steps.get(at)?).saturating_mul(i64::from(*step_ms));
                Some(base.saturating_add(distance))
            }
        }
    }

    /// All values.
    pub(crate) fn to_wide(&self) -> Cow<'_, [i64]> {
        match self {
            Self::Wide(values) => Cow::Borrowed(values),
            Self::Steps { .. } => (0..self.len()).filter_map(|at| self.get(at)).collect(),
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

/// How many steps each value is from `base`; `None` unless those that count all are a whole number of them
/// that 32 bits hold.
fn steps_from<const MS: u64>(values: &[i64], base: i64, counts: impl Fn(usize) -> bool) -> Option<Vec<u32>> {
    let steps = values.iter().enumerate().map(|(at, value)| {
        // Right also where the distance is beyond an `i64`, since no value is less.
        let distance = value.wrapping_sub(base).cast_unsigned();
        let steps = distance.checked_div(MS).and_then(|steps| u32::try_from(steps).ok());
        match steps {
            Some(steps) if distance.is_multiple_of(MS) => Some(steps),
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
            let millis = Millis::new(values.clone(), values.iter().min().copied(), |_| true);
            assert_eq!(matches!(millis, Millis::Steps { .. }), narrow, "{values:?}");
            assert_eq!(millis.to_wide(), values);
            assert_eq!(millis.get(values.len()), None);
        }
    }

    #[test]
    fn places_without_a_value_widen_nothing() {
        let millis = Millis::new(vec![7_000, 0, 9_000], Some(7_000), |at| at != 1);
        assert!(matches!(millis, Millis::Steps { base: 7_000, step_ms: 1000, .. }));
        assert_eq!((millis.get(0), millis.get(2)), (Some(7_000), Some(9_000)));
    }
}
