//! Combining and counting sets of rows, word by word: the loops that `simd` compiles for wider instructions.

/// An operation on two sets of rows, bit by bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    And,
    AndNot,
    Or,
    OrNot,
}

impl Combine {
    /// Returns the XOR masks that express this operation as an AND: one for each operand and one for the result (De Morgan).
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

/// `Some(true)` if the combined words have every bit set, `Some(false)` if none; `None` for any others.
pub(crate) type Uniform = Option<bool>;

#[inline(always)]
pub(super) fn count_ones_portable(words: &[u64]) -> usize {
    let mut count = 0;
    // Plain loops here and below: what an iterator is folded by may be compiled apart, for no machine in particular.
    for word in words {
        count += word.count_ones() as usize;
    }
    count
}

#[inline(always)]
pub(super) fn combine_portable(how: Combine, words: &mut [u64], others: &[u64]) -> Uniform {
    /// The words as they become, and whether any bit and every bit is set.
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
        // Of those that are in neither conjunction.
        [[0, 0, u64::MAX], [0, 0, u64::MAX]] => each(sets, |[a, b, c, d]| !(a & b | c & d)),
        _ => each(sets, |words| join_four(words, masks)),
    }
}

/// A word of each set, joined as by [`count_four`].
#[inline(always)]
pub(super) fn join_four([a, b, c, d]: [u64; 4], masks: &[[u64; 3]; 2]) -> u64 {
    let join = |a: u64, b: u64, masks: &[u64; 3]| (a ^ masks[0]) & (b ^ masks[1]) ^ masks[2];
    join(a, b, &masks[0]) & join(c, d, &masks[1])
}
