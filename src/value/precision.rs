//! Which written digits a double keeps.

use super::number::Number;

/// Numbers of fewer significant digits are kept, unless they are beyond the sizes of normal doubles.
const KEPT_DIGITS: usize = 16;

impl Number {
    /// True when reading `text`, which is in the JSON number grammar, made another number of it.
    ///
    /// The digits are kept when they are the shortest that read back as this double, or its exact value rounded to as many
    /// significant digits as are written: `0.1` and `0.1000000000000000055511` are kept, `9007199254740993` is not. Of an
    /// integer all digits must be those of the exact value. Up to fifteen significant digits always are kept, but for
    /// sizes beyond those of normal doubles.
    pub(crate) fn is_rounded_from(self, text: &str) -> bool {
        /// A double has no more significant digits.
        const MOST_DIGITS: usize = 767;
        let Some(written) = Decimal::of(text) else { return false };
        if written.digits.len() < KEPT_DIGITS && (self.get() == 0.0) == written.digits.is_empty() {
            // Of subnormal numbers fewer digits are kept.
            if self.get() == 0.0 || self.get().abs() >= f64::MIN_POSITIVE {
                return false;
            }
        }
        // Each integer is a number of its own: one that is kept is the double's exact value.
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return format!("{:.0}", self.get().abs()) != digits;
        }
        if Decimal::of(&format!("{:e}", self.get())).is_some_and(|shortest| shortest == written) {
            return false;
        }
        let Some(behind_first) = written.digits.len().checked_sub(1).filter(|len| *len < MOST_DIGITS) else {
            return true;
        };
        Decimal::of(&format!("{:.behind_first$e}", self.get())) != Some(written)
    }
}

/// The digits of a number in decimal: `0.digits * 10^exponent`.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    /// Without zeros in front or at the end; none of zero.
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// Reads a text in the JSON number grammar; `None` of an exponent that no double has.
    fn of(text: &str) -> Option<Self> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits = || whole.bytes().chain(fraction.bytes());
        let zeros = digits().take_while(|byte| *byte == b'0').count();
        let mut digits: Vec<u8> = digits().skip(zeros).collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            return Some(Self { is_negative: false, digits, exponent: 0 });
        }
        // One beyond 64 bits is beyond all doubles, in whichever direction: it equals that of none.
        let exponent: i64 = exponent.parse().unwrap_or(i64::MIN);
        let places = i64::try_from(whole.len()).ok()?.checked_sub(i64::try_from(zeros).ok()?)?;
        let exponent = exponent.saturating_add(places);
        Some(Self { is_negative: mantissa.starts_with('-'), digits, exponent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_a_double_does_not_keep_are_told() {
        let is_rounded = |text: &str| Number::parse(text).unwrap().is_rounded_from(text);
        for kept in [
            "0",
            "-0",
            "0.0",
            "0e5",
            "1",
            "-1.50",
            "0.1",
            "123456789.123",
            "9007199254740992",
            "9007199254740994",
            "-9007199254740992",
            "0.30000000000000004",
            "0.1000000000000000055511",
            "1234.55999999999994543",
            "12345678901234567168",
            "1e22",
            "100000000000000000000000",
            "1e23",
            "5e-324",
            "1.7976931348623157e308",
            "10000000000000000",
            "1.0000000000000000000000",
            "1E+2",
            "-3810518363251450000",
            "0.000000000000000000001",
        ] {
            assert!(!is_rounded(kept), "{kept}");
        }
        for changed in [
            "9007199254740993",
            "-9007199254740993",
            "9007199254740993.0",
            "9.007199254740993e15",
            "12345678901234567890",
            "0.12345678901234567890",
            "1e-999",
            "-1e-999",
            "4e-324",
            "1.00000000000000001",
            "0.1000000000000000000001",
        ] {
            assert!(is_rounded(changed), "{changed}");
        }
        assert!(is_rounded(&format!("0.{}1", "3".repeat(100_000))));
        assert!(!is_rounded(&format!("1{}", "0".repeat(300))));
        assert!(is_rounded(&format!("1e-{}", "9".repeat(100))));
    }

    proptest::proptest! {
        #[test]
        fn what_a_double_prints_is_kept(bits: u64, extra in 0..40_usize) {
            if let Some(number) = Number::new(f64::from_bits(bits)) {
                proptest::prop_assert!(!number.is_rounded_from(&number.to_string()));
                let longer = format!("{:.*e}", 16 + extra, number.get());
                proptest::prop_assert_eq!(Number::parse(&longer), Some(number));
                proptest::prop_assert!(!number.is_rounded_from(&longer), "{}", longer);
            }
        }

        #[test]
        fn integers_are_kept_when_they_convert_both_ways_or_have_few_digits(integer: i64) {
            let number = Number::new(integer as f64).unwrap();
            let digits = integer.to_string().trim_start_matches('-').trim_end_matches('0').len();
            let is_kept = number.get() as i128 == i128::from(integer) || digits < KEPT_DIGITS;
            proptest::prop_assert_eq!(number.is_rounded_from(&integer.to_string()), !is_kept);
        }
    }
}
