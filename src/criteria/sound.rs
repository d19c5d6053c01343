//! From the text of a sound request body to a [`Body`], in one pass and without a word about any other.
//!
//! Most bodies are sound, and what makes [`parse`](super::parse()) careful costs time: places of keys,
//! repeated and unknown ones, several errors in order. This reader gives up at the first thing
//! that is not plainly right, be it an error or only unusual, and the careful one then decides.

use std::borrow::Cow;
use std::ops::Range;

use smallvec::SmallVec;

use super::{Body, Criterion, NodeId, Text};
use crate::json::{Reader, plain_len};
use crate::limits::Limits;
use crate::operator::{Connective, Operator};

/// Reads a body that has no error, `null` or `{}` in it; `None` for some of those too.
///
/// What it gives is what [`parse`](super::parse()) gives, which then has no errors.
pub(super) fn parse<'a>(text: &'a str, limits: &Limits) -> Option<Body<'a>> {
    // A short criterion has 50 bytes; the vectors of large bodies may grow.
    let likely = (text.len() / 50).min(32);
    let mut reader = Sound {
        text,
        at: 0,
        limits,
        body: Body {
            ids: None,
            criteria: None,
            nodes: Vec::with_capacity(likely),
            children: Vec::with_capacity(likely),
            // A criterion has more than one value about as often as it is a complex one, with none.
            texts: Vec::with_capacity(likely.saturating_mul(2)),
        },
        siblings: SmallVec::new(),
        values: 0,
    };
    reader.body()?;
    Some(reader.body)
}

struct Sound<'a, 'l> {
    text: &'a str,
    /// Where the next byte is read.
    at: usize,
    limits: &'l Limits,
    body: Body<'a>,
    /// The finished criteria of all open arrays, innermost last.
    siblings: SmallVec<[NodeId; 16]>,
    /// Values read so far, in all criteria.
    values: usize,
}

/// A key of a criterion.
#[derive(Clone, Copy)]
enum Key {
    Op,
    Children,
    Field,
    Values,
}

/// What `op` says.
#[derive(Clone, Copy)]
enum Op {
    Connective(Connective),
    Operator(Operator, usize),
}

/// A criterion whose keys are being read.
#[derive(Default)]
struct Open<'a> {
    op: Option<Op>,
    /// With its offset.
    field: Option<(&'a str, usize)>,
    /// A range of [`Body::texts`]; empty until they are read, which they are not.
    values: Range<usize>,
    /// A range of [`Body::children`], likewise.
    children: Range<usize>,
    /// Where its children start among the siblings.
    start: usize,
}

/// Offsets wrap nowhere: they lie in the text or just behind it.
impl<'a> Sound<'a, '_> {
    fn body(&mut self) -> Option<()> {
        self.take(b'{')?;
        loop {
            self.space();
            if self.word(b"\"criteria\"") {
                self.take(b':')?;
                self.take(b'[')?;
                if self.body.criteria.is_some() {
                    return None;
                }
                self.body.criteria = Some(if self.next_is(b']') { 0..0 } else { self.criteria()? });
            } else if self.word(b"\"ids\"") {
                self.take(b':')?;
                if self.body.ids.is_some() {
                    return None;
                }
                let ids = self.texts()?;
                if ids.len() > self.limits.ids {
                    return None;
                }
                self.body.ids = Some(ids);
            } else {
                return None;
            }
            if !self.next_is(b',') {
                break;
            }
        }
        self.take(b'}')?;
        self.space();
        (self.at == self.text.len()).then_some(())
    }

    /// Reads the body's criteria with all that is nested in them, from behind the first bracket.
    fn criteria(&mut self) -> Option<Range<usize>> {
        let mut outer: SmallVec<[Open<'a>; 4]> = SmallVec::new();
        let mut open = Open::default();
        self.take(b'{')?;
        loop {
            // A key of the innermost criterion stands next.
            match self.key()? {
                Key::Op => {
                    let (text, offset) = self.plain_string()?;
                    let op = match Operator::find(text) {
                        Some(operator) => Op::Operator(operator, offset),
                        None => Op::Connective(Connective::find(text)?),
                    };
                    if open.op.replace(op).is_some() {
                        return None;
                    }
                }
                Key::Field => {
                    let field = self.plain_string()?;
                    if open.field.replace(field).is_some() {
                        return None;
                    }
                }
                Key::Values => {
                    let values = self.texts()?;
                    self.values = self.values.saturating_add(values.len());
                    if values.is_empty() || self.values > self.limits.values || !open.values.is_empty() {
                        return None;
                    }
                    open.values = values;
                }
                Key::Children => {
                    self.take(b'[')?;
                    self.take(b'{')?;
                    if !open.children.is_empty() {
                        return None;
                    }
                    open.start = self.siblings.len();
                    outer.push(std::mem::take(&mut open));
                    // The body's array and that of each of these is open.
                    if outer.len() >= self.limits.depth {
                        return None;
                    }
                    continue;
                }
            }
            // Behind the value of a key: the next key, or the ends of criteria and of their arrays.
            while !self.next_is(b',') {
                self.take(b'}')?;
                self.finish(&mut open)?;
                if self.next_is(b',') {
                    self.take(b'{')?;
                    break;
                }
                self.take(b']')?;
                let start = outer.last().map_or(0, |open| open.start);
                let from = self.body.children.len();
                self.body.children.extend_from_slice(self.siblings.get(start..).unwrap_or_default());
                self.siblings.truncate(start);
                let children = from..self.body.children.len();
                match outer.pop() {
                    Some(parent) => open = Open { children, ..parent },
                    None => return Some(children),
                }
            }
        }
    }

    /// Reads a key of a criterion and its colon.
    #[inline]
    fn key(&mut self) -> Option<Key> {
        const FIELD: u64 = u64::from_le_bytes(*b"\"field\":");
        const VALUES: u64 = u64::from_le_bytes(*b"\"values\"");
        const CHILDREN: u64 = u64::from_le_bytes(*b"\"childre");
        self.space();
        let word = u64::from_le_bytes(*self.text.as_bytes().get(self.at..)?.first_chunk()?);
        let key = match word {
            FIELD => {
                self.at = self.at.wrapping_add(8);
                return Some(Key::Field);
            }
            VALUES => {
                self.at = self.at.wrapping_add(8);
                Key::Values
            }
            CHILDREN if self.word(b"\"children\"") => Key::Children,
            _ if self.word(b"\"op\"") => Key::Op,
            _ if self.word(b"\"field\"") => Key::Field,
            _ => return None,
        };
        self.take(b':')?;
        Some(key)
    }

    /// Makes a criterion of what was read, and leaves an empty one behind.
    fn finish(&mut self, open: &mut Open<'a>) -> Option<()> {
        let Open { op, field, values, children, .. } = std::mem::take(open);
        let criterion = match (op?, field) {
            (Op::Connective(connective), None) if values.is_empty() && !children.is_empty() => {
                Criterion::Complex { connective, children }
            }
            (Op::Operator(operator, offset), Some((text, field_offset)))
                if children.is_empty()
                    && (values.len() == 1 || operator.takes_many() && !values.is_empty()) =>
            {
                let field = Text { text: Cow::Borrowed(text), offset: field_offset };
                Criterion::Field { field, operator: Some((operator, offset)), values }
            }
            _ => return None,
        };
        if self.body.nodes.len() >= self.limits.criteria {
            return None;
        }
        let node = self.body.push(criterion);
        self.siblings.push(node);
        Some(())
    }

    /// Reads an array of strings.
    fn texts(&mut self) -> Option<Range<usize>> {
        self.take(b'[')?;
        let start = self.body.texts.len();
        if !self.next_is(b']') {
            loop {
                let text = match self.plain_string() {
                    Some((text, offset)) => Text { text: Cow::Borrowed(text), offset },
                    None => self.unusual_string()?,
                };
                self.body.texts.push(text);
                if !self.next_is(b',') {
                    break;
                }
            }
            self.take(b']')?;
        }
        Some(start..self.body.texts.len())
    }

    /// Reads a string without escapes, and says where it stands.
    #[inline]
    fn plain_string(&mut self) -> Option<(&'a str, usize)> {
        self.space();
        let offset = self.at;
        let [b'"', rest @ ..] = self.text.as_bytes().get(offset..)? else { return None };
        let len = plain_len(rest);
        if rest.get(len) != Some(&b'"') || len > self.limits.string_bytes {
            return None;
        }
        self.at = offset.wrapping_add(len).wrapping_add(2);
        Some((self.text.get(offset.wrapping_add(1)..)?.get(..len)?, offset))
    }

    /// Reads a string with escapes.
    #[cold]
    fn unusual_string(&mut self) -> Option<Text<'a>> {
        let offset = self.at;
        let mut reader = Reader::starting_at(self.text, offset);
        let text = reader.string().ok()?;
        self.at = reader.offset();
        (text.len() <= self.limits.string_bytes).then_some(Text { text, offset })
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn space(&mut self) {
        // Compact bodies have none.
        if self.byte().is_some_and(|byte| byte <= b' ') {
            self.much_space();
        }
    }

    #[cold]
    fn much_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at = self.at.wrapping_add(1);
        }
    }

    /// Reads over this byte, with space before it, if it stands next.
    #[inline]
    fn next_is(&mut self, byte: u8) -> bool {
        self.space();
        let is = self.byte() == Some(byte);
        self.at = self.at.wrapping_add(usize::from(is));
        is
    }

    #[inline]
    fn take(&mut self, byte: u8) -> Option<()> {
        self.next_is(byte).then_some(())
    }

    /// Reads over these bytes if they stand next.
    #[inline]
    fn word(&mut self, word: &[u8]) -> bool {
        let is = self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word));
        if is {
            self.at = self.at.wrapping_add(word.len());
        }
        is
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::criteria::parse::careful;

    /// What is read is what the careful reader reads, and that one finds no fault.
    fn agrees(text: &str, limits: &Limits) -> bool {
        let Some(sound) = parse(text, limits) else { return false };
        let (body, errors) = careful(text, limits);
        assert_eq!(errors, [], "{text}");
        assert_eq!(sound, body, "{text}");
        true
    }

    const BODY: &str = r#" { "ids" : [ "a" , "\u00e9\n" ] , "criteria": [
        {"op":"$or","children":[{"field":"status","op":"$contains","values":["open","s\"1"]},
          {"children":[{"values":["1.5"],"field":"totalAmountInDefaultCurrency","op":">="},
             {"field":"tags","op":"$all","values":["x","é"]}],"op":"$and"}]},
        {"field":"createdAt","op":"<","values":["2024-01-01 00:00:00+0200"]} ] } "#;

    #[test]
    fn sound_bodies_are_read() {
        let limits = Limits::default();
        for text in [BODY, r#"{"ids":[]}"#, r#"{"criteria":[]}"#, r#"{"criteria":[],"ids":["a"]}"#] {
            assert!(agrees(text, &limits), "{text}");
        }
    }

    #[test]
    fn limits_hold_to_the_last_one() {
        let exact =
            Limits { depth: 3, criteria: 6, values: 6, ids: 2, string_bytes: 28, ..Limits::default() };
        assert!(agrees(BODY, &exact));
        for less in [
            Limits { depth: 2, ..exact.clone() },
            Limits { criteria: 5, ..exact.clone() },
            Limits { values: 5, ..exact.clone() },
            Limits { ids: 1, ..exact.clone() },
            Limits { string_bytes: 27, ..exact.clone() },
        ] {
            assert!(!agrees(BODY, &less), "{less:?}");
            assert!(!careful(BODY, &less).1.is_empty(), "{less:?}");
        }
    }

    #[test]
    fn every_damage_of_one_byte_is_read_alike_or_left() {
        let limits = Limits::default();
        for at in 0..BODY.len() {
            if !BODY.is_char_boundary(at) || !BODY.is_char_boundary(at + 1) {
                continue;
            }
            let (before, behind) = (&BODY[..at], &BODY[at + 1..]);
            for put in [
                "", " ", "\"", ",", ":", "{", "}", "[", "]", "\\", "a", "1", "\u{1}", "null", "[]", "{}",
                ",,",
            ] {
                agrees(&format!("{before}{put}{behind}"), &limits);
                agrees(&format!("{before}{put}{}", &BODY[at..]), &limits);
            }
            agrees(before, &limits);
        }
    }

    /// Pieces of bodies in any order.
    fn scraps() -> impl Strategy<Value = String> {
        let scrap = proptest::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            " ",
            "\"op\"",
            "\"field\"",
            "\"values\"",
            "\"children\"",
            "\"ids\"",
            "\"criteria\"",
            "\"$and\"",
            "\"=\"",
            "\"$all\"",
            "\"x\"",
            "null",
            "{\"criteria\":[",
            "{\"field\":\"x\",\"op\":\"=\",\"values\":[\"y\"]}",
            "{\"op\":\"$or\",\"children\":[",
            "\"values\":[\"a\",\"b\"]",
            "\"op\":\"$and\"",
            "\"field\":\"f\"",
            "\"op\":\"$contains\"",
            "]}",
            "]}]}",
            "\"children\":[",
        ]);
        proptest::collection::vec(scrap, 0..24).prop_map(|scraps| scraps.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn scraps_of_bodies_are_read_alike_or_left(inner in scraps()) {
            let limits = Limits::default();
            agrees(&inner, &limits);
            agrees(&format!("{{\"criteria\":[{{{inner}}}]}}"), &limits);
            agrees(&format!("{{\"criteria\":[{inner}]}}"), &limits);
            agrees(&format!("{{{inner}}}"), &limits);
        }
    }
}
