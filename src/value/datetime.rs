//! The timestamp type, with the parser and the printer of its text form: `yyyy-MM-dd HH:mm:ss` with an optional offset from UTC.

use std::fmt;

use chrono::DateTime;

use super::integer::parse_integer;

/// An instant in milliseconds since 1970-01-01 00:00:00 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The error of parsing a string that is not a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseTimestampError {
    /// The string does not have the form `yyyy-MM-dd HH:mm:ss`, optionally followed by an offset.
    Shape,
    /// The date does not exist in the calendar.
    Date,
    /// The hour is above 23, or the minute or the second is above 59.
    Time,
    /// The offset is above 18:00, or its minutes are above 59.
    Offset,
}

impl ParseTimestampError {
    /// Returns a description of the expected form, for messages.
    #[must_use]
    pub fn expected(self) -> &'static str {
        match self {
            Self::Shape => {
                "`yyyy-MM-dd HH:mm:ss`, then nothing (UTC) or an offset such as `+0000` or `+00:00`"
            }
            Self::Date => "a date that exists in the calendar",
            Self::Time => "hours 00 to 23, minutes and seconds 00 to 59",
            Self::Offset => "an offset from -18:00 to +18:00",
        }
    }
}

pub(super) const MS_PER_S: i64 = 1000;

/// The largest offset from UTC in milliseconds: 18 hours, as in the Java platform.
const MAX_OFFSET_MS: i64 = 18 * 3600 * MS_PER_S;

impl Timestamp {
    /// The smallest instant.
    pub const MIN: Self = Self(i64::MIN);

    /// The greatest instant.
    pub const MAX: Self = Self(i64::MAX);

    /// Returns the instant with this number of milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the number of milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Parses the text form.
    ///
    /// ```
    /// use casefilter::{Timestamp, ParseTimestampError};
    /// let utc = Timestamp::parse("2024-02-29 12:00:00").unwrap();
    /// assert_eq!(Timestamp::parse("2024-02-29 17:30:00+05:30"), Ok(utc));
    /// assert_eq!(Timestamp::parse("2023-02-29 12:00:00"), Err(ParseTimestampError::Date));
    /// ```
    ///
    /// # Errors
    /// Returns an error that names the first part of the string that is malformed or out of range.
    pub fn parse(text: &str) -> Result<Self, ParseTimestampError> {
        let (local, offset) = text.as_bytes().split_first_chunk::<19>().ok_or(ParseTimestampError::Shape)?;
        let [y1, y2, y3, y4, s1, m1, m2, s2, d1, d2, s3, time @ ..] = *local;
        let date = pairs([y1, y2, y3, y4, s1, m1, m2, s2], *b"0000-00-");
        let day = pairs([d1, d2, s3, b'0', b'0', b'0', b'0', b'0'], *b"00 00000");
        let (Some(date), Some(day), Some(time)) = (date, day, pairs(time, *b"00:00:00")) else {
            return Err(ParseTimestampError::Shape);
        };
        let offset = offset_of(offset)?;
        let ([century, _, year, _, _, month, ..], [day, ..]) = (date, day);
        let [hours, _, _, minutes, _, _, seconds, _] = time;
        let year = century.wrapping_mul(100).wrapping_add(year);
        let days = days_from_epoch(year, month, day).ok_or(ParseTimestampError::Date)?;
        if hours > 23 || minutes > 59 || seconds > 59 {
            return Err(ParseTimestampError::Time);
        }
        let day_s = hours.wrapping_mul(3600).wrapping_add(minutes.wrapping_mul(60)).wrapping_add(seconds);
        // This cannot overflow, because years have four digits.
        let local_ms = days.wrapping_mul(86_400).wrapping_add(i64::from(day_s)).wrapping_mul(MS_PER_S);
        let offset_ms = match offset {
            None => 0,
            Some((sign, hours, minutes)) => {
                let size_s = hours.wrapping_mul(3600).wrapping_add(minutes.wrapping_mul(60));
                let size_ms = i64::from(size_s).wrapping_mul(MS_PER_S);
                if minutes > 59 || size_ms > MAX_OFFSET_MS {
                    return Err(ParseTimestampError::Offset);
                }
                if sign == b'-' { size_ms.saturating_neg() } else { size_ms }
            }
        };
        Ok(Self(local_ms.saturating_sub(offset_ms)))
    }

    /// Parses Unix milliseconds: a decimal integer in the JSON grammar, without fraction or exponent.
    ///
    /// ```
    /// use casefilter::Timestamp;
    /// assert_eq!(Timestamp::parse_millis("-1500"), Some(Timestamp::from_millis(-1500)));
    /// assert_eq!(Timestamp::parse_millis("1e3"), None);
    /// ```
    #[must_use]
    pub fn parse_millis(text: &str) -> Option<Self> {
        parse_integer(text).map(Self)
    }

    /// Returns true if the Unix milliseconds were probably written by mistake, because they look like a year, a date (`yyyyMMdd`)
    /// or seconds.
    ///
    /// Years, dates in this form, and seconds up to the year 2038 are at most 2^31. Read as milliseconds, such numbers are at most
    /// 25 days before or after the epoch. A multiple of a quarter of an hour is not taken as a mistake, because midnight is such a
    /// multiple in every time zone.
    pub(crate) fn is_mistaken_millis(self) -> bool {
        const QUARTER_MS: u64 = 15 * 60 * 1000;
        let size = self.0.unsigned_abs();
        size <= 1 << 31 && !size.is_multiple_of(QUARTER_MS)
    }

    /// Returns true if `text`, which is in the text form, has no offset.
    pub(crate) fn is_without_zone(text: &str) -> bool {
        text.len() == "yyyy-MM-dd HH:mm:ss".len()
    }

    /// Appends the text form with an offset, as documents contain it. Truncates the instant to seconds.
    ///
    /// Returns false and appends nothing if the instant is outside the years 0000 to 9999 of the text form.
    #[cfg(feature = "arrow")]
    pub(crate) fn push_text(self, out: &mut String) -> bool {
        use chrono::{Datelike, Timelike};
        let (local_ms, offset) = if self.0 < EARLIEST_UTC_MS {
            (self.0.saturating_add(MAX_OFFSET_MS), "+1800")
        } else if self.0 > LATEST_UTC_MS.saturating_add(MS_PER_S - 1) {
            (self.0.saturating_sub(MAX_OFFSET_MS), "-1800")
        } else {
            (self.0, "+0000")
        };
        let Some(local) = DateTime::from_timestamp_millis(local_ms) else { return false };
        let Some(year) = u32::try_from(local.year()).ok().filter(|year| *year <= 9999) else { return false };
        let digit = |number: u32| char::from_digit(number % 10, 10).unwrap_or('0');
        let mut two = |number: u32, mark: &str| {
            out.push(digit(number / 10));
            out.push(digit(number));
            out.push_str(mark);
        };
        two(year / 100, "");
        two(year, "-");
        two(local.month(), "-");
        two(local.day(), " ");
        two(local.hour(), ":");
        two(local.minute(), ":");
        two(local.second(), offset);
        true
    }

    /// Returns true if the text form can express this instant after truncation to seconds.
    #[cfg(any(feature = "arrow", feature = "store"))]
    pub(crate) fn is_in_years(self) -> bool {
        self.whole_seconds().has_text()
    }

    /// Truncates the instant to seconds, because the text form has no fractions of a second.
    #[cfg(any(feature = "arrow", feature = "store"))]
    pub(crate) fn whole_seconds(self) -> Self {
        Self(self.0.saturating_sub(self.0.rem_euclid(MS_PER_S)))
    }

    /// Returns the last midnight UTC that is not after the instant.
    #[cfg(feature = "arrow")]
    pub(crate) fn whole_days(self) -> Self {
        const MS_PER_DAY: i64 = 86_400 * MS_PER_S;
        Self(self.0.saturating_sub(self.0.rem_euclid(MS_PER_DAY)))
    }

    /// Returns true if the text form can express this instant exactly.
    pub(crate) fn has_text(self) -> bool {
        let earliest = EARLIEST_UTC_MS.saturating_sub(MAX_OFFSET_MS);
        let latest = LATEST_UTC_MS.saturating_add(MAX_OFFSET_MS);
        self.0.rem_euclid(MS_PER_S) == 0 && (earliest..=latest).contains(&self.0)
    }
}

/// 0000-01-01 00:00:00 UTC in milliseconds.
const EARLIEST_UTC_MS: i64 = -62_167_219_200_000;

/// 9999-12-31 23:59:59 UTC in milliseconds.
const LATEST_UTC_MS: i64 = 253_402_300_799_000;

/// Returns the number of days from 1970-01-01 to a date, or `None` if the date does not exist. The year has at most four digits.
///
/// In this computation, years start in March, so that a leap day is the last day of its year. With March as month 0, there are
/// `(153 m + 2) / 5` days before month `m`, as in H. Hinnant's `days_from_civil`.
fn days_from_epoch(year: u32, month: u32, day: u32) -> Option<i64> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28_u32.wrapping_add(u32::from(is_leap)),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days).contains(&day) {
        return None;
    }
    // The count starts at the 1st of March of the year -400, so that no number is negative.
    let year = year.wrapping_add(400).wrapping_sub(u32::from(month <= 2));
    let month = if month > 2 { month.wrapping_sub(3) } else { month.wrapping_add(9) };
    let before_month = month.wrapping_mul(153).wrapping_add(2) / 5;
    let before_year =
        year.wrapping_mul(365).wrapping_add(year / 4).wrapping_sub(year / 100).wrapping_add(year / 400);
    let days = before_year.wrapping_add(before_month).wrapping_add(day).wrapping_sub(1);
    Some(i64::from(days).wrapping_sub(DAYS_BEFORE_EPOCH))
}

/// The number of days from the 1st of March of the year -400 to 1970-01-01.
const DAYS_BEFORE_EPOCH: i64 = 719_468 + 146_097;

/// Checks eight bytes against a pattern and parses their two-digit numbers, all bytes at once in one 64-bit word (SWAR).
///
/// In the pattern `form`, `0` stands for any digit, and every other character stands for itself. Returns `None` if the bytes do not
/// match. Element `i` of the result is the number in the bytes `i` and `i + 1`. It is valid only if both bytes are digits.
#[inline(always)]
fn pairs(text: [u8; 8], form: [u8; 8]) -> Option<[u32; 8]> {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    let others = u64::from_le_bytes(form.map(|byte| if byte == b'0' { 0 } else { u8::MAX }));
    // This replaces each digit by its value, and each other character that matches by 0.
    let values = u64::from_le_bytes(text) ^ u64::from_le_bytes(form);
    // Sets the highest bit of each byte above 9.
    let above_nine = (values.wrapping_add(ONES.wrapping_mul(0x76)) | values) & HIGHS;
    if above_nine != 0 || values & others != 0 {
        return None;
    }
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
    Some(pairs.to_le_bytes().map(u32::from))
}

/// Parses the sign, hours and minutes of an offset such as `+0530` or `+05:30`. Returns `None` for an empty string and for `+0000`.
fn offset_of(text: &[u8]) -> Result<Option<(u8, u32, u32)>, ParseTimestampError> {
    let (sign, digits) = match *text {
        [] | [b'+', b'0', b'0', b'0', b'0'] => return Ok(None),
        [sign @ (b'+' | b'-'), h1, h2, m1, m2] | [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            (sign, [h1, h2, m1, m2])
        }
        _ => return Err(ParseTimestampError::Shape),
    };
    let [h1, h2, m1, m2] = digits;
    let [hours, _, minutes, ..] =
        pairs([h1, h2, m1, m2, b'0', b'0', b'0', b'0'], [b'0'; 8]).ok_or(ParseTimestampError::Shape)?;
    Ok(Some((sign, hours, minutes)))
}

impl fmt::Display for Timestamp {
    /// Prints the text form. It is in UTC if the year in UTC is from 0000 to 9999. Otherwise it has an offset of 18 hours, if the
    /// local year is then in this range.
    ///
    /// Instants with a fraction of a second are printed with milliseconds. Documents can contain such instants. Filters in JSON can
    /// contain them only with an [extended](crate::Catalog::extended) catalogue. Instants outside the years of the text form are
    /// printed as Unix milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0;
        let (local_ms, suffix) = if ms < EARLIEST_UTC_MS {
            (ms.saturating_add(MAX_OFFSET_MS), "+1800")
        } else if ms > LATEST_UTC_MS.saturating_add(MS_PER_S - 1) {
            (ms.saturating_sub(MAX_OFFSET_MS), "-1800")
        } else {
            (ms, "")
        };
        let in_years = (EARLIEST_UTC_MS..=LATEST_UTC_MS.saturating_add(MS_PER_S - 1)).contains(&local_ms);
        match DateTime::from_timestamp_millis(local_ms).filter(|_| in_years) {
            Some(local) if ms.rem_euclid(MS_PER_S) == 0 => {
                write!(f, "{}{suffix}", local.format("%Y-%m-%d %H:%M:%S"))
            }
            Some(local) => write!(f, "{}{suffix}", local.format("%Y-%m-%d %H:%M:%S%.3f")),
            None => write!(f, "{ms} ms"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "arrow")]
    #[test]
    fn the_text_form_in_documents_parses_to_the_same_instant() {
        let text_of = |ms| {
            let mut text = String::new();
            Timestamp::from_millis(ms).push_text(&mut text).then_some(text)
        };
        assert_eq!(text_of(0).as_deref(), Some("1970-01-01 00:00:00+0000"));
        assert_eq!(text_of(-1).as_deref(), Some("1969-12-31 23:59:59+0000"));
        let (first, last) = (EARLIEST_UTC_MS - MAX_OFFSET_MS, LATEST_UTC_MS + MAX_OFFSET_MS);
        for ms in [first, EARLIEST_UTC_MS - 1000, EARLIEST_UTC_MS, 1_709_210_096_000, LATEST_UTC_MS, last] {
            let text = text_of(ms).unwrap();
            assert_eq!(Timestamp::parse(&text), Ok(Timestamp::from_millis(ms)), "{text}");
        }
        for ms in [i64::MIN, first - 1, last + 1000, i64::MAX] {
            assert_eq!(text_of(ms), None, "{ms}");
        }
    }

    #[test]
    fn the_text_form_is_exact() {
        for text in [
            "2024-01-01",
            "2024-01-01 00:00",
            "2024-01-01T00:00:00",
            "2024-01-01 00:00:00Z",
            "2024-01-01 00:00:00.000",
            " 2024-01-01 00:00:00",
            "2024-01-01 00:00:00 ",
            "2024-01-01 00:00:00 +0000",
            "2024-1-1 0:0:0",
            "2024-01-01 00:00:00+00",
            "2024-01-01 00:00:00+0",
            "2024-01-01 00:00:00+000",
            "99999-01-01 00:00:00",
            "-001-01-01 00:00:00",
            "",
            "2024-01-01 00:00:00+00:0",
            "٢٠٢٤-01-01 00:00:00",
            "2024-01-01 00:00:00+00000",
            "2024-01-01 00:00:00+00::00",
            "2024-01-01 00:00:00\u{2212}0000",
        ] {
            assert_eq!(Timestamp::parse(text), Err(ParseTimestampError::Shape), "{text}");
        }
        for (text, fault) in [
            ("2023-02-29 00:00:00", ParseTimestampError::Date),
            ("1900-02-29 00:00:00", ParseTimestampError::Date),
            ("2024-02-30 00:00:00", ParseTimestampError::Date),
            ("2024-13-01 00:00:00", ParseTimestampError::Date),
            ("2024-00-01 00:00:00", ParseTimestampError::Date),
            ("2024-01-00 00:00:00", ParseTimestampError::Date),
            ("2024-01-01 24:00:00", ParseTimestampError::Time),
            ("2024-01-01 00:60:00", ParseTimestampError::Time),
            ("2024-01-01 00:00:60", ParseTimestampError::Time),
            ("2024-01-01 23:59:60", ParseTimestampError::Time),
            ("2024-01-01 00:00:00+18:01", ParseTimestampError::Offset),
            ("2024-01-01 00:00:00+1900", ParseTimestampError::Offset),
            ("2024-01-01 00:00:00+0060", ParseTimestampError::Offset),
        ] {
            assert_eq!(Timestamp::parse(text), Err(fault), "{text}");
        }
    }

    /// Returns true if a string has the text form. A reference implementation with a grammar, which does not check the ranges of
    /// numbers.
    fn has_form(text: &str) -> bool {
        use nom::bytes::complete::take_while_m_n;
        use nom::character::complete::{char, one_of};
        use nom::combinator::{all_consuming, opt};
        use nom::{IResult, Parser};

        fn digits(input: &str, width: usize) -> IResult<&str, &str> {
            take_while_m_n(width, width, |c: char| c.is_ascii_digit()).parse(input)
        }
        let two = |input| digits(input, 2);
        let date = (|input| digits(input, 4), char('-'), two, char('-'), two);
        let time = (char(' '), two, char(':'), two, char(':'), two);
        let offset = opt((one_of("+-"), two, opt(char(':')), two));
        let form: IResult<&str, _> = all_consuming((date, time, offset)).parse(text);
        form.is_ok()
    }

    #[test]
    fn the_parser_accepts_exactly_the_grammar() {
        let sound = ["2024-02-29 23:59:58", "2024-02-29 23:59:58+0530", "2024-02-29 23:59:58-05:30"];
        for text in sound {
            assert!(has_form(text));
            let characters = ('\0'..='\u{ff}').map(String::from);
            let others: Vec<String> = characters.chain(["", "00", "12"].map(String::from)).collect();
            for at in 0..text.len() {
                for other in &others {
                    let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
                    let is_form = !matches!(Timestamp::parse(&changed), Err(ParseTimestampError::Shape));
                    assert_eq!(is_form, has_form(&changed), "{changed}");
                }
            }
        }
    }

    #[test]
    fn every_date_has_the_day_number_of_chrono() {
        for year in 0..=9999 {
            for (month, day) in (1..=12).flat_map(|month| (1..=31).map(move |day| (month, day))) {
                let date = chrono::NaiveDate::from_ymd_opt(year as i32, month, day);
                let days =
                    date.map(|date| date.signed_duration_since(chrono::NaiveDate::default()).num_days());
                assert_eq!(days_from_epoch(year, month, day), days, "{year}-{month}-{day}");
            }
        }
        assert_eq!((days_from_epoch(2024, 0, 1), days_from_epoch(2024, 99, 1)), (None, None));
        assert_eq!((days_from_epoch(2024, 1, 0), days_from_epoch(2024, 1, 99)), (None, None));
    }

    #[test]
    fn offsets_name_the_same_instant() {
        let utc = Timestamp::parse("2024-03-01 00:00:00").unwrap();
        for text in [
            "2024-03-01 00:00:00+0000",
            "2024-03-01 00:00:00-0000",
            "2024-02-29 06:00:00-18:00",
            "2024-03-01 18:00:00+1800",
        ] {
            assert_eq!(Timestamp::parse(text), Ok(utc), "{text}");
        }
    }

    #[test]
    fn the_first_and_last_instants_print_and_parse_back() {
        for text in [
            "0000-01-01 00:00:00+1800",
            "0000-01-01 00:00:00",
            "0000-02-29 00:00:00",
            "1969-12-31 23:59:59",
            "1970-01-01 00:00:00",
            "9999-12-31 23:59:59",
            "9999-12-31 23:59:59-1800",
        ] {
            let timestamp = Timestamp::parse(text).unwrap();
            assert!(timestamp.has_text());
            assert_eq!(timestamp.to_string(), text);
        }
        assert_eq!(Timestamp::parse("0000-01-01 00:00:00").unwrap().as_millis(), EARLIEST_UTC_MS);
        assert_eq!(Timestamp::parse("9999-12-31 23:59:59").unwrap().as_millis(), LATEST_UTC_MS);
        assert!(!Timestamp::from_millis(1).has_text());
        for timestamp in [Timestamp::MIN, Timestamp::MAX] {
            assert!(!timestamp.has_text());
            assert!(timestamp.to_string().ends_with(" ms"));
        }
    }

    #[test]
    fn milliseconds_that_look_like_something_else_are_detected() {
        for (year, month_and_day) in [(1980, 229), (2024, 1231), (1900, 101)] {
            assert!(Timestamp(year).is_mistaken_millis(), "{year}");
            assert!(Timestamp(year * 10_000 + month_and_day).is_mistaken_millis(), "{year}");
        }
        for seconds in [1, 320_630_400, -236_131_200, 1_700_000_001] {
            assert!(Timestamp(seconds).is_mistaken_millis(), "{seconds}");
        }
        for sound in
            [0, 86_400_000, -86_400_000, 19_800_000, 320_630_400_000, -236_131_200_000, i64::MIN, i64::MAX]
        {
            assert!(!Timestamp(sound).is_mistaken_millis(), "{sound}");
        }
    }

    #[test]
    fn unix_milliseconds_are_plain_integers() {
        assert_eq!(Timestamp::parse_millis("0"), Some(Timestamp(0)));
        assert_eq!(Timestamp::parse_millis("-0"), Some(Timestamp(0)));
        assert_eq!(Timestamp::parse_millis("9223372036854775807"), Some(Timestamp::MAX));
        for text in ["", "-", "+1", "1.0", "1e3", "9223372036854775808", " 1", "1 ", "0x1", "007", "--1"] {
            assert_eq!(Timestamp::parse_millis(text), None, "{text}");
        }
    }
}
