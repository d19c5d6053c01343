//! The values of a scalar column: its type is looked at once for all its rows.

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

/// Returns the value at a place of an array.
///
/// Places are rows of the batch or lie between offsets that Arrow has checked, so that none is beyond the values: the default
/// is there in place of a panic.
pub(super) fn at<T: Copy + Default>(values: &[T], place: usize) -> T {
    values.get(place).copied().unwrap_or_default()
}

/// Returns where the elements of a list start and end. Arrow has checked that offsets ascend from zero or more.
pub(super) fn range(offsets: &[i32], list: usize) -> (usize, usize) {
    let offset = |place: usize| usize::try_from(at(offsets, place)).unwrap_or_default();
    (offset(list), offset(list.saturating_add(1)))
}

/// The values of a scalar column, those of absent ones anything.
pub(super) enum Values<'b> {
    Text(&'b StringViewArray),
    Integers(Cow<'b, [i64]>),
    Unsigned(&'b [u64]),
    Floats(Cow<'b, [f64]>),
    Decimals(Vec<i128>, u8, i8),
    Booleans(&'b BooleanBuffer),
    /// Milliseconds since the Unix epoch; none beyond what 64 bits hold.
    Instants(Instants<'b>),
}

/// Instants in some unit.
pub(super) struct Instants<'b> {
    ticks: Cow<'b, [i64]>,
    /// Milliseconds are ticks times the one, then divided by the other, rounded down.
    times: i64,
    parts: i64,
    /// They are of no known zone, and count as UTC.
    pub(super) is_local: bool,
}

impl Instants<'_> {
    pub(super) fn millis(&self, at: usize) -> Option<i64> {
        self.ticks.get(at)?.checked_mul(self.times)?.checked_div_euclid(self.parts)
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
            let (ticks, times, parts) = match unit {
                TimeUnit::Second => (native::<TimestampSecondType>(array)?, 1000, 1),
                TimeUnit::Millisecond => (native::<TimestampMillisecondType>(array)?, 1, 1),
                TimeUnit::Microsecond => (native::<TimestampMicrosecondType>(array)?, 1, 1000),
                TimeUnit::Nanosecond => (native::<TimestampNanosecondType>(array)?, 1, 1_000_000),
            };
            instants(Cow::Borrowed(ticks), times, parts, zone.is_none())
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

fn instants(ticks: Cow<'_, [i64]>, times: i64, parts: i64, is_local: bool) -> Values<'_> {
    Values::Instants(Instants { ticks, times, parts, is_local })
}
