//! Kernels compiled for wider instructions, chosen by what the machine has at run time.
//!
//! The only home of `unsafe`: calling a function compiled for instructions that the machine is
//! known to have. The functions themselves are the portable loops, which the compiler vectorises.
#![expect(unsafe_code, reason = "calls into functions compiled for detected instructions")]

/// How many bits are set.
///
/// The instruction set that every x86-64 machine has counts no bits: a word takes about ten
/// instructions without, and less than one with these (`benches/evaluate.rs`).
pub(crate) fn count_ones(words: &[u64]) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512vpopcntdq")
            && std::arch::is_x86_feature_detected!("avx512f")
        {
            // SAFETY: the machine has both features.
            return unsafe { count_ones_avx512(words) };
        }
        if std::arch::is_x86_feature_detected!("popcnt") {
            // SAFETY: the machine has the feature.
            return unsafe { count_ones_popcnt(words) };
        }
    }
    count_ones_portable(words)
}

#[inline(always)]
fn count_ones_portable(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn count_ones_popcnt(words: &[u64]) -> usize {
    count_ones_portable(words)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn count_ones_avx512(words: &[u64]) -> usize {
    count_ones_portable(words)
}

/// Keeps the bits that both have.
pub(crate) fn and(words: &mut [u64], others: &[u64]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has the feature.
        return unsafe { and_avx2(words, others) };
    }
    and_portable(words, others);
}

#[inline(always)]
fn and_portable(words: &mut [u64], others: &[u64]) {
    for (word, other) in words.iter_mut().zip(others) {
        *word &= other;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn and_avx2(words: &mut [u64], others: &[u64]) {
    and_portable(words, others);
}

/// Adds the bits of others.
pub(crate) fn or(words: &mut [u64], others: &[u64]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has the feature.
        return unsafe { or_avx2(words, others) };
    }
    or_portable(words, others);
}

#[inline(always)]
fn or_portable(words: &mut [u64], others: &[u64]) {
    for (word, other) in words.iter_mut().zip(others) {
        *word |= other;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn or_avx2(words: &mut [u64], others: &[u64]) {
    or_portable(words, others);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_agrees_with_the_portable_loop_at_every_length() {
        for len in [0, 1, 2, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025] {
            let mut state = 1_u64;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state ^ state >> 29
            };
            let a: Vec<u64> = (0..len).map(|_| next()).collect();
            let b: Vec<u64> = (0..len).map(|_| next()).collect();
            assert_eq!(count_ones(&a), a.iter().map(|word| word.count_ones() as usize).sum::<usize>());
            let (mut both, mut either) = (a.clone(), a.clone());
            and(&mut both, &b);
            or(&mut either, &b);
            assert!(both.iter().zip(a.iter().zip(&b)).all(|(word, (a, b))| *word == a & b));
            assert!(either.iter().zip(a.iter().zip(&b)).all(|(word, (a, b))| *word == a | b));
        }
    }
}
