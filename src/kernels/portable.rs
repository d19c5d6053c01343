//! Portable loops that combine bitmaps and count their bits, word by word. The module `simd` also compiles them for AVX2 and
//! AVX-512.

/// A bitwise operation on two bitmaps. `AndNot` is `a & !b`, and `OrNot` is `a | !b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    And,
    AndNot,
    Or,
    OrNot,
}

impl Combine {
    /// Returns three XOR masks that express this operation as an AND (De Morgan). There is a mask for each of the two operands and
    /// a mask for the result.
    ///
    /// In the table, the mask 1 is `u64::MAX`.
    ///
    /// | operation | as an AND | masks |
    /// |---|---|---|
    /// | a & b | a & b | 0, 0, 0 |
    /// | a & !b | a & !b | 0, 1, 0 |
    /// | a \| b | !(!a & !b) | 1, 1, 1 |
    /// | a \| !b | !(!a & b) | 1, 0, 1 |
    #[inline(always)]
    pub(super) fn turned_by(self) -> [u64; 3] {
        let any = if matches!(self, Self::Or | Self::OrNot) { u64::MAX } else { 0 };
        let other = if matches!(self, Self::AndNot | Self::OrNot) { !any } else { any };
        [any, other, any]
    }
}

/// The value that all bits of a combination have: `Some(true)` if every bit of its words is set, `Some(false)` if no bit is set,
/// and `None` if the bits differ.
pub(crate) type Uniform = Option<bool>;

#[inline(always)]
pub(super) fn count_ones_portable(words: &[u64]) -> usize {
    let mut count = 0;
    // All functions of this file use plain loops. The closure of an iterator adapter may be compiled as a separate function,
    // without the instructions that `simd` enables.
    for word in words {
        count += word.count_ones() as usize;
    }
    count
}

#[inline(always)]
pub(super) fn combine_portable(how: Combine, words: &mut [u64], others: &[u64]) -> Uniform {
    /// Replaces each word by the result of `join`. Returns the value that all bits have, or `None` if they differ.
    #[inline(always)]
    fn each(words: &mut [u64], others: &[u64], join: impl Fn(u64, u64) -> u64) -> Uniform {
        let (mut any, mut all) = (0, u64::MAX);
        for (word, other) in words.iter_mut().zip(others) {
            *word = join(*word, *other);
            any |= *word;
            all &= *word;
        }
        uniform(any, all)
    }
    match how {
        Combine::And => each(words, others, |a, b| a & b),
        Combine::AndNot => each(words, others, |a, b| a & !b),
        Combine::Or => each(words, others, |a, b| a | b),
        Combine::OrNot => each(words, others, |a, b| a | !b),
    }
}

#[inline(always)]
pub(super) fn combine_into_portable(how: Combine, words: &mut [u64], a: &[u64], b: &[u64]) -> Uniform {
    #[inline(always)]
    fn each(words: &mut [u64], a: &[u64], b: &[u64], join: impl Fn(u64, u64) -> u64) -> Uniform {
        let (mut any, mut all) = (0, u64::MAX);
        for ((word, a), b) in words.iter_mut().zip(a).zip(b) {
            *word = join(*a, *b);
            any |= *word;
            all &= *word;
        }
        uniform(any, all)
    }
    match how {
        Combine::And => each(words, a, b, |a, b| a & b),
        Combine::AndNot => each(words, a, b, |a, b| a & !b),
        Combine::Or => each(words, a, b, |a, b| a | b),
        Combine::OrNot => each(words, a, b, |a, b| a | !b),
    }
}

#[inline(always)]
pub(super) fn combine_three_portable(hows: [Combine; 2], words: &mut [u64], sets: [&[u64]; 3]) -> Uniform {
    #[inline(always)]
    fn each(words: &mut [u64], [a, b, c]: [&[u64]; 3], join: impl Fn(u64, u64, u64) -> u64) -> Uniform {
        let (mut any, mut all) = (0, u64::MAX);
        for (((word, a), b), c) in words.iter_mut().zip(a).zip(b).zip(c) {
            *word = join(*a, *b, *c);
            any |= *word;
            all &= *word;
        }
        uniform(any, all)
    }
    match hows {
        [Combine::And, Combine::And] => each(words, sets, |a, b, c| a & b & c),
        [Combine::Or, Combine::Or] => each(words, sets, |a, b, c| a | b | c),
        [first, second] => {
            let [a_by, b_by, pair_by] = first.turned_by();
            let [from_pair, c_by, all_by] = second.turned_by();
            let pair_by = pair_by ^ from_pair;
            each(words, sets, |a, b, c| ((a ^ a_by) & (b ^ b_by) ^ pair_by) & (c ^ c_by) ^ all_by)
        }
    }
}

#[inline(always)]
fn uniform(any: u64, all: u64) -> Uniform {
    match (any, all) {
        (0, _) => Some(false),
        (_, u64::MAX) => Some(true),
        _ => None,
    }
}

#[inline(always)]
pub(super) fn count_both_portable(a: &[u64], b: &[u64]) -> usize {
    let mut count = 0;
    for (a, b) in a.iter().zip(b) {
        count += (a & b).count_ones() as usize;
    }
    count
}

#[inline(always)]
pub(super) fn count_between_portable(a: &[u64], b: &[u64], without: &[u64]) -> usize {
    let mut count = 0;
    for ((a, b), without) in a.iter().zip(b).zip(without) {
        count += (a & b & !without).count_ones() as usize;
    }
    count
}

#[inline(always)]
pub(super) fn count_four_portable([a, b, c, d]: [&[u64]; 4], masks: &[[u64; 3]; 2]) -> usize {
    #[inline(always)]
    fn each([a, b, c, d]: [&[u64]; 4], join: impl Fn([u64; 4]) -> u64) -> usize {
        let mut count = 0;
        for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
            count += join([*a, *b, *c, *d]).count_ones() as usize;
        }
        count
    }
    let sets = [a, b, c, d];
    match masks {
        [[0, 0, 0], [0, 0, 0]] => each(sets, |[a, b, c, d]| a & b & c & d),
        // `count_pairs` counts an OR of two ANDs with these masks. This arm counts the rows that are in neither AND. The caller
        // subtracts the count from the number of rows.
        [[0, 0, u64::MAX], [0, 0, u64::MAX]] => each(sets, |[a, b, c, d]| !(a & b | c & d)),
        _ => each(sets, |words| join_four(words, masks)),
    }
}

/// Combines four words, one of each bitmap, in the same way as `count_four`.
#[inline(always)]
pub(super) fn join_four([a, b, c, d]: [u64; 4], masks: &[[u64; 3]; 2]) -> u64 {
    let join = |a: u64, b: u64, masks: &[u64; 3]| (a ^ masks[0]) & (b ^ masks[1]) ^ masks[2];
    join(a, b, &masks[0]) & join(c, d, &masks[1])
}
