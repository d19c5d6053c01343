//! V, the set of the values that a case has in a field. [`Operator::holds`](super::Operator::holds) reads it.

use crate::value::{Operand, Value};

/// V, the set of the values that a case has in one field.
///
/// Invariant: strictly ascending.
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

    /// Returns true if the operand, or a value within its span, is a member.
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

    /// Returns the least member; `None` of an empty set.
    pub(crate) fn least(&self) -> Option<&'v Value<'v>> {
        self.sorted.first().copied()
    }

    /// Returns the greatest member; `None` for an empty set.
    pub(crate) fn greatest(&self) -> Option<&'v Value<'v>> {
        self.sorted.last().copied()
    }
}
