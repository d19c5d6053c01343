//! The strict parser: reads one case document into a [`Row`], or says what is wrong with it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use smallvec::SmallVec;

use super::envelope::{expected_case, member_with_cases};
use super::members::Members;
use super::ordered_form::OrderedForm;
use super::rules::{case_limit, complete, expected_value};
use crate::batch::{Remark, Row};
use crate::catalog::{Catalog, FieldId, FieldType, Shape};
use crate::error::{Error, ErrorKind, quote};
use crate::json::{self, JsonType, Reader, paths_at};
use crate::limits::Limits;
use crate::value::Value;

/// How many keys an object may have before they are looked up by hash.
const FEW_KEYS: usize = 16;

/// Reads a case into `row`, which is cleared first.
///
/// Field values of the wrong type are noted in the row, the field then absent; see
/// [`Row::faults`]. Absent fields that have a default get it. Linear in the length of `text`;
/// nothing recurses.
///
/// # Errors
/// What makes the whole document unusable: not JSON, not an object, no usable `id`, a repeated
/// key at any level, too deep or too large. The path is filled in.
pub(crate) fn read_case<'a>(
    text: &'a str,
    catalog: &Catalog,
    limits: &Limits,
    row: &mut Row<'a>,
) -> Result<(), Error> {
    read_case_with(text, catalog, limits, row, None)
}

/// As [`read_case`], with remarks on members that look like fields, if they are looked at.
pub(super) fn read_case_with<'a>(
    text: &'a str,
    catalog: &Catalog,
    limits: &Limits,
    row: &mut Row<'a>,
    members: Option<&mut Members>,
) -> Result<(), Error> {
    row.clear();
    let limit = case_limit(limits);
    if text.len() > limit {
        let found = format!("a case of {} bytes", text.len());
        let expected = format!("at most {limit} bytes");
        return Err(Error::new(ErrorKind::CaseTooLarge, 0, found, expected));
    }
    let mut walk = Walk {
        reader: Reader::new(text),
        catalog,
        limits,
        row,
        open: SmallVec::new(),
        keys: Vec::new(),
        refused: Vec::new(),
        id_offset: 0,
        members,
    };
    let place = |error: Error| {
        let path = paths_at(text, &[error.offset]).pop().unwrap_or_default();
        error.at(path)
    };
    walk.document().map_err(|error| place(*error))?;
    let refused = std::mem::take(&mut walk.refused);
    let id_offset = walk.id_offset;
    complete(row, &refused, id_offset, catalog).map_err(|error| place(hinted(error, text)))?;
    if !row.faults().is_empty() {
        for fault in row.take_faults() {
            row.fault(place(fault));
        }
    }
    Ok(())
}

/// Says of an object without an `id` that cases seem to lie in it.
fn hinted(mut error: Error, text: &str) -> Error {
    let is_absent = error.kind == ErrorKind::BadId && error.offset == 0;
    if let Some(name) = is_absent.then(|| member_with_cases(text)).flatten() {
        error.expected = expected_case(name);
    }
    error
}

struct Walk<'a, 'w> {
    reader: Reader<'a>,
    catalog: &'w Catalog,
    limits: &'w Limits,
    row: &'w mut Row<'a>,
    open: SmallVec<[Open<'a>; 8]>,
    /// The keys of all open objects, innermost last, but for those that lead to fields.
    keys: Vec<Cow<'a, str>>,
    /// Fields with a value of the wrong type.
    refused: Vec<FieldId>,
    /// Where the value of `id` stands; 0 until it was read.
    id_offset: usize,
    members: Option<&'w mut Members>,
}

/// An open array or object.
struct Open<'a> {
    is_object: bool,
    first: bool,
    /// Its node among the catalogue's paths; `None` where no field lies below.
    node: Option<usize>,
    /// A bit for each of the node's first 64 children that was seen.
    seen: u64,
    /// Where its keys start among `keys`.
    keys_start: usize,
    /// The place among the node's children that most likely comes next: documents tend to keep an order.
    likely: usize,
    /// Its keys, once there are many.
    many_keys: Option<HashSet<Cow<'a, str>>>,
}

impl<'a> Walk<'a, '_> {
    fn document(&mut self) -> json::Result<()> {
        let kind = self.reader.peek()?;
        if kind != JsonType::Object {
            let at = self.reader.offset();
            let error = Error::new(ErrorKind::WrongType, at, kind.name(), "a case, which is an object");
            return Err(Box::new(error));
        }
        self.enter(true, Some(crate::catalog::Paths::ROOT))?;
        while let Some(open) = self.open.last_mut() {
            let first = std::mem::take(&mut open.first);
            let (is_object, node) = (open.is_object, open.node);
            if is_object {
                match self.reader.next_key(first)? {
                    Some((key, at)) => {
                        let child = self.key(key, at, node)?;
                        self.value(child)?;
                    }
                    None => self.leave(),
                }
            } else if self.reader.next_element(first)? {
                let element =
                    node.and_then(|node| self.catalog.paths().child(node, "")).map(|(_, child)| child);
                self.value(element)?;
            } else {
                self.leave();
            }
        }
        self.reader.end()
    }

    fn enter(&mut self, is_object: bool, node: Option<usize>) -> json::Result<()> {
        let limit = self.limits.case_depth;
        if self.open.len() >= limit {
            let found = format!("nesting deeper than {limit}");
            let expected = format!("at most {limit} levels");
            return Err(Box::new(Error::new(ErrorKind::TooDeep, self.reader.offset(), found, expected)));
        }
        self.reader.open();
        self.open.push(Open {
            is_object,
            first: true,
            node,
            seen: 0,
            likely: 0,
            keys_start: self.keys.len(),
            many_keys: None,
        });
        Ok(())
    }

    fn leave(&mut self) {
        if let Some(open) = self.open.pop() {
            self.keys.truncate(open.keys_start);
        }
    }

    /// Notes a key of the innermost object; gives the node it leads to.
    fn key(&mut self, key: Cow<'a, str>, at: usize, node: Option<usize>) -> json::Result<Option<usize>> {
        let repeated = |key: &str| {
            Error::new(ErrorKind::DuplicateKey, at, format!("{} again", quote(key)), "each key at most once")
        };
        let Some(open) = self.open.last_mut() else { return Ok(None) };
        let child = node.and_then(|node| self.catalog.paths().child_near(node, &key, open.likely));
        if let Some((place, child)) = child
            && let Some(bit) = u32::try_from(place).ok().and_then(|place| 1_u64.checked_shl(place))
        {
            if open.seen & bit != 0 {
                return Err(Box::new(repeated(&key)));
            }
            open.seen |= bit;
            open.likely = place.saturating_add(1);
            return Ok(Some(child));
        }
        if let (None, Some(node), Some(members)) = (child, node, &mut self.members)
            && let Some(stray) = members.look(self.catalog, node, &key)
        {
            self.row.remark(Remark::Stray(Arc::clone(stray)));
        }
        if let Some(keys) = &mut open.many_keys {
            if keys.contains(&key) {
                return Err(Box::new(repeated(&key)));
            }
            keys.insert(key);
        } else {
            let own = self.keys.get(open.keys_start..).unwrap_or_default();
            if own.contains(&key) {
                return Err(Box::new(repeated(&key)));
            }
            if own.len() >= FEW_KEYS {
                open.many_keys = Some(self.keys.drain(open.keys_start..).chain([key]).collect());
            } else {
                self.keys.push(key);
            }
        }
        Ok(child.map(|(_, child)| child))
    }

    /// Reads the value that stands next, which lies at `node` of the catalogue's paths.
    fn value(&mut self, node: Option<usize>) -> json::Result<()> {
        let kind = self.reader.peek()?;
        let at = self.reader.offset();
        let Some(node) = node else { return self.other(kind, None) };
        match (self.catalog.paths().shape(node), kind) {
            (_, JsonType::Null) => self.reader.null(),
            (Shape::Object, JsonType::Object) | (Shape::Array, JsonType::Array) => {
                self.other(kind, Some(node))
            }
            (Shape::Leaf(field), JsonType::String | JsonType::Number | JsonType::Boolean) => {
                self.leaf(field, kind, at)
            }
            (shape, _) => {
                let expected = match shape {
                    Shape::Object => "an object",
                    Shape::Array => "an array",
                    Shape::Leaf(field) => expected_value(self.catalog.field(field)),
                };
                for field in self.catalog.paths().fields_below(node) {
                    self.refuse(field);
                }
                let is_id = self.catalog.paths().shape(node) == Shape::Leaf(FieldId::ID);
                let error_kind = if is_id { ErrorKind::BadId } else { ErrorKind::WrongType };
                self.row.fault(Error::new(error_kind, at, kind.name(), expected));
                self.other(kind, None)
            }
        }
    }

    /// Goes into an array or object, or reads over a scalar.
    fn other(&mut self, kind: JsonType, node: Option<usize>) -> json::Result<()> {
        match kind {
            JsonType::Object => self.enter(true, node),
            JsonType::Array => self.enter(false, node),
            _ => self.reader.skip_scalar(),
        }
    }

    fn refuse(&mut self, field: FieldId) {
        if !self.refused.contains(&field) {
            self.refused.push(field);
        }
    }

    /// Reads a scalar as a value of `field`, or notes why it is none.
    fn leaf(&mut self, field: FieldId, kind: JsonType, at: usize) -> json::Result<()> {
        let catalog_field = self.catalog.field(field);
        let ordered = OrderedForm::of(catalog_field).filter(|form| form.takes(kind));
        let fault = match (ordered, catalog_field.kind(), kind) {
            (Some(form), ..) => {
                let text = match kind {
                    JsonType::String => self.reader.string()?,
                    _ => Cow::Borrowed(self.reader.number()?),
                };
                match form.parse(kind, &text, at) {
                    Ok(value) => {
                        let remark = form.remark(field, &value, text);
                        self.row.push(field, value);
                        if let Some(remark) = remark {
                            self.row.remark(remark);
                        }
                        return Ok(());
                    }
                    Err(fault) => *fault,
                }
            }
            (None, FieldType::String, JsonType::String) => {
                let text = self.reader.string()?;
                if field == FieldId::ID {
                    self.id_offset = at;
                }
                self.row.push(field, Value::String(text));
                return Ok(());
            }
            (None, FieldType::Boolean, JsonType::Boolean) => {
                let boolean = self.reader.boolean()?;
                self.row.push(field, Value::Boolean(boolean));
                return Ok(());
            }
            (None, ..) => {
                let error_kind = if field == FieldId::ID { ErrorKind::BadId } else { ErrorKind::WrongType };
                let expected = expected_value(catalog_field);
                let fault = Error::new(error_kind, at, kind.name(), expected);
                self.reader.skip_scalar()?;
                fault
            }
        };
        self.refuse(field);
        self.row.fault(fault);
        Ok(())
    }
}
