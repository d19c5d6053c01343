//! Parses and prints timestamps in RFC 3339, and dates without a time. `datetime.rs` has the text form that filters and documents
//! use.

use chrono::DateTime;
#[cfg(any(feature = "arrow", feature = "store"))]
use chrono::{SecondsFormat, Utc};

use super::datetime::{ParseTimestampError, Timestamp};

impl Timestamp {
    /// Parses a timestamp in RFC 3339 with at most millisecond precision, such as `2025-12-01T10:00:00.250+02:00`.
    ///
    /// A fraction of a second may have more than three digits if all further digits are zeros. Leap seconds are errors.
    pub(crate) fn parse_rfc3339(text: &str) -> Result<Self, ParseTimestampError> {
        const NS_PER_MS: u32 = 1_000_000;
        // chrono also accepts a space instead of the `T`.
        if !matches!(text.as_bytes().get(10), Some(b'T' | b't')) {
            return Err(ParseTimestampError::Shape);
        }
        let instant = DateTime::parse_from_rfc3339(text).map_err(|_| ParseTimestampError::Shape)?;
        let nanos = instant.timestamp_subsec_nanos();
        // chrono represents a leap second by a nanosecond count of 1,000,000,000 or more.
        if nanos >= 1000 * NS_PER_MS {
            return Err(ParseTimestampError::Time);
        }
        if !nanos.is_multiple_of(NS_PER_MS) {
            return Err(ParseTimestampError::Shape);
        }
        Ok(Self::from_millis(instant.timestamp_millis()))
    }

    /// Parses a date `yyyy-MM-dd`, and returns midnight UTC at its start.
    pub(crate) fn parse_date(text: &str) -> Result<Self, ParseTimestampError> {
        if text.len() != "yyyy-MM-dd".len() {
            return Err(ParseTimestampError::Shape);
        }
        Self::parse(&format!("{text} 00:00:00"))
    }

    /// Returns the instant in RFC 3339 in UTC, with milliseconds unless they are zero. Returns `None` for an instant outside the
    /// years 0000 to 9999.
    #[cfg(any(feature = "arrow", feature = "store"))]
    pub(crate) fn to_rfc3339(self) -> Option<String> {
        let instant = DateTime::<Utc>::try_from(self).ok().filter(|_| self.is_in_years())?;
        Some(instant.to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }

    /// Returns the date in UTC, `yyyy-MM-dd`. Returns `None` for an instant outside the years 0000 to 9999.
    #[cfg(feature = "arrow")]
    pub(crate) fn to_date(self) -> Option<String> {
        let instant = DateTime::<Utc>::try_from(self).ok().filter(|_| self.is_in_years())?;
        Some(instant.format("%Y-%m-%d").to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_3339_is_parsed_to_the_millisecond() {
        for (text, plain, millis) in [
            ("2025-12-01T10:00:00Z", "2025-12-01 10:00:00", 0),
            ("2025-12-01t10:00:00z", "2025-12-01 10:00:00", 0),
            ("2025-12-01T10:00:00+02:00", "2025-12-01 08:00:00", 0),
            ("2025-12-01T10:00:00.25-05:30", "2025-12-01 15:30:00", 250),
            ("2025-12-01T10:00:00.123000000Z", "2025-12-01 10:00:00", 123),
            ("1969-12-31T23:59:59.999Z", "1969-12-31 23:59:59", 999),
            ("0000-01-01T00:00:00Z", "0000-01-01 00:00:00", 0),
        ] {
            let expected = Timestamp::parse(plain).unwrap().as_millis() + millis;
            assert_eq!(Timestamp::parse_rfc3339(text), Ok(Timestamp::from_millis(expected)), "{text}");
        }
        for text in [
            "2025-12-01 10:00:00Z",
            "2025-12-01T10:00:00",
            "2025-12-01T10:00Z",
            "2025-12-01",
            "2025-12-01T10:00:00.0001Z",
            "2025-12-01T10:00:00.Z",
            "2025-12-01T10:00:60Z",
            "2025-13-01T10:00:00Z",
            "2025-12-01T24:00:00Z",
            "2025-12-01T10:00:00+0200",
            "+12025-12-01T10:00:00Z",
            " 2025-12-01T10:00:00Z",
            "2025-12-01T10:00:00Z ",
            "",
        ] {
            assert!(Timestamp::parse_rfc3339(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_date_is_its_midnight() {
        assert_eq!(Timestamp::parse_date("2024-02-29"), Timestamp::parse("2024-02-29 00:00:00"));
        for text in ["2023-02-29", "2024-2-29", "24-02-29", "2024-02-29 ", "", "2024-02-29T00:00:00Z"] {
            assert!(Timestamp::parse_date(text).is_err(), "{text}");
        }
    }
}
