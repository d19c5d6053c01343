//! Exact sums of doubles, which do not depend on the order of the doubles.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a sum of fewer than 2^70 mantissas of 53 bits in 128 bits, and digits of 32 bits at places below `DIGITS`"
)]

use super::number::Number;

/// The number of exponents of a double.
const EXPONENTS: usize = 2048;
/// The number of 32-bit digits that hold any sum: 2,046 bits for the exponents, and 128 bits for the sum of one exponent.
const DIGITS: usize = 70;
/// The number of bits of a mantissa without its leading one.
const FRACTION: u32 = 52;

/// A sum of doubles without rounding errors.
///
/// A double is an integer of 53 bits times a power of two. The sum adds up these integers separately for each power. The method is
/// the large superaccumulator of R. M. Neal, "Fast exact summation using small and large superaccumulators", 2015. A sum takes 32
/// KiB.
#[derive(Clone, Debug)]
pub(crate) struct ExactSum {
    by_exponent: Box<[i128]>,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self { by_exponent: vec![0; EXPONENTS].into() }
    }
}

impl ExactSum {
    /// Adds the number with this ordinal.
    #[inline]
    pub(crate) fn add(&mut self, ordinal: i64) {
        let size = ordinal.unsigned_abs();
        let exponent = (size >> FRACTION) as usize % EXPONENTS;
        let fraction = size & ((1 << FRACTION) - 1);
        let mantissa = if exponent == 0 { fraction } else { fraction | 1 << FRACTION };
        let mantissa = mantissa.cast_signed();
        // The subnormal numbers have the same unit as the numbers of exponent 1.
        self.by_exponent[exponent.max(1)] += i128::from(if ordinal < 0 { -mantissa } else { mantissa });
    }

    /// Returns the sum and the mean of `count` numbers. The sum is the exact sum, rounded once. It is `None` beyond the largest
    /// double. The mean is the rounded sum divided by `count`, and rounded again. It never exceeds the largest double.
    pub(crate) fn sum_and_mean(&self, count: u64) -> (Option<Number>, Number) {
        let (mut digits, mut is_negative) = self.digits(false);
        if is_negative {
            digits = self.digits(true).0;
            is_negative = true;
        }
        let sign = if is_negative { -1.0 } else { 1.0 };
        let (mantissa, unit) = rounded(&digits);
        let sum = Number::new(sign * scaled(mantissa, unit));
        #[expect(clippy::cast_precision_loss, reason = "a mean is rounded anyway")]
        let mean = sign * scaled(mantissa / count.max(1) as f64, unit);
        (sum, Number::new(mean.clamp(f64::MIN, f64::MAX)).unwrap_or(Number::ZERO))
    }

    /// Returns the sum, or its negation, as 32-bit digits in units of 2^-1074, the lowest first. The second value is true if the
    /// result is negative. Then the digits have no meaning.
    fn digits(&self, negated: bool) -> ([u32; DIGITS], bool) {
        let mut wide = [0_i128; DIGITS];
        for (exponent, sum) in self.by_exponent.iter().enumerate().filter(|(_, sum)| **sum != 0) {
            let is_negative = (*sum < 0) != negated;
            let (place, shift) = ((exponent - 1) / 32, (exponent - 1) % 32);
            for piece in 0..4 {
                let part = (sum.unsigned_abs() >> (32 * piece)) & u128::from(u32::MAX);
                let part = (part << shift).cast_signed();
                wide[place + piece] += if is_negative { -part } else { part };
            }
        }
        let (mut digits, mut carry) = ([0; DIGITS], 0_i128);
        for (digit, wide) in digits.iter_mut().zip(wide) {
            let own = wide + carry;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the low 32 bits")]
            let low = own as u32;
            *digit = low;
            carry = own >> 32;
        }
        (digits, carry < 0)
    }
}

/// Returns the highest 53 bits of an integer, rounded to nearest with ties to even, and the exponent of their lowest bit.
fn rounded(digits: &[u32; DIGITS]) -> (f64, i32) {
    const UNIT: i32 = -1074;
    let bit = |at: usize| digits[at / 32] >> (at % 32) & 1 == 1;
    let Some(top) = (0..32 * DIGITS).rev().find(|at| bit(*at)) else { return (0.0, UNIT) };
    let low = top.saturating_sub(FRACTION as usize);
    let mut mantissa = (low..=top).rev().fold(0_u64, |all, at| all << 1 | u64::from(bit(at)));
    if low > 0 && bit(low - 1) && (mantissa & 1 == 1 || (0..low - 1).any(bit)) {
        mantissa += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 2^53")]
    let mantissa = mantissa as f64;
    (mantissa, UNIT.saturating_add_unsigned(u32::try_from(low).unwrap_or(u32::MAX)))
}

/// Returns `number * 2^exponent`. The result is exact if `number` is an integer, `exponent` is at least -1074, and the result does
/// not overflow.
fn scaled(number: f64, exponent: i32) -> f64 {
    let power = |exponent: i32| f64::powi(2.0, exponent);
    match exponent {
        ..-1000 => number * power(exponent + 100) * power(-100),
        901.. => number * power(exponent - 100) * power(100),
        _ => number * power(exponent),
    }
}

/// Returns the mean of integers, or of decimals of a scale, as a double. `sum` is the sum of their ordinals.
pub(crate) fn mean_of_ordinals(sum: i128, count: u64, scale: u8) -> Number {
    let count = i128::from(count.max(1));
    #[expect(clippy::cast_precision_loss, reason = "a mean is rounded anyway")]
    let mean = (sum / count) as f64 + (sum % count) as f64 / count as f64;
    Number::new(mean / f64::powi(10.0, scale.into())).unwrap_or(Number::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_of(values: &[f64]) -> (Option<f64>, f64) {
        let mut sum = ExactSum::default();
        values.iter().for_each(|value| sum.add(Number::new(*value).unwrap().ordinal()));
        let (sum, mean) = sum.sum_and_mean(values.len() as u64);
        (sum.map(Number::get), mean.get())
    }

    #[test]
    fn sums_are_exact_and_rounded_once() {
        for (values, expected) in [
            (&[][..], 0.0),
            (&[0.1; 10], 1.0),
            (&[1e16, 1.0, -1e16], 1.0),
            (&[1e308, 1e308, -1e308, -1e308, 5e-324], 5e-324),
            (&[-5e-324, -5e-324], -1e-323),
            (&[f64::MAX, f64::MAX, -f64::MAX], f64::MAX),
            (&[-1.5, -2.5], -4.0),
            (&[9_007_199_254_740_992.0, 1.0], 9_007_199_254_740_992.0),
            (&[9_007_199_254_740_992.0, 1.0, 1e-30], 9_007_199_254_740_994.0),
            (&[f64::MIN_POSITIVE, -5e-324], f64::MIN_POSITIVE.next_down()),
        ] {
            assert_eq!(sum_of(values).0, Some(expected), "{values:?}");
        }
    }

    #[test]
    fn a_mean_is_finite_where_the_sum_is_not() {
        assert_eq!(sum_of(&[f64::MAX; 3]), (None, f64::MAX));
        assert_eq!(sum_of(&[f64::MIN; 3]), (None, f64::MIN));
        assert_eq!(sum_of(&[1.0, 2.0]), (Some(3.0), 1.5));
        assert_eq!(sum_of(&[5e-324; 4]).1, 5e-324);
    }

    #[test]
    fn the_order_of_numbers_does_not_matter() {
        let mut values: Vec<f64> =
            (1..2_000).map(|n| f64::from(n % 17 - 8) * f64::powi(1.7, n % 120 - 60)).collect();
        let expected = sum_of(&values);
        values.reverse();
        assert_eq!(sum_of(&values), expected);
        values.sort_by(f64::total_cmp);
        assert_eq!(sum_of(&values), expected);
    }

    #[test]
    fn means_of_integers_are_near_the_exact_ones() {
        assert_eq!(mean_of_ordinals(10, 4, 0).get(), 2.5);
        assert_eq!(mean_of_ordinals(-1050, 2, 2).get(), -5.25);
        let most = i128::from(i64::MAX) * 1_000_003;
        assert_eq!(mean_of_ordinals(most, 1_000_003, 0).get(), i64::MAX as f64);
    }
}
