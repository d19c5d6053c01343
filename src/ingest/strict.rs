//! The strict parser: reads one case document into a [`Row`], or reports the errors in the document.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use smallvec::SmallVec;

use super::envelope::{expected_case, first_member, member_with_cases};
use super::members::Members;
use super::ordered_form::OrderedForm;
use super::rules::{case_limit, complete, expected_value, id_of};
use crate::batch::{Remark, Row};
use crate::catalog::{Catalog, FieldId, FieldType, IdType, Shape};
use crate::error::{Error, ErrorKind, Suggestion, quote};
use crate::json::{self, JsonType, Reader, paths_at};
use crate::limits::Limits;
use crate::value::Value;

/// Up to this number of keys in an object, repeated keys are found by comparing each pair of keys. Above it, a hash set is used.
const FEW_KEYS: usize = 16;

/// The name of the id, unless the catalogue has another one.
const PLAIN_ID: &str = "id";

/// Reads a case into `row`, which is cleared first.
///
/// If the value of a field has the wrong type or is malformed, the field is absent, and [`Row::faults`] contains the fault. Absent
/// fields get their default.
///
/// Complexity: linear in the length of `text`, without recursion.
///
/// # Errors
/// Returns an error if the document is not JSON, is not an object, or has no valid `id`. Also returns an error if an object repeats
/// a key, or if the document is too deep or too large. The error contains its path in the document.
pub(crate) fn read_case<'a>(
    text: &'a str,
    catalog: &Catalog,
    limits: &Limits,
    row: &mut Row<'a>,
) -> Result<(), Error> {
    read_case_with(text, catalog, limits, row, None)
}

/// Does the same as [`read_case`]. If `members` is given, also adds remarks on members that resemble fields.
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
        let found = format!("a document of {} bytes", text.len());
        let expected = format!("at most {limit} bytes");
        return Err(Error::new(ErrorKind::DocumentTooLarge, 0, found, expected));
    }
    let mut walk = Walk {
        reader: Reader::new(text),
        catalog,
        limits,
        row,
        open: SmallVec::new(),
        keys: Vec::new(),
        rejected: Vec::new(),
        id_offset: 0,
        members,
    };
    let place = |error: Error| {
        let path = paths_at(text, &[error.offset]).pop().unwrap_or_default();
        error.at(path)
    };
    walk.document().map_err(|error| place(*error))?;
    let rejected = std::mem::take(&mut walk.rejected);
    let id_offset = walk.id_offset;
    complete(row, &rejected, id_offset, catalog).map_err(|error| place(with_hint(error, text, catalog)))?;
    if !row.faults().is_empty() {
        for fault in row.take_faults() {
            row.fault(place(fault));
        }
    }
    Ok(())
}

/// Adds a hint to the error for an object without an id. The hint says that the object looks like an API response with an array of
/// cases, or that another member may contain the id.
fn with_hint(mut error: Error, text: &str, catalog: &Catalog) -> Error {
    let is_absent = error.kind == ErrorKind::BadId && error.offset == 0;
    if let Some(name) = is_absent.then(|| member_with_cases(text)).flatten() {
        error.expected = expected_case(name);
    } else if is_absent && catalog.id_name() != PLAIN_ID {
        let meant = member_like_id(text, catalog.id_name());
        return error.suggest(meant.map(Suggestion::explain));
    }
    error
}

/// Returns a hint about the first member that may contain the id. The name of such a member is `id`, or differs from the name of
/// the id only by letter case.
fn member_like_id(text: &str, name: &str) -> Option<String> {
    let is_alike = |key: &str| key != name && (key.eq_ignore_ascii_case(name) || key == PLAIN_ID);
    let key = first_member(text, |key, _| is_alike(key).then(|| key.to_owned()))?;
    Some(format!("to name the member {} as the id in the catalogue", quote(&key)))
}

/// Returns true if ids of the type `id_type` have the JSON type `found`. Returns false if `id_type` is `IdType::String`, because
/// the caller reads ids of this type itself.
fn accepts_id(id_type: IdType, found: JsonType) -> bool {
    match id_type {
        IdType::String => false,
        IdType::Integer => found == JsonType::Number,
        IdType::Uuid => found == JsonType::String,
    }
}

struct Walk<'a, 'w> {
    reader: Reader<'a>,
    catalog: &'w Catalog,
    limits: &'w Limits,
    row: &'w mut Row<'a>,
    open: SmallVec<[Open<'a>; 8]>,
    /// The keys of all open objects, except keys that lead to fields. The keys of the innermost object are last.
    keys: Vec<Cow<'a, str>>,
    /// The fields that have a value of the wrong type, or a malformed value.
    rejected: Vec<FieldId>,
    /// The offset of the value of `id`, or 0 until the value has been read.
    id_offset: usize,
    members: Option<&'w mut Members>,
}

/// An open array or object.
struct Open<'a> {
    is_object: bool,
    first: bool,
    /// The node in the catalogue's paths. `None` if there is no field below the array or object.
    node: Option<usize>,
    /// A bit for each of the node's first 64 children. The bit is set if the child has been read.
    seen: u64,
    /// The index of the object's first key in `keys`.
    keys_start: usize,
    /// The index of the child that is expected next. Documents of one source usually have their members in the same order.
    likely: usize,
    /// The keys of the object if there are more than [`FEW_KEYS`]. In that case, they are not in `keys`.
    many_keys: Option<HashSet<Cow<'a, str>>>,
}

impl<'a> Walk<'a, '_> {
    fn document(&mut self) -> json::Result<()> {
        let kind = self.reader.peek()?;
        if kind != JsonType::Object {
            let at = self.reader.offset();
            let error = Error::new(ErrorKind::WrongType, at, kind.name(), "a document, which is an object");
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
                if let Some(array) = element.and_then(|element| self.catalog.paths().element_of(element)) {
                    self.row.begin_element(array);
                }
                self.value(element)?;
            } else {
                self.leave();
            }
        }
        self.reader.end()
    }

    fn enter(&mut self, is_object: bool, node: Option<usize>) -> json::Result<()> {
        let limit = self.limits.document_depth;
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

    /// Checks that the innermost object does not repeat a key. Returns the node of the key in the catalogue's paths.
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
            && let Some(stray) = members.similar_field(self.catalog, node, &key)
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

    /// Reads the next value. `node` is the value's position in the catalogue's paths.
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
                    self.reject(field);
                }
                let is_id = self.catalog.paths().shape(node) == Shape::Leaf(FieldId::ID);
                let error_kind = if is_id { ErrorKind::BadId } else { ErrorKind::WrongType };
                self.row.fault(Error::new(error_kind, at, kind.name(), expected));
                self.other(kind, None)
            }
        }
    }

    /// Enters an array or object, or skips a scalar.
    fn other(&mut self, kind: JsonType, node: Option<usize>) -> json::Result<()> {
        match kind {
            JsonType::Object => self.enter(true, node),
            JsonType::Array => self.enter(false, node),
            _ => self.reader.skip_scalar(),
        }
    }

    fn reject(&mut self, field: FieldId) {
        if !self.rejected.contains(&field) {
            self.rejected.push(field);
        }
    }

    /// Reads a scalar as a value of `field`, or records a fault.
    fn leaf(&mut self, field: FieldId, kind: JsonType, at: usize) -> json::Result<()> {
        let catalog_field = self.catalog.field(field);
        let ordered = OrderedForm::of(catalog_field).filter(|form| form.takes(kind));
        let fault = match (ordered, catalog_field.field_type(), kind) {
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
            (None, FieldType::String, JsonType::String | JsonType::Number)
                if field == FieldId::ID && accepts_id(catalog_field.id_type(), kind) =>
            {
                let id_type = catalog_field.id_type();
                let text = match kind {
                    JsonType::String => self.reader.string()?,
                    _ => Cow::Borrowed(self.reader.number()?),
                };
                match id_of(id_type, text.clone()) {
                    Some(id) => {
                        self.id_offset = at;
                        self.row.push(field, id);
                        return Ok(());
                    }
                    None => Error::new(ErrorKind::BadId, at, quote(&text), id_type.expected()),
                }
            }
            (None, FieldType::String, JsonType::String) if catalog_field.id_type() == IdType::String => {
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
        self.reject(field);
        self.row.fault(fault);
        Ok(())
    }
}
