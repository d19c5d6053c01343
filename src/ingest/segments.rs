//! The learned part of a document template: the text segments that came after each value in earlier documents.
//!
//! Documents of one source repeat the same text between two values: a comma, a key and its colon, closing and opening brackets. A
//! *slot* is a position at which a document can have a value; it determines which brackets are open. So the same segment after the
//! same slot always leads to the same next slot.

use std::sync::Arc;

use super::segment::{Form, Segment};
use super::slot_keys::{Keys, MAX_KEYS, SlotIndex};
use crate::catalog::{ArrayId, Paths, Shape, Stray};

/// The maximum length of the text of a segment, in bytes. A longer text is not learned, and is parsed each time.
const MAX_TEXT_BYTES: usize = 256;

/// The maximum number of segments that start at one slot. If a slot has this number of segments, a new segment replaces the last
/// one.
const MAX_SEGMENTS: usize = 16;

/// The maximum number of keys that have no slot. When it is reached, the template is discarded, because it was probably learned
/// from documents of another source.
const MANY_STRAYS: u32 = 1 << 10;

/// A position at which documents can have a value, and the text segments that came after this value in earlier documents.
#[derive(Debug)]
struct Slot {
    /// The slot of the object or array that contains this slot.
    parent: SlotIndex,
    /// The key of the slot. Empty for the elements of an array, and if the maximum number of keys is exceeded.
    key: Keys,
    /// The keys of all slots inside this slot.
    below: Keys,
    /// The segments that came after the value of the slot in earlier documents. After a match, a segment changes places with the
    /// segment before it if that segment has fewer matches.
    segments: Vec<Segment>,
}

/// The learned segments. All documents from which they were learned were read with the same catalogue and the same depth limit.
#[derive(Debug, Default)]
pub(super) struct Segments {
    /// The slots. The index is a [`SlotIndex`].
    slots: Vec<Slot>,
    /// The number of slots that are nodes of the catalogue. The slots of unknown keys come after them.
    nodes: usize,
    depth_limit: usize,
    /// The keys of the slots that come after the nodes.
    unknown_keys: Vec<Box<str>>,
    /// The number of slots that have a key.
    keys: usize,
    /// The number of keys that were found and have no slot.
    strays: u32,
    /// The unknown keys that resemble a field, each with the field that it resembles.
    similar: Vec<(Keys, Arc<Stray>)>,
    similar_keys: Keys,
}

impl Segments {
    /// Creates the slots of the catalogue if this is necessary. This is the case before the first document, after a change of the
    /// depth limit, and after too many keys without a slot.
    pub(super) fn prepare(&mut self, paths: &Paths, depth_limit: usize) {
        let nodes = paths.steps().len();
        if (self.nodes, self.depth_limit) == (nodes, depth_limit) && self.strays < MANY_STRAYS {
            return;
        }
        *self = Self { nodes, depth_limit, ..Self::default() };
        for (node, step) in paths.steps().iter().enumerate() {
            let is_in_object = paths.shape(step.parent) == Shape::Object;
            self.push(step.parent, is_in_object && node != Paths::ROOT);
        }
    }

    fn push(&mut self, parent: SlotIndex, has_key: bool) -> SlotIndex {
        let slot = self.slots.len();
        let key = if has_key { Keys::numbered(self.keys) } else { Keys::default() };
        self.keys = self.keys.saturating_add(usize::from(has_key));
        self.slots.push(Slot { parent, key, below: Keys::default(), segments: Vec::new() });
        let mut above = slot;
        while let Some(parent) = self.slots.get(above).map(|slot| slot.parent)
            && parent != above
            && let Some(slot) = self.slots.get_mut(parent)
        {
            slot.below = slot.below.with(key);
            above = parent;
        }
        slot
    }

    /// Returns the segment after slot `from` that is a prefix of `text`, and counts the match.
    #[inline(always)]
    pub(super) fn follow(&mut self, from: SlotIndex, text: &[u8]) -> Option<&Segment> {
        let segments = self.slots.get_mut(from)?.segments.as_mut_slice();
        if !segments.first()?.is_prefix_of(text) {
            return find_later(segments, text);
        }
        let segment = segments.first_mut()?;
        segment.hits = segment.hits.wrapping_add(1);
        Some(segment)
    }

    /// Adds a new segment to a slot. `begun` has the array of each element that begins in the segment.
    ///
    /// If the slot is full, the last segment of the slot is dropped. The new segment is inserted in the middle, so that the next
    /// new segment does not replace it.
    pub(super) fn learn(
        &mut self,
        from: SlotIndex,
        text: &str,
        (ended, keys, begun): (Keys, Keys, &[ArrayId]),
        to: SlotIndex,
        form: Form,
    ) {
        if text.len() > MAX_TEXT_BYTES {
            return;
        }
        if let Some(Slot { segments, .. }) = self.slots.get_mut(from) {
            segments.truncate(MAX_SEGMENTS.wrapping_sub(1));
            segments.insert(
                segments.len().min(MAX_SEGMENTS / 2),
                Segment::new(text, (ended, keys, begun), to, form),
            );
        }
    }

    /// Returns the number of slots.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the slot of the object or array that contains `slot`.
    pub(super) fn parent(&self, slot: SlotIndex) -> Option<SlotIndex> {
        self.slots.get(slot).map(|slot| slot.parent)
    }

    /// Returns the key of a slot. Returns `None` if the slot has no key.
    pub(super) fn key(&self, slot: SlotIndex) -> Option<Keys> {
        self.slots.get(slot).map(|slot| slot.key).filter(|key| *key != Keys::default())
    }

    /// Records that an unknown key resembles a field.
    pub(super) fn note_similar(&mut self, key: Keys, stray: &Arc<Stray>) {
        if !self.similar_keys.has_any(key) {
            self.similar_keys = self.similar_keys.with(key);
            self.similar.push((key, Arc::clone(stray)));
        }
    }

    /// Returns the fields that these keys resemble.
    #[inline(always)]
    pub(super) fn similar(&self, keys: Keys) -> impl Iterator<Item = &Arc<Stray>> {
        let similar = if self.similar_keys.has_any(keys) { self.similar.as_slice() } else { &[] };
        similar.iter().filter(move |(key, _)| keys.has_any(*key)).map(|(_, stray)| stray)
    }

    /// Returns all keys inside a slot.
    pub(super) fn below(&self, slot: SlotIndex) -> Keys {
        self.slots.get(slot).map_or(Keys::default(), |slot| slot.below)
    }

    /// Returns the slot of an unknown key in an object. Adds a slot if the key has no slot yet. Returns `None` if no slot can be
    /// added, because there are too many slots or the key is too long.
    pub(super) fn unknown_key(&mut self, object: SlotIndex, key: &str) -> Option<SlotIndex> {
        let mut others = self.slots.iter().skip(self.nodes).zip(&self.unknown_keys);
        if let Some(number) = others.position(|(slot, other)| slot.parent == object && **other == *key) {
            return Some(self.nodes.saturating_add(number));
        }
        if self.keys >= MAX_KEYS || key.len() > MAX_TEXT_BYTES {
            self.strays = self.strays.saturating_add(1);
            return None;
        }
        // The sets `ended` of the learned segments do not contain the new key, so the segments are discarded.
        self.slots.iter_mut().for_each(|slot| slot.segments.clear());
        self.unknown_keys.push(key.into());
        Some(self.push(object, true))
    }
}

/// Returns the segment that is a prefix of `text`, if the first segment is not. Counts the match. If the segment before it has
/// fewer matches, the two segments change places.
#[inline(never)]
fn find_later<'l>(segments: &'l mut [Segment], text: &[u8]) -> Option<&'l Segment> {
    let at = segments.iter().position(|segment| segment.is_prefix_of(text))?;
    if let Some(segment) = segments.get_mut(at) {
        segment.hits = segment.hits.wrapping_add(1);
    }
    let ahead = at.wrapping_sub(1);
    match segments.get(ahead..=at) {
        Some([other, segment]) if segment.hits > other.hits => {
            segments.swap(ahead, at);
            segments.get(ahead)
        }
        _ => segments.get(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::catalog::Catalog;

    /// Returns true if slot 1 has a segment with this text.
    fn is_known(segments: &mut Segments, text: &str) -> bool {
        segments.follow(1, text.as_bytes()).is_some_and(|segment| segment.len == text.len())
    }

    #[test]
    fn frequent_segments_come_first_and_a_rare_one_is_replaced() {
        let mut segments = Segments::default();
        segments.prepare(Catalog::cases().paths(), 9);
        let learn = |segments: &mut Segments, text: &str| {
            segments.learn(1, text, (Keys::default(), Keys::default(), &[]), 1, Form::Other);
        };
        let texts: Vec<String> = (0..MAX_SEGMENTS).map(|n| format!("\"key{n}\":")).collect();
        for text in &texts {
            assert!(!is_known(&mut segments, text));
            learn(&mut segments, text);
        }
        for (n, text) in texts.iter().enumerate().rev() {
            for _ in 0..=n {
                assert!(is_known(&mut segments, text));
            }
        }
        // The segment of `key0` had matched only once.
        learn(&mut segments, "\"new\":");
        assert!(!is_known(&mut segments, &texts[0]));
        assert!(
            texts.iter().skip(1).all(|text| is_known(&mut segments, text))
                && is_known(&mut segments, "\"new\":")
        );
        // If two new segments alternate, both are kept, although the other segments have more matches.
        let mut missed = 0;
        for text in ["\"one\":", "\"two\":"].iter().cycle().take(100) {
            if !is_known(&mut segments, text) {
                learn(&mut segments, text);
                missed += 1;
            }
        }
        assert_eq!(missed, 2);
        assert!(segments.slots.iter().all(|slot| slot.segments.len() <= MAX_SEGMENTS));
        let long = "x".repeat(MAX_TEXT_BYTES + 1);
        learn(&mut segments, &long);
        assert!(!is_known(&mut segments, &long));
    }

    #[test]
    fn the_template_is_discarded_after_many_keys_without_a_slot() {
        let (catalog, mut segments) = (Catalog::cases(), Segments::default());
        segments.prepare(catalog.paths(), 9);
        while segments.unknown_key(Paths::ROOT, &format!("k{}", segments.keys)).is_some() {}
        assert_eq!(segments.unknown_key(Paths::ROOT, "new"), None);
        for _ in 0..MANY_STRAYS {
            segments.prepare(catalog.paths(), 9);
            if segments.unknown_key(Paths::ROOT, "new").is_some() {
                return;
            }
        }
        panic!("a frequent key has no slot");
    }

    #[test]
    fn long_keys_get_no_slot() {
        let mut segments = Segments::default();
        segments.prepare(Catalog::cases().paths(), 9);
        assert_eq!(segments.unknown_key(Paths::ROOT, &"x".repeat(MAX_TEXT_BYTES + 1)), None);
        assert!(segments.unknown_keys.is_empty());
    }

    #[test]
    fn every_slot_has_its_own_key_up_to_the_limit() {
        let mut segments = Segments::default();
        segments.prepare(Catalog::cases().paths(), 9);
        let known = segments.keys;
        let slots: Vec<SlotIndex> =
            (0..200).map_while(|n| segments.unknown_key(Paths::ROOT, &format!("k{n}"))).collect();
        assert_eq!(slots.len(), MAX_KEYS - known);
        assert_eq!(segments.unknown_key(Paths::ROOT, "k3"), Some(slots[3]));
        let keys: Vec<Keys> = (0..segments.slots.len()).filter_map(|slot| segments.key(slot)).collect();
        assert_eq!(keys.len(), MAX_KEYS);
        let all = keys.iter().fold(Keys::default(), |all, key| {
            assert!(!all.has_any(*key));
            all.with(*key)
        });
        assert_eq!(
            (all, segments.below(Paths::ROOT)),
            ((0..MAX_KEYS).map(Keys::numbered).fold(Keys::default(), Keys::with), all)
        );
        assert_eq!(keys.iter().fold(all, |all, key| all.without(*key)), Keys::default());
    }
}
