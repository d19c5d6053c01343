//! Formats numbers and durations for people.

use std::time::Duration;

/// Returns a number with a comma between groups of three digits.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && digits.len().saturating_sub(place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Returns a number followed by its noun. Appends an `s` to the noun unless the number is 1.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// Returns a duration in seconds, rounded to milliseconds.
pub(crate) fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e3).round() / 1e3
}

/// Returns a duration with three significant digits, in a suitable unit.
pub(crate) fn duration(time: Duration) -> String {
    microseconds(time.as_secs_f64() * 1e6)
}

/// Does the same as [`duration`], for a duration in microseconds.
pub(crate) fn microseconds(us: f64) -> String {
    let (value, unit) = match us {
        _ if us < 1e3 => (us, "µs"),
        _ if us < 1e6 => (us / 1e3, "ms"),
        _ => (us / 1e6, "s"),
    };
    let decimals = if value < 10.0 {
        2
    } else if value < 100.0 {
        1
    } else {
        0
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(1_234_567), "1,234,567");
    }

    #[test]
    fn durations_have_three_digits() {
        assert_eq!(microseconds(0.52), "0.52 µs");
        assert_eq!(microseconds(43.21), "43.2 µs");
        assert_eq!(microseconds(1_234.0), "1.23 ms");
        assert_eq!(microseconds(2_500_000.0), "2.50 s");
    }
}
