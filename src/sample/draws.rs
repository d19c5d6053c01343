//! Draws pseudorandom numbers with different distributions.

/// The pseudorandom generator splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014,
/// with the constants of Vigna's public-domain `splitmix64.c`.
pub(super) struct Draws(u64);

pub(super) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The output function of splitmix64, a bijection.
pub(super) fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Draws {
    /// Creates the generator for the item with this number. The draws for neighbouring numbers are unrelated.
    pub(super) fn new(number: u64, seed: u64) -> Self {
        Self(mix(mix(seed ^ GOLDEN).wrapping_add(number.wrapping_mul(GOLDEN))))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Draws a number from `0..bound`. The maximum of `bound` is 2³². If `bound` is far below its maximum, all numbers have about
    /// the same probability.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((self.next() >> 32) * bound) >> 32
    }

    pub(super) fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    /// Draws a number from `0..bound` with a Zipf distribution: the probability of k is about proportional to 1/(1+k).
    ///
    /// Draws one of the ranges 2ⁿ ≤ k+1 < 2ⁿ⁺¹ uniformly, and then k uniformly in it. If this k is not below `bound`, draws k
    /// uniformly from `0..bound`.
    pub(super) fn skewed(&mut self, bound: u64) -> u64 {
        let octaves = u64::from(u64::BITS - bound.leading_zeros());
        let octave = 1 << self.below(octaves);
        let drawn = octave - 1 + self.below(octave);
        if drawn < bound { drawn } else { self.below(bound) }
    }

    /// Draws a number from `2^least..2^most`. Each power-of-two range `2^n..2^(n+1)` has the same probability.
    pub(super) fn log_uniform(&mut self, least: u64, most: u64) -> u64 {
        let octave = 1 << (least + self.below(most - least));
        octave + self.below(octave)
    }

    pub(super) fn pick(&mut self, words: &[&'static str]) -> &'static str {
        nth(words, self.below(words.len() as u64))
    }

    pub(super) fn pick_skewed(&mut self, words: &[&'static str]) -> &'static str {
        nth(words, self.skewed(words.len() as u64))
    }
}

pub(super) fn nth<T: Copy + Default>(list: &[T], index: u64) -> T {
    usize::try_from(index).ok().and_then(|index| list.get(index)).copied().unwrap_or_default()
}
