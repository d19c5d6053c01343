//! The parser of 64-bit integers in decimal digits.

/// Parses an integer of 64 bits: digits without leading zeros, with `-` in front of a negative number. Returns `None` if the string
/// has another form or the integer does not fit.
///
/// ```text
/// 0   -5   9223372036854775807        integers
/// +1  007  1.0  1e3  9223372036854775808   not integers
/// ```
pub(crate) fn parse_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    // The pattern checks only the first digit, because `parse` rejects all other wrong characters.
    matches!(digits.as_bytes(), [b'1'..=b'9', ..] | [b'0']).then_some(())?;
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_and_have_one_form() {
        for (text, integer) in [
            ("0", 0),
            ("-0", 0),
            ("12", 12),
            ("-5", -5),
            ("9007199254740993", 9_007_199_254_740_993),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(parse_integer(text), Some(integer), "{text}");
        }
        for text in [
            "",
            "-",
            "+1",
            "1.0",
            "1e3",
            "9223372036854775808",
            "-9223372036854775809",
            " 1",
            "1 ",
            "0x1",
            "007",
            "--1",
            "٣",
        ] {
            assert_eq!(parse_integer(text), None, "{text}");
        }
    }
}
