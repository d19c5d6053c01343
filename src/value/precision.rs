//! Finds out if a written number lost digits when it was parsed to a double.

use super::number::Number;

/// A number with fewer significant digits than this keeps all its digits, if it is in the range of normal doubles.
const KEPT_DIGITS: usize = 16;

impl Number {
    /// Returns true if parsing `text` to this number changed its digits. `text` is in the JSON number grammar.
    ///
    /// The digits are kept in two cases. Either they are the shortest digits that parse to this double, or they are its exact
    /// value, rounded to the number of written digits. An integer is kept only if it is the exact value of the double.
    ///
    /// ```text
    /// 0.1                           kept      the shortest digits
    /// 0.1000000000000000055511      kept      the exact value, rounded
    /// 9007199254740993              rounded   the double is 9007199254740992
    /// ```
    ///
    /// In the range of normal doubles, up to fifteen significant digits are always kept.
    pub(crate) fn is_rounded_from(self, text: &str) -> bool {
        /// The maximum number of significant digits in the exact value of a double.
        const MOST_DIGITS: usize = 767;
        let Some(written) = Decimal::of(text) else { return false };
        if written.digits.len() < KEPT_DIGITS && (self.get() == 0.0) == written.digits.is_empty() {
            // Subnormal doubles keep fewer digits.
            if self.get() == 0.0 || self.get().abs() >= f64::MIN_POSITIVE {
                return false;
            }
        }
        // An integer must not be rounded: it is kept only if a double represents it exactly.
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

/// A decimal number: `0.digits * 10^exponent`.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    /// The digits, without zeros at the start or the end. Empty for zero.
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// Parses a string in the JSON number grammar. Returns `None` if the string is too long for an exponent of 64 bits.
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
        // An exponent beyond 64 bits is outside the range of doubles. It is replaced by an exponent that no double has.
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
    fn rounded_digits_are_detected() {
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
        fn printed_doubles_are_kept(bits: u64, extra in 0..40_usize) {
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
