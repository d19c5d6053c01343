//! A hash table that maps strings to their codes, optimised for short strings.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "codes stay below u32::MAX, since the texts of a batch stay below 4 GiB; the mask keeps indexes below the \
              number of slots, half of which are free"
)]

use std::hash::{BuildHasher, Hasher};

/// A hash table that maps strings to codes.
///
/// It uses linear probing, and at most half of its slots are used. A string that fits in `N` words is stored in the slot itself. So
/// a lookup of such a string reads only the slots. Each slot contains the key of its string, so the table can grow without reading
/// any strings.
#[derive(Default)]
pub(super) struct CodeTable<const N: usize> {
    /// The slots. Their number is 0 or a power of two.
    slots: Vec<CodeSlot<N>>,
    /// The number of slots minus one, or 0 if there are no slots.
    mask: usize,
    used: usize,
    hasher: foldhash::quality::RandomState,
    /// Random words for hashing, created with the first slots. Because of them, an attacker cannot choose strings that collide.
    secret: [[u64; 2]; 2],
}

/// The key of a string: the string itself if it fits in `N` words, otherwise its length and a hash.
#[derive(Clone, Copy)]
pub(super) struct StringKey<const N: usize> {
    /// For a string that fits: its bytes. The bytes may be stored as a start and an end that overlap, so that some bytes occur
    /// twice. For a longer string: its hash in the first word.
    pub(super) words: [u64; N],
    pub(super) len: u32,
}

impl StringKey<2> {
    /// Returns the key of a string of at most sixteen bytes. Returns `None` for a longer string.
    #[inline(always)]
    pub(super) fn of_short(text: &[u8]) -> Option<Self> {
        let words = match (text.first_chunk(), text.last_chunk()) {
            (Some(front), Some(back)) => [u64::from_le_bytes(*front), u64::from_le_bytes(*back)],
            _ => match (text.first_chunk(), text.last_chunk()) {
                (Some(front), Some(back)) => {
                    [u32::from_le_bytes(*front), u32::from_le_bytes(*back)].map(u64::from)
                }
                _ => [text.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0],
            },
        };
        let len = u32::try_from(text.len()).ok()?;
        (text.len() <= size_of_val(&words)).then_some(Self { words, len })
    }
}

impl StringKey<4> {
    /// Returns the key of a string of 16 to 32 bytes. Returns `None` for any other string.
    #[inline(always)]
    fn of_long(text: &[u8]) -> Option<Self> {
        let halves = [text.first_chunk()?, text.last_chunk()?].map(|half| u128::from_le_bytes(*half));
        #[expect(clippy::cast_possible_truncation, reason = "both halves are wanted")]
        let [[first, second], [third, last]] = halves.map(|half| [half as u64, (half >> 64) as u64]);
        let words = [first, second, third, last];
        let len = u32::try_from(text.len()).ok()?;
        (text.len() <= size_of_val(&words)).then_some(Self { words, len })
    }
}

/// A code and the [`StringKey`] of its string. The fields of the key are repeated here. The padding of a nested key would make a
/// slot up to a third larger.
#[derive(Clone, Copy)]
struct CodeSlot<const N: usize> {
    words: [u64; N],
    len: u32,
    /// The code plus one, or 0 if the slot is free.
    code: u32,
}

impl<const N: usize> CodeSlot<N> {
    const FREE: Self = Self { words: [0; N], len: 0, code: 0 };

    /// Returns true if the slot contains this key.
    ///
    /// Compares word by word, because the words of a new key are in registers. To compare whole arrays, the compiler would write
    /// the key to memory and read it back in pieces of another size. This stalls the processor.
    #[inline(always)]
    fn has(&self, key: &StringKey<N>) -> bool {
        let differing = |differing, (own, other): (&u64, &u64)| differing | (own ^ other);
        self.len == key.len && self.words.iter().zip(&key.words).fold(0, differing) == 0
    }
}

impl CodeTable<4> {
    /// Returns the key of a string that is longer than sixteen bytes.
    #[inline(always)]
    pub(super) fn key(&self, text: &[u8]) -> StringKey<4> {
        StringKey::of_long(text).unwrap_or_else(|| self.key_of_longest(text))
    }

    #[inline(never)]
    /// Returns the key of a string that is too long to be stored in the key: its length and a hash.
    fn key_of_longest(&self, text: &[u8]) -> StringKey<4> {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(text);
        StringKey { words: [hasher.finish(), 0, 0, 0], len: u32::try_from(text.len()).unwrap_or(u32::MAX) }
    }
}

impl<const N: usize> CodeTable<N> {
    const LEAST_SLOTS: usize = 32;

    /// Returns the index of the slot at which the search for `key` starts.
    #[inline(always)]
    fn place(&self, key: &StringKey<N>) -> usize {
        let (pairs, _) = key.words.as_chunks();
        let mut hash = key.len as usize;
        for ([first, second], [secret, other]) in pairs.iter().zip(&self.secret) {
            let product = u128::from(first ^ secret) * u128::from(second ^ other);
            #[expect(clippy::cast_possible_truncation, reason = "both halves are wanted")]
            let folded = (product >> 64) as usize ^ product as usize;
            hash = hash.wrapping_add(folded);
        }
        hash & self.mask
    }

    /// Returns the code of `key`, or `None` if the table does not contain the key. If the key is a hash, `is_it` must return true
    /// only for the code of the wanted string. Different strings can have the same hash.
    #[inline(always)]
    pub(super) fn find(&self, key: &StringKey<N>, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.place(key);
        loop {
            let slot = self.slots.get(at)?;
            if slot.code == 0 {
                return None;
            }
            let code = slot.code - 1;
            if slot.has(key) && (key.len as usize <= size_of::<[u64; N]>() || is_it(code)) {
                return Some(code);
            }
            at = (at + 1) & self.mask;
        }
    }

    /// Inserts a code. The table must not already contain the string of `key`.
    pub(super) fn insert(&mut self, key: StringKey<N>, code: u32) {
        self.used += 1;
        if self.used > self.slots.len() / 2 {
            if self.slots.is_empty() {
                self.secret =
                    [[0, 1], [2, 3]].map(|pair: [u64; 2]| pair.map(|number| self.hasher.hash_one(number)));
            }
            let len = (self.slots.len() * 2).max(Self::LEAST_SLOTS);
            self.mask = len - 1;
            for slot in std::mem::replace(&mut self.slots, vec![CodeSlot::FREE; len]) {
                if slot.code != 0 {
                    self.put(slot);
                }
            }
        }
        self.put(CodeSlot { words: key.words, len: key.len, code: code + 1 });
    }

    /// Writes `entry` to the first free slot, starting at the slot where the search for its key starts.
    fn put(&mut self, entry: CodeSlot<N>) {
        let mut at = self.place(&StringKey { words: entry.words, len: entry.len });
        while self.slots[at].code != 0 {
            at = (at + 1) & self.mask;
        }
        self.slots[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_that_are_alike_are_told_apart_by_their_strings() {
        let mut table = CodeTable::default();
        let key = |number: u64| StringKey { words: [number, 0, 0, 0], len: 99 };
        (0..100).for_each(|code| table.insert(key(u64::from(code % 3)), code));
        assert!(
            (0..100).all(|code| table.find(&key(u64::from(code % 3)), |other| other == code) == Some(code))
        );
        assert_eq!(table.find(&key(7), |_| true), None);
    }
}
