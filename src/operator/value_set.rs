//! The set V: the values that a case has in one field. [`Operator::holds`](super::Operator::holds) evaluates operators on it.

use crate::value::{Operand, Value};

/// The set V of the values that a case has in one field.
///
/// Invariant: the values are strictly ascending.
#[derive(Debug, Default)]
pub(crate) struct ValueSet<'v> {
    sorted: Vec<&'v Value<'v>>,
}

impl<'v> ValueSet<'v> {
    /// Returns the set of these values. The values may be in any order and may repeat.
    pub(crate) fn new(values: impl IntoIterator<Item = &'v Value<'v>>) -> Self {
        let mut sorted: Vec<&Value<'_>> = values.into_iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        Self { sorted }
    }

    /// Returns true if the operand is a member. If the operand is a span of time, returns true if a member is within the span.
    pub(crate) fn contains(&self, operand: &Operand<'_>) -> bool {
        let at = self.sorted.partition_point(|member| *member < operand.first());
        self.sorted.get(at).is_some_and(|member| *member <= operand.last())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Returns the members that are strings, ascending.
    pub(crate) fn strings(&self) -> impl Iterator<Item = &'v str> {
        self.sorted.iter().filter_map(|value| match value {
            Value::String(text) => Some(&**text),
            _ => None,
        })
    }

    /// Returns the least member, or `None` for an empty set.
    pub(crate) fn least(&self) -> Option<&'v Value<'v>> {
        self.sorted.first().copied()
    }

    /// Returns the greatest member, or `None` for an empty set.
    pub(crate) fn greatest(&self) -> Option<&'v Value<'v>> {
        self.sorted.last().copied()
    }
}
