//! Converts values from and to types of the standard library and of chrono.

use std::fmt;
use std::num::TryFromIntError;
use std::str::FromStr;

use chrono::{DateTime, Utc};

use super::datetime::{ParseTimestampError, Timestamp};
use super::literal::Value;
use super::number::Number;

/// The error of converting a string or a double to a [`Number`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParseNumberError(());

impl fmt::Display for ParseNumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a finite number as in JSON")
    }
}

impl std::error::Error for ParseNumberError {}

impl FromStr for Number {
    type Err = ParseNumberError;

    /// Parses a number in the JSON grammar.
    ///
    /// ```
    /// use casefilter::Number;
    /// assert_eq!("1.5".parse(), Ok(Number::try_from(1.5)?));
    /// assert!("1.5 ".parse::<Number>().is_err());
    /// # Ok::<(), casefilter::ParseNumberError>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, ParseNumberError> {
        Self::parse(text).ok_or(ParseNumberError(()))
    }
}

impl TryFrom<f64> for Number {
    type Error = ParseNumberError;

    /// Converts a finite double. Converts `-0` to `0`.
    fn try_from(value: f64) -> Result<Self, ParseNumberError> {
        Self::new(value).ok_or(ParseNumberError(()))
    }
}

impl From<Number> for f64 {
    fn from(number: Number) -> Self {
        number.get()
    }
}

impl fmt::Display for ParseTimestampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected())
    }
}

impl std::error::Error for ParseTimestampError {}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    /// Parses the text form in the same way as [`Timestamp::parse`].
    fn from_str(text: &str) -> Result<Self, ParseTimestampError> {
        Self::parse(text)
    }
}

impl From<DateTime<Utc>> for Timestamp {
    /// Converts an instant, and truncates it to milliseconds.
    ///
    /// ```
    /// use casefilter::Timestamp;
    /// use chrono::{DateTime, Utc};
    /// let instant: DateTime<Utc> = DateTime::from_timestamp_millis(1_500).ok_or("out of range")?;
    /// assert_eq!(Timestamp::from(instant), Timestamp::from_millis(1_500));
    /// assert_eq!(DateTime::try_from(Timestamp::from_millis(1_500)), Ok(instant));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn from(instant: DateTime<Utc>) -> Self {
        Self::from_millis(instant.timestamp_millis())
    }
}

impl TryFrom<Timestamp> for DateTime<Utc> {
    type Error = TimestampRangeError;

    /// Converts an instant. Returns an error outside the range of chrono, which is about 262,000 years before and after the epoch.
    fn try_from(timestamp: Timestamp) -> Result<Self, TimestampRangeError> {
        Self::from_timestamp_millis(timestamp.as_millis()).ok_or(TimestampRangeError(()))
    }
}

/// The error of converting an instant that is outside the range of the target type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimestampRangeError(());

impl fmt::Display for TimestampRangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the instant is out of range")
    }
}

impl std::error::Error for TimestampRangeError {}

impl From<DateTime<Utc>> for Value<'_> {
    fn from(instant: DateTime<Utc>) -> Self {
        Self::Timestamp(instant.into())
    }
}

impl TryFrom<f64> for Value<'_> {
    type Error = ParseNumberError;

    /// Converts a finite double.
    ///
    /// ```
    /// use casefilter::{Catalog, Value, field};
    /// let cheap = field("totalAmountInDefaultCurrency").below(Value::try_from(2.5)?).compile(&Catalog::cases())?;
    /// assert_eq!(cheap.to_text(), "totalAmountInDefaultCurrency < 2.5");
    /// assert!(Value::try_from(f64::NAN).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn try_from(number: f64) -> Result<Self, ParseNumberError> {
        Number::try_from(number).map(Self::Number)
    }
}

impl TryFrom<u64> for Value<'_> {
    type Error = TryFromIntError;

    /// Converts an integer up to `i64::MAX`.
    ///
    /// ```
    /// use casefilter::Value;
    /// assert_eq!(Value::try_from(7_u64), Ok(Value::Integer(7)));
    /// assert!(Value::try_from(u64::MAX).is_err());
    /// ```
    fn try_from(integer: u64) -> Result<Self, TryFromIntError> {
        i64::try_from(integer).map(Self::Integer)
    }
}

impl TryFrom<usize> for Value<'_> {
    type Error = TryFromIntError;

    /// Converts an integer up to `i64::MAX`.
    fn try_from(integer: usize) -> Result<Self, TryFromIntError> {
        i64::try_from(integer).map(Self::Integer)
    }
}
