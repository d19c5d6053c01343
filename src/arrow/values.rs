//! Gives access to the values of a scalar column by type. The type is matched once per column instead of once per row.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, DecimalType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, StringViewArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, TimeUnit};

/// Returns the value at an index.
///
/// The index is always in range: it is a row of the batch, or it lies between offsets that Arrow has checked. The default value
/// only prevents a panic.
pub(super) fn at<T: Copy + Default>(values: &[T], index: usize) -> T {
    values.get(index).copied().unwrap_or_default()
}

/// Returns the indexes at which the elements of a list start and end. Arrow has checked that the offsets are ascending and not
/// negative.
pub(super) fn list_range(offsets: &[i32], list: usize) -> (usize, usize) {
    let offset = |index: usize| usize::try_from(at(offsets, index)).unwrap_or_default();
    (offset(list), offset(list.saturating_add(1)))
}

/// The values of a scalar column. In null rows, the values are undefined.
pub(super) enum Values<'b> {
    Text(&'b StringViewArray),
    Integers(Cow<'b, [i64]>),
    Unsigned(&'b [u64]),
    Floats(Cow<'b, [f64]>),
    Decimals(Vec<i128>, u8, i8),
    Booleans(&'b BooleanBuffer),
    Instants(Instants<'b>),
}

/// The values of a timestamp or date column, in any unit.
pub(super) struct Instants<'b> {
    ticks: Cow<'b, [i64]>,
    /// One tick is `multiplier / divisor` milliseconds.
    multiplier: i64,
    divisor: i64,
    /// True if the column has no time zone. Its values are then treated as UTC.
    pub(super) is_local: bool,
}

impl Instants<'_> {
    /// Returns the milliseconds since 1970-01-01 00:00:00 UTC, rounded down. Returns `None` if the result does not fit into 64
    /// bits.
    pub(super) fn millis(&self, at: usize) -> Option<i64> {
        self.ticks.get(at)?.checked_mul(self.multiplier)?.checked_div_euclid(self.divisor)
    }
}

pub(super) fn values(array: &ArrayRef) -> Option<Values<'_>> {
    Some(match array.data_type() {
        DataType::Utf8View => Values::Text(array.as_string_view_opt()?),
        DataType::Boolean => Values::Booleans(array.as_boolean_opt()?.values()),
        DataType::Int8 => Values::Integers(widened::<Int8Type, _>(array)?),
        DataType::Int16 => Values::Integers(widened::<Int16Type, _>(array)?),
        DataType::Int32 => Values::Integers(widened::<Int32Type, _>(array)?),
        DataType::Int64 => Values::Integers(Cow::Borrowed(native::<Int64Type>(array)?)),
        DataType::UInt8 => Values::Integers(widened::<UInt8Type, _>(array)?),
        DataType::UInt16 => Values::Integers(widened::<UInt16Type, _>(array)?),
        DataType::UInt32 => Values::Integers(widened::<UInt32Type, _>(array)?),
        DataType::UInt64 => Values::Unsigned(native::<UInt64Type>(array)?),
        DataType::Float16 => Values::Floats(widened::<Float16Type, _>(array)?),
        DataType::Float32 => Values::Floats(widened::<Float32Type, _>(array)?),
        DataType::Float64 => Values::Floats(Cow::Borrowed(native::<Float64Type>(array)?)),
        DataType::Decimal32(precision, scale) => decimals::<Decimal32Type>(array, *precision, *scale)?,
        DataType::Decimal64(precision, scale) => decimals::<Decimal64Type>(array, *precision, *scale)?,
        DataType::Decimal128(precision, scale) => decimals::<Decimal128Type>(array, *precision, *scale)?,
        DataType::Date32 => instants(widened::<Date32Type, _>(array)?, 86_400_000, 1, true),
        DataType::Date64 => instants(Cow::Borrowed(native::<Date64Type>(array)?), 1, 1, true),
        DataType::Timestamp(unit, zone) => {
            let (ticks, multiplier, divisor) = match unit {
                TimeUnit::Second => (native::<TimestampSecondType>(array)?, 1000, 1),
                TimeUnit::Millisecond => (native::<TimestampMillisecondType>(array)?, 1, 1),
                TimeUnit::Microsecond => (native::<TimestampMicrosecondType>(array)?, 1, 1000),
                TimeUnit::Nanosecond => (native::<TimestampNanosecondType>(array)?, 1, 1_000_000),
            };
            instants(Cow::Borrowed(ticks), multiplier, divisor, zone.is_none())
        }
        _ => return None,
    })
}

fn native<T: ArrowPrimitiveType>(array: &ArrayRef) -> Option<&[T::Native]> {
    Some(array.as_primitive_opt::<T>()?.values())
}

fn widened<T: ArrowPrimitiveType, W: Clone + From<T::Native>>(array: &ArrayRef) -> Option<Cow<'_, [W]>> {
    Some(Cow::Owned(native::<T>(array)?.iter().map(|value| W::from(*value)).collect()))
}

fn decimals<T: DecimalType>(array: &ArrayRef, precision: u8, scale: i8) -> Option<Values<'_>>
where
    i128: From<T::Native>,
{
    Some(Values::Decimals(widened::<T, i128>(array)?.into_owned(), precision, scale))
}

fn instants(ticks: Cow<'_, [i64]>, multiplier: i64, divisor: i64, is_local: bool) -> Values<'_> {
    Values::Instants(Instants { ticks, multiplier, divisor, is_local })
}
