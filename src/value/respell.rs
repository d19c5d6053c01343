//! Suggests corrections for numbers and timestamps in other notations, such as `10,000` or `2024-02-29T12:30:15Z`.

use super::datetime::{MS_PER_S, Timestamp};
use super::number::Number;

/// The span of time that a string means if it is almost a timestamp. Both bounds are in the text form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first instant. If the string is an instant with a fraction of a second, this is the instant without the fraction.
    pub(crate) start: String,
    /// The first instant after the span, if the span is a whole day or minute. `None` for a single instant.
    pub(crate) end: Option<String>,
    /// True if the string is an instant with a fraction of a second that is not zero. This instant is within the second that begins
    /// at `start`.
    pub(crate) is_within: bool,
}

impl Number {
    /// Returns the JSON form of a number in another notation, such as `10,000`, `10 000`, `10_000`, `1,5`, `10k`, `2M`, `+5`, `.5`,
    /// `5.`, `007` or `$5`.
    ///
    /// Returns `None` if the string is already in JSON form, or is ambiguous.
    pub(crate) fn respell(text: &str) -> Option<String> {
        let bare = text.trim().trim_matches(['$', '€', '£', '¥']).trim();
        let (sign, unsigned) = match bare.strip_prefix(['-', '\u{2212}']) {
            Some(unsigned) => ("-", unsigned),
            None => ("", bare.strip_prefix('+').unwrap_or(bare)),
        };
        let (unsigned, zeros) = match unsigned.strip_suffix(['k', 'K']) {
            Some(thousands) => (thousands, 3),
            None => unsigned.strip_suffix('M').map_or((unsigned, 0), |millions| (millions, 6)),
        };
        let marks = |mark: char| unsigned.matches(mark).count();
        let (point, group) = match (marks(','), marks('.')) {
            (0, _) => ('.', None),
            (1.., 0) if is_grouped(unsigned, ',') => ('.', Some(',')),
            (1, 0) => (',', None),
            // If there are two kinds of marks, the last mark is the decimal point.
            (_, 1) if unsigned.rfind(',') < unsigned.rfind('.') => ('.', Some(',')),
            (1, _) if unsigned.rfind('.') < unsigned.rfind(',') => (',', Some('.')),
            _ => return None,
        };
        let (whole, fraction) = unsigned.split_once(point).unwrap_or((unsigned, ""));
        let spaces = [' ', '_', '\'', '\u{a0}', '\u{202f}', '\u{2009}'];
        let group = group.or_else(|| whole.chars().find(|c| spaces.contains(c)));
        if group.is_some_and(|group| !is_grouped(whole, group)) {
            return None;
        }
        let mut digits: String = whole.chars().filter(|c| Some(*c) != group).collect();
        let shifted = fraction.get(..zeros.min(fraction.len()))?;
        digits.push_str(shifted);
        digits.extend(std::iter::repeat_n('0', zeros.saturating_sub(shifted.len())));
        let fraction = fraction.get(shifted.len()..)?;
        let digits = digits.trim_start_matches('0');
        let digits = if digits.is_empty() { "0" } else { digits };
        let point = if fraction.is_empty() { "" } else { "." };
        let respelled = format!("{sign}{digits}{point}{fraction}");
        let has_digits = unsigned.chars().any(|c| c.is_ascii_digit());
        (has_digits && respelled != text && Self::parse(&respelled).is_some()).then_some(respelled)
    }
}

/// Returns true if `mark` separates the digits of an integer into groups of three. The first group has one to three digits.
fn is_grouped(text: &str, mark: char) -> bool {
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = text.split(mark);
    let first = groups.next().unwrap_or_default();
    let is_first = (1..=3).contains(&first.len()) && !first.starts_with('0') && is_digits(first);
    is_first && groups.all(|group| group.len() == 3 && is_digits(group))
}

impl Timestamp {
    /// Returns the span of time that a string means, if it is a timestamp in another notation than the text form. The string may be
    /// a date alone. Or it may have `T` before the time, no seconds, a fraction of a second, or `Z` for UTC.
    ///
    /// Returns `None` if the string is already in the text form, or is not a timestamp.
    pub(crate) fn respell(text: &str) -> Option<Span> {
        let (date, rest) = text.split_at_checked("yyyy-MM-dd".len())?;
        let mut time = "00:00:00".to_owned();
        let mut offset = "";
        let mut length_s = 86_400;
        let mut is_within = false;
        if !rest.is_empty() {
            let rest = rest.strip_prefix(['T', 't', ' '])?;
            let (minutes, rest) = rest.split_at_checked("HH:mm".len())?;
            let (seconds, rest) = match rest.split_at_checked(":ss".len()) {
                Some((seconds, rest)) if seconds.starts_with(':') => {
                    length_s = 0;
                    (seconds, rest)
                }
                _ => {
                    length_s = 60;
                    (":00", rest)
                }
            };
            let rest = match rest.strip_prefix('.').filter(|_| length_s == 0) {
                Some(fraction) => {
                    let rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
                    is_within = fraction.len() > rest.len()
                        && fraction.starts_with(|c: char| c.is_ascii_digit())
                        && fraction
                            .bytes()
                            .take(fraction.len().saturating_sub(rest.len()))
                            .any(|byte| byte != b'0');
                    rest
                }
                None => rest,
            };
            time = format!("{minutes}{seconds}");
            offset = rest.strip_prefix(['Z', 'z']).unwrap_or(rest).trim_start();
        }
        let start = format!("{date} {time}{offset}");
        if start == text || Self::parse(&start).is_err() {
            return None;
        }
        let end = match length_s {
            0 => None,
            _ => {
                let local = Self::parse(&format!("{date} {time}")).ok()?;
                let end =
                    Self::from_millis(local.as_millis().saturating_add(MS_PER_S.saturating_mul(length_s)));
                let end = format!("{end}{offset}");
                Some(end).filter(|end| Self::parse(end).is_ok())
            }
        };
        if length_s > 0 && end.is_none() {
            return None;
        }
        Some(Span { start, end, is_within })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_other_notations_are_corrected() {
        for (text, respelled) in [
            ("10,000", "10000"),
            ("1,234,567", "1234567"),
            ("10 000", "10000"),
            ("10_000", "10000"),
            ("10'000", "10000"),
            ("1,234.50", "1234.50"),
            ("1.234,50", "1234.50"),
            ("1,5", "1.5"),
            ("-1,25", "-1.25"),
            ("10k", "10000"),
            ("1.5K", "1500"),
            ("1.2345k", "1234.5"),
            ("2M", "2000000"),
            ("+5", "5"),
            (".5", "0.5"),
            ("5.", "5"),
            ("007", "7"),
            ("$5", "5"),
            ("5 €", "5"),
            (" 12 ", "12"),
            ("\u{2212}3", "-3"),
        ] {
            assert_eq!(Number::respell(text).as_deref(), Some(respelled), "{text}");
        }
        for text in
            ["10", "-1.5e3", "", "k", ",", "1,00,000", "1,2,3", "12m", "0x10", "abc", "1 2", "NaN", "1.2.3"]
        {
            assert_eq!(Number::respell(text), None, "{text}");
        }
    }

    #[test]
    fn timestamps_in_other_notations_are_corrected() {
        for (text, start, end, is_within) in [
            ("2024-02-28", "2024-02-28 00:00:00", Some("2024-02-29 00:00:00"), false),
            ("2024-02-29T12:30:15Z", "2024-02-29 12:30:15", None, false),
            ("2024-02-29t12:59z", "2024-02-29 12:59:00", Some("2024-02-29 13:00:00"), false),
            ("2024-12-31 23:59+0200", "2024-12-31 23:59:00+0200", Some("2025-01-01 00:00:00+0200"), false),
            ("9999-12-31", "9999-12-31 00:00:00", Some("9999-12-31 06:00:00-1800"), false),
            ("2024-02-29T12:30:15.123456+02:00", "2024-02-29 12:30:15+02:00", None, true),
            ("2024-02-29T12:30:15.000Z", "2024-02-29 12:30:15", None, false),
            ("2024-02-29 12:30:15 +0200", "2024-02-29 12:30:15+0200", None, false),
        ] {
            let span = Span { start: start.to_owned(), end: end.map(str::to_owned), is_within };
            assert_eq!(Timestamp::respell(text), Some(span), "{text}");
        }
        for text in [
            "2024-02-29 12:30:15",
            "2023-02-29",
            "9999-12-31T23:59+0100",
            "2024-02-29T25:00:00Z",
            "2024-02-29T",
            "2024-02-29Z",
            "29.02.2024",
            "soon",
            "20240229éé",
            "2024-02-29T12:3é",
        ] {
            assert_eq!(Timestamp::respell(text), None, "{text}");
        }
    }
}
