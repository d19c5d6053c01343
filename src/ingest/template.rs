//! The fast path: reads one case document into a [`Row`] by the template of the documents before.
//!
//! Documents of one source tend to have the same members in the same order, written in the same way, nested as
//! the catalogue says, every value of its field's type. The text between two values is compared with the
//! [segments](super::segments) of earlier documents; a segment that is new is read byte by byte, and learned. Any other
//! document is left to [`read_case`](super::read_case), which reads it from its start and reports its errors.
//!
//! With other members beside the fields, a case takes 15,570 instructions instead of 37,300 (`benches/HISTORY.md`).

use std::borrow::Cow;
use std::sync::Arc;

use super::members::Members;
use super::rules::{case_limit, complete};
use super::scan::{before, behind_space, behind_value, boolean, escaped_string, key, plain_string};
use super::segment::Form;
use super::segments::Segments;
use super::slot_keys::{Keys, SlotIndex};
use super::strict::read_case_with;
use crate::batch::{Remark, Row};
use crate::catalog::{Catalog, Paths, Shape};
use crate::error::Error;
use crate::limits::Limits;
use crate::value::Value;

/// Keys of a document that have no slot.
const MAX_UNSLOTTED_KEYS: usize = 16;

/// The form of the documents so far, all of which must have been read with the same catalogue.
#[derive(Debug, Default)]
pub(crate) struct DocumentTemplate {
    segments: Segments,
    members: Members,
}

/// Reads a case as [`read_case`](super::read_case) does, with the same outcome.
///
/// # Errors
/// As [`read_case`](super::read_case).
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

/// Returns true when the document has the form of the template; its values are then in the row.
fn matches_template<'a>(
    text: &'a str,
    catalog: &Catalog,
    limits: &Limits,
    template: &mut DocumentTemplate,
    row: &mut Row<'a>,
) -> bool {
    row.clear();
    let DocumentTemplate { segments, members } = template;
    let depth_limit = limits.case_depth;
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

/// The keys of a document so far.
#[derive(Default)]
struct Seen<'a> {
    /// Those that have a slot, but for those of an array's objects before the one that began last.
    keys: Keys,
    /// Those that have none, since there were too many, each with its object. Of arrays' objects, they are never forgotten:
    /// that such a document does not match the template costs time alone.
    strays: Vec<(SlotIndex, Cow<'a, str>)>,
}

impl<'a> Seen<'a> {
    /// Notes keys, of which no object may have had any yet.
    #[inline(always)]
    fn note(&mut self, keys: Keys) -> Option<()> {
        if self.keys.has_any(keys) {
            return None;
        }
        self.keys = self.keys.with(keys);
        Some(())
    }

    /// As [`note`](Self::note), of a key that has no slot.
    fn note_stray(&mut self, object: SlotIndex, key: Cow<'a, str>) -> Option<()> {
        let stray = (object, key);
        if self.strays.len() >= MAX_UNSLOTTED_KEYS || self.strays.contains(&stray) {
            return None;
        }
        self.strays.push(stray);
        Some(())
    }

    /// Forgets the keys of an object in an array that has ended.
    #[inline(always)]
    fn forget(&mut self, keys: Keys) {
        self.keys = self.keys.without(keys);
    }
}

/// Every function returns `None` where the document does not match the template, whatever the reason.
impl<'a> Walk<'a, '_> {
    fn document(mut self, text: &'a str) -> Option<()> {
        let mut rest = behind_space(text).strip_prefix('{').filter(|_| self.depth_limit > 0)?;
        let mut slot = Paths::ROOT;
        loop {
            let form;
            if let Some(segment) = self.segments.follow(slot, rest.as_bytes()) {
                if let Some(ended) = segment.ended {
                    self.seen.forget(ended);
                }
                self.seen.note(segment.keys)?;
                rest = rest.get(segment.len..)?;
                (form, slot) = (segment.form, segment.to);
            } else {
                (rest, form, slot) = self.learn_segment(rest, slot)?;
            }
            match form {
                Form::String(field) => match plain_string(rest) {
                    Some((string, behind)) => {
                        self.row.push(field, Value::String(Cow::Borrowed(string)));
                        rest = behind;
                    }
                    None => {
                        let (string, behind) = escaped_string(rest)?;
                        self.row.push(field, Value::String(string));
                        rest = behind;
                    }
                },
                Form::Ordered(form, field) => match form.read(field, rest, self.row) {
                    Some(behind) => rest = behind,
                    None if form.is_quoted() => return None,
                    None => (rest, slot) = self.behind_nothing(text, rest, slot)?,
                },
                Form::Boolean(field) => match boolean(rest) {
                    Some((boolean, behind)) => {
                        self.row.push(field, Value::Boolean(boolean));
                        rest = behind;
                    }
                    None => (rest, slot) = self.behind_nothing(text, rest, slot)?,
                },
                Form::Other => {
                    let object = self.segments.parent(slot)?;
                    rest = self.behind_value(rest, object)?;
                }
                Form::End => {
                    let near = self.segments.near(self.seen.keys);
                    near.for_each(|stray| self.row.remark(Remark::Stray(Arc::clone(stray))));
                    return behind_space(rest).is_empty().then_some(());
                }
            }
        }
    }

    /// Reads what stands before the next value or the end, whatever it is, and learns that it leads there from
    /// the slot of the value before; gives the text behind it, and what is there.
    #[inline(never)]
    fn learn_segment(&mut self, text: &'a str, from: SlotIndex) -> Option<(&'a str, Form, SlotIndex)> {
        let mut rest = text;
        let (mut ended, mut keys) = (Keys::default(), Keys::default());
        // Whether these tell all.
        let mut is_plain = true;
        let slots = self.segments.len();
        // The innermost object or array; nothing but the document's own is a slot to start from.
        let mut is_first = from == Paths::ROOT;
        let mut open = if is_first { from } else { self.segments.parent(from)? };
        let (form, to) = loop {
            rest = behind_space(rest);
            let around = self.paths.steps().get(open)?;
            let is_object = around.shape == Shape::Object;
            if let Some(behind) = rest.strip_prefix(if is_object { '}' } else { ']' }) {
                rest = behind;
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
                    && let Some(stray) = self.members.look(self.catalog, open, &name)
                {
                    match slot_key {
                        Some(key) => self.segments.note_near(key, stray),
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
                    rest = self.behind_value(rest, open)?;
                    continue;
                };
                slot
            } else {
                self.paths.element(open)?
            };
            rest = behind_space(rest);
            let Some(step) = self.paths.steps().get(slot) else { break (Form::Other, slot) };
            if let Some(behind) = rest.strip_prefix("null") {
                rest = behind;
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
                        // Each object of an array has keys of its own.
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
            self.segments.learn(from, before(text, rest)?, ended, keys, to, form);
        }
        Some((rest, form, to))
    }

    /// Reads over what stands where a value should be if there is none: `null`, or the end of an array that has just
    /// begun, whose slot is what was reached then.
    #[cold]
    fn behind_nothing(&self, text: &str, rest: &'a str, slot: SlotIndex) -> Option<(&'a str, SlotIndex)> {
        let next = behind_space(rest);
        if let Some(behind) = next.strip_prefix("null") {
            return Some((behind, slot));
        }
        let array = self.segments.parent(slot)?;
        let is_array = self.paths.shape(array) == Shape::Array;
        let is_empty = is_array && before(text, rest)?.trim_ascii_end().ends_with('[');
        Some((next.strip_prefix(']').filter(|_| is_empty)?, array))
    }

    /// Reads over the value that stands next, of a key of an object.
    fn behind_value(&self, text: &'a str, object: SlotIndex) -> Option<&'a str> {
        let open = self.paths.steps().get(object)?.depth.saturating_add(1);
        behind_value(text, self.depth_limit.saturating_sub(open))
    }
}

#[cfg(test)]
mod tests;
