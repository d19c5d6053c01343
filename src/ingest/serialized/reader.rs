//! The state of reading a Rust value as a document, with the errors found so far.

use std::borrow::Cow;
use std::fmt;

use serde::ser;

use crate::batch::OwnedRow;
use crate::catalog::{Catalog, FieldId, FieldType, IdType, PathId, Paths, Shape};
use crate::error::{Error, ErrorKind, Errors, REPORTED_ERRORS, quote};
use crate::ingest::ordered_form::OrderedForm;
use crate::ingest::rules::{check_identity, expected_value};
use crate::json::JsonType;
use crate::limits::Limits;
use crate::value::{Number, Value, canonical_id};

/// The depth of nesting for which memory is reserved in advance.
const USUAL_DEPTH: usize = 8;

/// A segment of the path to the value that is being read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Segment {
    /// A key that is a node of the catalogue's paths.
    Node(PathId),
    /// A key that does not lead to a field.
    Other,
    Index(usize),
}

pub(super) struct ValueReader<'c> {
    pub(super) catalog: &'c Catalog,
    pub(super) limits: &'c Limits,
    pub(super) row: OwnedRow,
    /// The length of the `id` in bytes. `None` until the `id` has been read.
    pub(super) id: Option<usize>,
    pub(super) faults: Vec<Error>,
    pub(super) path: Vec<Segment>,
    /// The node of the catalogue's paths that the next value belongs to. `None` if there is no field at or below the value.
    pub(super) node: Option<PathId>,
    pub(super) depth: usize,
    /// True after the outermost object has been entered.
    pub(super) is_object: bool,
}

/// An error that stops the reading of the document.
#[derive(Debug)]
pub(super) struct ReadError(pub(super) Box<Error>);

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ReadError {}

impl ser::Error for ReadError {
    fn custom<M: fmt::Display>(message: M) -> Self {
        let error = Error::new(ErrorKind::BadValue, 0, message.to_string(), "a value that can be serialised");
        Self(Box::new(error))
    }
}

/// A scalar that is being read.
#[derive(Clone, Copy)]
pub(super) enum Scalar<'v> {
    Text(&'v str),
    Signed(i64),
    Unsigned(u64),
    Double(f64),
    Boolean(bool),
}

impl Scalar<'_> {
    const fn json_type(self) -> JsonType {
        match self {
            Self::Text(_) => JsonType::String,
            Self::Signed(_) | Self::Unsigned(_) | Self::Double(_) => JsonType::Number,
            Self::Boolean(_) => JsonType::Boolean,
        }
    }
}

impl<'c> ValueReader<'c> {
    pub(super) fn new(catalog: &'c Catalog, limits: &'c Limits) -> Self {
        Self {
            catalog,
            limits,
            row: OwnedRow::with_memory_for(catalog.fields().len()),
            id: None,
            faults: Vec::new(),
            path: Vec::with_capacity(USUAL_DEPTH),
            node: Some(Paths::ROOT),
            depth: 0,
            is_object: false,
        }
    }
}

impl ValueReader<'_> {
    pub(super) fn finish(mut self) -> Result<OwnedRow, Errors> {
        if !self.is_object {
            return Err(no_object(JsonType::Null).into());
        }
        let is_id_bad = self.faults.iter().any(|fault| fault.kind == ErrorKind::BadId);
        if !is_id_bad && let Err(error) = check_identity(self.id, 0, self.catalog) {
            let path = if self.id.is_some() { self.catalog.id_name() } else { "" };
            self.faults.push(error.at(path));
        }
        if let Some(errors) = Errors::in_order(self.faults) {
            return Err(errors);
        }
        for (field, default) in self.catalog.defaults() {
            if !self.row.has(*field) {
                self.row.push(*field, default);
            }
        }
        self.row.sort(self.catalog.fields().len());
        Ok(self.row)
    }

    /// Records an error of the current value, with the path of the value.
    pub(super) fn fault(&mut self, error: Error) {
        if self.faults.len() < REPORTED_ERRORS {
            let path = self.path();
            self.faults.push(error.at(path));
        }
    }

    /// Formats the path of the current value.
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        for segment in &self.path {
            match segment {
                Segment::Node(node) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(self.catalog.paths().key(*node));
                }
                Segment::Other => path.push_str(if path.is_empty() { "…" } else { ".…" }),
                Segment::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        path
    }

    /// Reads a scalar at the current node.
    pub(super) fn scalar(&mut self, scalar: Scalar<'_>) -> Result<(), ReadError> {
        if self.depth == 0 {
            return Err(ReadError(Box::new(no_object(scalar.json_type()))));
        }
        let Some(node) = self.node else { return Ok(()) };
        let Shape::Leaf(field) = self.catalog.paths().shape(node) else {
            self.mismatch(node, scalar.json_type());
            return Ok(());
        };
        self.leaf(field, scalar);
        Ok(())
    }

    /// Reads a scalar as a value of `field`, or records a fault.
    pub(super) fn leaf(&mut self, field: FieldId, scalar: Scalar<'_>) {
        let catalog_field = self.catalog.field(field);
        let kind = scalar.json_type();
        let value = match (catalog_field.field_type(), scalar) {
            (FieldType::String, scalar) if catalog_field.id_type() != IdType::String => {
                return self.own_id(catalog_field.id_type(), scalar);
            }
            (FieldType::String, Scalar::Text(text)) => {
                if field == FieldId::ID {
                    self.id = Some(text.len());
                }
                return self.row.push_text(field, text);
            }
            (FieldType::Boolean, Scalar::Boolean(boolean)) => Value::Boolean(boolean),
            // The integer is rounded to the nearest double, as a parser would round its digits.
            (FieldType::Number, Scalar::Signed(integer)) => return self.number(field, integer as f64),
            (FieldType::Number, Scalar::Unsigned(integer)) => return self.number(field, integer as f64),
            (FieldType::Number, Scalar::Double(double)) => return self.number(field, double),
            // The result is the same as for the digits of the integer, without printing them.
            (FieldType::Integer, Scalar::Signed(integer)) => Value::Integer(integer),
            (FieldType::Integer, Scalar::Unsigned(integer)) if integer <= i64::MAX.unsigned_abs() => {
                Value::Integer(integer.cast_signed())
            }
            _ => match OrderedForm::of(catalog_field).filter(|form| form.takes(kind)) {
                Some(form) => match form.parse(kind, &text_of(scalar), 0) {
                    Ok(value) => value,
                    Err(error) => return self.fault(*error),
                },
                None => {
                    let kind_of_error =
                        if field == FieldId::ID { ErrorKind::BadId } else { ErrorKind::WrongType };
                    let expected = expected_value(catalog_field);
                    return self.fault(Error::new(kind_of_error, 0, kind.name(), expected));
                }
            },
        };
        self.row.push(field, &value);
    }

    /// Reads an id that is not a plain string, or records a fault.
    pub(super) fn own_id(&mut self, id_type: IdType, scalar: Scalar<'_>) {
        // `serde_json` writes infinities and NaN as `null`.
        if matches!(scalar, Scalar::Double(double) if !double.is_finite()) {
            return;
        }
        let text = text_of(scalar);
        let expected = if id_type == IdType::Integer { JsonType::Number } else { JsonType::String };
        if scalar.json_type() != expected {
            let found = scalar.json_type().name();
            return self.fault(Error::new(ErrorKind::BadId, 0, found, id_type.expected()));
        }
        match canonical_id(id_type, &text) {
            Some(id) => {
                self.id = Some(id.len());
                self.row.push_text(FieldId::ID, &id);
            }
            None => self.fault(Error::new(ErrorKind::BadId, 0, quote(&text), id_type.expected())),
        }
    }

    pub(super) fn number(&mut self, field: FieldId, double: f64) {
        // Infinities and NaN are written as `null` in JSON, which means that there is no value.
        if let Some(number) = Number::new(double) {
            self.row.push(field, &Value::Number(number));
        }
    }

    /// Records a fault: the value at `node`, a node of the catalogue's paths, has a JSON type that the node does not accept.
    pub(super) fn mismatch(&mut self, node: PathId, found: JsonType) {
        let shape = self.catalog.paths().shape(node);
        let expected = match shape {
            Shape::Object => "an object",
            Shape::Array => "an array",
            Shape::Leaf(field) => expected_value(self.catalog.field(field)),
        };
        let kind = if shape == Shape::Leaf(FieldId::ID) { ErrorKind::BadId } else { ErrorKind::WrongType };
        self.fault(Error::new(kind, 0, found.name(), expected));
    }

    /// Enters an array or object.
    pub(super) fn open(&mut self, kind: JsonType) -> Result<Open, ReadError> {
        let limit = self.limits.document_depth;
        if self.depth >= limit {
            let found = format!("nesting deeper than {limit}");
            let error = Error::new(ErrorKind::TooDeep, 0, found, format!("at most {limit} levels"));
            return Err(ReadError(Box::new(error.at(self.path()))));
        }
        self.depth = self.depth.saturating_add(1);
        let node = match self.node {
            Some(node) => match (self.catalog.paths().shape(node), kind) {
                (Shape::Object, JsonType::Object) | (Shape::Array, JsonType::Array) => Some(node),
                _ if self.depth == 1 => return Err(ReadError(Box::new(no_object(kind)))),
                _ => {
                    self.mismatch(node, kind);
                    None
                }
            },
            None => None,
        };
        self.is_object = true;
        Ok(Open { node, likely: 0, seen: 0, index: 0 })
    }

    /// Leaves an array or object.
    pub(super) fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }
}

/// Returns the error for a value that is not an object.
pub(super) fn no_object(found: JsonType) -> Error {
    Error::new(ErrorKind::WrongType, 0, found.name(), "a document, which is an object")
}

/// Returns the text of a scalar in JSON. A string has no quotes.
pub(super) fn text_of(scalar: Scalar<'_>) -> Cow<'_, str> {
    match scalar {
        Scalar::Text(text) => Cow::Borrowed(text),
        Scalar::Signed(integer) => Cow::Owned(integer.to_string()),
        Scalar::Unsigned(integer) => Cow::Owned(integer.to_string()),
        Scalar::Double(double) => Cow::Owned(serde_json::to_string(&double).unwrap_or_default()),
        Scalar::Boolean(boolean) => Cow::Borrowed(if boolean { "true" } else { "false" }),
    }
}

/// An open array or object.
pub(super) struct Open {
    /// The node of the catalogue's paths that the array or object belongs to. `None` if there is no field below the array or
    /// object.
    pub(super) node: Option<PathId>,
    /// The index of the child that is expected next. Values usually have their members in the same order.
    pub(super) likely: usize,
    /// A bit for each of the node's first 64 children. The bit is set if the child has been read.
    pub(super) seen: u64,
    /// The index of the next element.
    pub(super) index: usize,
}

impl Open {
    /// Finds the node of a member by its key.
    pub(super) fn member(
        &mut self,
        reader: &ValueReader<'_>,
        key: &str,
    ) -> Result<Option<PathId>, ReadError> {
        let Some((place, child)) =
            self.node.and_then(|node| reader.catalog.paths().child_near(node, key, self.likely))
        else {
            return Ok(None);
        };
        self.likely = place.saturating_add(1);
        if let Some(bit) = u32::try_from(place).ok().and_then(|place| 1_u64.checked_shl(place)) {
            if self.seen & bit != 0 {
                let found = format!("{} again", quote(key));
                let error = Error::new(ErrorKind::DuplicateKey, 0, found, "each key at most once");
                return Err(ReadError(Box::new(error.at(reader.path()))));
            }
            self.seen |= bit;
        }
        Ok(Some(child))
    }
}
