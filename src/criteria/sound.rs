//! What a sound request body says, told in one pass over its text and without a word about any other.
//!
//! Most bodies are sound, and what makes [`parse`](super::parse()) careful costs time: places of keys,
//! repeated and unknown ones, several errors in order. This reader gives up at the first thing
//! that is not plainly right, be it an error or only unusual, and the careful one then decides.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::{Body, Criterion, NodeId, Text};
use crate::json::{Reader, plain_len, trim_start};
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
        limits,
        sink,
        texts: SmallVec::new(),
        siblings: SmallVec::new(),
        criteria: 0,
        values: 0,
    };
    reader.body()
}

struct Sound<'a, 'l, S> {
    text: &'a str,
    limits: &'l Limits,
    sink: &'l mut S,
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
#[derive(Clone, Copy, Default)]
struct Open<'a> {
    op: Option<Op>,
    field: Option<(&'a str, usize)>,
    /// Its values are all of [`Sound::texts`].
    has_values: bool,
    has_children: bool,
    /// Where its children start in [`Sound::siblings`].
    start: usize,
}

impl<'a, S: Sink<'a>> Sound<'a, '_, S> {
    fn body(&mut self) -> Option<()> {
        let mut cursor = Cursor { text: self.text, at: 0 };
        let (mut has_ids, mut has_criteria) = (false, false);
        cursor.take(b'{')?;
        loop {
            if cursor.word(b"\"criteria\"") {
                cursor.take(b':')?;
                cursor.take(b'[')?;
                if std::mem::replace(&mut has_criteria, true) {
                    return None;
                }
                if !cursor.next_is(b']') {
                    cursor.at = self.criteria(cursor.at)?;
                }
                self.sink.criteria(&self.siblings);
            } else if cursor.word(b"\"ids\"") {
                cursor.take(b':')?;
                if std::mem::replace(&mut has_ids, true) {
                    return None;
                }
                cursor.at = self.texts(cursor.at, self.limits.ids)?;
                self.sink.ids(&self.texts);
                self.texts.clear();
            } else {
                return None;
            }
            if !cursor.next_is(b',') {
                break;
            }
        }
        cursor.take(b'}')?;
        cursor.is_at_end().then_some(())
    }

    /// Reads the body's criteria with all that is nested in them, from behind the first bracket to behind the last.
    fn criteria(&mut self, at: usize) -> Option<usize> {
        let mut cursor = Cursor { text: self.text, at };
        let mut outer: SmallVec<[Open<'a>; 4]> = SmallVec::new();
        let mut open = Open::default();
        // The body's array is one level.
        if self.limits.depth == 0 {
            return None;
        }
        cursor.take(b'{')?;
        loop {
            // A key of the innermost criterion stands next.
            match cursor.key()? {
                Key::Op => {
                    let (text, offset) = cursor.plain_string(self.limits)?;
                    let op = match Operator::find(text) {
                        Some(operator) => Op::Operator(operator, offset),
                        None => Op::Connective(Connective::find(text)?),
                    };
                    if open.op.replace(op).is_some() {
                        return None;
                    }
                }
                Key::Field => {
                    let field = cursor.plain_string(self.limits)?;
                    if open.field.replace(field).is_some() {
                        return None;
                    }
                }
                Key::Values => {
                    // Only one criterion has values that are not told yet.
                    if !self.texts.is_empty() {
                        return None;
                    }
                    cursor.at = self.texts(cursor.at, self.limits.values.saturating_sub(self.values))?;
                    self.values = self.values.saturating_add(self.texts.len());
                    if self.texts.is_empty() {
                        return None;
                    }
                    open.has_values = true;
                }
                Key::Children => {
                    cursor.take(b'[')?;
                    cursor.take(b'{')?;
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
            while !cursor.next_is(b',') {
                cursor.take(b'}')?;
                self.finish(&open)?;
                open = Open::default();
                if cursor.next_is(b',') {
                    cursor.take(b'{')?;
                    break;
                }
                cursor.take(b']')?;
                // The children of the criterion around this one are whole, or those of the body.
                match outer.pop() {
                    Some(parent) => open = Open { has_children: true, ..parent },
                    None => return Some(cursor.at),
                }
            }
        }
    }

    /// Makes a criterion of what was read.
    #[inline]
    fn finish(&mut self, open: &Open<'a>) -> Option<()> {
        if self.criteria >= self.limits.criteria {
            return None;
        }
        self.criteria = self.criteria.wrapping_add(1);
        let node = match (open.op?, open.field) {
            (Op::Operator(operator, offset), Some((text, field_offset))) => {
                let enough = open.has_values && (operator.takes_many() || self.texts.len() == 1);
                if open.has_children || !enough {
                    return None;
                }
                let field = Text { text: Cow::Borrowed(text), offset: field_offset };
                let node = self.sink.field(field, (operator, offset), &self.texts)?;
                self.texts.clear();
                node
            }
            (Op::Connective(connective), None) if open.has_children && !open.has_values => {
                let node = self.sink.branch(connective, self.siblings.get(open.start..)?);
                self.siblings.truncate(open.start);
                node
            }
            _ => return None,
        };
        self.siblings.push(node);
        Some(())
    }

    /// Reads an array of at most so many strings into the texts, of which there are none.
    #[inline]
    fn texts(&mut self, at: usize, most: usize) -> Option<usize> {
        let mut cursor = Cursor { text: self.text, at };
        cursor.take(b'[')?;
        if !cursor.next_is(b']') {
            loop {
                let text = match cursor.plain_string(self.limits) {
                    Some((text, offset)) => Text { text: Cow::Borrowed(text), offset },
                    None => {
                        let (text, behind) = unusual_string(self.text, cursor.at, self.limits)?;
                        cursor.at = behind;
                        text
                    }
                };
                if self.texts.len() >= most {
                    return None;
                }
                self.texts.push(text);
                if !cursor.next_is(b',') {
                    break;
                }
            }
            cursor.take(b']')?;
        }
        Some(cursor.at)
    }
}

/// A place in a text. Space before a byte is looked for only where that byte does not stand.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// Offsets wrap nowhere: they lie in the text or just behind it.
impl<'a> Cursor<'a> {
    /// Reads a key of a criterion and its colon.
    #[inline(always)]
    fn key(&mut self) -> Option<Key> {
        const FIELD: u64 = u64::from_le_bytes(*b"\"field\":");
        const VALUES: u64 = u64::from_le_bytes(*b"\"values\"");
        const OP: u64 = u64::from_le_bytes(*b"\"op\":\0\0\0");
        let rest = self.rest();
        if let Some(word) = rest.first_chunk() {
            let word = u64::from_le_bytes(*word);
            if word == FIELD {
                self.at = self.at.wrapping_add(8);
                return Some(Key::Field);
            }
            if word & 0xff_ffff_ffff == OP {
                self.at = self.at.wrapping_add(5);
                return Some(Key::Op);
            }
            if word == VALUES && rest.get(8) == Some(&b':') {
                self.at = self.at.wrapping_add(9);
                return Some(Key::Values);
            }
        }
        let (key, behind) = unusual_key(self.text, self.at)?;
        self.at = behind;
        Some(key)
    }

    /// Reads a string without escapes, with space before it, and says where it stands; stays where it is if there is none, or too long a
    /// one.
    #[inline(always)]
    fn plain_string(&mut self, limits: &Limits) -> Option<(&'a str, usize)> {
        let mut behind = *self;
        behind.take(b'"')?;
        let rest = self.text.as_bytes().get(behind.at..)?;
        let len = plain_len(rest);
        if rest.get(len) != Some(&b'"') || len > limits.string_bytes {
            return None;
        }
        let (start, end) = (behind.at, behind.at.wrapping_add(len));
        self.at = end.wrapping_add(1);
        Some((self.text.get(start..end)?, start.wrapping_sub(1)))
    }

    #[inline(always)]
    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// Reads over this byte, with space before it, if it stands next.
    #[inline(always)]
    fn next_is(&mut self, byte: u8) -> bool {
        let Some(next) = self.text.as_bytes().get(self.at) else { return false };
        if *next != byte {
            if *next > b' ' {
                return false;
            }
            self.at = behind_space(self.text, self.at);
            if self.text.as_bytes().get(self.at) != Some(&byte) {
                return false;
            }
        }
        self.at = self.at.wrapping_add(1);
        true
    }

    #[inline(always)]
    fn take(&mut self, byte: u8) -> Option<()> {
        self.next_is(byte).then_some(())
    }

    /// Reads over these bytes, with space before them, if they stand next.
    #[inline]
    fn word(&mut self, word: &[u8]) -> bool {
        self.at = behind_space(self.text, self.at);
        let is = self.rest().starts_with(word);
        if is {
            self.at = self.at.wrapping_add(word.len());
        }
        is
    }

    /// True when nothing but space is left.
    fn is_at_end(self) -> bool {
        behind_space(self.text, self.at) == self.text.len()
    }
}

/// Reads a key of a criterion and its colon, with space before them.
#[inline(never)]
fn unusual_key(text: &str, at: usize) -> Option<(Key, usize)> {
    let mut cursor = Cursor { text, at };
    let key = if cursor.word(b"\"children\"") {
        Key::Children
    } else if cursor.word(b"\"field\"") {
        Key::Field
    } else if cursor.word(b"\"op\"") {
        Key::Op
    } else if cursor.word(b"\"values\"") {
        Key::Values
    } else {
        return None;
    };
    cursor.take(b':')?;
    Some((key, cursor.at))
}

/// Reads a string with escapes.
#[cold]
fn unusual_string<'a>(text: &'a str, at: usize, limits: &Limits) -> Option<(Text<'a>, usize)> {
    let offset = behind_space(text, at);
    let mut reader = Reader::starting_at(text, offset);
    let string = reader.string().ok()?;
    (string.len() <= limits.string_bytes).then_some((Text { text: string, offset }, reader.offset()))
}

/// Where the next byte stands that is no space.
#[inline(never)]
fn behind_space(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    at.wrapping_add(rest.len().wrapping_sub(trim_start(rest).len()))
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
        let flat = r#"{"criteria":[{"field":"f","op":"=","values":["a"]}]}"#;
        for (depth, is_read) in [(0, false), (1, true)] {
            let limits = Limits { depth, ..Limits::default() };
            assert_eq!(agrees(flat, &limits), is_read);
            assert_eq!(careful(flat, &limits).1.is_empty(), is_read);
        }
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
    fn parts_that_do_not_belong_together_are_left() {
        let field = r#"{"field":"f","op":"=","values":["a"]}"#;
        for criterion in [
            r#"{"values":["a"],"children":[{"field":"f","op":"="}],"op":"$and"}"#.to_owned(),
            r#"{"values":["a"],"children":[{"field":"f","op":"$contains"}],"op":"$and"}"#.to_owned(),
            format!(r#"{{"values":["a"],"children":[{field}],"op":"$and"}}"#),
            format!(r#"{{"children":[{field}],"values":["a"],"op":"$and"}}"#),
            format!(r#"{{"children":[{field}],"op":"$and","field":"f"}}"#),
            format!(r#"{{"children":[{field}],"values":["a"],"op":"=","field":"f"}}"#),
            format!(r#"{{"children":[{field}],"children":[{field}],"op":"$and"}}"#),
            r#"{"field":"f","op":"=","values":["a"],"values":["b"]}"#.to_owned(),
            r#"{"field":"f","op":"$all","values":["a"],"values":["b"]}"#.to_owned(),
            r#"{"field":"f","op":"=","values":["a","b"]}"#.to_owned(),
            r#"{"field":"f","op":"$all","values":[]}"#.to_owned(),
            r#"{"field":"f","field":"f","op":"=","values":["a"]}"#.to_owned(),
            r#"{"field":"f","op":"=","op":"=","values":["a"]}"#.to_owned(),
            r#"{"field":"f","op":"$and","values":["a"]}"#.to_owned(),
            r#"{"op":"$and"}"#.to_owned(),
        ] {
            for text in [
                format!(r#"{{"criteria":[{criterion}]}}"#),
                format!(r#"{{"criteria":[{field},{criterion}]}}"#),
                format!(r#"{{"criteria":[{{"op":"$or","children":[{criterion},{field}]}}]}}"#),
            ] {
                assert!(!agrees(&text, &Limits::default()), "{text}");
                assert!(!careful(&text, &Limits::default()).1.is_empty(), "{text}");
            }
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
