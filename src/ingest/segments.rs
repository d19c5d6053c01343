//! The template of documents: the texts between one value and the next, as earlier documents had them.
//!
//! Documents of one source have the same text there each time: a comma, a key and its colon, brackets that
//! close and open. Which brackets are open around a slot follows from the slot, so that a text that
//! once led from it to another slot always does.

use std::sync::Arc;

use super::segment::{Form, Segment};
use super::slot_keys::{Keys, MAX_KEYS, SlotIndex};
use crate::catalog::{Paths, Shape, Stray};

/// The longest text of a segment.
const MAX_TEXT_BYTES: usize = 256;

/// How many segments may start at one slot.
const MAX_SEGMENTS: usize = 16;

/// Keys without a slot after which the template begins anew: other documents seem to come than those that it was learned from.
const MANY_STRAYS: u32 = 1 << 10;

/// One place of a document at which values lie, with the segments that lead on from it.
#[derive(Debug)]
struct Slot {
    /// The slot of the object or array around it.
    parent: SlotIndex,
    /// Its key; none of an array's elements, and none when there are too many.
    key: Keys,
    /// The keys below it.
    below: Keys,
    /// The segments that led on from it; one that is met moves ahead of one that was met less often.
    segments: Vec<Segment>,
}

/// The segments that were learned, all from documents read with one catalogue and one limit of depth.
#[derive(Debug, Default)]
pub(super) struct Segments {
    /// By [`SlotIndex`].
    slots: Vec<Slot>,
    /// How many of them are nodes.
    nodes: usize,
    depth_limit: usize,
    /// The keys of the others.
    unknown_keys: Vec<Box<str>>,
    /// How many slots have a key.
    keys: usize,
    /// How many keys were met that have no slot.
    strays: u32,
    /// The keys that lead to no field but look like one, each with what it looks like, and all of them together.
    near: Vec<(Keys, Arc<Stray>)>,
    near_keys: Keys,
}

impl Segments {
    /// Makes the slots of the catalogue: before the first document, under another limit, and when most keys that are met
    /// have no slot.
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

    /// Returns the segment of a slot that `text` begins with.
    #[inline(always)]
    pub(super) fn follow(&mut self, from: SlotIndex, text: &[u8]) -> Option<&Segment> {
        let segments = self.slots.get_mut(from)?.segments.as_mut_slice();
        if !segments.first()?.stands_in(text) {
            return find_later(segments, text);
        }
        let segment = segments.first_mut()?;
        segment.hits = segment.hits.wrapping_add(1);
        Some(segment)
    }

    /// Adds a new segment of a slot. If the slot has many, the last one goes. The new one is put after the first half, so that it
    /// stays for a while.
    pub(super) fn learn(
        &mut self,
        from: SlotIndex,
        text: &str,
        ended: Keys,
        keys: Keys,
        to: SlotIndex,
        form: Form,
    ) {
        if text.len() > MAX_TEXT_BYTES {
            return;
        }
        if let Some(Slot { segments, .. }) = self.slots.get_mut(from) {
            segments.truncate(MAX_SEGMENTS.wrapping_sub(1));
            segments.insert(segments.len().min(MAX_SEGMENTS / 2), Segment::new(text, ended, keys, to, form));
        }
    }

    /// How many slots there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The slot of the object or array around a slot.
    pub(super) fn parent(&self, slot: SlotIndex) -> Option<SlotIndex> {
        self.slots.get(slot).map(|slot| slot.parent)
    }

    /// The key of a slot that has one.
    pub(super) fn key(&self, slot: SlotIndex) -> Option<Keys> {
        self.slots.get(slot).map(|slot| slot.key).filter(|key| *key != Keys::default())
    }

    /// Notes that a key looks like a field.
    pub(super) fn note_near(&mut self, key: Keys, stray: &Arc<Stray>) {
        if !self.near_keys.has_any(key) {
            self.near_keys = self.near_keys.with(key);
            self.near.push((key, Arc::clone(stray)));
        }
    }

    /// Returns the fields that the keys look like, for those keys that look like one.
    #[inline(always)]
    pub(super) fn near(&self, keys: Keys) -> impl Iterator<Item = &Arc<Stray>> {
        let near = if self.near_keys.has_any(keys) { self.near.as_slice() } else { &[] };
        near.iter().filter(move |(key, _)| keys.has_any(*key)).map(|(_, stray)| stray)
    }

    /// All keys below a slot.
    pub(super) fn below(&self, slot: SlotIndex) -> Keys {
        self.slots.get(slot).map_or(Keys::default(), |slot| slot.below)
    }

    /// The slot of a key that leads to no field, in an object; `None` when there were too many, or it is too long.
    pub(super) fn unknown_key(&mut self, object: SlotIndex, key: &str) -> Option<SlotIndex> {
        let mut others = self.slots.iter().skip(self.nodes).zip(&self.unknown_keys);
        if let Some(number) = others.position(|(slot, other)| slot.parent == object && **other == *key) {
            return Some(self.nodes.saturating_add(number));
        }
        if self.keys >= MAX_KEYS || key.len() > MAX_TEXT_BYTES {
            self.strays = self.strays.saturating_add(1);
            return None;
        }
        // Which keys end in segments was told without this one.
        self.slots.iter_mut().for_each(|slot| slot.segments.clear());
        self.unknown_keys.push(key.into());
        Some(self.push(object, true))
    }
}

/// As [`Segments::follow`], where it is not the one met most often.
#[inline(never)]
fn find_later<'l>(segments: &'l mut [Segment], text: &[u8]) -> Option<&'l Segment> {
    let at = segments.iter().position(|segment| segment.stands_in(text))?;
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

    /// Whether the segment that stands there is known at slot 1.
    fn is_known(segments: &mut Segments, text: &str) -> bool {
        segments.follow(1, text.as_bytes()).is_some_and(|segment| segment.len == text.len())
    }

    #[test]
    fn segments_met_more_often_come_first_and_one_that_is_seldom_met_makes_room() {
        let mut segments = Segments::default();
        segments.prepare(Catalog::cases().paths(), 9);
        let learn = |segments: &mut Segments, text: &str| {
            segments.learn(1, text, Keys::default(), Keys::default(), 1, Form::Other);
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
        // That of key0 was met but once.
        learn(&mut segments, "\"new\":");
        assert!(!is_known(&mut segments, &texts[0]));
        assert!(
            texts.iter().skip(1).all(|text| is_known(&mut segments, text))
                && is_known(&mut segments, "\"new\":")
        );
        // However often the others were met, two new ones that are met in turn find room.
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
    fn places_of_other_documents_are_given_up() {
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
        panic!("a key that is met again and again has no slot");
    }

    #[test]
    fn long_keys_take_no_room() {
        let mut segments = Segments::default();
        segments.prepare(Catalog::cases().paths(), 9);
        assert_eq!(segments.unknown_key(Paths::ROOT, &"x".repeat(MAX_TEXT_BYTES + 1)), None);
        assert!(segments.unknown_keys.is_empty());
    }

    #[test]
    fn every_place_has_a_key_of_its_own_until_there_are_too_many() {
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
