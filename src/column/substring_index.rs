//! An index of substrings. It finds the strings of a dictionary that may contain given texts, so that a search tests only these
//! strings.
//!
//! # Structure
//!
//! The strings of a dictionary are cut into *blocks* of [`BLOCK`] consecutive codes. The index is a list of bitmaps over the
//! blocks. The *index text* of a string is a normalised form of the string. The *windows* of an index text are short parts of it,
//! which overlap: at most one window starts at each character. A hash function assigns each window to a bitmap. The bit of a block
//! is set in a bitmap if a string of the block has a window of that bitmap. So the index is a Bloom filter for each block. It is
//! stored "bit-sliced": bitmap `i` consists of bit `i` of the filter of each block. Therefore, a search reads only a few short
//! bitmaps, each from its start to its end.
//!
//! ```text
//! code 0   García      index text garcia      windows gar arc rci cia       block 0
//! …                                                                        …
//! code 8   Lopez       index text lopez       windows lop ope pez           block 1
//!
//! bitmap of `arc`    1 0 …
//! bitmap of `pez`    0 1 …
//! ```
//!
//! A search computes the windows of the text that it searches for, and intersects their bitmaps. The blocks in the intersection are
//! *candidates*. The caller tests each string of these blocks exactly.
//!
//! # Windows
//!
//! Two adjacent characters are a window if both are at U+0800 or above, such as two Han characters. Three adjacent characters are a
//! window unless the first two are such a pair. So the characters around a part of a text do not affect whether the part is a
//! window. Therefore, if a text contains another text, it has all windows of the other text. A text that is too short has no
//! window. A search for such a text tests all strings.
//!
//! # Soundness: each string that matches is in a candidate
//!
//! Let F be [`fold`](crate::value::fold) and N the function that drops all characters with a canonical combining class other than
//! zero. The index text is I(s) = N(F(s)), computed by [`folded_starters`]. F consists of functions that replace each character,
//! independently of the characters around it: compatibility decomposition, removal of nonspacing marks, and full case folding. The
//! only other step is the canonical ordering after each decomposition. It only permutes adjacent characters with a combining class
//! other than zero. Each of these characters disappears in I: F removes it, or folds it to characters that N drops. A test in
//! `value/fold.rs` checks this for each character of Unicode. So the permutations change nothing that remains after N, and I is
//! computed character by character: I(ab) = I(a) I(b). There are two kinds of patterns:
//!
//! - `$substring v`: if s contains v, then s = a v b, and I(s) = I(a) I(v) I(b). So I(s) contains I(v), and has all windows of
//!   I(v).
//! - `$match` with a folded word w: if F(s) contains w, then F(s) = a w b. N decides for each character separately if it is
//!   dropped, so I(s) = N(F(s)) = N(a) N(w) N(b). So I(s) contains N(w). Folding does not change a folded word, so N(w) = I(w).
//!
//! Different windows may have the same bitmap, and the windows of a text may be in different strings of a block. Both only add
//! candidates.
//!
//! # Size and precision
//!
//! The index has one byte, 8 bits, for each window. It estimates the number of windows from the size of the strings. It has at most
//! [`MOST_BYTES`] bytes for each string. With 8 bits for each window, about 12 % of the bits of a bitmap are set. So the bitmap of
//! a window contains about an eighth of the blocks that do not match a search. A text of five letters has three windows. The
//! intersection of their bitmaps contains 0.2 % of these blocks. Strings of more than 24 letters have fewer bits for each window:
//! with 100 letters, 43 % of the bits are set. Blocks of one string would not be more precise. In an index of the same size, the
//! same share of the bits would be set, so each bitmap would contain the same share of the blocks. But each bitmap would be eight
//! times as long. Building the index takes 0.2 to 0.5 µs for each string of 24 letters. This is the additional time of an import.
//! `benches/peers`, requests x2 and x3, measure the gain.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a block of a code and a bitmap of a hash are within the words that they were computed for; sizes in memory"
)]

use std::ops::Range;

use smallvec::SmallVec;

use super::dictionary::Dictionary;
use crate::kernels::{self, Combine};
use crate::rows::{LANES, ones_of_word};
use crate::slice::{Move, Slice};
use crate::value::folded_starters;

/// The number of strings of a block.
const BLOCK: usize = 8;

/// The maximum size of all bitmaps together, in bytes per string of the dictionary. Short strings take fewer bytes.
pub(super) const MOST_BYTES: usize = 22;

/// The minimum number of bitmaps, even if the strings are very short.
const FEWEST_BITMAPS: usize = 64;

/// The maximum number of windows of a text whose bitmaps are intersected. In an index of strings of 100 letters, this number of
/// windows keeps about one in a million of the blocks that do not match. In an index of shorter strings, it keeps fewer of these
/// blocks. More windows would only take more time.
const MOST_WINDOWS: usize = 16;

/// An index for substrings of the strings of a dictionary. The [module docs](self) describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubstringIndex {
    /// The number of strings of the dictionary.
    strings: usize,
    /// The bitmaps over the blocks, one after the other, each with the same number of words.
    words: Slice<u64>,
}

/// The hashes of the windows of the texts that a search looks for. There is at least one hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Windows(SmallVec<[u32; 4]>);

impl Windows {
    /// Returns the windows of `texts`, to search for strings that contain all of these texts. A text is a substring or a folded
    /// word. Returns `None` if every text is too short for a window.
    pub(crate) fn of_all<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Self> {
        let mut all: SmallVec<[u32; 4]> = SmallVec::new();
        for text in texts {
            each_window(&folded_starters(text), |hash| all.push(hash));
        }
        // Windows at equal distances are chosen, because windows next to each other often occur in the same strings.
        let step = all.len().div_ceil(MOST_WINDOWS).max(1);
        let chosen: SmallVec<[u32; 4]> = all.into_iter().step_by(step).collect();
        (!chosen.is_empty()).then_some(Self(chosen))
    }

    /// Returns the number of windows.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl SubstringIndex {
    /// Creates the index of a dictionary. The index takes at most `most_bytes` bytes for each string. If there are few strings, it
    /// takes at most a few kilobytes.
    pub(super) fn new(dictionary: &Dictionary, most_bytes: usize) -> Self {
        let strings = dictionary.len();
        let width = width(strings);
        let windows = dictionary.text().len().saturating_sub(2 * strings);
        let bytes = windows.min(most_bytes * strings);
        let bitmaps = (bytes / (width * size_of::<u64>()).max(1)).max(FEWEST_BITMAPS);
        let mut words = vec![0_u64; bitmaps * width];
        for code in 0..strings {
            let block = code / BLOCK;
            let (word, bit) = (block / LANES, 1 << (block % LANES));
            let set = |hash| words[bitmap_of(hash, bitmaps) * width + word] |= bit;
            let text = dictionary.get(code);
            if text.is_ascii() {
                each_ascii_window(text.as_bytes(), set);
            } else {
                each_window(&folded_starters(text), set);
            }
        }
        Self { strings, words: words.into() }
    }

    /// Returns the ranges of the codes of all candidates, in ascending order. A block is a candidate if, for at least one item of
    /// `texts`, the bitmaps of all windows of the item contain the block.
    pub(crate) fn candidates(&self, texts: &[Windows]) -> SmallVec<[Range<usize>; 8]> {
        let width = width(self.strings);
        let mut any: SmallVec<[u64; 128]> = SmallVec::from_elem(0, width);
        let mut all: SmallVec<[u64; 128]> = SmallVec::from_elem(0, width);
        for Windows(hashes) in texts {
            all.fill(u64::MAX);
            for hash in hashes {
                kernels::combine(Combine::And, &mut all, self.bitmap(*hash));
            }
            kernels::combine(Combine::Or, &mut any, &all);
        }
        let blocks =
            any.iter().zip(0..).flat_map(|(word, at)| ones_of_word(*word).map(move |bit| at * LANES + bit));
        let mut ranges: SmallVec<[Range<usize>; 8]> = SmallVec::new();
        for block in blocks {
            let (start, end) = (block * BLOCK, (block * BLOCK + BLOCK).min(self.strings));
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => ranges.push(start..end),
            }
        }
        ranges
    }

    /// Returns the bitmap of the windows with this hash.
    fn bitmap(&self, hash: u32) -> &[u64] {
        let width = width(self.strings);
        let start = bitmap_of(hash, self.words.len() / width) * width;
        &self.words[start..start + width]
    }

    /// Returns the estimated work of [`candidates`](Self::candidates), in words of 64 blocks.
    pub(crate) fn work(&self, texts: &[Windows]) -> usize {
        let bitmaps = texts.iter().map(|windows| windows.len() + 2).sum::<usize>();
        bitmaps * width(self.strings)
    }

    pub(super) fn slices<'s>(&'s mut self, all: &mut Vec<&'s mut dyn Move>) {
        all.push(&mut self.words);
    }

    pub(super) fn size_bytes(&self) -> usize {
        size_of_val::<[u64]>(&self.words)
    }
}

/// Returns the number of words of a bitmap for this number of strings. At least 1.
fn width(strings: usize) -> usize {
    strings.div_ceil(BLOCK * LANES).max(1)
}

/// Returns the index of the bitmap for a hash.
#[inline]
fn bitmap_of(hash: u32, bitmaps: usize) -> usize {
    ((u64::from(hash) * bitmaps as u64) >> u32::BITS) as usize
}

/// The number of bits of a character in the key of a window.
const CHAR_BITS: u32 = 21;

/// Returns the hash of a window from its key: the characters of the window, the first in the lowest bits.
#[inline]
fn hash(key: u64) -> u32 {
    let mixed = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (mixed >> 32) as u32
}

/// Calls `take` with the hash of each window of an index text.
fn each_window(text: &str, mut take: impl FnMut(u32)) {
    if text.is_ascii() {
        return each_ascii_window(text.as_bytes(), take);
    }
    /// Two adjacent characters are a window if both are at this code point or above.
    const WIDE: u64 = 0x800;
    let mut last: [Option<u64>; 2] = [None, None];
    for c in text.chars().map(u64::from) {
        if let [first, Some(second)] = last {
            if second >= WIDE && c >= WIDE {
                take(hash(second | c << CHAR_BITS));
            }
            if let Some(first) = first
                && (first < WIDE || second < WIDE)
            {
                take(hash(first | second << CHAR_BITS | c << (2 * CHAR_BITS)));
            }
        }
        last = [last[1], Some(c)];
    }
}

/// Calls `take` with the hash of each window of the index text of an ASCII string.
#[inline]
fn each_ascii_window(text: &[u8], mut take: impl FnMut(u32)) {
    let next =
        |key: u64, byte: &u8| (key >> CHAR_BITS) | u64::from(byte.to_ascii_lowercase()) << (2 * CHAR_BITS);
    let Some((start, rest)) = text.split_at_checked(2) else { return };
    let mut key = start.iter().fold(0, next);
    for byte in rest {
        key = next(key, byte);
        take(hash(key));
    }
}
