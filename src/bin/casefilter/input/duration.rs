//! Parses durations in arguments and environment variables: a whole number and `ms`, `s`, `m`, `h` or `d`.
//!
//! Every argument that is a duration is parsed by a function of this file. If an argument accepted a number without a unit in
//! earlier versions, it still does, in the same unit: [`seconds`] or [`milliseconds`]. Newer arguments use [`with_unit`].

use std::time::Duration;

/// The units, each with its length in milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// The description of a duration with all units, for help and errors.
pub(crate) const FORM: &str = "a whole number and ms, s, m, h or d";

/// The maximum duration, in days. It is far below the range of `Instant` on any platform.
const MOST_DAYS: u64 = 36_500;

/// The name that the help shows for the value of an argument that is a duration.
pub(crate) const VALUE: &str = "DURATION";

/// Parses a duration that must have a unit.
pub(crate) fn with_unit(text: &str) -> Result<Duration, String> {
    parse(text, None)
}

/// Parses a duration. A number without a unit is in seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    parse(text, Some("s"))
}

/// Parses a duration. A number without a unit is in milliseconds.
#[cfg(any(test, feature = "postgres"))]
pub(crate) fn milliseconds(text: &str) -> Result<Duration, String> {
    parse(text, Some("ms"))
}

fn parse(text: &str, bare: Option<&str>) -> Result<Duration, String> {
    let digits_end = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits_end);
    let unit_ms = match (unit, bare) {
        ("", Some(bare)) => unit_ms(bare),
        _ => unit_ms(unit),
    };
    let expected = || {
        let bare = match bare {
            Some("ms") => "; a bare number is milliseconds",
            Some(_) => "; a bare number is seconds",
            None => "",
        };
        format!("expected {FORM}, such as 500ms, 3s, 20m, 1h or 7d{bare}")
    };
    let (Some(unit_ms), false) = (unit_ms, digits.is_empty()) else { return Err(expected()) };
    let ms = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(unit_ms));
    let longest = Duration::from_secs(MOST_DAYS.saturating_mul(86_400));
    ms.map(Duration::from_millis)
        .filter(|duration| *duration <= longest)
        .ok_or_else(|| format!("expected at most {MOST_DAYS}d"))
}

fn unit_ms(name: &str) -> Option<u64> {
    UNITS.iter().find(|(unit, _)| *unit == name).map(|(_, ms)| *ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_whole_number_and_a_unit() {
        for (text, ms) in [
            ("0ms", 0),
            ("500ms", 500),
            ("3s", 3000),
            ("20m", 1_200_000),
            ("1h", 3_600_000),
            ("7d", 604_800_000),
            ("007s", 7000),
            ("36500d", 3_153_600_000_000),
        ] {
            assert_eq!(with_unit(text), Ok(Duration::from_millis(ms)), "{text}");
            assert_eq!(seconds(text), with_unit(text), "{text}");
            assert_eq!(milliseconds(text), with_unit(text), "{text}");
        }
    }

    #[test]
    fn the_form_lists_every_unit() {
        let units: Vec<&str> = UNITS.iter().rev().map(|(unit, _)| *unit).collect();
        let (last, others) = units.split_last().unwrap();
        assert_eq!(FORM, format!("a whole number and {} or {last}", others.join(", ")));
    }

    #[test]
    fn a_bare_number_has_the_unit_of_its_flag() {
        assert_eq!(seconds("60"), Ok(Duration::from_secs(60)));
        assert_eq!(milliseconds("5000"), Ok(Duration::from_secs(5)));
        assert!(with_unit("60").is_err());
    }

    #[test]
    fn other_texts_are_rejected_and_the_forms_are_shown() {
        for text in
            ["", "s", "ms", "1w", "1S", "-1s", "+1s", "1.5h", "1h30m", "1 h", " 1h", "1h ", "é", "1é", "٣s"]
        {
            for parser in [with_unit, seconds, milliseconds] {
                let error = parser(text).expect_err(text);
                assert!(
                    error.contains("ms, s, m, h or d, such as 500ms, 3s, 20m, 1h or 7d"),
                    "{text}: {error}"
                );
            }
        }
        assert!(seconds("x").is_err_and(|error| error.ends_with("a bare number is seconds")));
        assert!(milliseconds("x").is_err_and(|error| error.ends_with("a bare number is milliseconds")));
    }

    #[test]
    fn a_duration_above_the_longest_is_rejected() {
        for text in ["36501d", "3153600001s", "18446744073709551615d", "99999999999999999999ms"] {
            assert_eq!(with_unit(text), Err("expected at most 36500d".to_owned()), "{text}");
        }
    }
}
