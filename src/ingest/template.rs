//! The fast path: reads one case document into a [`Row`] with a template that was learned from earlier documents.
//!
//! Documents of one source usually have the same members in the same order, written in the same way. The text between two values is
//! compared with the [segments](super::segments) of earlier documents. A new segment is parsed byte by byte and learned. If the
//! document does not match the template or the catalogue, [`read_case`](super::read_case) reads it again from its start, and
//! reports its errors.
//!
//! The reader compares complete segments, and reads plain numbers in one pass. This reduced the number of instructions for a sample
//! case from 18,840 to 15,570 (`benches/HISTORY.md`).

use std::borrow::Cow;
use std::sync::Arc;

use super::members::Members;
use super::rules::{case_limit, complete};
use super::scan::{before, boolean, escaped_string, key, number_text, plain_string, skip_space, skip_value};
use super::segment::Form;
use super::segments::Segments;
use super::slot_keys::{Keys, SlotIndex};
use super::strict::read_case_with;
use crate::batch::{Remark, Row};
use crate::catalog::{Catalog, FieldId, IdType, Paths, Shape};
use crate::error::Error;
use crate::limits::Limits;
use crate::value::{Value, canonical_id};

/// The maximum number of keys without a slot in one document. If a document has more, the strict parser reads it.
const MAX_UNSLOTTED_KEYS: usize = 16;

/// The template learned from earlier documents. All these documents must have been read with the same catalogue.
#[derive(Debug, Default)]
pub(crate) struct DocumentTemplate {
    segments: Segments,
    members: Members,
}

/// Reads a case with the template, or else with the strict parser. The result is the same as that of
/// [`read_case`](super::read_case).
///
/// # Errors
/// Returns the same errors as [`read_case`](super::read_case).
pub(crate) fn read_by_template<'a>(
    text: &'a str,
    catalog: &Catalog,
    limits: &Limits,
    template: &mut DocumentTemplate,
    row: &mut Row<'a>,
) -> Result<(), Error> {
    if matches_template(text, catalog, limits, template, row) {
        return Ok(());
    }
    read_case_with(text, catalog, limits, row, Some(&mut template.members))
}

/// Returns true if the document matches the template. The row then contains the values of the document.
fn matches_template<'a>(
    text: &'a str,
    catalog: &Catalog,
    limits: &Limits,
    template: &mut DocumentTemplate,
    row: &mut Row<'a>,
) -> bool {
    row.clear();
    let DocumentTemplate { segments, members } = template;
    let depth_limit = limits.document_depth;
    segments.prepare(catalog.paths(), depth_limit);
    let walk =
        Walk { catalog, paths: catalog.paths(), depth_limit, segments, members, row, seen: Seen::default() };
    text.len() <= case_limit(limits)
        && walk.document(text).is_some()
        && complete(row, &[], 0, catalog).is_ok()
}

struct Walk<'a, 'w> {
    catalog: &'w Catalog,
    paths: &'w Paths,
    depth_limit: usize,
    segments: &'w mut Segments,
    members: &'w mut Members,
    row: &'w mut Row<'a>,
    seen: Seen<'a>,
}

/// The keys of the document that have been read so far.
#[derive(Default)]
struct Seen<'a> {
    /// The keys that have a slot. The keys of earlier elements of an array have been removed.
    keys: Keys,
    /// The keys without a slot, each with its object. The list is not cleared between the elements of an array. So if two elements
    /// have the same key, it looks like a repeated key, and the fast path gives up. The strict parser then reads the document.
    strays: Vec<(SlotIndex, Cow<'a, str>)>,
}

impl<'a> Seen<'a> {
    /// Adds keys. Returns `None` if one of the keys has already been read.
    #[inline(always)]
    fn note(&mut self, keys: Keys) -> Option<()> {
        if self.keys.has_any(keys) {
            return None;
        }
        self.keys = self.keys.with(keys);
        Some(())
    }

    /// Adds a key without a slot. Returns `None` if the key has already been read, or if there are too many keys without a slot.
    fn note_stray(&mut self, object: SlotIndex, key: Cow<'a, str>) -> Option<()> {
        let stray = (object, key);
        if self.strays.len() >= MAX_UNSLOTTED_KEYS || self.strays.contains(&stray) {
            return None;
        }
        self.strays.push(stray);
        Some(())
    }

    /// Removes the keys of an array element that has ended.
    #[inline(always)]
    fn forget(&mut self, keys: Keys) {
        self.keys = self.keys.without(keys);
    }
}

/// Every method returns `None` if the document does not match the template. The mismatch can have any reason, including an error in
/// the document.
impl<'a> Walk<'a, '_> {
    fn document(mut self, text: &'a str) -> Option<()> {
        let mut rest = skip_space(text).strip_prefix('{').filter(|_| self.depth_limit > 0)?;
        let mut slot = Paths::ROOT;
        loop {
            let form;
            if let Some(segment) = self.segments.follow(slot, rest.as_bytes()) {
                if let Some(ended) = segment.ended {
                    self.seen.forget(ended);
                }
                self.seen.note(segment.keys)?;
                segment.begun.iter().for_each(|array| self.row.begin_element(*array));
                rest = rest.get(segment.len..)?;
                (form, slot) = (segment.form, segment.to);
            } else {
                (rest, form, slot) = self.learn_segment(rest, slot)?;
            }
            match form {
                Form::String(field) => match plain_string(rest) {
                    Some((string, after)) => {
                        self.row.push(field, Value::String(Cow::Borrowed(string)));
                        rest = after;
                    }
                    None => {
                        let (string, after) = escaped_string(rest)?;
                        self.row.push(field, Value::String(string));
                        rest = after;
                    }
                },
                Form::Ordered(form, field) => match form.read(field, rest, self.row) {
                    Some(after) => rest = after,
                    None if form.is_quoted() => return None,
                    None => (rest, slot) = self.skip_missing(text, rest, slot)?,
                },
                Form::Boolean(field) => match boolean(rest) {
                    Some((boolean, after)) => {
                        self.row.push(field, Value::Boolean(boolean));
                        rest = after;
                    }
                    None => (rest, slot) = self.skip_missing(text, rest, slot)?,
                },
                Form::Id(IdType::Integer) => match number_text(rest) {
                    Some((digits, after)) => {
                        let id = canonical_id(IdType::Integer, digits)?;
                        self.row.push(FieldId::ID, Value::String(id));
                        rest = after;
                    }
                    None => (rest, slot) = self.skip_missing(text, rest, slot)?,
                },
                Form::Id(id_type) => {
                    let (string, after) = plain_string(rest)?;
                    self.row.push(FieldId::ID, Value::String(canonical_id(id_type, string)?));
                    rest = after;
                }
                Form::Other => {
                    let object = self.segments.parent(slot)?;
                    rest = self.skip_value(rest, object)?;
                }
                Form::End => {
                    let similar = self.segments.similar(self.seen.keys);
                    similar.for_each(|stray| self.row.remark(Remark::Stray(Arc::clone(stray))));
                    return skip_space(rest).is_empty().then_some(());
                }
            }
        }
    }

    /// Parses the text up to the next value or the end of the document, and learns it as a segment after the slot `from`. Returns
    /// the text after the segment, and the form and the slot of the next value.
    #[inline(never)]
    fn learn_segment(&mut self, text: &'a str, from: SlotIndex) -> Option<(&'a str, Form, SlotIndex)> {
        let mut rest = text;
        let (mut ended, mut keys) = (Keys::default(), Keys::default());
        let mut begun = Vec::new();
        // True if `ended` and `keys` describe the segment completely.
        let mut is_plain = true;
        let slots = self.segments.len();
        // The innermost open object or array. `from` is itself an object or array only if it is the root.
        let mut is_first = from == Paths::ROOT;
        let mut open = if is_first { from } else { self.segments.parent(from)? };
        let (form, to) = loop {
            rest = skip_space(rest);
            let around = self.paths.steps().get(open)?;
            let is_object = around.shape == Shape::Object;
            if let Some(after) = rest.strip_prefix(if is_object { '}' } else { ']' }) {
                rest = after;
                if open == Paths::ROOT {
                    break (Form::End, Paths::ROOT);
                }
                (open, is_first) = (around.parent, false);
                continue;
            }
            if !is_first {
                rest = rest.strip_prefix(',')?;
            }
            is_first = false;
            let slot = if is_object {
                let name;
                (name, rest) = key(rest)?;
                let node = self.paths.child(open, &name).map(|(_, node)| node);
                let slot = node.or_else(|| self.segments.unknown_key(open, &name));
                let slot_key = slot.and_then(|slot| self.segments.key(slot));
                if node.is_none()
                    && let Some(stray) = self.members.similar_field(self.catalog, open, &name)
                {
                    match slot_key {
                        Some(key) => self.segments.note_similar(key, stray),
                        None => self.row.remark(Remark::Stray(Arc::clone(stray))),
                    }
                }
                if let Some(key) = slot_key {
                    self.seen.note(key)?;
                    keys = keys.with(key);
                } else {
                    self.seen.note_stray(open, name)?;
                    is_plain = false;
                }
                let Some(slot) = slot else {
                    rest = self.skip_value(rest, open)?;
                    continue;
                };
                slot
            } else {
                self.paths.element(open)?
            };
            rest = skip_space(rest);
            let Some(step) = self.paths.steps().get(slot) else { break (Form::Other, slot) };
            if let Some(array) = step.element_of {
                self.row.begin_element(array);
                begun.push(array);
            }
            if let Some(after) = rest.strip_prefix("null") {
                rest = after;
                continue;
            }
            match step.shape {
                Shape::Object | Shape::Array => {
                    let is_inner_object = step.shape == Shape::Object;
                    rest = rest.strip_prefix(if is_inner_object { '{' } else { '[' })?;
                    if step.depth >= self.depth_limit {
                        return None;
                    }
                    if is_inner_object && !is_object {
                        // Each object in an array has its own keys.
                        let below = self.segments.below(slot);
                        is_plain &= !keys.has_any(below);
                        self.seen.forget(below);
                        ended = ended.with(below);
                    }
                    (open, is_first) = (slot, true);
                }
                Shape::Leaf(field) => {
                    let form = Form::of(field, self.catalog.field(field));
                    if form.is_quoted() {
                        rest = rest.strip_prefix('"')?;
                    }
                    break (form, slot);
                }
            }
        };
        if is_plain && slots == self.segments.len() {
            self.segments.learn(from, before(text, rest)?, (ended, keys, &begun), to, form);
        }
        Some((rest, form, to))
    }

    /// Skips a missing value. This is `null`, or the `]` of an empty array when an element was expected. Returns the text after it,
    /// and the slot of the value or of the array.
    #[cold]
    fn skip_missing(&self, text: &str, rest: &'a str, slot: SlotIndex) -> Option<(&'a str, SlotIndex)> {
        let next = skip_space(rest);
        if let Some(after) = next.strip_prefix("null") {
            return Some((after, slot));
        }
        let array = self.segments.parent(slot)?;
        let is_array = self.paths.shape(array) == Shape::Array;
        let is_empty = is_array && before(text, rest)?.trim_ascii_end().ends_with('[');
        Some((next.strip_prefix(']').filter(|_| is_empty)?, array))
    }

    /// Skips the next value. It is the value of a key of `object`.
    fn skip_value(&self, text: &'a str, object: SlotIndex) -> Option<&'a str> {
        let open = self.paths.steps().get(object)?.depth.saturating_add(1);
        skip_value(text, self.depth_limit.saturating_sub(open))
    }
}

#[cfg(test)]
mod tests;
