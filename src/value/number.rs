//! The number type, a finite double, with its ordinals, its parser and its printer.

use std::fmt;

/// A finite IEEE 754 double.
///
/// Zero is always positive, so that numbers have a total order.
#[derive(Clone, Copy, PartialEq)]
pub struct Number(f64);

impl From<i32> for Number {
    fn from(value: i32) -> Self {
        Self(f64::from(value))
    }
}

impl From<u32> for Number {
    fn from(value: u32) -> Self {
        Self(f64::from(value))
    }
}

impl Number {
    /// The smallest number.
    pub const MIN: Self = Self(f64::MIN);

    /// Zero.
    pub const ZERO: Self = Self(0.0);

    /// The greatest number.
    pub const MAX: Self = Self(f64::MAX);

    /// Converts a double to a number. `-0` becomes `0`. Returns `None` if the double is not finite.
    ///
    /// ```
    /// use casefilter::Number;
    /// assert_eq!(Number::new(-0.0), Number::new(0.0));
    /// assert_eq!(Number::new(f64::NAN), None);
    /// ```
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        // Adding positive zero turns a negative zero into a positive one, and changes no other number.
        value.is_finite().then_some(Self(value + 0.0))
    }

    /// Returns the double.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// Returns the ordinal of the number, which is 0 for zero. Neighbouring numbers have consecutive ordinals.
    ///
    /// The bits of a double without the sign bit are an integer. It counts the doubles from zero to this double (IEEE 754,
    /// interchange formats).
    pub(crate) const fn ordinal(self) -> i64 {
        let from_zero = (self.0.to_bits() & SIZE_BITS).cast_signed();
        if self.0 < 0.0 { from_zero.wrapping_neg() } else { from_zero }
    }

    /// Returns the number with this [`ordinal`](Self::ordinal). Returns `None` if the ordinal is out of range.
    pub(crate) fn of_ordinal(ordinal: i64) -> Option<Self> {
        let size = Self::new(f64::from_bits(ordinal.checked_abs()?.cast_unsigned()))?;
        if ordinal < 0 { Self::new(-size.0) } else { Some(size) }
    }

    /// Parses a number in the JSON grammar. Returns `None` for any other string, and for a number that rounds to infinity.
    ///
    /// ```
    /// use casefilter::Number;
    /// assert_eq!(Number::parse("-0.5e1"), Number::new(-5.0));
    /// assert_eq!(Number::parse("+1"), None);
    /// assert_eq!(Number::parse("1e999"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if is_json_number(text.as_bytes()) { Self::new(text.parse().ok()?) } else { None }
    }

    /// Parses a number at the start of `text`. This is a fast path for short decimal numbers. Returns the number and its length in
    /// bytes.
    ///
    /// Returns `None` if the number is malformed, has an exponent or has more than fifteen digits. Also returns `None` if no byte
    /// follows the number. The caller then calls [`parse`](Self::parse).
    ///
    /// The digits and the power of ten are exact doubles. So their division rounds only once, which gives the correct result (W. D.
    /// Clinger, "How to read floating point numbers accurately", 1990).
    #[inline]
    pub(crate) fn plain_at_front(text: &[u8]) -> Option<(Self, usize)> {
        let is_negative = text.first() == Some(&b'-');
        let unsigned = text.get(usize::from(is_negative)..)?;
        let (mut digits, mut point, mut end) = (0_u64, None, None);
        // This cannot overflow, because the loop reads at most seventeen digits.
        for (at, byte) in unsigned.iter().take(POWERS.len().saturating_add(1)).enumerate() {
            match byte {
                b'0'..=b'9' => {
                    digits = digits.wrapping_mul(10).wrapping_add(u64::from(byte.wrapping_sub(b'0')));
                }
                b'.' if point.is_none() => point = Some(at),
                b'.' | b'e' | b'E' => return None,
                _ => {
                    end = Some(at);
                    break;
                }
            }
        }
        let end = end?;
        let whole = point.unwrap_or(end);
        let fraction = point.map_or(0, |point| end.wrapping_sub(point).wrapping_sub(1));
        let is_sound = whole > 0
            && (point.is_none() || fraction > 0)
            && (unsigned.first() != Some(&b'0') || whole == 1)
            && whole.wrapping_add(fraction) < POWERS.len();
        #[expect(clippy::cast_precision_loss, reason = "so few digits are exact")]
        let size = digits as f64 / POWERS.get(fraction)?;
        let number = Self::new(if is_negative { -size } else { size })?;
        is_sound.then_some((number, end.wrapping_add(usize::from(is_negative))))
    }
}

/// A mask of all bits of a double except its sign.
const SIZE_BITS: u64 = u64::MAX >> 1;

/// The powers of ten that are used as divisors. All of them are exact doubles.
const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Returns true if `text` is a number in the grammar of RFC 8259, section 6.
pub(super) fn is_json_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let whole = match unsigned.first() {
        Some(b'0') => 1,
        _ => digits(unsigned),
    };
    let mut rest = unsigned.get(whole..).unwrap_or_default();
    let mut sound = whole > 0;
    if let [b'.', fraction @ ..] = rest {
        let len = digits(fraction);
        sound &= len > 0;
        rest = fraction.get(len..).unwrap_or_default();
    }
    if let [b'e' | b'E', b'+' | b'-', exponent @ ..] | [b'e' | b'E', exponent @ ..] = rest {
        let len = digits(exponent);
        sound &= len > 0;
        rest = exponent.get(len..).unwrap_or_default();
    }
    sound && rest.is_empty()
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl std::hash::Hash for Number {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Number {
    /// Prints the shortest string that parses to the same number. Integers below 1e17 are printed with all digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        // From 2^53 on, the shortest representation of an integer may end in zeros where the exact integer has other digits.
        if (9.007_199_254_740_992e15..1e17).contains(&size) {
            write!(f, "{:.0}", self.0)
        } else if size == 0.0 || (1e-5..1e17).contains(&size) {
            write!(f, "{}", self.0)
        } else {
            write!(f, "{:e}", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn only_the_json_grammar_is_accepted() {
        for text in
            ["0", "-0", "12", "1e3", "1E+3", "-0.5", "0.10", "1.5e-7", "123456789012345678901234567890"]
        {
            assert!(Number::parse(text).is_some(), "{text}");
        }
        for text in [
            "", " 1", "1 ", "+1", ".5", "1.", "01", "-", "1e", "1e+", "0x10", "NaN", "inf", "-inf",
            "Infinity", "1_000", "1,5", "١", "1e999", "-1e999", "1f", "--1",
        ] {
            assert!(Number::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn each_ordinal_belongs_to_one_number() {
        let values = [f64::MIN, -1.5, -f64::MIN_POSITIVE, -5e-324, 0.0, 5e-324, 0.1, 1.0, 1e300, f64::MAX];
        let numbers = values.map(|value| Number::new(value).unwrap());
        assert!(numbers.is_sorted_by_key(|number| number.ordinal()));
        for number in numbers {
            assert_eq!(Number::of_ordinal(number.ordinal()), Some(number));
        }
        let beyond = [i64::MIN, i64::MAX, Number::MAX.ordinal() + 1, Number::MIN.ordinal() - 1];
        assert_eq!(beyond.map(Number::of_ordinal), [None; 4]);
    }

    /// Returns true if `text` is a number in the JSON grammar. A reference implementation with `nom`.
    fn has_form(text: &str) -> bool {
        use nom::branch::alt;
        use nom::bytes::complete::tag;
        use nom::character::complete::{digit0, digit1, one_of};
        use nom::combinator::{all_consuming, opt, recognize};
        use nom::{IResult, Parser};

        let whole = alt((tag("0"), recognize((one_of("123456789"), digit0))));
        let fraction = opt((tag("."), digit1));
        let exponent = opt((one_of("eE"), opt(one_of("+-")), digit1));
        let form: IResult<&str, _> = all_consuming((opt(tag("-")), whole, fraction, exponent)).parse(text);
        form.is_ok()
    }

    /// Returns all strings that consist of at most six of the pieces in `marks`.
    fn texts_of(marks: &[&str]) -> BTreeSet<String> {
        let mut texts = BTreeSet::from([String::new()]);
        for _ in 0..6 {
            let longer = texts.iter().flat_map(|text| marks.iter().map(move |mark| format!("{text}{mark}")));
            texts = texts.iter().cloned().chain(longer).collect();
        }
        texts
    }

    #[test]
    fn the_parser_accepts_exactly_the_grammar() {
        for text in texts_of(&["0", "1", "-", "+", ".", "e", "E", "x"]) {
            assert_eq!(is_json_number(text.as_bytes()), has_form(&text), "{text}");
        }
    }

    #[test]
    fn the_fast_path_agrees_with_the_parser() {
        for text in &texts_of(&["0", "7", "-", ".", "e", "99999"]) {
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            let is_plain = digits <= 15 && !text.contains('e') && is_json_number(text.as_bytes());
            let read = Number::plain_at_front(format!("{text}}}").as_bytes());
            if is_plain {
                let expected = Number::parse(text).map(|number| (number, text.len()));
                assert_eq!(read, expected, "{text}");
                let bits = |read: Option<(Number, usize)>| read.map(|(number, _)| number.get().to_bits());
                assert_eq!(bits(read), bits(expected), "{text}");
            } else if let Some((number, len)) = read {
                // Another token starts directly after the number.
                let (front, behind) = text.split_at(len);
                assert_eq!((Number::parse(front), behind.as_bytes()[0]), (Some(number), b'-'), "{text}");
            }
            assert!(
                Number::plain_at_front(text.as_bytes()).is_none_or(|(_, len)| len < text.len()),
                "{text}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn plain_numbers_round_as_all_do(digits in 0..1_000_000_000_000_000_u64, fraction in 0..16_usize, is_negative: bool) {
            let digits = format!("{digits:0width$}", width = fraction + 1);
            let (whole, fraction) = digits.split_at(digits.len() - fraction);
            let point = if fraction.is_empty() { "" } else { "." };
            let text = format!("{}{whole}{point}{fraction}", if is_negative { "-" } else { "" });
            if let Some((number, len)) = Number::plain_at_front(format!("{text} ").as_bytes()) {
                proptest::prop_assert_eq!((Some(number), len), (Number::parse(&text), text.len()));
            } else {
                proptest::prop_assert!(digits.len() > 15);
            }
        }
    }

    #[test]
    fn text_reads_back() {
        for value in [0.0, 1.0, -1.5, 1e300, 5e-324, f64::MAX, 1e17, 123_456_789.123, 0.1 + 0.2, 1e-5] {
            let number = Number::new(value).unwrap();
            assert_eq!(Number::parse(&number.to_string()), Some(number), "{number}");
        }
    }

    #[test]
    fn negative_zero_is_zero() {
        assert_eq!(Number::parse("-0"), Number::parse("0"));
        assert_eq!(Number::parse("-1e-999"), Number::parse("0"));
        assert_eq!(Number::parse("-0").unwrap().to_string(), "0");
    }

    #[test]
    fn neighbours_skip_negative_zero() {
        let around_zero = [-5e-324, 0.0, 5e-324].map(Number::new);
        assert_eq!([-1, 0, 1].map(Number::of_ordinal), around_zero);
        let around_one =
            [1.0_f64.next_down(), 1.0, 1.0_f64.next_up()].map(|value| Number::new(value).unwrap());
        let [below, one, above] = around_one.map(Number::ordinal);
        assert_eq!((below + 1, above - 1), (one, one));
    }
}
