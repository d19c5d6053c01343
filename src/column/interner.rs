//! The strings of a column being filled, and how they become a dictionary.

use std::hash::{BuildHasher, Hasher};
use std::mem::take;
use std::ops::Range;

use super::dictionary::{Codes, Dictionary};
use super::order::ascending;

/// Strings being gathered for a dictionary; codes are in order of first sight until [`seal`](Self::seal).
///
/// Of a column whose strings hardly ever occur again, as ids do, none is looked for any more: each gets a
/// code of its own, and sealing tells which are the same. Looking for one costs a miss of the cache.
#[derive(Default)]
pub(super) struct DictionaryBuilder {
    text: String,
    ends: Vec<u32>,
    /// Those of strings of up to sixteen bytes.
    short: CodeTable<2>,
    /// Those of longer ones.
    long: Box<CodeTable<4>>,
    /// For so many strings there is to be room from the first one on.
    expected: usize,
    /// How many values there were since the strings were last looked at for how often they occur.
    values: usize,
    /// Strings may have several codes.
    is_loose: bool,
}

/// Bytes that a string has, about.
const STRING_BYTES: usize = 16;
/// Room is made beforehand for strings of up to so many bytes each.
const LONGEST_EXPECTED: usize = 64;
/// After so many new strings it is asked how many values they came from.
const LOOK_STRINGS: usize = 1 << 11;
/// So many values or fewer make looking for strings not worth its while.
const LOOSE_VALUES: usize = LOOK_STRINGS + LOOK_STRINGS / 16;

impl DictionaryBuilder {
    /// For about so many strings, if there is one at all.
    pub(super) fn expecting(strings: usize) -> Self {
        Self { expected: strings, ..Self::default() }
    }

    /// Expects at least about so many strings in all, and makes room for them where they hardly ever occur again.
    pub(super) fn reserve(&mut self, strings: usize) {
        self.expected = self.expected.max(strings);
        // Strings of which there are few so far stay few, as a rule.
        if self.is_loose {
            self.ends.reserve(strings.saturating_sub(self.ends.len()));
            let likely = self
                .text
                .len()
                .checked_div(self.ends.len())
                .unwrap_or(0)
                .saturating_add(1)
                .saturating_mul(strings);
            self.text.reserve(
                likely.min(strings.saturating_mul(LONGEST_EXPECTED)).saturating_sub(self.text.len()),
            );
        }
    }

    /// The code of the string of a further value; it is added when it is new.
    ///
    /// The texts of a batch stay below 4 GiB, since their documents do.
    // A short string that is known already, as most are, is found without a call.
    #[inline(always)]
    pub(super) fn code(&mut self, text: &str) -> u32 {
        if !self.is_loose
            && let Some(key) = Key::of_short(text.as_bytes())
            && let Some(code) = self.short.find(&key, |_| true)
        {
            self.values = self.values.wrapping_add(1);
            return code;
        }
        self.code_of_any(text)
    }

    /// As [`code`](Self::code).
    #[inline(never)]
    fn code_of_any(&mut self, text: &str) -> u32 {
        if self.is_loose {
            return self.append(text);
        }
        self.values = self.values.wrapping_add(1);
        if let Some(key) = Key::of_short(text.as_bytes()) {
            self.short
                .find(&key, |_| true)
                .unwrap_or_else(|| self.add(text, |codes, code| codes.short.insert(key, code)))
        } else {
            let key = self.long.key(text.as_bytes());
            let (own, ends) = (self.text.as_bytes(), &self.ends);
            let found = self.long.find(&key, |code| own.get(range(ends, code)) == Some(text.as_bytes()));
            found.unwrap_or_else(|| self.add(text, |codes, code| codes.long.insert(key, code)))
        }
    }

    /// Adds a string that is new, as `note` notes its code.
    #[inline(never)]
    fn add(&mut self, text: &str, note: impl FnOnce(&mut Self, u32)) -> u32 {
        if self.ends.is_empty() {
            self.ends.reserve(self.expected);
            self.text.reserve(self.expected.saturating_mul(STRING_BYTES).max(text.len()));
        }
        let code = self.append(text);
        note(self, code);
        if self.ends.len().is_multiple_of(LOOK_STRINGS) && take(&mut self.values) <= LOOSE_VALUES {
            self.is_loose = true;
            (self.short, self.long) = Default::default();
        }
        code
    }

    #[inline]
    fn append(&mut self, text: &str) -> u32 {
        let code = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.text.push_str(text);
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        code
    }

    pub(super) fn get(&self, code: u32) -> &str {
        self.text.get(range(&self.ends, code)).unwrap_or_default()
    }

    /// The bytes of that string, which takes a little less.
    fn bytes(&self, code: u32) -> &[u8] {
        self.text.as_bytes().get(range(&self.ends, code)).unwrap_or_default()
    }

    /// Forgets all strings, not what is expected.
    pub(super) fn clear(&mut self) {
        let (text, ends) = (take(&mut self.text), take(&mut self.ends));
        *self = Self { text, ends, expected: self.expected, ..Self::default() };
        self.text.clear();
        self.ends.clear();
    }

    /// The dictionary, and the codes with those of first sight replaced by ranks.
    pub(super) fn seal(&self, codes: &[u32]) -> (Dictionary, Codes) {
        let strings = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        let mut order = ascending(strings, |code| self.bytes(code));
        let mut ranks = vec![0_u32; order.len()];
        let mut distinct = 0_u32;
        order.retain(|ranked| {
            distinct = distinct.saturating_add(u32::from(!ranked.is_repeated));
            if let Some(rank) = ranks.get_mut(ranked.number as usize) {
                *rank = distinct.saturating_sub(1);
            }
            !ranked.is_repeated
        });
        let rank = |code: &u32| ranks.get(*code as usize).copied().unwrap_or(0);
        let strings = order.iter().map(|ranked| self.get(ranked.number));
        let dictionary = Dictionary::from_ascending(self.text.len(), strings);
        (dictionary, Codes::new(codes.iter().map(rank), order.len()))
    }
}

/// Where the string of a code stands among those whose ends these are.
#[inline]
fn range(ends: &[u32], code: u32) -> Range<usize> {
    let code = code as usize;
    let start = code.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    start as usize..ends.get(code).copied().unwrap_or(start) as usize
}

/// Codes by their strings.
///
/// Each has a slot as near as may be behind the one that its hash names; at most half of the slots are taken. A string that
/// is no longer than `N` words is in the slot whole, so that finding it reads nothing else, nor does growing.
#[derive(Default)]
struct CodeTable<const N: usize> {
    /// As many as a power of two, or none.
    slots: Vec<Slot<N>>,
    used: usize,
    hasher: foldhash::quality::RandomState,
    /// What the words of strings are mixed with, once there are slots: nobody outside knows which collide.
    secret: [[u64; 2]; 2],
}

/// What a table knows a string by.
#[derive(Clone, Copy)]
struct Key<const N: usize> {
    /// All bytes of a string that is no longer, some of them twice; of any other, its hash.
    words: [u64; N],
    len: u32,
}

impl Key<2> {
    /// Strings of one length are the same if their words are; `None` for longer ones.
    #[inline(always)]
    fn of_short(text: &[u8]) -> Option<Self> {
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

impl Key<4> {
    /// As [`Key::of_short`], of strings of sixteen bytes or more.
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

/// A code and the [`Key`] of its string, flat, as that takes a quarter less.
#[derive(Clone, Copy)]
struct Slot<const N: usize> {
    words: [u64; N],
    len: u32,
    /// Counted from 1; 0 is free.
    code: u32,
}

impl<const N: usize> Slot<N> {
    const FREE: Self = Self { words: [0; N], len: 0, code: 0 };

    /// Word by word: a key that has just been made is in registers, and arrays compared whole are written to memory first, in other
    /// pieces than they are read in then, so that the read waits until they are there.
    #[inline(always)]
    fn has(&self, key: &Key<N>) -> bool {
        let differing = |differing, (own, other): (&u64, &u64)| differing | (own ^ other);
        self.len == key.len && self.words.iter().zip(&key.words).fold(0, differing) == 0
    }
}

impl CodeTable<4> {
    #[inline(always)]
    fn key(&self, text: &[u8]) -> Key<4> {
        Key::of_long(text).unwrap_or_else(|| self.key_of_longest(text))
    }

    #[inline(never)]
    fn key_of_longest(&self, text: &[u8]) -> Key<4> {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(text);
        Key { words: [hasher.finish(), 0, 0, 0], len: u32::try_from(text.len()).unwrap_or(u32::MAX) }
    }
}

impl<const N: usize> CodeTable<N> {
    const LEAST_SLOTS: usize = 32;

    /// The slot from which a key is looked for; behind the last one without slots.
    #[inline(always)]
    fn place(&self, key: &Key<N>) -> usize {
        let (pairs, _) = key.words.as_chunks();
        let mut hash = key.len as usize;
        for ([first, second], [secret, other]) in pairs.iter().zip(&self.secret) {
            let product = u128::from(first ^ secret).wrapping_mul(u128::from(second ^ other));
            #[expect(clippy::cast_possible_truncation, reason = "both halves are wanted")]
            let folded = (product >> 64) as usize ^ product as usize;
            hash = hash.wrapping_add(folded);
        }
        hash & self.slots.len().wrapping_sub(1)
    }

    /// Asks `is_it` of codes whose strings are longer than a slot holds.
    #[inline(always)]
    fn find(&self, key: &Key<N>, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.place(key);
        loop {
            let slot = self.slots.get(at)?;
            let code = slot.code.checked_sub(1)?;
            if slot.has(key) && (key.len as usize <= size_of::<[u64; N]>() || is_it(code)) {
                return Some(code);
            }
            at = at.wrapping_add(1) & self.slots.len().wrapping_sub(1);
        }
    }

    /// Adds a code that is not there.
    fn insert(&mut self, key: Key<N>, code: u32) {
        self.used = self.used.saturating_add(1);
        if self.used > self.slots.len() / 2 {
            if self.slots.is_empty() {
                self.secret =
                    [[0, 1], [2, 3]].map(|pair: [u64; 2]| pair.map(|number| self.hasher.hash_one(number)));
            }
            let len = self.slots.len().saturating_mul(2).max(Self::LEAST_SLOTS);
            for slot in std::mem::replace(&mut self.slots, vec![Slot::FREE; len]) {
                if slot.code != 0 {
                    self.put(slot);
                }
            }
        }
        self.put(Slot { words: key.words, len: key.len, code: code.saturating_add(1) });
    }

    fn put(&mut self, entry: Slot<N>) {
        let mut at = self.place(&Key { words: entry.words, len: entry.len });
        while let Some(slot) = self.slots.get_mut(at) {
            if slot.code == 0 {
                *slot = entry;
                return;
            }
            at = at.wrapping_add(1) & self.slots.len().wrapping_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_ranks_by_code_point() {
        let mut builder = DictionaryBuilder::default();
        let codes: Vec<u32> =
            ["b", "a", "", "é", "a", "z", "😀", "\u{ffff}"].iter().map(|text| builder.code(text)).collect();
        let (dictionary, codes) = builder.seal(&codes);
        assert_eq!(dictionary.validate(), Ok(()));
        let texts: Vec<&str> = (0..dictionary.len()).map(|code| dictionary.get(code)).collect();
        assert_eq!(texts, ["", "a", "b", "z", "é", "\u{ffff}", "😀"]);
        assert_eq!(
            (0..8).map(|at| dictionary.get(codes.get(at))).collect::<Vec<_>>(),
            ["b", "a", "", "é", "a", "z", "😀", "\u{ffff}"]
        );
    }

    #[test]
    fn room_that_is_expected_is_never_less_than_before() {
        let mut builder = DictionaryBuilder::expecting(1000);
        builder.reserve(0);
        builder.code("a");
        assert!(builder.ends.capacity() >= 1000 && builder.text.capacity() >= 1000 * STRING_BYTES);
    }

    #[test]
    fn strings_that_share_their_beginnings_are_in_order() {
        let ends = [
            "",
            "\0",
            "\0\0",
            "1",
            "1\0",
            "12345678",
            "123456789",
            "12345678\0",
            "12345678\0\0",
            "1234567\0",
            "1234567812345678",
            "12345678123456781",
            "1234567812345678\0",
            "é",
            "\u{e8}x",
            "9",
        ];
        for shared in ["", "a", "é", "id-0000000", "id-0000000000000"] {
            for also in [None, Some("b"), Some("i"), Some("id-00000001")] {
                let mut texts: Vec<String> = ends.iter().map(|end| format!("{shared}{end}")).collect();
                texts.extend(also.map(str::to_owned));
                let mut builder = DictionaryBuilder::default();
                let codes: Vec<u32> = texts.iter().map(|text| builder.code(text)).collect();
                let (dictionary, codes) = builder.seal(&codes);
                assert_eq!(dictionary.validate(), Ok(()));
                for (at, text) in texts.iter().enumerate() {
                    assert_eq!(dictionary.get(codes.get(at)), text);
                }
            }
        }
    }

    #[test]
    fn strings_that_hardly_ever_occur_again_are_told_apart_when_sealed() {
        let text = |n: u32| format!("{:05}", n.wrapping_mul(7919) % 100_000);
        // As many as make it loose, some of them twice; then one over and over, and all once more.
        let few =
            (0..LOOK_STRINGS as u32).flat_map(|n| std::iter::repeat_n(n, if n % 30 == 0 { 2 } else { 1 }));
        let values: Vec<u32> = few.chain([5; 1000]).chain(0..3000).collect();
        let mut builder = DictionaryBuilder::default();
        let codes: Vec<u32> = values.iter().map(|n| builder.code(&text(*n))).collect();
        assert!(builder.is_loose);
        let (dictionary, codes) = builder.seal(&codes);
        assert_eq!((dictionary.validate(), dictionary.len()), (Ok(()), 3000));
        for (at, n) in values.iter().enumerate() {
            assert_eq!(dictionary.get(codes.get(at)), text(*n));
        }
    }

    #[test]
    fn strings_that_differ_in_a_byte_or_in_length_are_told_apart() {
        let letters = ["\0", "a", "é"];
        let mut texts: Vec<String> = vec![String::new()];
        for len in 1..=40 {
            for (letter, other) in letters.iter().flat_map(|a| letters.iter().map(move |b| (a, b))) {
                texts.extend((0..len).map(|at| {
                    (0..len).map(|place| if place == at { *other } else { *letter }).collect::<String>()
                }));
            }
        }
        texts.sort();
        texts.dedup();
        let mut builder = DictionaryBuilder::default();
        for _ in 0..2 {
            for (code, text) in texts.iter().enumerate() {
                // Strings that come but once are not looked for.
                assert_eq!([builder.code(text), builder.code(text)], [code as u32; 2], "{text:?}");
            }
        }
    }

    #[test]
    fn every_string_has_a_code_of_its_own_however_many_there_are() {
        let mut builder = DictionaryBuilder::default();
        let text = |n: u32| format!("{:x}", n.wrapping_mul(0x9e37_79b9));
        for round in 0..2 {
            for n in 0..5000 {
                // Strings that come but once are not looked for.
                assert_eq!([builder.code(&text(n)), builder.code(&text(n))], [n; 2], "round {round}");
            }
        }
        assert!((0..5000).all(|n| builder.get(n) == text(n)));
        // Hashes that are alike are told apart by their strings.
        let mut table = CodeTable::default();
        let key = |number: u64| Key { words: [number, 0, 0, 0], len: 99 };
        (0..100).for_each(|code| table.insert(key(u64::from(code % 3)), code));
        assert!(
            (0..100).all(|code| table.find(&key(u64::from(code % 3)), |other| other == code) == Some(code))
        );
        assert_eq!(table.find(&key(7), |_| true), None);
    }
}
