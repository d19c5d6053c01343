//! The decimal type: exact numbers of a stated scale, with their parser and their printer.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use super::number::is_json_number;

/// The greatest scale of a decimal: 10^18 is the greatest power of ten that fits a signed integer of 64 bits.
pub(crate) const MAX_SCALE: u8 = 18;

/// An exact decimal number: an integer of 64 bits, divided by a power of ten.
///
/// Decimals compare by value: 1.5 and 1.50 are equal.
///
/// ```
/// use casefilter::Decimal;
/// let price: Decimal = "12.50".parse()?;
/// assert_eq!((price.unscaled(), price.scale()), (1250, 2));
/// let (same, smaller): (Decimal, Decimal) = ("12.5".parse()?, "12.499".parse()?);
/// assert!(price == same && price > smaller);
/// assert_eq!(price.to_string(), "12.50");
/// # Ok::<(), casefilter::ParseDecimalError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Decimal {
    unscaled: i64,
    scale: u8,
}

impl Decimal {
    /// Returns the number `unscaled / 10^scale`. Returns `None` for a scale above 18.
    ///
    /// ```
    /// use casefilter::Decimal;
    /// assert_eq!(Decimal::new(-5, 2).map(|number| number.to_string()), Some("-0.05".to_owned()));
    /// assert_eq!(Decimal::new(1, 19), None);
    /// ```
    #[must_use]
    pub const fn new(unscaled: i64, scale: u8) -> Option<Self> {
        if scale > MAX_SCALE { None } else { Some(Self { unscaled, scale }) }
    }

    /// Returns the decimal with this ordinal and scale. The scale must be at most [`MAX_SCALE`].
    pub(super) const fn of_ordinal(unscaled: i64, scale: u8) -> Self {
        Self { unscaled, scale }
    }

    /// Returns the number, multiplied by 10^[scale](Self::scale).
    #[must_use]
    pub const fn unscaled(self) -> i64 {
        self.unscaled
    }

    /// Returns the number of digits after the point.
    #[must_use]
    pub const fn scale(self) -> u8 {
        self.scale
    }

    /// Parses a number in the JSON grammar as a decimal of this scale. Returns `None` if the text is malformed, or if no decimal of
    /// this scale is exactly this number. Never rounds.
    ///
    /// Takes linear time.
    ///
    /// ```text
    /// scale 2:   12.5   12.50   12.500   1e2   -0    decimals
    ///            12.505   1e-3   1e30   .5   +1      not decimals
    /// ```
    pub(crate) fn parse_at(text: &str, scale: u8) -> Option<Self> {
        let (digits, exponent, is_negative) = parts(text)?;
        let zeros = exponent.checked_add(i64::from(scale))?;
        // A negative number means digits beyond the scale, which would have to be rounded.
        let zeros = usize::try_from(zeros).ok().filter(|_| digits.len() <= MOST_DIGITS);
        let unscaled = match (digits.is_empty(), zeros) {
            (true, _) => 0,
            (false, Some(zeros)) if digits.len().checked_add(zeros)? <= MOST_DIGITS => {
                let zeros = std::iter::repeat_n(0, zeros);
                let all = digits.iter().copied().chain(zeros);
                let size =
                    all.fold(0_i128, |size, digit| size.wrapping_mul(10).wrapping_add(i128::from(digit)));
                i64::try_from(if is_negative { size.wrapping_neg() } else { size }).ok()?
            }
            _ => return None,
        };
        Self::new(unscaled, scale)
    }

    /// Converts the number `unscaled / 10^from` to a decimal of the scale `scale`. Returns `None` if no decimal of this scale is
    /// exactly this number.
    #[cfg(feature = "arrow")]
    pub(crate) fn rescaled(unscaled: i128, from: i8, scale: u8) -> Option<Self> {
        let shift = i16::from(scale).checked_sub(i16::from(from))?;
        let power = 10_i128.checked_pow(shift.unsigned_abs().into());
        let rescaled = match (power, shift >= 0) {
            _ if unscaled == 0 => 0,
            (Some(power), true) => unscaled.checked_mul(power)?,
            (Some(power), false) if unscaled.checked_rem(power)? == 0 => unscaled.checked_div(power)?,
            _ => return None,
        };
        Self::new(i64::try_from(rescaled).ok()?, scale)
    }

    /// Returns the number multiplied by 10^[`MAX_SCALE`], which needs at most 124 bits.
    fn at_max_scale(self) -> i128 {
        let power = 10_i128.wrapping_pow(MAX_SCALE.saturating_sub(self.scale).into());
        i128::from(self.unscaled).wrapping_mul(power)
    }
}

/// The greatest number of digits of an integer of 64 bits.
const MOST_DIGITS: usize = 19;

/// Splits a number in the JSON grammar. Returns its digits without zeros at the start and the end, and the exponent of the power of
/// ten that they are multiplied by. The last value is true if the number is negative. Returns `None` if the text has another form.
fn parts(text: &str) -> Option<(Vec<u8>, i64, bool)> {
    if !is_json_number(text.as_bytes()) {
        return None;
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (is_negative, unsigned) = match mantissa.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, mantissa),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = whole.bytes().chain(fraction.bytes()).map(|byte| byte.wrapping_sub(b'0'));
    let mut digits: Vec<u8> = digits.skip_while(|digit| *digit == 0).collect();
    let len = digits.len();
    while digits.last() == Some(&0) {
        digits.pop();
    }
    if digits.is_empty() {
        return Some((digits, 0, false));
    }
    // If the exponent does not fit 64 bits, the number is out of range for every decimal: no text has enough digits to compensate.
    let exponent: i64 = exponent.parse().ok()?;
    let zeros = i64::try_from(len.saturating_sub(digits.len())).ok()?;
    let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?.checked_add(zeros)?;
    Some((digits, exponent, is_negative))
}

impl FromStr for Decimal {
    type Err = ParseDecimalError;

    /// Parses a number in the JSON grammar. The scale is the number of digits that the number needs after the point. In a text
    /// without an exponent, the scale also includes zeros at the end of the fraction: `1.50` has the scale 2.
    fn from_str(text: &str) -> Result<Self, ParseDecimalError> {
        let (digits, exponent, _) = parts(text).ok_or(ParseDecimalError(()))?;
        let needed = if digits.is_empty() { 0 } else { exponent.saturating_neg().max(0) };
        let written = match text.split_once('.') {
            Some((_, fraction)) if !text.contains(['e', 'E']) => fraction.len(),
            _ => 0,
        };
        let written = i64::try_from(written.min(usize::from(MAX_SCALE))).unwrap_or(0);
        let scale = u8::try_from(needed.max(written)).map_err(|_| ParseDecimalError(()))?;
        if scale > MAX_SCALE {
            return Err(ParseDecimalError(()));
        }
        Self::parse_at(text, scale).ok_or(ParseDecimalError(()))
    }
}

impl fmt::Display for Decimal {
    /// Prints the number with as many digits after the point as its scale.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.unscaled < 0 { "-" } else { "" };
        let scale = usize::from(self.scale);
        let digits = format!("{:0>width$}", self.unscaled.unsigned_abs(), width = scale.saturating_add(1));
        match digits.split_at_checked(digits.len().saturating_sub(scale)) {
            Some((whole, fraction)) if scale > 0 => write!(f, "{sign}{whole}.{fraction}"),
            _ => write!(f, "{sign}{digits}"),
        }
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.scale == other.scale {
            return self.unscaled.cmp(&other.unscaled);
        }
        self.at_max_scale().cmp(&other.at_max_scale())
    }
}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.at_max_scale().hash(state);
    }
}

/// The error of converting a string to a [`Decimal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParseDecimalError(());

impl fmt::Display for ParseDecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected a number as in JSON, of at most {MOST_DIGITS} digits and {MAX_SCALE} digits after the point"
        )
    }
}

impl std::error::Error for ParseDecimalError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_or_refused() {
        for (text, scale, unscaled) in [
            ("0", 2, 0),
            ("-0", 2, 0),
            ("0.000", 0, 0),
            ("0e999999999999999999999", 0, 0),
            ("12.5", 2, 1250),
            ("12.50", 2, 1250),
            ("12.500000000000000000000000", 2, 1250),
            ("-12.05", 2, -1205),
            ("1e2", 0, 100),
            ("1.25E+1", 1, 125),
            ("5e-2", 2, 5),
            ("50e-3", 2, 5),
            ("0.1", 18, 100_000_000_000_000_000),
            ("92233720368547758.07", 2, i64::MAX),
            ("-92233720368547758.08", 2, i64::MIN),
            ("9007199254740993", 0, 9_007_199_254_740_993),
            ("9.223372036854775807", 18, i64::MAX),
        ] {
            let parsed = Decimal::parse_at(text, scale);
            assert_eq!(parsed.map(Decimal::unscaled), Some(unscaled), "{text}");
            let printed = parsed.unwrap().to_string();
            assert_eq!(Decimal::parse_at(&printed, scale), parsed, "{printed}");
        }
        for (text, scale) in [
            ("12.505", 2),
            ("0.5", 0),
            ("1e-3", 2),
            ("1e30", 2),
            ("92233720368547758.08", 2),
            ("-92233720368547758.09", 2),
            ("9223372036854775808", 0),
            ("1e999999999999999999999", 0),
            ("1e-999999999999999999999", 18),
            ("", 2),
            ("-", 2),
            (".5", 2),
            ("5.", 2),
            ("+1", 2),
            ("007", 2),
            (" 1", 2),
            ("1,5", 2),
            ("NaN", 2),
            ("0x1", 2),
        ] {
            assert_eq!(Decimal::parse_at(text, scale), None, "{text}");
        }
        assert_eq!(Decimal::parse_at(&"9".repeat(1_000_000), 2), None);
        assert_eq!(Decimal::parse_at(&format!("0.{}1", "0".repeat(1_000_000)), 2), None);
        assert_eq!(Decimal::parse_at(&format!("1e{}", "9".repeat(1_000_000)), 2), None);
    }

    #[test]
    fn decimals_compare_by_value_across_scales() {
        let decimal = |text: &str| text.parse::<Decimal>().unwrap();
        assert_eq!(decimal("1.50"), decimal("1.5"));
        assert_eq!((decimal("1.50").scale(), decimal("15e-1").scale(), decimal("1e3").scale()), (2, 1, 0));
        let ascending = [
            "-92233720368547758.08",
            "-1",
            "-0.5",
            "0",
            "0.000000000000000001",
            "1.4",
            "1.50",
            "9223372036854775807",
        ];
        for pair in ascending.windows(2) {
            assert!(decimal(pair[0]) < decimal(pair[1]), "{pair:?}");
        }
        assert!("1.0000000000000000001".parse::<Decimal>().is_err());
    }

    proptest::proptest! {
        #[test]
        fn every_ordinal_is_printed_and_parsed(unscaled: i64, scale in 0..=MAX_SCALE) {
            let decimal = Decimal::new(unscaled, scale).unwrap();
            let text = decimal.to_string();
            proptest::prop_assert_eq!(Decimal::parse_at(&text, scale).map(Decimal::unscaled), Some(unscaled));
            let parsed: Decimal = text.parse().unwrap();
            proptest::prop_assert_eq!((parsed.unscaled(), parsed.scale()), (unscaled, scale));
        }
    }
}
