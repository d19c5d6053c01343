//! The operands of criteria: values, and spans of time.

use std::fmt;

use super::datetime::Timestamp;
use super::literal::Value;

/// An operand of a criterion: a value, or a span of time such as a whole day.
///
/// A comparison with a span uses one of its two bounds: `< 2025-12-01` selects instants before its first instant, and `>
/// 2025-12-01` selects instants after its last one. `= 2025-12-01` selects every instant of the span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operand<'a> {
    Value(Value<'a>),
    /// The first and the last instant of a span. They are boxed, because spans are rare, and an operand should be as small as a
    /// value.
    Span(Box<[Value<'static>; 2]>),
}

impl<'a> Operand<'a> {
    /// Returns the operand that contains all instants from the first to the last.
    pub(crate) fn of_range(first: Timestamp, last: Timestamp) -> Self {
        if first == last {
            Self::Value(Value::Timestamp(first))
        } else {
            Self::Span(Box::new([Value::Timestamp(first), Value::Timestamp(last)]))
        }
    }

    /// Returns the smallest value of the operand.
    pub(crate) fn first(&self) -> &Value<'a> {
        match self {
            Self::Value(value) => value,
            Self::Span(ends) => {
                let [first, _] = &**ends;
                first
            }
        }
    }

    /// Returns the greatest value of the operand.
    pub(crate) fn last(&self) -> &Value<'a> {
        match self {
            Self::Value(value) => value,
            Self::Span(ends) => {
                let [_, last] = &**ends;
                last
            }
        }
    }

    /// Returns the value, or `None` if the operand is a span.
    pub(crate) fn value(&self) -> Option<&Value<'a>> {
        match self {
            Self::Value(value) => Some(value),
            Self::Span(_) => None,
        }
    }

    pub(crate) fn into_owned(self) -> Operand<'static> {
        match self {
            Self::Value(value) => Operand::Value(value.into_owned()),
            Self::Span(ends) => Operand::Span(ends),
        }
    }
}

impl<'a> From<Value<'a>> for Operand<'a> {
    fn from(value: Value<'a>) -> Self {
        Self::Value(value)
    }
}

impl fmt::Display for Operand<'_> {
    /// Prints the operand in the form that criteria use. An instant that filters in JSON cannot express is printed in RFC 3339. A
    /// span is printed as an interval, whose end is not part of the span.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first(), self.last()) {
            (Value::Timestamp(first), Value::Timestamp(last)) if first != last => {
                let end = Timestamp::from_millis(last.as_millis().saturating_add(1));
                write!(f, "{}/{}", first.to_printed(), end.to_printed())
            }
            (Value::Timestamp(instant), _) if !instant.has_text() => f.write_str(&instant.to_printed()),
            (value, _) => write!(f, "{value}"),
        }
    }
}
