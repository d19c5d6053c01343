//! Sorts 64-bit words by their upper bits, with a radix sort.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "fewer than 2^32 words, each of which was counted under its digit, so that each index is that of a word"
)]

/// The minimum number of words for the radix sort. For fewer words, the standard sort is used, because it is then faster.
const FEW: usize = 512;
const DIGIT_BITS: u32 = 11;
const DIGITS: usize = 1 << DIGIT_BITS;

/// Sorts words by the bits from `from` upwards. If words are equal in these bits, they must already be in ascending order.
///
/// # Complexity
/// Linear: one pass for every eleven bits in which the words differ, starting at bit `from`.
pub(crate) fn sort_from_bit(words: &mut Vec<u64>, from: u32) {
    if words.len() < FEW {
        words.sort_unstable();
        return;
    }
    let first = words.first().copied().unwrap_or(0);
    let (mut differing, mut is_sorted, mut last) = (0, true, 0);
    for word in words.iter() {
        differing |= word ^ first;
        is_sorted &= last <= *word;
        last = *word;
    }
    if is_sorted {
        return;
    }
    let mut sorted = vec![0; words.len()];
    let mut shift = from;
    while shift < u64::BITS && differing >> shift != 0 {
        let digit = |word: u64| (word >> shift) as usize & (DIGITS - 1);
        if digit(differing) != 0 {
            let mut places = [0_u32; DIGITS];
            for word in words.iter() {
                places[digit(*word)] += 1;
            }
            let mut sum = 0_u32;
            for place in &mut places {
                sum += std::mem::replace(place, sum);
            }
            for word in words.iter() {
                let place = &mut places[digit(*word)];
                sorted[*place as usize] = *word;
                *place += 1;
            }
            std::mem::swap(words, &mut sorted);
        }
        shift += DIGIT_BITS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_out_as_any_sort_has_them() {
        for len in [0_u64, 1, 2, 511, 512, 513, 5000] {
            for (from, spread) in [(16, 0), (16, 1), (16, 20), (16, 30), (16, 47), (32, 31), (63, 0), (0, 63)]
            {
                let random = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
                let upper = |n: u64| random(n) & (u64::MAX >> (63 - spread));
                let mut words: Vec<u64> = (0..len)
                    .map(|n| (upper(n) << from) | if from == 16 || from == 32 { n } else { 0 })
                    .collect();
                let mut expected = words.clone();
                expected.sort_unstable();
                sort_from_bit(&mut words, from);
                assert_eq!(words, expected, "{len} words from bit {from}");
                sort_from_bit(&mut words, from);
                assert_eq!(words, expected);
            }
        }
    }
}
