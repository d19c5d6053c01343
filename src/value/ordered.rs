//! Ordered types: numbers, integers, decimals and timestamps. Each of their values is represented by a 64-bit integer, its ordinal.
//! To add an ordered type, add a variant to [`OrderedType`]; `value/field_type.rs` lists the other changes.

use std::borrow::Cow;

use super::datetime::Timestamp;
use super::decimal::Decimal;
use super::field_type::FieldType;
use super::integer::parse_integer;
use super::literal::Value;
use super::number::Number;

/// A type whose values have *ordinals*: 64-bit integers that sort like the values. Neighbouring values have consecutive ordinals.
///
/// Lowering and ingest convert values to ordinals. Sets, columns, indexes and sort keys store ordinals. Sets and columns also store
/// this type. Ordinals are converted back to values where values are printed, stored or sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum OrderedType {
    /// [`Number`]. The ordinal is [`Number::ordinal`].
    Number,
    /// `i64`. The ordinal is the integer itself.
    Integer,
    /// [`Decimal`] of this scale. The ordinal is the number multiplied by 10^scale.
    Decimal(u8),
    /// [`Timestamp`]. The ordinal is its number of milliseconds.
    Timestamp,
}

/// The representation of the values of a field inside the engine.
///
/// A `match` over this type has one arm for all ordered types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueClass {
    Strings,
    /// Ordinals of an ordered type.
    Ordered(OrderedType),
    Booleans,
}

impl ValueClass {
    /// Returns the class of the values of a field type.
    pub(crate) const fn of_field(kind: FieldType) -> Self {
        match kind {
            FieldType::String => Self::Strings,
            FieldType::Number => Self::Ordered(OrderedType::Number),
            FieldType::Integer => Self::Ordered(OrderedType::Integer),
            FieldType::Decimal { scale } => Self::Ordered(OrderedType::Decimal(scale)),
            FieldType::Timestamp => Self::Ordered(OrderedType::Timestamp),
            FieldType::Boolean => Self::Booleans,
        }
    }
}

/// A closed range of ordinals: the smallest and the greatest ordinal.
pub(crate) type OrdinalRange = (i64, i64);

impl OrderedType {
    /// Returns the smallest and the greatest ordinal of the type.
    pub(crate) const fn range(self) -> OrdinalRange {
        match self {
            Self::Number => (Number::MIN.ordinal(), Number::MAX.ordinal()),
            Self::Integer | Self::Decimal(_) => (i64::MIN, i64::MAX),
            Self::Timestamp => (Timestamp::MIN.as_millis(), Timestamp::MAX.as_millis()),
        }
    }

    /// Returns the next greater ordinal, or `None` for the greatest ordinal.
    pub(crate) const fn above(self, ordinal: i64) -> Option<i64> {
        match ordinal.checked_add(1) {
            Some(above) if above <= self.range().1 => Some(above),
            _ => None,
        }
    }

    /// Returns the next smaller ordinal, or `None` for the smallest ordinal.
    pub(crate) const fn below(self, ordinal: i64) -> Option<i64> {
        match ordinal.checked_sub(1) {
            Some(below) if below >= self.range().0 => Some(below),
            _ => None,
        }
    }

    /// Parses a value in the form that criteria use, and returns its ordinal. Returns `None` if the string is malformed.
    pub(crate) fn parse(self, text: &str) -> Option<i64> {
        match self {
            Self::Number => Number::parse(text).map(Number::ordinal),
            Self::Integer => parse_integer(text),
            Self::Decimal(scale) => Decimal::parse_at(text, scale).map(Decimal::unscaled),
            Self::Timestamp => Timestamp::parse(text).ok().map(Timestamp::as_millis),
        }
    }

    /// Returns the value of an ordinal. Clamps an ordinal outside the [range](Self::range) to the range.
    #[inline]
    pub(crate) fn value(self, ordinal: i64) -> Value<'static> {
        match self {
            Self::Number => {
                let end = if ordinal < 0 { Number::MIN } else { Number::MAX };
                Value::Number(Number::of_ordinal(ordinal).unwrap_or(end))
            }
            Self::Integer => Value::Integer(ordinal),
            Self::Decimal(scale) => Value::Decimal(Decimal::of_ordinal(ordinal, scale)),
            Self::Timestamp => Value::Timestamp(Timestamp::from_millis(ordinal)),
        }
    }

    /// Returns true if criteria can express the smallest value of the type.
    pub(crate) const fn least_has_text(self) -> bool {
        match self {
            Self::Number | Self::Integer | Self::Decimal(_) => true,
            Self::Timestamp => false,
        }
    }

    /// Returns the bound that the filter printer writes for an inclusive bound: its value, and true if it is exclusive.
    ///
    /// `n >= 1.0000000000000002` is equivalent to `n > 1`, which is shorter. A timestamp is replaced by its neighbour if filters in
    /// JSON can express only the neighbour.
    pub(crate) fn bound(self, ordinal: i64, is_low: bool) -> (Value<'static>, /* excluded */ bool) {
        let own = self.value(ordinal);
        let beyond = if is_low { self.below(ordinal) } else { self.above(ordinal) };
        match beyond.map(|beyond| self.value(beyond)) {
            Some(beyond) if is_said_better(&own, &beyond) => (beyond, true),
            _ => (own, false),
        }
    }
}

fn is_said_better(own: &Value<'_>, beyond: &Value<'_>) -> bool {
    match (own, beyond) {
        (Value::Timestamp(own), Value::Timestamp(beyond)) => !own.has_text() && beyond.has_text(),
        _ => beyond.to_string().len() < own.to_string().len(),
    }
}

impl<'a> Value<'a> {
    /// Parses a value of a type in the form that criteria use. Returns `None` if the text is malformed.
    pub(crate) fn parse(kind: FieldType, text: &'a str) -> Option<Self> {
        match ValueClass::of_field(kind) {
            ValueClass::Strings => Some(Self::String(Cow::Borrowed(text))),
            ValueClass::Ordered(kind) => kind.parse(text).map(|ordinal| kind.value(ordinal)),
            ValueClass::Booleans => text.parse().ok().map(Self::Boolean),
        }
    }
}

impl Value<'_> {
    /// Returns the type and the ordinal of a value of an ordered type. Returns `None` for strings and booleans.
    #[inline]
    pub(crate) fn ordinal(&self) -> Option<(OrderedType, i64)> {
        match self {
            Self::Number(number) => Some((OrderedType::Number, number.ordinal())),
            Self::Integer(integer) => Some((OrderedType::Integer, *integer)),
            Self::Decimal(decimal) => Some((OrderedType::Decimal(decimal.scale()), decimal.unscaled())),
            Self::Timestamp(timestamp) => Some((OrderedType::Timestamp, timestamp.as_millis())),
            Self::String(_) | Self::Boolean(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals_have_the_order_of_values_and_convert_back() {
        let decimals = [0, 2, 18].map(OrderedType::Decimal);
        let others = [OrderedType::Number, OrderedType::Integer, OrderedType::Timestamp];
        for kind in others.into_iter().chain(decimals) {
            let (least, greatest) = kind.range();
            let ordinals = [least, least + 1, -1, 0, 1, 1 << 40, greatest - 1, greatest];
            for pair in ordinals.windows(2) {
                assert!(kind.value(pair[0]) < kind.value(pair[1]), "{kind:?}, {pair:?}");
            }
            for ordinal in ordinals {
                assert_eq!(kind.value(ordinal).ordinal(), Some((kind, ordinal)));
                assert_eq!(kind.above(ordinal).is_none(), ordinal == greatest);
                assert_eq!(kind.below(ordinal).is_none(), ordinal == least);
            }
        }
    }

    #[test]
    fn a_bound_is_printed_in_its_shorter_form() {
        let ordinal = |text: &str, kind: OrderedType| kind.parse(text).unwrap();
        let above_ten = ordinal("10", OrderedType::Number) + 1;
        let (value, excluded) = OrderedType::Number.bound(above_ten, true);
        assert_eq!((value.to_string().as_str(), excluded), ("10", true));
        let (value, excluded) = OrderedType::Number.bound(above_ten - 1, true);
        assert_eq!((value.to_string().as_str(), excluded), ("10", false));
        let noon = ordinal("2024-01-01 12:00:00", OrderedType::Timestamp);
        let (value, excluded) = OrderedType::Timestamp.bound(noon - 1, false);
        assert_eq!((value.to_string().as_str(), excluded), ("2024-01-01 12:00:00", true));
    }
}
