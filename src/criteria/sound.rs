//! What a sound request body says, told in one pass over its text and without a word about any other.
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

/// What becomes of a body as it is read: criteria come when they end, so the innermost first.
pub(crate) trait Sink<'a> {
    /// A criterion on a field, its operator with the offset, with one value at least; `None` gives the body up.
    fn field(&mut self, field: Text<'a>, operator: (Operator, usize), values: &[Text<'a>]) -> Option<NodeId>;
    /// A criterion of others, of which there is one at least.
    fn branch(&mut self, connective: Connective, children: &[NodeId]) -> NodeId;
    /// The ids.
    fn ids(&mut self, ids: &[Text<'a>]);
    /// The outermost criteria, if any.
    fn criteria(&mut self, criteria: &[NodeId]);
}

/// Reads a body that has no error, `null` or `{}` in it; `None` for some of those too, and what the sink was told
/// means nothing then.
///
/// A sink is told what [`parse`](super::parse()) gives, which then has no errors.
pub(crate) fn read<'a>(text: &'a str, limits: &Limits, sink: &mut impl Sink<'a>) -> Option<()> {
    let mut reader = Sound {
        text,
        at: 0,
        limits,
        sink,
        has_ids: false,
        has_criteria: false,
        texts: SmallVec::new(),
        siblings: SmallVec::new(),
        criteria: 0,
        values: 0,
    };
    reader.body()
}

struct Sound<'a, 'l, S> {
    text: &'a str,
    at: usize,
    limits: &'l Limits,
    sink: &'l mut S,
    has_ids: bool,
    has_criteria: bool,
    /// The values of the criterion that is being read.
    texts: SmallVec<[Text<'a>; 4]>,
    /// The finished criteria of all open arrays, innermost last.
    siblings: SmallVec<[NodeId; 16]>,
    /// Criteria read so far.
    criteria: usize,
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
    field: Option<(&'a str, usize)>,
    /// A range of [`Sound::texts`]; empty until they are read, which they are not.
    values: Range<usize>,
    has_children: bool,
    /// Where its children start in [`Sound::siblings`].
    start: usize,
}

/// Offsets wrap nowhere: they lie in the text or just behind it.
impl<'a, S: Sink<'a>> Sound<'a, '_, S> {
    fn body(&mut self) -> Option<()> {
        self.take(b'{')?;
        loop {
            self.space();
            if self.word(b"\"criteria\"") {
                self.take(b':')?;
                self.take(b'[')?;
                if std::mem::replace(&mut self.has_criteria, true) {
                    return None;
                }
                if !self.next_is(b']') {
                    self.criteria()?;
                }
                self.sink.criteria(&self.siblings);
            } else if self.word(b"\"ids\"") {
                self.take(b':')?;
                if std::mem::replace(&mut self.has_ids, true) {
                    return None;
                }
                let ids = self.texts()?;
                if ids.len() > self.limits.ids {
                    return None;
                }
                self.sink.ids(self.texts.get(ids).unwrap_or_default());
                self.texts.clear();
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
    fn criteria(&mut self) -> Option<()> {
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
                    if open.has_children {
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
                // The children of the criterion around this one are whole, or those of the body.
                match outer.pop() {
                    Some(parent) => open = Open { has_children: true, ..parent },
                    None => return Some(()),
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
        let Open { op, field, values, has_children, start } = std::mem::take(open);
        if self.criteria >= self.limits.criteria {
            return None;
        }
        self.criteria = self.criteria.wrapping_add(1);
        let node = match (op?, field) {
            (Op::Connective(connective), None) if values.is_empty() && has_children => {
                let node = self.sink.branch(connective, self.siblings.get(start..)?);
                self.siblings.truncate(start);
                node
            }
            (Op::Operator(operator, offset), Some((text, field_offset)))
                if !has_children && (values.len() == 1 || operator.takes_many() && !values.is_empty()) =>
            {
                let field = Text { text: Cow::Borrowed(text), offset: field_offset };
                let start = values.start;
                let node = self.sink.field(field, (operator, offset), self.texts.get(values)?)?;
                self.texts.truncate(start);
                node
            }
            _ => return None,
        };
        self.siblings.push(node);
        Some(())
    }

    /// Reads an array of strings.
    fn texts(&mut self) -> Option<Range<usize>> {
        self.take(b'[')?;
        let start = self.texts.len();
        if !self.next_is(b']') {
            loop {
                let text = match self.plain_string() {
                    Some((text, offset)) => Text { text: Cow::Borrowed(text), offset },
                    None => self.unusual_string()?,
                };
                self.texts.push(text);
                if !self.next_is(b',') {
                    break;
                }
            }
            self.take(b']')?;
        }
        Some(start..self.texts.len())
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

impl<'a> Sink<'a> for Body<'a> {
    fn field(&mut self, field: Text<'a>, operator: (Operator, usize), values: &[Text<'a>]) -> Option<NodeId> {
        let values = self.push_texts(values);
        Some(self.push(Criterion::Field { field, operator: Some(operator), values }))
    }

    fn branch(&mut self, connective: Connective, children: &[NodeId]) -> NodeId {
        let children = self.push_children(children.iter().copied());
        self.push(Criterion::Complex { connective, children })
    }

    fn ids(&mut self, ids: &[Text<'a>]) {
        self.ids = Some(self.push_texts(ids));
    }

    fn criteria(&mut self, criteria: &[NodeId]) {
        self.criteria = Some(self.push_children(criteria.iter().copied()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::criteria::parse::careful;

    /// What is read is what the careful reader reads, and that one finds no fault.
    fn agrees(text: &str, limits: &Limits) -> bool {
        let mut sound = Body::default();
        if read(text, limits, &mut sound).is_none() {
            return false;
        }
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
