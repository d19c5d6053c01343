//! Parses instants and spans of time in filter texts: RFC 3339, days, `now`, `today`, and intervals.
//!
//! ```text
//! 2025-12-01 10:00:00+0200            an instant in the form of JSON bodies
//! 2025-12-01T10:00:00.250Z            an instant in RFC 3339, with at most three digits of a fraction
//! 2025-12-01                          a whole day, at the offset from UTC that the program sets
//! now, today                          the present instant, and the whole day that contains it
//! now - 7d, today + 1w, now+90m       shifted by minutes, hours, days of 24 hours, or weeks
//! 2025-12-01T00:00:00Z/2025-12-02T00:00:00Z     from the first instant (included) to the second (excluded)
//! ```
//!
//! If a day is shifted by days or weeks, the result is again a whole day. If a day is shifted by minutes or hours, the result is
//! one instant: the start of the day plus the shift.

use super::datetime::{MS_PER_S, ParseTimestampError, Timestamp};

const MS_PER_MINUTE: i64 = 60 * MS_PER_S;
const MS_PER_DAY: i64 = 24 * 60 * MS_PER_MINUTE;

/// The length of `yyyy-MM-dd`.
const DATE: usize = 10;

/// The length of `yyyy-MM-ddTHH:mm:ss`.
const SECONDS: usize = 19;

/// The present instant, and the offset from UTC that defines when days begin. The program that compiles a filter text supplies
/// both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// The instant of `now`. `None` if the program does not supply it.
    pub(crate) now: Option<Timestamp>,
    pub(crate) offset_s: i32,
}

/// The first and the last instant of a span of time, such as a day. If the span is a single instant, both are equal.
pub(crate) type Moment = (Timestamp, Timestamp);

/// The error for a string that is neither an instant nor a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParseMomentError {
    /// The string does not have any of the forms, or a part of it is out of range.
    Form(ParseTimestampError),
    /// The string has a fraction of a second that is more precise than a millisecond.
    Fraction,
    /// The string is a relative time, but the program does not supply the present instant.
    NoPresent,
    /// The instant is outside the years 0000 to 9999.
    Range,
    /// The end of the interval is not after its start.
    Interval,
}

impl ParseMomentError {
    /// Returns a description of the expected form, for messages.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Self::Form(ParseTimestampError::Shape) => {
                "a time such as `\"2025-12-01 10:00:00\"`, `2025-12-01T10:00:00Z`, `2025-12-01`, `today` or `now - 7d`"
            }
            Self::Form(fault) => fault.expected(),
            Self::Fraction => "a fraction of a second with at most three digits",
            Self::NoPresent => {
                "an absolute time, because the program sets no current time for `now` and `today`"
            }
            Self::Range => "a time within the years 0000 to 9999",
            Self::Interval => "an interval whose end is after its start",
        }
    }
}

impl Clock {
    /// Parses an instant or a span of time, in any of the forms of the [module docs](self).
    ///
    /// # Errors
    /// Returns an error that names the wrong part of the string.
    pub(crate) fn parse(&self, text: &str) -> Result<Moment, ParseMomentError> {
        if let Ok(instant) = Timestamp::parse(text) {
            return Ok((instant, instant));
        }
        if let Some((start, end)) = text.split_once('/') {
            return interval(start, end);
        }
        if text.as_bytes().get(DATE).is_some_and(|byte| matches!(byte, b'T' | b't')) {
            let instant = rfc3339(text)?;
            return Ok((instant, instant));
        }
        let (base, rest) = base(text).ok_or_else(|| of_form(text))?;
        let shift = match rest.trim() {
            "" => None,
            rest => Some(shift(rest).ok_or(ParseMomentError::Form(ParseTimestampError::Shape))?),
        };
        let (start, is_day) = match base {
            Base::Now => (self.now.ok_or(ParseMomentError::NoPresent)?, false),
            Base::Today => {
                let now = self.now.ok_or(ParseMomentError::NoPresent)?.as_millis();
                let local = now.saturating_add(self.offset_ms());
                let start = local.saturating_sub(local.rem_euclid(MS_PER_DAY));
                (Timestamp::from_millis(start.saturating_sub(self.offset_ms())), true)
            }
            Base::Date(date) => {
                let local = Timestamp::parse(&format!("{date} 00:00:00")).map_err(ParseMomentError::Form)?;
                (Timestamp::from_millis(local.as_millis().saturating_sub(self.offset_ms())), true)
            }
        };
        let (shift_ms, is_whole_days) = shift.unwrap_or((0, true));
        let start_ms = start.as_millis().checked_add(shift_ms).ok_or(ParseMomentError::Range)?;
        let length_ms = if is_day && is_whole_days { MS_PER_DAY } else { 1 };
        let last_ms = start_ms.checked_add(length_ms.saturating_sub(1)).ok_or(ParseMomentError::Range)?;
        let (start, last) = (Timestamp::from_millis(start_ms), Timestamp::from_millis(last_ms));
        if start.is_in_text_years() && last.is_in_text_years() {
            Ok((start, last))
        } else {
            Err(ParseMomentError::Range)
        }
    }

    fn offset_ms(&self) -> i64 {
        i64::from(self.offset_s).saturating_mul(MS_PER_S)
    }

    /// Returns the instant or span, in the text syntax, that is equivalent to an expression of another language, such as
    /// `yesterday` or `-7d`.
    pub(crate) fn respell(text: &str) -> Option<String> {
        let lower = text.to_ascii_lowercase();
        let meant = match lower.as_str() {
            "yesterday" => "today - 1d",
            "tomorrow" => "today + 1d",
            "current_date" | "curdate" => "today",
            "current_timestamp" | "sysdate" | "localtimestamp" => "now",
            shifted if shifted.starts_with(['-', '+']) && shift(shifted).is_some() => {
                let (sign, amount) = shifted.split_at_checked(1)?;
                return Some(format!("now {sign} {}", amount.trim()));
            }
            _ => return None,
        };
        Some(meant.to_owned())
    }
}

/// Returns true if `text` is an instant or a span in one of the forms of the text syntax.
pub(crate) fn is_moment(text: &str) -> bool {
    Clock { now: Some(Timestamp::from_millis(0)), offset_s: 0 }.parse(text).is_ok()
}

/// Returns true for a word that a shift may follow: `now`, `today` or a date.
pub(crate) fn is_shiftable(word: &str) -> bool {
    base(word).is_some_and(|(_, rest)| rest.is_empty())
}

/// Returns true for a shift such as `-7d`, with its sign.
pub(crate) fn is_shift(text: &str) -> bool {
    shift(text).is_some()
}

/// Parses two forms of times: an instant with a fraction of a second, and an interval. In JSON bodies, the filter printer writes
/// these forms for times that the text form of timestamps cannot express.
pub(crate) fn parse_printed(text: &str) -> Option<Moment> {
    match text.split_once('/') {
        Some((start, end)) => interval(start, end).ok(),
        None => {
            let instant = rfc3339(text).ok()?;
            (!instant.has_text()).then_some((instant, instant))
        }
    }
}

/// The point from which a relative time is computed: `now`, `today` or a date.
enum Base<'t> {
    Now,
    Today,
    Date(&'t str),
}

/// Splits a string after its base. Returns `None` if it does not start with a base.
fn base(text: &str) -> Option<(Base<'_>, &str)> {
    let after = |word: &str| {
        let (start, rest) = text.split_at_checked(word.len())?;
        let is_whole = rest.is_empty() || rest.starts_with([' ', '+', '-']);
        (start.eq_ignore_ascii_case(word) && is_whole).then_some(rest)
    };
    if let Some(rest) = after("now") {
        return Some((Base::Now, rest));
    }
    if let Some(rest) = after("today") {
        return Some((Base::Today, rest));
    }
    let (date, rest) = text.split_at_checked(DATE)?;
    let is_date = date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    let is_whole =
        rest.is_empty() || rest.starts_with(['+', '-']) || rest.trim_start().starts_with(['+', '-']);
    (is_date && is_whole).then_some((Base::Date(date), rest))
}

/// Parses a shift such as `- 7d`. Returns its length in milliseconds, and true if its unit is days or weeks.
fn shift(text: &str) -> Option<(i64, bool)> {
    let (is_negative, amount) = match text.strip_prefix('-') {
        Some(amount) => (true, amount),
        None => (false, text.strip_prefix('+')?),
    };
    let amount = amount.trim_start();
    let (digits, unit) = amount.split_at_checked(amount.len().checked_sub(1)?)?;
    let (unit_ms, is_whole_days) = match unit {
        "m" | "M" => (MS_PER_MINUTE, false),
        "h" | "H" => (60 * MS_PER_MINUTE, false),
        "d" | "D" => (MS_PER_DAY, true),
        "w" | "W" => (7 * MS_PER_DAY, true),
        _ => return None,
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size_ms = digits.parse::<i64>().ok()?.checked_mul(unit_ms)?;
    Some((if is_negative { size_ms.saturating_neg() } else { size_ms }, is_whole_days))
}

/// Parses an instant in RFC 3339.
fn rfc3339(text: &str) -> Result<Timestamp, ParseMomentError> {
    Timestamp::parse_rfc3339(text).map_err(|_| {
        if without_fraction(text).is_some_and(|whole| Timestamp::parse_rfc3339(&whole).is_ok()) {
            return ParseMomentError::Fraction;
        }
        let local = text.get(..SECONDS).unwrap_or_default().replacen(['T', 't'], " ", 1);
        of_form(&local)
    })
}

/// Removes a fraction of a second with more than three digits. Returns `None` if the string has no such fraction.
fn without_fraction(text: &str) -> Option<String> {
    let (seconds, rest) = text.split_at_checked(SECONDS)?;
    let fraction = rest.strip_prefix('.')?;
    let offset = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    (fraction.len() > offset.len().saturating_add(3)).then(|| [seconds, offset].concat())
}

/// Parses an interval. It contains the instant `start` and ends just before the instant `end`.
fn interval(start: &str, end: &str) -> Result<Moment, ParseMomentError> {
    let (start, end) = (rfc3339(start)?, rfc3339(end)?);
    if start >= end {
        return Err(ParseMomentError::Interval);
    }
    Ok((start, Timestamp::from_millis(end.as_millis().saturating_sub(1))))
}

/// Returns the error for a string that is not an instant. It is the error of the parser of the text form, because the string may be
/// close to this form.
fn of_form(text: &str) -> ParseMomentError {
    ParseMomentError::Form(Timestamp::parse(text).err().unwrap_or(ParseTimestampError::Shape))
}

impl Timestamp {
    /// Returns true if the text form can express the year of the instant.
    fn is_in_text_years(self) -> bool {
        Self::from_millis(self.as_millis().saturating_sub(self.as_millis().rem_euclid(MS_PER_S))).has_text()
    }

    /// Returns the instant in RFC 3339, with a fraction only if it is not a whole second. The offset is zero, unless the text form
    /// cannot express the instant in UTC.
    pub(crate) fn to_printed(self) -> String {
        let mut text = self.to_string().replacen(' ', "T", 1);
        match text.len().checked_sub("00".len()).filter(|_| text.ends_with("1800")) {
            Some(minutes) => text.insert(minutes, ':'),
            None => text.push('Z'),
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    /// Returns a clock that shows 2025-12-03 01:30:00.250 at the offset +02:00.
    fn clock() -> Clock {
        let now = Timestamp::from_millis(at("2025-12-02 23:30:00").as_millis() + 250);
        Clock { now: Some(now), offset_s: 2 * 3600 }
    }

    #[test]
    fn a_time_is_an_instant_or_a_whole_day_at_the_offset() {
        let now = clock().now.unwrap().as_millis();
        let instant = |ms: i64| (Timestamp::from_millis(ms), Timestamp::from_millis(ms));
        let day = |start: &str| (at(start), Timestamp::from_millis(at(start).as_millis() + MS_PER_DAY - 1));
        for (text, expected) in [
            ("2025-12-01 10:00:00", instant(at("2025-12-01 10:00:00").as_millis())),
            ("2025-12-01 10:00:00+0100", instant(at("2025-12-01 09:00:00").as_millis())),
            ("2025-12-01T10:00:00Z", instant(at("2025-12-01 10:00:00").as_millis())),
            ("2025-12-01t10:00:00.5z", instant(at("2025-12-01 10:00:00").as_millis() + 500)),
            ("2025-12-01T10:00:00.123+01:00", instant(at("2025-12-01 09:00:00").as_millis() + 123)),
            ("2025-12-01", day("2025-11-30 22:00:00")),
            ("2025-12-01 + 2w", day("2025-12-14 22:00:00")),
            ("2025-12-01-1d", day("2025-11-29 22:00:00")),
            ("2025-12-01 + 90m", instant(at("2025-11-30 23:30:00").as_millis())),
            ("now", instant(now)),
            ("NOW - 7d", instant(now - 7 * MS_PER_DAY)),
            ("now-7d", instant(now - 7 * MS_PER_DAY)),
            ("now +2h", instant(now + 120 * MS_PER_MINUTE)),
            ("today", day("2025-12-02 22:00:00")),
            ("today - 1d", day("2025-12-01 22:00:00")),
            ("today + 8h", instant(at("2025-12-03 06:00:00").as_millis())),
            (
                "2025-12-01T00:00:00Z/2025-12-02T00:00:00.001Z",
                (at("2025-12-01 00:00:00"), at("2025-12-02 00:00:00")),
            ),
        ] {
            assert_eq!(clock().parse(text), Ok(expected), "{text}");
            assert!(is_moment(text), "{text}");
        }
    }

    #[test]
    fn other_texts_are_errors() {
        use ParseMomentError::{Form, Fraction, Interval, NoPresent, Range};
        for (text, error) in [
            ("", Form(ParseTimestampError::Shape)),
            ("soon", Form(ParseTimestampError::Shape)),
            ("nowhere", Form(ParseTimestampError::Shape)),
            ("now - 7", Form(ParseTimestampError::Shape)),
            ("now - 7y", Form(ParseTimestampError::Shape)),
            ("now 7d", Form(ParseTimestampError::Shape)),
            ("now - -7d", Form(ParseTimestampError::Shape)),
            ("now - 99999999999999999999d", Form(ParseTimestampError::Shape)),
            ("now - 7d - 1h", Form(ParseTimestampError::Shape)),
            ("2025-12-01T10:00:00", Form(ParseTimestampError::Shape)),
            ("2025-12-01T10:00Z", Form(ParseTimestampError::Shape)),
            ("2025-12-01T10:00:00.Z", Form(ParseTimestampError::Shape)),
            ("2025-12-01T10:00:00+0100", Form(ParseTimestampError::Shape)),
            ("2025-12-01T24:00:00Z", Form(ParseTimestampError::Time)),
            ("2025-02-29", Form(ParseTimestampError::Date)),
            ("2025-02-29T10:00:00Z", Form(ParseTimestampError::Date)),
            ("2025-12-01T10:00:00.1234Z", Fraction),
            ("2025-12-01T10:00:00.123456+01:00", Fraction),
            ("2025-12-01T24:00:00.1234Z", Form(ParseTimestampError::Time)),
            ("2025-02-29T10:00:00.1234Z", Form(ParseTimestampError::Date)),
            ("2025-12-01T10:00:00.1234", Form(ParseTimestampError::Shape)),
            ("2025-12-01T10:00:00.1234é", Form(ParseTimestampError::Shape)),
            ("now + 99999999w", Range),
            ("2025-12-02T00:00:00Z/2025-12-02T00:00:00Z", Interval),
            ("2025-12-02/2025-12-03", Form(ParseTimestampError::Shape)),
        ] {
            assert_eq!(clock().parse(text), Err(error), "{text}");
        }
        for text in ["now", "today", "now - 7d"] {
            assert_eq!(Clock::default().parse(text), Err(NoPresent), "{text}");
        }
        assert!(Clock::default().parse("2025-12-01").is_ok());
    }

    #[test]
    fn rfc_3339_is_printed_and_parsed_back() {
        for text in
            ["0000-01-01 00:00:00", "2025-12-01 10:00:00", "9999-12-31 23:59:59", "9999-12-31 23:59:59-1800"]
        {
            for fraction_ms in [0, 1, 250] {
                let instant = Timestamp::from_millis(at(text).as_millis() + fraction_ms);
                assert_eq!(rfc3339(&instant.to_printed()), Ok(instant), "{text}");
                let is_printed = parse_printed(&instant.to_printed()).is_some();
                assert_eq!(is_printed, fraction_ms > 0, "{text}");
            }
        }
    }
}
