//! Finite doubles and their text form.

use std::fmt;

/// A finite IEEE double whose zero is positive, so that equality and order are total.
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
    /// The least number.
    pub const MIN: Self = Self(f64::MIN);
    /// Zero.
    pub const ZERO: Self = Self(0.0);
    /// The greatest number.
    pub const MAX: Self = Self(f64::MAX);

    /// A number from a double; `None` when it is not finite. `-0` becomes `0`.
    ///
    /// ```
    /// use casefilter::Number;
    /// assert_eq!(Number::new(-0.0), Number::new(0.0));
    /// assert_eq!(Number::new(f64::NAN), None);
    /// ```
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        // Adding positive zero turns a negative zero into a positive one, and nothing else.
        value.is_finite().then_some(Self(value + 0.0))
    }

    /// The double.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// Returns the number's ordinal: 0 for zero, and one more than that of the next smaller number.
    ///
    /// The bits of a double without its sign count the doubles from zero outwards (IEEE 754, interchange formats).
    pub(crate) const fn ordinal(self) -> i64 {
        let from_zero = (self.0.to_bits() & SIZE_BITS).cast_signed();
        if self.0 < 0.0 { from_zero.wrapping_neg() } else { from_zero }
    }

    /// Returns the number of an [`ordinal`](Self::ordinal); `None` beyond those of the least and the greatest number.
    pub(crate) fn of_ordinal(ordinal: i64) -> Option<Self> {
        let size = Self::new(f64::from_bits(ordinal.checked_abs()?.cast_unsigned()))?;
        if ordinal < 0 { Self::new(-size.0) } else { Some(size) }
    }

    /// Reads the JSON number grammar; `None` for any other text and for what rounds to infinity.
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

    /// Reads the number at the front of a text, and gives its length, if it is a plain one: of at most fifteen digits,
    /// without an exponent, and not the whole text.
    ///
    /// Such digits are a double, and so is the power of ten of their fraction: dividing rounds once, as reading does
    /// (W. D. Clinger, "How to read floating point numbers accurately", 1990).
    #[inline]
    pub(crate) fn plain_at_front(text: &[u8]) -> Option<(Self, usize)> {
        let is_negative = text.first() == Some(&b'-');
        let unsigned = text.get(usize::from(is_negative)..)?;
        let (mut digits, mut point, mut end) = (0_u64, None, None);
        // As many digits as can stand here do not overflow.
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

    /// True when reading `text`, which is in the JSON number grammar, made another number of it.
    ///
    /// The digits are kept when they are the shortest that read back as this double, or its exact value rounded to as many
    /// significant digits as are written: `0.1` and `0.1000000000000000055511` are kept, `9007199254740993` is not. Of an
    /// integer all digits must be those of the exact value. Up to fifteen significant digits always are kept, but for
    /// sizes beyond those of normal doubles.
    pub(crate) fn is_rounded_from(self, text: &str) -> bool {
        /// No double has more significant digits.
        const MOST_DIGITS: usize = 767;
        let Some(written) = Decimal::of(text) else { return false };
        if written.digits.len() < POWERS.len() && (self.0 == 0.0) == written.digits.is_empty() {
            // Of subnormal numbers fewer digits are kept.
            if self.0 == 0.0 || self.0.abs() >= f64::MIN_POSITIVE {
                return false;
            }
        }
        // Each integer is a number of its own: one that is kept is the double's exact value.
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return format!("{:.0}", self.0.abs()) != digits;
        }
        if Decimal::of(&format!("{:e}", self.0)).is_some_and(|shortest| shortest == written) {
            return false;
        }
        let Some(behind_first) = written.digits.len().checked_sub(1).filter(|len| *len < MOST_DIGITS) else {
            return true;
        };
        Decimal::of(&format!("{:.behind_first$e}", self.0)) != Some(written)
    }

    /// The JSON form of a number that is written as people or other programs write it: `10,000`, `10 000`, `10_000`, `1,5`, `10k`,
    /// `2M`, `+5`, `.5`, `5.`, `007`, `$5`. None for what is in form already, or may mean two numbers.
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
            // The last one of two sorts is the point.
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

/// Whether a whole number is in groups of three digits, the first of one to three, parted by this mark.
fn is_grouped(text: &str, mark: char) -> bool {
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = text.split(mark);
    let first = groups.next().unwrap_or_default();
    let is_first = (1..=3).contains(&first.len()) && !first.starts_with('0') && is_digits(first);
    is_first && groups.all(|group| group.len() == 3 && is_digits(group))
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
        let exponent: i64 = exponent.parse().unwrap_or(i64::MIN);
        let places = i64::try_from(whole.len()).ok()?.checked_sub(i64::try_from(zeros).ok()?)?;
        let exponent = exponent.saturating_add(places);
        Some(Self { is_negative: mantissa.starts_with('-'), digits, exponent })
    }
}

/// All bits of a double but its sign.
const SIZE_BITS: u64 = u64::MAX >> 1;

/// The powers of ten up to that of fifteen digits.
const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// The number grammar of RFC 8259, section 6.
fn is_json_number(text: &[u8]) -> bool {
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
    /// The shortest text that reads back as the same number; of integers below 1e17, all digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        // The shortest digits that read back have zeros at the end of integers beyond 2^53.
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
    fn only_the_json_grammar_is_read() {
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
    fn an_ordinal_is_that_of_one_number() {
        let values = [f64::MIN, -1.5, -f64::MIN_POSITIVE, -5e-324, 0.0, 5e-324, 0.1, 1.0, 1e300, f64::MAX];
        let numbers = values.map(|value| Number::new(value).unwrap());
        assert!(numbers.is_sorted_by_key(|number| number.ordinal()));
        for number in numbers {
            assert_eq!(Number::of_ordinal(number.ordinal()), Some(number));
        }
        let beyond = [i64::MIN, i64::MAX, Number::MAX.ordinal() + 1, Number::MIN.ordinal() - 1];
        assert_eq!(beyond.map(Number::of_ordinal), [None; 4]);
    }

    /// The grammar, by a library of grammars.
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

    /// All texts of up to six of these marks.
    fn texts_of(marks: &[&str]) -> BTreeSet<String> {
        let mut texts = BTreeSet::from([String::new()]);
        for _ in 0..6 {
            let longer = texts.iter().flat_map(|text| marks.iter().map(move |mark| format!("{text}{mark}")));
            texts = texts.iter().cloned().chain(longer).collect();
        }
        texts
    }

    #[test]
    fn bytes_are_read_as_the_grammar_has_them() {
        for text in texts_of(&["0", "1", "-", "+", ".", "e", "E", "x"]) {
            assert_eq!(is_json_number(text.as_bytes()), has_form(&text), "{text}");
        }
    }

    #[test]
    fn plain_numbers_are_read_as_all_are() {
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
                // Something else begins behind it.
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
        fn integers_are_kept_when_they_convert_both_ways(integer: i64) {
            let number = Number::new(integer as f64).unwrap();
            proptest::prop_assert_eq!(number.is_rounded_from(&integer.to_string()), number.get() as i128 != i128::from(integer));
        }
    }

    #[test]
    fn what_others_write_is_respelled() {
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
