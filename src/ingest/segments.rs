//! What stands between one value of a document and the next, as documents before had it.
//!
//! Documents of one source have the same text there each time: a comma, a key and its colon, brackets that
//! close and open. Which brackets are open around a place of the catalogue follows from the place, so that a text that
//! once led from it to another place always does.

use std::sync::Arc;

use wide::u8x16;

use crate::catalog::{Expected, FieldId, Paths, Shape, Stray};

/// Where values lie: a node of the catalogue's paths or, numbered behind those, a key of an object among them that
/// leads to no field.
pub(super) type Place = usize;

/// A set of keys, a bit for each place that has one; two words, as those are quicker than one wide one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Keys([u64; 2]);

impl Keys {
    /// The key of a number; none behind the last.
    fn numbered(number: usize) -> Self {
        let bit = |start: usize| {
            let shift = number.checked_sub(start).and_then(|shift| u32::try_from(shift).ok());
            shift.and_then(|shift| 1_u64.checked_shl(shift)).unwrap_or(0)
        };
        Self([bit(0), bit(64)])
    }

    #[inline(always)]
    pub(super) fn has_any(self, other: Self) -> bool {
        let (Self([low, high]), Self([other_low, other_high])) = (self, other);
        (low & other_low) | (high & other_high) != 0
    }

    #[inline(always)]
    pub(super) fn with(self, other: Self) -> Self {
        let (Self([low, high]), Self([other_low, other_high])) = (self, other);
        Self([low | other_low, high | other_high])
    }

    #[inline(always)]
    pub(super) fn without(self, other: Self) -> Self {
        let (Self([low, high]), Self([other_low, other_high])) = (self, other);
        Self([low & !other_low, high & !other_high])
    }
}

/// How many places may have a key.
const MAX_KEYS: usize = 128;

/// The longest text of a link.
const MAX_TEXT_BYTES: usize = 256;
/// How many links may start at one place.
const MAX_LINKS: usize = 16;
/// After so many keys that were too many, other documents seem to come than those from which the places were learned.
const MANY_STRAYS: u32 = 1 << 10;

/// What a link leads to, and how that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A string; its opening quote belongs to the link.
    String(FieldId),
    /// A string in the text form of timestamps; its opening quote belongs to the link.
    Timestamp(FieldId),
    /// Milliseconds since the Unix epoch, a string or a number.
    UnixMillis(FieldId),
    Number(FieldId),
    Boolean(FieldId),
    /// Anything, which is no field's value.
    Other,
    /// The end of the document.
    End,
}

impl Form {
    /// The form of the scalars of a node; `None` where none may stand.
    pub(super) fn of(expected: Expected) -> Option<Self> {
        Some(match expected {
            Expected::String(field) => Self::String(field),
            Expected::Timestamp(field) => Self::Timestamp(field),
            Expected::UnixMillis(field) => Self::UnixMillis(field),
            Expected::Number(field) => Self::Number(field),
            Expected::Boolean(field) => Self::Boolean(field),
            Expected::Object | Expected::Array => return None,
        })
    }

    /// Whether its opening quote belongs to the link.
    pub(super) fn is_quoted(self) -> bool {
        matches!(self, Self::String(_) | Self::Timestamp(_))
    }
}

/// A text that leads from one value to the next, or to the end.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// The first sixteen bytes; zero behind the end.
    front: [u8; 16],
    /// The last sixteen, where there are more than those.
    back: [u8; 16],
    /// All bytes, where there are more than both.
    whole: Option<Box<[u8]>>,
    /// Which bytes of the front do not count, since they are behind the end.
    beyond: u32,
    /// How often it was met, about; tells the order of links alone, so it may wrap.
    hits: u32,
    pub(super) len: usize,
    /// The keys in it.
    pub(super) keys: Keys,
    /// Where objects of arrays begin in it, the keys of the objects before these, which count no more.
    pub(super) ended: Option<Keys>,
    pub(super) to: Place,
    pub(super) form: Form,
}

/// A bit for each of sixteen bytes.
const ALL_BYTES: u32 = 0xffff;

/// Which of sixteen bytes are the same, a bit each.
#[inline(always)]
fn equal_bytes(one: &[u8; 16], other: &[u8; 16]) -> u32 {
    u8x16::new(*one).simd_eq(u8x16::new(*other)).to_bitmask()
}

impl Link {
    fn new(text: &str, ended: Keys, keys: Keys, to: Place, form: Form) -> Self {
        let text = text.as_bytes();
        let mut front = [0; 16];
        for (slot, byte) in front.iter_mut().zip(text) {
            *slot = *byte;
        }
        Self {
            front,
            back: text.last_chunk().copied().unwrap_or_default(),
            whole: (text.len() > size_of::<[[u8; 16]; 2]>()).then(|| text.into()),
            beyond: ALL_BYTES << text.len().min(front.len()) & ALL_BYTES,
            hits: 0,
            len: text.len(),
            keys,
            ended: (ended != Keys::default()).then_some(ended),
            to,
            form,
        }
    }

    /// Whether it stands at the front of `text`.
    #[inline(always)]
    fn stands_in(&self, text: &[u8]) -> bool {
        let Some(front) = text.first_chunk() else { return self.stands_in_short(text) };
        equal_bytes(front, &self.front) | self.beyond == ALL_BYTES
            && (self.len <= front.len() || self.back_stands_in(text))
    }

    /// As [`stands_in`](Self::stands_in), of a link of more than sixteen bytes whose front stands there.
    #[inline(always)]
    fn back_stands_in(&self, text: &[u8]) -> bool {
        let Some(back) = text.get(..self.len).and_then(<[u8]>::last_chunk) else { return false };
        equal_bytes(back, &self.back) == ALL_BYTES
            && self.whole.as_ref().is_none_or(|whole| text.starts_with(whole))
    }

    /// As [`stands_in`](Self::stands_in), of a text of fewer than sixteen bytes.
    fn stands_in_short(&self, text: &[u8]) -> bool {
        self.front.get(..self.len).is_some_and(|own| text.starts_with(own))
    }
}

#[derive(Debug)]
struct Known {
    /// The place of the object or array around it.
    parent: Place,
    /// Its key; none of an array's elements, and none when there are too many.
    key: Keys,
    /// The keys below it.
    below: Keys,
    /// What led on from it; whichever is met moves ahead of one that was met less often.
    links: Vec<Link>,
}

/// The links that were learned, all of documents that were read by one catalogue and one limit of depth.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// By place.
    places: Vec<Known>,
    /// How many of them are nodes.
    nodes: usize,
    depth_limit: usize,
    /// The keys of the others.
    strange_keys: Vec<Box<str>>,
    /// How many places have a key.
    keys: usize,
    /// How many keys were met that have no place.
    strays: u32,
    /// The keys that lead to no field but look like one, each with what it looks like, and all of them together.
    near: Vec<(Keys, Arc<Stray>)>,
    near_keys: Keys,
}

impl Links {
    /// Makes the places of the catalogue before the first document; again under another limit, or when most keys that are met
    /// have no place.
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

    fn push(&mut self, parent: Place, has_key: bool) -> Place {
        let place = self.places.len();
        let key = if has_key { Keys::numbered(self.keys) } else { Keys::default() };
        self.keys = self.keys.saturating_add(usize::from(has_key));
        self.places.push(Known { parent, key, below: Keys::default(), links: Vec::new() });
        let mut above = place;
        while let Some(parent) = self.places.get(above).map(|known| known.parent)
            && parent != above
            && let Some(known) = self.places.get_mut(parent)
        {
            known.below = known.below.with(key);
            above = parent;
        }
        place
    }

    /// The link from a place that stands at the front of `text`.
    #[inline(always)]
    pub(super) fn follow(&mut self, from: Place, text: &[u8]) -> Option<&Link> {
        let links = self.places.get_mut(from)?.links.as_mut_slice();
        if !links.first()?.stands_in(text) {
            return less_likely(links, text);
        }
        let link = links.first_mut()?;
        link.hits = link.hits.wrapping_add(1);
        Some(link)
    }

    /// Notes a link that was not known. If there are many, the last one goes, and this one comes behind the first half, so that
    /// it stays for a while.
    pub(super) fn learn(&mut self, from: Place, text: &str, ended: Keys, keys: Keys, to: Place, form: Form) {
        if text.len() > MAX_TEXT_BYTES {
            return;
        }
        if let Some(Known { links, .. }) = self.places.get_mut(from) {
            links.truncate(MAX_LINKS.wrapping_sub(1));
            links.insert(links.len().min(MAX_LINKS / 2), Link::new(text, ended, keys, to, form));
        }
    }

    /// How many places there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The place of the object or array around a place.
    pub(super) fn parent(&self, place: Place) -> Option<Place> {
        self.places.get(place).map(|known| known.parent)
    }

    /// The key of a place that has one.
    pub(super) fn key(&self, place: Place) -> Option<Keys> {
        self.places.get(place).map(|known| known.key).filter(|key| *key != Keys::default())
    }

    /// Notes that a key looks like a field.
    pub(super) fn note_near(&mut self, key: Keys, stray: &Arc<Stray>) {
        if !self.near_keys.has_any(key) {
            self.near_keys = self.near_keys.with(key);
            self.near.push((key, Arc::clone(stray)));
        }
    }

    /// What those of the keys look like that were noted as looking like a field.
    #[inline(always)]
    pub(super) fn near(&self, keys: Keys) -> impl Iterator<Item = &Arc<Stray>> {
        let near = if self.near_keys.has_any(keys) { self.near.as_slice() } else { &[] };
        near.iter().filter(move |(key, _)| keys.has_any(*key)).map(|(_, stray)| stray)
    }

    /// All keys below a place.
    pub(super) fn below(&self, place: Place) -> Keys {
        self.places.get(place).map_or(Keys::default(), |known| known.below)
    }

    /// The place of a key that leads to no field, in an object; `None` when there were too many, or it is too long.
    pub(super) fn stranger(&mut self, object: Place, key: &str) -> Option<Place> {
        let mut others = self.places.iter().skip(self.nodes).zip(&self.strange_keys);
        if let Some(number) = others.position(|(known, other)| known.parent == object && **other == *key) {
            return Some(self.nodes.saturating_add(number));
        }
        if self.keys >= MAX_KEYS || key.len() > MAX_TEXT_BYTES {
            self.strays = self.strays.saturating_add(1);
            return None;
        }
        // Which keys end in links was told without this one.
        self.places.iter_mut().for_each(|known| known.links.clear());
        self.strange_keys.push(key.into());
        Some(self.push(object, true))
    }
}

/// As [`Links::follow`], where it is not the one met most often.
#[inline(never)]
fn less_likely<'l>(links: &'l mut [Link], text: &[u8]) -> Option<&'l Link> {
    let at = links.iter().position(|link| link.stands_in(text))?;
    if let Some(link) = links.get_mut(at) {
        link.hits = link.hits.wrapping_add(1);
    }
    let ahead = at.wrapping_sub(1);
    match links.get(ahead..=at) {
        Some([other, link]) if link.hits > other.hits => {
            links.swap(ahead, at);
            links.get(ahead)
        }
        _ => links.get(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    const NONE: Keys = Keys([0; 2]);

    #[test]
    fn a_link_stands_where_all_its_bytes_stand_and_no_others() {
        for len in [1, 8, 15, 16, 17, 31, 32, 33, 40, 128] {
            let own = "abcdefghijklm".repeat(10).split_at(len).0.to_owned();
            let link = Link::new(&own, NONE, NONE, 1, Form::Other);
            for behind in [0, 1, 15, 16, 40] {
                let text = format!("{own}{}", "x".repeat(behind));
                assert!(link.stands_in(text.as_bytes()), "{len} bytes and {behind}");
                for at in 0..len {
                    let mut other = text.clone().into_bytes();
                    other[at] ^= 1;
                    assert!(!link.stands_in(&other), "{len} bytes and {behind}, another at {at}");
                }
            }
            for shorter in 0..len {
                assert!(!link.stands_in(own.as_bytes().split_at(shorter).0), "{shorter} bytes of {len}");
            }
        }
    }

    /// Whether the link that stands there is known at place 1.
    fn is_known(links: &mut Links, text: &str) -> bool {
        links.follow(1, text.as_bytes()).is_some_and(|link| link.len == text.len())
    }

    #[test]
    fn links_met_more_often_come_first_and_one_that_is_seldom_met_makes_room() {
        let mut links = Links::default();
        links.prepare(Catalog::cases().paths(), 9);
        let learn = |links: &mut Links, text: &str| links.learn(1, text, NONE, NONE, 1, Form::Other);
        let texts: Vec<String> = (0..MAX_LINKS).map(|n| format!("\"key{n}\":")).collect();
        for text in &texts {
            assert!(!is_known(&mut links, text));
            learn(&mut links, text);
        }
        for (n, text) in texts.iter().enumerate().rev() {
            for _ in 0..=n {
                assert!(is_known(&mut links, text));
            }
        }
        // That of key0 was met but once.
        learn(&mut links, "\"new\":");
        assert!(!is_known(&mut links, &texts[0]));
        assert!(
            texts.iter().skip(1).all(|text| is_known(&mut links, text)) && is_known(&mut links, "\"new\":")
        );
        // However often the others were met, two new ones that are met in turn find room.
        let mut missed = 0;
        for text in ["\"one\":", "\"two\":"].iter().cycle().take(100) {
            if !is_known(&mut links, text) {
                learn(&mut links, text);
                missed += 1;
            }
        }
        assert_eq!(missed, 2);
        assert!(links.places.iter().all(|known| known.links.len() <= MAX_LINKS));
        let long = "x".repeat(MAX_TEXT_BYTES + 1);
        learn(&mut links, &long);
        assert!(!is_known(&mut links, &long));
    }

    #[test]
    fn places_of_other_documents_are_given_up() {
        let (catalog, mut links) = (Catalog::cases(), Links::default());
        links.prepare(catalog.paths(), 9);
        while links.stranger(Paths::ROOT, &format!("k{}", links.keys)).is_some() {}
        assert_eq!(links.stranger(Paths::ROOT, "new"), None);
        for _ in 0..MANY_STRAYS {
            links.prepare(catalog.paths(), 9);
            if links.stranger(Paths::ROOT, "new").is_some() {
                return;
            }
        }
        panic!("a key that is met again and again has no place");
    }

    #[test]
    fn long_keys_take_no_room() {
        let mut links = Links::default();
        links.prepare(Catalog::cases().paths(), 9);
        assert_eq!(links.stranger(Paths::ROOT, &"x".repeat(MAX_TEXT_BYTES + 1)), None);
        assert!(links.strange_keys.is_empty());
    }

    #[test]
    fn every_place_has_a_key_of_its_own_until_there_are_too_many() {
        let mut links = Links::default();
        links.prepare(Catalog::cases().paths(), 9);
        let known = links.keys;
        let places: Vec<Place> =
            (0..200).map_while(|n| links.stranger(Paths::ROOT, &format!("k{n}"))).collect();
        assert_eq!(places.len(), MAX_KEYS - known);
        assert_eq!(links.stranger(Paths::ROOT, "k3"), Some(places[3]));
        let keys: Vec<Keys> = (0..links.places.len()).filter_map(|place| links.key(place)).collect();
        assert_eq!(keys.len(), MAX_KEYS);
        let all = keys.iter().fold(Keys::default(), |all, key| {
            assert!(!all.has_any(*key));
            all.with(*key)
        });
        assert_eq!((all, links.below(Paths::ROOT)), (Keys([u64::MAX; 2]), all));
        assert_eq!(keys.iter().fold(all, |all, key| all.without(*key)), Keys::default());
    }
}
