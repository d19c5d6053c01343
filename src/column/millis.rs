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
    /// Of these values; those that `counts` denies stand for no value, and may change.
    pub(crate) fn new(values: Vec<i64>, counts: impl Fn(usize) -> bool) -> Self {
        let counted = || values.iter().enumerate().filter(|(at, _)| counts(*at)).map(|(_, value)| *value);
        let Some(base) = counted().min() else { return Self::Wide(values.into()) };
        for step_ms in [1000_u32, 1] {
            let steps_to = |value: i64| {
                let distance = value.checked_sub(base)?;
                (distance.checked_rem(i64::from(step_ms)) == Some(0)).then_some(())?;
                u32::try_from(distance.checked_div(i64::from(step_ms))?).ok()
            };
            if counted().all(|value| steps_to(value).is_some()) {
                let steps = values.iter().map(|value| steps_to(*value).unwrap_or(0)).collect();
                return Self::Steps { base, step_ms, steps };
            }
        }
        Self::Wide(values.into())
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
            let millis = Millis::new(values.clone(), |_| true);
            assert_eq!(matches!(millis, Millis::Steps { .. }), narrow, "{values:?}");
            assert_eq!(millis.to_wide(), values);
            assert_eq!(millis.get(values.len()), None);
        }
    }

    #[test]
    fn places_without_a_value_widen_nothing() {
        let millis = Millis::new(vec![7_000, 0, 9_000], |at| at != 1);
        assert!(matches!(millis, Millis::Steps { base: 7_000, step_ms: 1000, .. }));
        assert_eq!((millis.get(0), millis.get(2)), (Some(7_000), Some(9_000)));
    }
}
