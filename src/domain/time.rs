//! Parses and formats dates and times in the forms that records and answers have.

use std::borrow::Cow;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime};

use crate::value::Timestamp;

/// The length in bytes of `yyyy-MM-dd HH:mm:ss`.
const LOCAL_BYTES: usize = 19;

/// Parses a date `yyyy-MM-dd` that has exactly these numbers of digits.
pub(super) fn date(text: &str) -> Option<NaiveDate> {
    let is_shaped = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if is_shaped { NaiveDate::parse_from_str(text, "%Y-%m-%d").ok() } else { None }
}

/// Converts a time to `yyyy-MM-dd HH:mm:ss` in UTC. The order of the resulting texts is the order of the times.
///
/// Returns `None` if the text is not a time, or if the year of the time in UTC is not in 0000 to 9999.
pub(super) fn in_utc(text: &str) -> Option<Cow<'_, str>> {
    let moment = Timestamp::parse(text).ok()?;
    if text.len() == LOCAL_BYTES {
        NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").ok()?;
        return Some(Cow::Borrowed(text));
    }
    let utc = DateTime::from_timestamp_millis(moment.as_millis())?;
    (0..=9999).contains(&utc.year()).then(|| Cow::Owned(utc.format("%Y-%m-%d %H:%M:%S").to_string()))
}

/// Converts a time to `yyyy-MM-dd HH:mm:ssZZ`, with an offset such as `+0000`. Returns `None` if the text is not a time.
///
/// A time without an offset is treated as UTC.
pub(super) fn with_offset(text: &str) -> Option<Cow<'_, str>> {
    Timestamp::parse(text).ok()?;
    let (local, offset) = text.split_at_checked(LOCAL_BYTES)?;
    match offset {
        "" | "-0000" | "-00:00" => Some(Cow::Owned(format!("{local}+0000"))),
        _ if offset.contains(':') => Some(Cow::Owned(format!("{local}{}", offset.replace(':', "")))),
        _ => Some(Cow::Borrowed(text)),
    }
}

/// Returns true if the text of a time has an offset.
pub(super) fn has_offset(text: &str) -> bool {
    text.len() > LOCAL_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_accepted_time_has_the_form_of_the_answers() {
        for (text, utc, zoned) in [
            ("2024-02-29 12:00:00", "2024-02-29 12:00:00", "2024-02-29 12:00:00+0000"),
            ("2024-02-29 12:00:00+0000", "2024-02-29 12:00:00", "2024-02-29 12:00:00+0000"),
            ("2024-02-29 12:00:00-00:00", "2024-02-29 12:00:00", "2024-02-29 12:00:00+0000"),
            ("2024-02-29 01:00:00+05:30", "2024-02-28 19:30:00", "2024-02-29 01:00:00+0530"),
            ("0000-01-01 00:00:00-0100", "0000-01-01 01:00:00", "0000-01-01 00:00:00-0100"),
        ] {
            assert_eq!(in_utc(text).as_deref(), Some(utc));
            assert_eq!(with_offset(text).as_deref(), Some(zoned));
            assert_eq!(Timestamp::parse(zoned), Timestamp::parse(text));
        }
        // In UTC, the first of these times is before the year 0000.
        assert_eq!(in_utc("0000-01-01 00:00:00+0100"), None);
        for text in
            ["", "2024-02-29", "2023-02-29 00:00:00", "2024-02-29T00:00:00Z", "2024-02-29 00:00:00+1900"]
        {
            assert_eq!((in_utc(text), with_offset(text)), (None, None), "{text}");
        }
    }
}
