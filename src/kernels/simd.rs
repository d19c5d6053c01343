//! Kernels that are compiled for AVX2 and AVX-512. At run time, the features of the processor decide which version runs.
//!
//! All `unsafe` code of the crate is in this file: prefetching, and calls of functions that need processor features. Each such call
//! comes after a test that the processor has the features. Most of these functions are the portable loops, which the compiler
//! vectorizes. `in_byte_set` uses intrinsics.
#![expect(unsafe_code, reason = "prefetching, and calls of functions compiled for detected features")]

use super::portable::{
    Combine, Uniform, combine_into_portable, combine_portable, combine_three_portable,
    count_between_portable, count_both_portable, count_four_portable, count_ones_portable,
};

/// Prefetches the cache line of `values[at]`. Does nothing if there is no value at this index, or if the processor is not an x86-64
/// processor.
#[inline]
pub(crate) fn prefetch<T>(values: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(value) = values.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has the instruction, and the address is the address of a value in memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, at);
}

/// Defines a function with three versions: portable, AVX2 and AVX-512. The function calls the widest version that the processor
/// can run.
macro_rules! versions {
    ($(#[$doc:meta])* $name:ident, $portable:ident, $avx2:ident, $avx512:ident, ($($arg:ident: $type:ty),*) -> $out:ty, ($($narrow:tt),*)) => {
        $(#[$doc])*
        pub(crate) fn $name($($arg: $type),*) -> $out {
            #[cfg(target_arch = "x86_64")]
            {
                if std::arch::is_x86_feature_detected!("avx512vpopcntdq")
                    && std::arch::is_x86_feature_detected!("avx512f")
                {
                    // SAFETY: the tests above found both features.
                    return unsafe { $avx512($($arg),*) };
                }
                if $(std::arch::is_x86_feature_detected!($narrow) &&)* true {
                    // SAFETY: the test above found the features.
                    return unsafe { $avx2($($arg),*) };
                }
            }
            $portable($($arg),*)
        }

        #[cfg(target_arch = "x86_64")]
        $(#[target_feature(enable = $narrow)])*
        fn $avx2($($arg: $type),*) -> $out {
            $portable($($arg),*)
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512vpopcntdq")]
        fn $avx512($($arg: $type),*) -> $out {
            $portable($($arg),*)
        }

        #[cfg(test)]
        mod $name {
            use super::*;

            /// Returns the dispatching function and every version that this processor can run: portable, AVX2, AVX-512.
            pub(super) fn versions() -> Vec<fn($($type),*) -> $out> {
                let mut versions: Vec<fn($($type),*) -> $out> = vec![super::$name, $portable];
                #[cfg(target_arch = "x86_64")]
                {
                    if $(std::arch::is_x86_feature_detected!($narrow) &&)* true {
                        // SAFETY: the test above found the features.
                        versions.push(|$($arg),*| unsafe { $avx2($($arg),*) });
                    }
                    if std::arch::is_x86_feature_detected!("avx512vpopcntdq")
                        && std::arch::is_x86_feature_detected!("avx512f")
                    {
                        // SAFETY: the tests above found both features.
                        versions.push(|$($arg),*| unsafe { $avx512($($arg),*) });
                    }
                }
                versions
            }
        }
    };
}

versions!(
    /// Counts the set bits.
    ///
    /// Baseline x86-64 has no instruction that counts bits, so the portable version takes about ten instructions for a word. The
    /// AVX2 version looks up 32 half bytes at a time, and takes 60 % of the time of the portable version. The AVX-512 version
    /// counts eight words at once.
    count_ones, count_ones_portable, count_ones_avx2, count_ones_avx512, (words: &[u64]) -> usize, ("avx2")
);

versions!(
    /// Replaces each word of `words` by its combination with the word of `others` at the same index.
    combine, combine_portable, combine_avx2, combine_avx512,
    (how: Combine, words: &mut [u64], others: &[u64]) -> Uniform, ("avx2")
);

versions!(
    /// Writes the combination of `a` and `b` to `words`.
    combine_into, combine_into_portable, combine_into_avx2, combine_into_avx512,
    (how: Combine, words: &mut [u64], a: &[u64], b: &[u64]) -> Uniform, ("avx2")
);

versions!(
    /// Writes the combination of three bitmaps to `words`. `hows[0]` combines the first two bitmaps, and `hows[1]` combines the
    /// result with the third.
    ///
    /// Two passes, each over two bitmaps, would also write and read the intermediate result. Two passes make the counts `c4` and
    /// `c5` of the benches about 9 % slower (benches/HISTORY.md).
    combine_three, combine_three_portable, combine_three_avx2, combine_three_avx512,
    (hows: [Combine; 2], words: &mut [u64], sets: [&[u64]; 3]) -> Uniform, ("avx2")
);

versions!(
    /// Counts the bits that are set in both `a` and `b`.
    count_both, count_both_portable, count_both_avx2, count_both_avx512, (a: &[u64], b: &[u64]) -> usize, ("avx2")
);

versions!(
    /// Counts the bits that are set in `a` and `b` but not in `without`.
    count_between, count_between_portable, count_between_avx2, count_between_avx512,
    (a: &[u64], b: &[u64], without: &[u64]) -> usize, ("avx2")
);

versions!(
    /// Counts the set bits of `f(a, b) & g(c, d)`. `f` and `g` are ANDs with [XOR masks](Combine::turned_by):
    /// `((a ^ m[0]) & (b ^ m[1])) ^ m[2]`. Each mask is 0 or `u64::MAX`.
    count_four, count_four_portable, count_four_avx2, count_four_avx512,
    (sets: [&[u64]; 4], masks: &[[u64; 3]; 2]) -> usize, ("avx2")
);

/// A set of byte values: bit `b % 64` of word `b / 64` is set if the set contains `b`.
pub(crate) type ByteSet = [u64; 4];

/// Returns true if the processor has vector instructions for [`in_byte_set`]. With them, `in_byte_set` is about 50 times as fast as
/// testing each byte.
pub(crate) fn has_byte_sets() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Overwrites `words`: sets the bit of each code that is in `set`, and clears all other bits. `words` must have
/// `codes.len().div_ceil(64)` words.
pub(crate) fn in_byte_set(codes: &[u8], set: &ByteSet, words: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512vbmi")
        {
            // SAFETY: the tests above found the three features that the function enables.
            return unsafe { in_byte_set_avx512(codes, set, words) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the test above found the feature.
            return unsafe { in_byte_set_avx2(codes, set, words) };
        }
    }
    in_byte_set_portable(codes, set, words);
}

fn in_byte_set_portable(codes: &[u8], set: &ByteSet, words: &mut [u64]) {
    for (word, codes) in words.iter_mut().zip(codes.chunks(64)) {
        let is_in =
            |code: u8| set.get(usize::from(code >> 6)).is_some_and(|word| word >> (code & 63) & 1 == 1);
        *word = codes.iter().rev().fold(0, |word, code| word << 1 | u64::from(is_in(*code)));
    }
}

/// The AVX-512 version of [`in_byte_set`]. `set` is a bitmap of 32 bytes. The upper five bits of a code select one of these bytes,
/// and the lower three bits select a bit of that byte.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn in_byte_set_avx512(codes: &[u8], set: &ByteSet, words: &mut [u64]) {
    use std::arch::x86_64::*;
    let [a, b, c, d] = set.map(u64::cast_signed);
    let bytes = _mm512_set_epi64(d, c, b, a, d, c, b, a);
    let bits = _mm512_set1_epi64(0x8040_2010_0804_0201_u64.cast_signed());
    let lower_five = _mm512_set1_epi8(31);
    let (whole, rest) = codes.as_chunks::<64>();
    for (word, codes) in words.iter_mut().zip(whole) {
        // SAFETY: the load reads 64 bytes from an array of 64 bytes.
        let codes = unsafe { _mm512_loadu_si512(codes.as_ptr().cast()) };
        let byte =
            _mm512_permutexvar_epi8(_mm512_and_si512(_mm512_srli_epi16::<3>(codes), lower_five), bytes);
        // The instruction uses the lower six bits of an index. `bits` repeats every eight bytes, so only the lower three of the six
        // bits matter.
        let bit = _mm512_permutexvar_epi8(codes, bits);
        *word = _mm512_test_epi8_mask(byte, bit);
    }
    in_byte_set_portable(rest, set, words.get_mut(whole.len()..).unwrap_or_default());
}

/// The AVX2 version of [`in_byte_set`]. It needs a third fewer instructions if `set` contains no byte of 128 or more, as in a
/// dictionary of at most 128 strings.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn in_byte_set_avx2(codes: &[u8], set: &ByteSet, words: &mut [u64]) {
    use std::arch::x86_64::*;
    let [a, b, c, d] = set.map(u64::cast_signed);
    let (lower, upper) = (_mm256_set_epi64x(b, a, b, a), _mm256_set_epi64x(d, c, d, c));
    let bits = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    let lower_four = _mm256_set1_epi8(15);
    let load = |codes: &[u8; 32]| {
        // SAFETY: the load reads 32 bytes from an array of 32 bytes.
        unsafe { _mm256_loadu_si256(codes.as_ptr().cast()) }
    };
    let index = |codes| _mm256_and_si256(_mm256_srli_epi16::<3>(codes), lower_four);
    let bits_of = |lanes: __m256i| u64::from(_mm256_movemask_epi8(lanes).cast_unsigned());
    let in_lower = |codes: &[u8; 32]| {
        let codes = load(codes);
        // For a code of 128 or more, the shuffle returns 0, so that no bit is selected.
        let bit = _mm256_shuffle_epi8(bits, codes);
        let found = _mm256_and_si256(_mm256_shuffle_epi8(lower, index(codes)), bit);
        bits_of(_mm256_cmpeq_epi8(found, _mm256_setzero_si256())) ^ u64::from(u32::MAX)
    };
    let in_either = |codes: &[u8; 32]| {
        let codes = load(codes);
        let index = index(codes);
        // The highest bit of a code selects the half of the set.
        let byte =
            _mm256_blendv_epi8(_mm256_shuffle_epi8(lower, index), _mm256_shuffle_epi8(upper, index), codes);
        let bit = _mm256_shuffle_epi8(bits, _mm256_and_si256(codes, lower_four));
        bits_of(_mm256_cmpeq_epi8(_mm256_and_si256(byte, bit), bit))
    };
    let (whole, rest) = codes.as_chunks::<64>();
    let halves = words.iter_mut().zip(whole).filter_map(|(word, codes)| match codes.as_chunks::<32>() {
        ([first, second], _) => Some((word, first, second)),
        _ => None,
    });
    if c | d == 0 {
        for (word, first, second) in halves {
            *word = in_lower(first) | in_lower(second) << 32;
        }
    } else {
        for (word, first, second) in halves {
            *word = in_either(first) | in_either(second) << 32;
        }
    }
    in_byte_set_portable(rest, set, words.get_mut(whole.len()..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOWS: [Combine; 4] = [Combine::And, Combine::AndNot, Combine::Or, Combine::OrNot];

    fn join(how: Combine, a: u64, b: u64) -> u64 {
        match how {
            Combine::And => a & b,
            Combine::AndNot => a & !b,
            Combine::Or => a | b,
            Combine::OrNot => a | !b,
        }
    }

    fn uniform_of(words: &[u64]) -> Uniform {
        if words.iter().all(|word| *word == 0) {
            Some(false)
        } else {
            words.iter().all(|word| *word == u64::MAX).then_some(true)
        }
    }

    /// Counts the set bits of the words by testing each bit.
    fn ones(words: impl IntoIterator<Item = u64>) -> usize {
        words.into_iter().map(|word| (0..64).filter(|bit| word >> bit & 1 == 1).count()).sum()
    }

    /// Returns four bitmaps of `len` words: two random bitmaps, one without set bits, and one with all bits set.
    fn sets(len: usize) -> [Vec<u64>; 4] {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state ^ state >> 29
        };
        let mut random = || (0..len).map(|_| next()).collect::<Vec<u64>>();
        [random(), random(), vec![0; len], vec![u64::MAX; len]]
    }

    /// Returns the Cartesian product of two slices.
    fn pairs<T: Copy, U: Copy>(first: &[T], second: &[U]) -> Vec<(T, U)> {
        first.iter().flat_map(|a| second.iter().map(|b| (*a, *b))).collect()
    }

    const LENGTHS: [usize; 12] = [0, 1, 2, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025];

    #[test]
    fn every_version_counts_as_a_plain_loop_at_every_length() {
        for len in LENGTHS {
            let sets = sets(len);
            let sets = sets.each_ref().map(Vec::as_slice);
            for (a, b) in pairs(&sets, &sets) {
                let zip = || a.iter().zip(b).zip(sets[0]).zip(sets[1]);
                for count in count_ones::versions() {
                    assert_eq!(count(a), ones(a.iter().copied()));
                }
                for count in count_both::versions() {
                    assert_eq!(count(a, b), ones(zip().map(|(((a, b), _), _)| a & b)));
                }
                for count in count_between::versions() {
                    assert_eq!(count(a, b, sets[0]), ones(zip().map(|(((a, b), c), _)| a & b & !c)));
                }
                let turned = [0, u64::MAX];
                let masks = pairs(&pairs(&turned, &turned), &turned);
                for (first, second) in pairs(&masks, &masks) {
                    let masks = [first, second].map(|((a, b), pair)| [a, b, pair]);
                    let joined = zip().map(|(((a, b), c), d)| {
                        let [first, second] = &masks;
                        let pair = (a ^ first[0]) & (b ^ first[1]) ^ first[2];
                        pair & ((c ^ second[0]) & (d ^ second[1]) ^ second[2])
                    });
                    let expected = ones(joined);
                    for count in count_four::versions() {
                        assert_eq!(count([a, b, sets[0], sets[1]], &masks), expected, "{masks:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_version_combines_as_a_plain_loop_at_every_length() {
        for len in LENGTHS {
            let sets = sets(len);
            let sets = sets.each_ref().map(Vec::as_slice);
            for ((a, b), how) in pairs(&pairs(&sets, &sets), &HOWS) {
                let pair: Vec<u64> = a.iter().zip(b).map(|(a, b)| join(how, *a, *b)).collect();
                for combine in combine::versions() {
                    let mut words = a.to_vec();
                    assert_eq!(combine(how, &mut words, b), uniform_of(&pair), "{how:?}");
                    assert_eq!(words, pair, "{how:?}");
                }
                for combine in combine_into::versions() {
                    let mut words = vec![7; len];
                    assert_eq!(combine(how, &mut words, a, b), uniform_of(&pair), "{how:?}");
                    assert_eq!(words, pair, "{how:?}");
                }
                for (second, c) in pairs(&HOWS, &[sets[0], sets[2], sets[3]]) {
                    let all: Vec<u64> = pair.iter().zip(c).map(|(pair, c)| join(second, *pair, *c)).collect();
                    for combine in combine_three::versions() {
                        let mut words = vec![7; len];
                        assert_eq!(
                            combine([how, second], &mut words, [a, b, c]),
                            uniform_of(&all),
                            "{how:?}"
                        );
                        assert_eq!(words, all, "{how:?}, {second:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_version_finds_the_bytes_of_a_set() {
        for len in [0, 1, 63, 64, 65, 200, 256, 65_535, 65_536] {
            let codes: Vec<u8> =
                (0..len).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
            let everything = [u64::MAX; 4];
            for set in [
                [0; 4],
                everything,
                [1, 0, 0, 1 << 63],
                [0x8000_0000_0000_0001, 2, 3 << 62, 0xf0f0],
                [u64::MAX, u64::MAX, 0, 0],
                [0x8000_0000_0000_0001, 0xf0f0, 0, 0],
            ] {
                let is_in = |code: u8| set[usize::from(code / 64)] >> (code % 64) & 1 == 1;
                let mut expected = vec![0_u64; codes.len().div_ceil(64)];
                for (at, code) in codes.iter().enumerate() {
                    expected[at / 64] |= u64::from(is_in(*code)) << (at % 64);
                }
                let mut words = vec![7; expected.len()];
                in_byte_set(&codes, &set, &mut words);
                assert_eq!(words, expected);
                words.fill(7);
                in_byte_set_portable(&codes, &set, &mut words);
                assert_eq!(words, expected);
                #[cfg(target_arch = "x86_64")]
                if has_byte_sets() {
                    words.fill(7);
                    // SAFETY: the test above found the feature.
                    unsafe { in_byte_set_avx2(&codes, &set, &mut words) };
                    assert_eq!(words, expected);
                }
            }
        }
    }
}
