//! Trains the dictionaries that compress documents, on a sample of documents.
//!
//! # Privacy
//!
//! A dictionary stays in the file after its documents were deleted. So it must not contain personal data. Before the training, each
//! text in the sample that fewer than [`LEAST_DOCUMENTS`] documents share is replaced by random characters of the same classes:
//!
//! - A member name, number, literal or string is kept if at least [`LEAST_DOCUMENTS`] documents have it. Otherwise it is replaced.
//! - If a string or number is replaced, its longest beginning that at least [`LEAST_DOCUMENTS`] documents share is kept. The
//!   beginning ends after a space or a punctuation character.
//! - Letters are replaced by letters, and digits by digits. Letters are drawn with the frequency that they have in the replaced
//!   texts, so that zstd learns this frequency. A character outside of ASCII is only drawn if at least [`LEAST_DOCUMENTS`]
//!   documents have it. Punctuation and spaces are kept.

use std::collections::{BTreeMap, HashMap};

use super::tables::MOST_DICTIONARY_BYTES;

/// The number of documents that a dictionary is trained on. With more documents, the training takes longer, and the dictionary is
/// hardly better.
pub(super) const SAMPLES: usize = 1024;

/// The maximum size of a document of the sample, in bytes. Larger documents are not used.
const MOST_BYTES: usize = 1 << 14;

/// The minimum number of documents of the sample that must share a text, so that a dictionary may contain the text.
const LEAST_DOCUMENTS: usize = 20;

/// The maximum number of beginnings of a string that are compared with those of other documents.
const MOST_BEGINNINGS: usize = 32;

/// Returns a copy of a document for the sample. Returns `None` if the document is too large to be used.
pub(super) fn sample(document: &str) -> Option<String> {
    (document.len() <= MOST_BYTES).then(|| document.to_owned())
}

/// Trains a dictionary. Returns `None` if there are too few documents, or if they have too little in common.
pub(super) fn train<'d>(documents: impl Iterator<Item = &'d str>) -> Option<Vec<u8>> {
    let documents: Vec<&str> = documents.filter(|text| text.len() <= MOST_BYTES).take(SAMPLES).collect();
    if documents.len() < SAMPLES / 2 {
        return None;
    }
    let trained = zstd::dict::from_samples(&scrub(&documents), MOST_DICTIONARY_BYTES).ok()?;
    (trained.len() <= MOST_DICTIONARY_BYTES).then_some(trained)
}

/// The kind of a text in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Name,
    /// A string without its quotes, a number, or a literal.
    Value,
    /// The beginning of a string.
    Beginning,
}

/// Replaces each text that fewer than [`LEAST_DOCUMENTS`] documents share.
fn scrub(documents: &[&str]) -> Vec<String> {
    let mut shared = Shared::default();
    for (at, document) in documents.iter().enumerate() {
        each_text(document, |kind, text| {
            shared.count(at, kind, text);
            if kind == Kind::Value {
                beginnings(text).for_each(|text| shared.count(at, Kind::Beginning, text));
            }
        });
    }
    let mut letters = Letters::default();
    let mut characters: HashMap<char, (usize, usize)> = HashMap::new();
    for (at, document) in documents.iter().enumerate() {
        for character in document.chars().filter(|own| !own.is_ascii()) {
            count_once(characters.entry(character).or_insert((usize::MAX, 0)), at);
        }
        each_text(document, |kind, text| {
            let replaced = text.get(shared.kept(kind, text)..).unwrap_or_default();
            letters.count(replaced, |own| {
                own.is_ascii() || characters.get(&own).is_some_and(|found| found.1 >= LEAST_DOCUMENTS)
            });
        });
    }
    let mut draw = Draw::new(&letters);
    let scrubbed = documents.iter().map(|document| {
        let mut out = String::with_capacity(document.len());
        let mut done = 0;
        each_text_at(document, |kind, start, end| {
            let text = document.get(start..end).unwrap_or_default();
            let (kept, replaced) = text.split_at_checked(shared.kept(kind, text)).unwrap_or(("", text));
            out.push_str(document.get(done..start).unwrap_or_default());
            out.push_str(kept);
            out.extend(replaced.chars().map(|own| draw.instead_of(own)));
            done = end;
        });
        out.push_str(document.get(done..).unwrap_or_default());
        out
    });
    scrubbed.collect()
}

/// The number of documents that have each text.
#[derive(Default)]
struct Shared<'d> {
    /// For each text, the index of the last document that has it, and the number of documents that have it.
    counts: HashMap<(Kind, &'d str), (usize, usize)>,
}

impl<'d> Shared<'d> {
    fn count(&mut self, document: usize, kind: Kind, text: &'d str) {
        count_once(self.counts.entry((kind, text)).or_insert((usize::MAX, 0)), document);
    }

    fn is_shared(&self, kind: Kind, text: &str) -> bool {
        self.counts.get(&(kind, text)).is_some_and(|(_, count)| *count >= LEAST_DOCUMENTS)
    }

    /// Returns the length of the beginning of `text` that is kept, in bytes.
    fn kept(&self, kind: Kind, text: &str) -> usize {
        if self.is_shared(kind, text) {
            return text.len();
        }
        if kind != Kind::Value {
            return 0;
        }
        let kept = beginnings(text).filter(|text| self.is_shared(Kind::Beginning, text)).last();
        kept.map_or(0, str::len)
    }
}

fn count_once((last, count): &mut (usize, usize), document: usize) {
    if *last != document {
        (*last, *count) = (document, count.saturating_add(1));
    }
}

/// Returns the beginnings of a string that end after a word, from the shortest to the longest.
fn beginnings(text: &str) -> impl Iterator<Item = &str> {
    let ends = text.bytes().zip(1_usize..).filter(|(byte, _)| b" -_:./#@,+".contains(byte));
    ends.take(MOST_BEGINNINGS).filter_map(|(_, end)| text.get(..end))
}

/// Passes each member name, string, number and literal of a document to `take`.
fn each_text<'d>(document: &'d str, mut take: impl FnMut(Kind, &'d str)) {
    each_text_at(document, |kind, start, end| take(kind, document.get(start..end).unwrap_or_default()));
}

/// Like [`each_text`], but passes the start and the end of each text. Everything else in a document is whitespace, quotes and the
/// six structural characters of JSON.
fn each_text_at(document: &str, mut take: impl FnMut(Kind, usize, usize)) {
    let bytes = document.as_bytes();
    let at = |place: usize| bytes.get(place).copied();
    let is_structure = |byte: u8| b" \t\r\n{}[]:,\"".contains(&byte);
    let mut place = 0_usize;
    while let Some(byte) = at(place) {
        if byte == b'"' {
            let start = place.saturating_add(1);
            let mut end = start;
            while let Some(byte) = at(end).filter(|byte| *byte != b'"') {
                end = end.saturating_add(if byte == b'\\' { 2 } else { 1 });
            }
            let end = end.min(bytes.len());
            place = end.saturating_add(1);
            let next = bytes.get(place..).unwrap_or_default().iter().find(|byte| !b" \t\r\n".contains(byte));
            take(if next == Some(&b':') { Kind::Name } else { Kind::Value }, start, end);
        } else if is_structure(byte) {
            place = place.saturating_add(1);
        } else {
            let start = place;
            while at(place).is_some_and(|byte| !is_structure(byte)) {
                place = place.saturating_add(1);
            }
            take(Kind::Value, start, place);
        }
    }
}

/// The frequencies of characters, by class. For privacy, only counts are kept, and not the order in which the characters occur.
#[derive(Default)]
struct Letters {
    classes: [BTreeMap<char, u64>; 3],
}

/// Returns the class of a letter. Returns `None` for a digit, because each digit is drawn with the same probability. Also returns
/// `None` for other ASCII characters, which are kept.
fn class(character: char) -> Option<usize> {
    match character {
        'a'..='z' => Some(0),
        'A'..='Z' => Some(1),
        _ if !character.is_ascii() => Some(2),
        _ => None,
    }
}

impl Letters {
    fn count(&mut self, text: &str, may_be_drawn: impl Fn(char) -> bool) {
        for character in text.chars().filter(|own| may_be_drawn(*own)) {
            if let Some(own) = class(character).and_then(|class| self.classes.get_mut(class)) {
                let count = own.entry(character).or_default();
                *count = count.saturating_add(1);
            }
        }
    }
}

/// A source of random characters.
struct Draw {
    /// The characters of each class. Each has the sum of its frequency and the frequencies of all characters before it.
    classes: Vec<Vec<(char, u64)>>,
    state: u64,
}

impl Draw {
    fn new(letters: &Letters) -> Self {
        let sums = |class: &BTreeMap<char, u64>| {
            let mut sum = 0_u64;
            class
                .iter()
                .map(|(character, count)| {
                    sum = sum.saturating_add(*count);
                    (*character, sum)
                })
                .collect()
        };
        Self { classes: letters.classes.iter().map(sums).collect(), state: 0x9e37_79b9_7f4a_7c15 }
    }

    /// Returns a random number less than `end`, by xorshift.
    fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 16).checked_rem(end).unwrap_or(0)
    }

    /// Returns a random character of the class of `character`, or `x` if no character of the class may be drawn. Returns the
    /// character itself if it is ASCII punctuation or a space.
    fn instead_of(&mut self, character: char) -> char {
        if character.is_ascii_digit() {
            let digit = u8::try_from(self.below(10)).unwrap_or(0);
            return char::from(b'0'.saturating_add(digit));
        }
        let Some(class) = class(character) else { return character };
        let end = self.classes.get(class).and_then(|own| own.last()).map_or(0, |(_, sum)| *sum);
        let drawn = self.below(end);
        let own = self.classes.get(class).map_or(&[][..], |own| own);
        own.get(own.partition_point(|(_, sum)| *sum <= drawn)).map_or('x', |(character, _)| *character)
    }
}

#[cfg(test)]
mod tests;
