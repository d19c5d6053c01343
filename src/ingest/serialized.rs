//! Reads a document from a Rust value that implements `Serialize`, without writing it as text.
//!
//! The result is the same as that of [`read_case`](super::read_case) on the JSON that `serde_json` writes for the value.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde::ser::{self, Impossible, Serializer};

use super::ordered_form::OrderedForm;
use super::rules::{check_identity, expected_value};
use crate::batch::OwnedRow;
use crate::catalog::{Catalog, FieldId, FieldType, IdType, PathId, Paths, Shape};
use crate::error::{Error, ErrorKind, Errors, REPORTED_ERRORS, quote};
use crate::json::JsonType;
use crate::limits::Limits;
use crate::value::{Number, Value, canonical_id};

/// Reads a document from `value`. Absent fields get their default.
///
/// # Errors
/// Returns at most ten of the errors that a strict import would report. They have paths, but no offsets.
pub(crate) fn read_serialized<T: Serialize + ?Sized>(
    value: &T,
    catalog: &Catalog,
    limits: &Limits,
) -> Result<OwnedRow, Errors> {
    let mut reader = ValueReader {
        catalog,
        limits,
        row: OwnedRow::with_memory_for(catalog.fields().len()),
        id: None,
        faults: Vec::new(),
        path: Vec::with_capacity(USUAL_DEPTH),
        node: Some(Paths::ROOT),
        depth: 0,
        is_object: false,
    };
    if let Err(ReadError(error)) = value.serialize(&mut reader) {
        return Err((*error).into());
    }
    reader.finish()
}

/// The depth of the value for which memory is reserved.
const USUAL_DEPTH: usize = 8;

/// A segment of the path to the value that is being read.
#[derive(Clone, Copy, Debug)]
enum Segment {
    /// A key that is a node of the catalogue's paths.
    Node(PathId),
    /// A key that does not lead to a field.
    Other,
    Index(usize),
}

struct ValueReader<'c> {
    catalog: &'c Catalog,
    limits: &'c Limits,
    row: OwnedRow,
    /// The length of the `id` in bytes. `None` until the `id` has been read.
    id: Option<usize>,
    faults: Vec<Error>,
    path: Vec<Segment>,
    /// The node of the next value in the catalogue's paths. `None` if there is no field at or below the value.
    node: Option<PathId>,
    depth: usize,
    /// True after the outermost object has been entered.
    is_object: bool,
}

/// An error that stops the reading of the document.
#[derive(Debug)]
struct ReadError(Box<Error>);

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
enum Scalar<'v> {
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

impl ValueReader<'_> {
    fn finish(mut self) -> Result<OwnedRow, Errors> {
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
    fn fault(&mut self, error: Error) {
        if self.faults.len() < REPORTED_ERRORS {
            let path = self.path();
            self.faults.push(error.at(path));
        }
    }

    /// Formats the path of the current value.
    fn path(&self) -> String {
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
    fn scalar(&mut self, scalar: Scalar<'_>) -> Result<(), ReadError> {
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
    fn leaf(&mut self, field: FieldId, scalar: Scalar<'_>) {
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
            // As the digits would be, without making them.
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
    fn own_id(&mut self, id_type: IdType, scalar: Scalar<'_>) {
        // JSON writes these numbers as `null`.
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

    fn number(&mut self, field: FieldId, double: f64) {
        // Infinities and NaN are written as `null` in JSON, which means that there is no value.
        if let Some(number) = Number::new(double) {
            self.row.push(field, &Value::Number(number));
        }
    }

    /// Records the fault that the value at a node of the catalogue's paths has a JSON type that the node does not accept.
    fn mismatch(&mut self, node: PathId, found: JsonType) {
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
    fn open(&mut self, kind: JsonType) -> Result<Open, ReadError> {
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
    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }
}

/// Returns the error for a value that is not an object.
fn no_object(found: JsonType) -> Error {
    Error::new(ErrorKind::WrongType, 0, found.name(), "a document, which is an object")
}

/// An open array or object.
struct Open {
    /// The node in the catalogue's paths. `None` if there is no field below the array or object.
    node: Option<PathId>,
    /// The index of the child that is expected next. Values usually have their members in the same order.
    likely: usize,
    /// A bit for each of the node's first 64 children. The bit is set if the child has been read.
    seen: u64,
    /// The index of the next element.
    index: usize,
}

impl Open {
    /// Finds the node of a member by its key.
    fn member(&mut self, reader: &ValueReader<'_>, key: &str) -> Result<Option<PathId>, ReadError> {
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

/// An array or object that is being read.
struct Compound<'r, 'c> {
    reader: &'r mut ValueReader<'c>,
    open: Open,
    /// The node of the member whose key has been read.
    member: Option<PathId>,
    /// The number of brackets that are closed together with this array or object. It is 1 for the data of an enum variant, which
    /// JSON writes inside an object.
    extra: usize,
}

impl Compound<'_, '_> {
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ReadError> {
        let child = self.open.node.and_then(|node| self.reader.catalog.paths().child(node, ""));
        if let Some(array) = child.and_then(|(_, child)| self.reader.catalog.paths().element_of(child)) {
            self.reader.row.begin_element(array);
        }
        let segment = Segment::Index(self.open.index);
        self.open.index = self.open.index.saturating_add(1);
        self.value(child.map(|(_, child)| child), segment, value)
    }

    fn member<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), ReadError> {
        let node = self.open.member(self.reader, key)?;
        self.value(node, node.map_or(Segment::Other, Segment::Node), value)
    }

    fn value<T: Serialize + ?Sized>(
        &mut self,
        node: Option<PathId>,
        segment: Segment,
        value: &T,
    ) -> Result<(), ReadError> {
        let before = std::mem::replace(&mut self.reader.node, node);
        self.reader.path.push(segment);
        value.serialize(&mut *self.reader)?;
        self.reader.path.pop();
        self.reader.node = before;
        Ok(())
    }

    fn end(self) {
        self.reader.close();
        for _ in 0..self.extra {
            self.reader.close();
            self.reader.path.pop();
        }
    }
}

impl<'c> ValueReader<'c> {
    fn compound<'r>(&'r mut self, kind: JsonType) -> Result<Compound<'r, 'c>, ReadError> {
        let open = self.open(kind)?;
        Ok(Compound { reader: self, open, member: None, extra: 0 })
    }

    /// Enters the data of an enum variant. JSON writes it as an object whose only key is the name of the variant.
    fn variant<'r>(&'r mut self, variant: &str, kind: JsonType) -> Result<Compound<'r, 'c>, ReadError> {
        let mut outer = self.open(JsonType::Object)?;
        let node = outer.member(self, variant)?;
        self.path.push(node.map_or(Segment::Other, Segment::Node));
        self.node = node;
        let open = self.open(kind)?;
        Ok(Compound { reader: self, open, member: None, extra: 1 })
    }
}

impl<'r, 'c> Serializer for &'r mut ValueReader<'c> {
    type Ok = ();
    type Error = ReadError;
    type SerializeSeq = Compound<'r, 'c>;
    type SerializeTuple = Compound<'r, 'c>;
    type SerializeTupleStruct = Compound<'r, 'c>;
    type SerializeTupleVariant = Compound<'r, 'c>;
    type SerializeMap = Compound<'r, 'c>;
    type SerializeStruct = Compound<'r, 'c>;
    type SerializeStructVariant = Compound<'r, 'c>;

    fn serialize_bool(self, v: bool) -> Result<(), ReadError> {
        self.scalar(Scalar::Boolean(v))
    }

    fn serialize_i8(self, v: i8) -> Result<(), ReadError> {
        self.scalar(Scalar::Signed(v.into()))
    }

    fn serialize_i16(self, v: i16) -> Result<(), ReadError> {
        self.scalar(Scalar::Signed(v.into()))
    }

    fn serialize_i32(self, v: i32) -> Result<(), ReadError> {
        self.scalar(Scalar::Signed(v.into()))
    }

    fn serialize_i64(self, v: i64) -> Result<(), ReadError> {
        self.scalar(Scalar::Signed(v))
    }

    fn serialize_u8(self, v: u8) -> Result<(), ReadError> {
        self.scalar(Scalar::Unsigned(v.into()))
    }

    fn serialize_u16(self, v: u16) -> Result<(), ReadError> {
        self.scalar(Scalar::Unsigned(v.into()))
    }

    fn serialize_u32(self, v: u32) -> Result<(), ReadError> {
        self.scalar(Scalar::Unsigned(v.into()))
    }

    fn serialize_u64(self, v: u64) -> Result<(), ReadError> {
        self.scalar(Scalar::Unsigned(v))
    }

    fn serialize_f32(self, v: f32) -> Result<(), ReadError> {
        // Converts the fewest digits that identify this `f32`, which JSON would contain: 0.1 instead of 0.10000000149011612.
        let double = v.to_string().parse().unwrap_or(f64::from(v));
        self.serialize_f64(double)
    }

    fn serialize_f64(self, v: f64) -> Result<(), ReadError> {
        if v.is_finite() { self.scalar(Scalar::Double(v)) } else { Ok(()) }
    }

    fn serialize_char(self, v: char) -> Result<(), ReadError> {
        self.scalar(Scalar::Text(v.encode_utf8(&mut [0; 4])))
    }

    fn serialize_str(self, v: &str) -> Result<(), ReadError> {
        self.scalar(Scalar::Text(v))
    }

    fn serialize_bytes(self, v: &[u8]) -> Result<(), ReadError> {
        v.serialize(self)
    }

    fn serialize_none(self) -> Result<(), ReadError> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), ReadError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), ReadError> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), ReadError> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), ReadError> {
        self.scalar(Scalar::Text(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), ReadError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), ReadError> {
        let mut object = self.compound(JsonType::Object)?;
        object.member(variant, value)?;
        object.end();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'r, 'c>, ReadError> {
        self.compound(JsonType::Array)
    }

    fn serialize_tuple(self, _: usize) -> Result<Compound<'r, 'c>, ReadError> {
        self.compound(JsonType::Array)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Compound<'r, 'c>, ReadError> {
        self.compound(JsonType::Array)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'r, 'c>, ReadError> {
        self.variant(variant, JsonType::Array)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'r, 'c>, ReadError> {
        self.compound(JsonType::Object)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Compound<'r, 'c>, ReadError> {
        self.compound(JsonType::Object)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'r, 'c>, ReadError> {
        self.variant(variant, JsonType::Object)
    }
}

impl ser::SerializeSeq for Compound<'_, '_> {
    type Ok = ();
    type Error = ReadError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ReadError> {
        self.element(value)
    }

    fn end(self) -> Result<(), ReadError> {
        Self::end(self);
        Ok(())
    }
}

impl ser::SerializeTuple for Compound<'_, '_> {
    type Ok = ();
    type Error = ReadError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ReadError> {
        self.element(value)
    }

    fn end(self) -> Result<(), ReadError> {
        Self::end(self);
        Ok(())
    }
}

impl ser::SerializeTupleStruct for Compound<'_, '_> {
    type Ok = ();
    type Error = ReadError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ReadError> {
        self.element(value)
    }

    fn end(self) -> Result<(), ReadError> {
        Self::end(self);
        Ok(())
    }
}

impl ser::SerializeTupleVariant for Compound<'_, '_> {
    type Ok = ();
    type Error = ReadError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ReadError> {
        self.element(value)
    }

    fn end(self) -> Result<(), ReadError> {
        Self::end(self);
        Ok(())
    }
}

impl ser::SerializeStruct for Compound<'_, '_> {
    type Ok = ();
    type Error = ReadError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), ReadError> {
        self.member(key, value)
    }

    fn end(self) -> Result<(), ReadError> {
        Self::end(self);
        Ok(())
    }
}

impl ser::SerializeStructVariant for Compound<'_, '_> {
    type Ok = ();
    type Error = ReadError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), ReadError> {
        self.member(key, value)
    }

    fn end(self) -> Result<(), ReadError> {
        Self::end(self);
        Ok(())
    }
}

impl ser::SerializeMap for Compound<'_, '_> {
    type Ok = ();
    type Error = ReadError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ReadError> {
        self.member = key.serialize(KeyReader { reader: self.reader, open: &mut self.open })?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ReadError> {
        let node = self.member.take();
        self.value(node, node.map_or(Segment::Other, Segment::Node), value)
    }

    fn end(self) -> Result<(), ReadError> {
        Self::end(self);
        Ok(())
    }
}

/// A reader of the keys of a map. It returns the node of a key in the catalogue's paths.
struct KeyReader<'r, 'c> {
    reader: &'r ValueReader<'c>,
    open: &'r mut Open,
}

impl KeyReader<'_, '_> {
    fn key(self, key: &str) -> Result<Option<PathId>, ReadError> {
        self.open.member(self.reader, key)
    }

    fn no_key<T>(&self) -> Result<T, ReadError> {
        Err(ser::Error::custom("a key of a map that is not a string"))
    }
}

type NoCompound = Impossible<Option<PathId>, ReadError>;

impl Serializer for KeyReader<'_, '_> {
    type Ok = Option<PathId>;
    type Error = ReadError;
    type SerializeSeq = NoCompound;
    type SerializeTuple = NoCompound;
    type SerializeTupleStruct = NoCompound;
    type SerializeTupleVariant = NoCompound;
    type SerializeMap = NoCompound;
    type SerializeStruct = NoCompound;
    type SerializeStructVariant = NoCompound;

    fn serialize_str(self, v: &str) -> Result<Self::Ok, ReadError> {
        self.key(v)
    }

    fn serialize_char(self, v: char) -> Result<Self::Ok, ReadError> {
        self.key(v.encode_utf8(&mut [0; 4]))
    }

    fn serialize_bool(self, v: bool) -> Result<Self::Ok, ReadError> {
        self.key(if v { "true" } else { "false" })
    }

    fn serialize_i8(self, v: i8) -> Result<Self::Ok, ReadError> {
        self.key(&v.to_string())
    }

    fn serialize_i16(self, v: i16) -> Result<Self::Ok, ReadError> {
        self.key(&v.to_string())
    }

    fn serialize_i32(self, v: i32) -> Result<Self::Ok, ReadError> {
        self.key(&v.to_string())
    }

    fn serialize_i64(self, v: i64) -> Result<Self::Ok, ReadError> {
        self.key(&v.to_string())
    }

    fn serialize_u8(self, v: u8) -> Result<Self::Ok, ReadError> {
        self.key(&v.to_string())
    }

    fn serialize_u16(self, v: u16) -> Result<Self::Ok, ReadError> {
        self.key(&v.to_string())
    }

    fn serialize_u32(self, v: u32) -> Result<Self::Ok, ReadError> {
        self.key(&v.to_string())
    }

    fn serialize_u64(self, v: u64) -> Result<Self::Ok, ReadError> {
        self.key(&v.to_string())
    }

    fn serialize_f32(self, v: f32) -> Result<Self::Ok, ReadError> {
        if v.is_finite() { self.key(&v.to_string()) } else { self.no_key() }
    }

    fn serialize_f64(self, v: f64) -> Result<Self::Ok, ReadError> {
        if v.is_finite() { self.key(&v.to_string()) } else { self.no_key() }
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Self::Ok, ReadError> {
        self.key(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Self::Ok, ReadError> {
        value.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Self::Ok, ReadError> {
        value.serialize(self)
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Self::Ok, ReadError> {
        self.no_key()
    }

    fn serialize_none(self) -> Result<Self::Ok, ReadError> {
        self.no_key()
    }

    fn serialize_unit(self) -> Result<Self::Ok, ReadError> {
        self.no_key()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Self::Ok, ReadError> {
        self.no_key()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Self::Ok, ReadError> {
        self.no_key()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<NoCompound, ReadError> {
        self.no_key()
    }

    fn serialize_tuple(self, _: usize) -> Result<NoCompound, ReadError> {
        self.no_key()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<NoCompound, ReadError> {
        self.no_key()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<NoCompound, ReadError> {
        self.no_key()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<NoCompound, ReadError> {
        self.no_key()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<NoCompound, ReadError> {
        self.no_key()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<NoCompound, ReadError> {
        self.no_key()
    }
}

/// Returns the text of a scalar in JSON. A string has no quotes.
fn text_of(scalar: Scalar<'_>) -> Cow<'_, str> {
    match scalar {
        Scalar::Text(text) => Cow::Borrowed(text),
        Scalar::Signed(integer) => Cow::Owned(integer.to_string()),
        Scalar::Unsigned(integer) => Cow::Owned(integer.to_string()),
        Scalar::Double(double) => Cow::Owned(serde_json::to_string(&double).unwrap_or_default()),
        Scalar::Boolean(boolean) => Cow::Borrowed(if boolean { "true" } else { "false" }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::batch::Row;
    use crate::catalog::Field;

    fn catalog() -> Catalog {
        Catalog::new([
            Field::new("s", FieldType::String),
            Field::new("n", FieldType::Number),
            Field::new("t", FieldType::Timestamp),
            Field::new("u", FieldType::Timestamp).unix_millis(),
            Field::new("b", FieldType::Boolean),
            Field::new("list[]", FieldType::String),
            Field::new("o.n", FieldType::Number),
            Field::new("a[].n", FieldType::Number),
            Field::new("a[].tags[]", FieldType::String),
            Field::new("level", FieldType::String).with_default("low"),
        ])
        .unwrap()
    }

    /// Reads `value`. Returns the values of all fields, or the kinds and paths of the errors.
    fn of_value<T: Serialize + ?Sized>(value: &T) -> Result<Vec<String>, Vec<(ErrorKind, String)>> {
        let catalog = catalog();
        let of = |row: OwnedRow| {
            let fields = catalog.field_ids();
            fields
                .flat_map(|field| {
                    row.values(field).map(move |value| format!("{field:?} {value}")).collect::<Vec<_>>()
                })
                .collect()
        };
        let kinds =
            |errors: Errors| errors.as_slice().iter().map(|error| (error.kind, error.path.clone())).collect();
        read_serialized(value, &catalog, &Limits::default()).map(of).map_err(kinds)
    }

    fn of_text(text: &str) -> Result<Vec<String>, Vec<(ErrorKind, String)>> {
        let catalog = catalog();
        let mut row = Row::default();
        if let Err(error) = super::super::read_case(text, &catalog, &Limits::default(), &mut row) {
            return Err(vec![(error.kind, error.path)]);
        }
        let faults = row.take_faults();
        if !faults.is_empty() {
            return Err(faults.into_iter().map(|fault| (fault.kind, fault.path)).collect());
        }
        let values = |field| row.values(field).map(move |value| format!("{field:?} {value}"));
        Ok(catalog.field_ids().flat_map(|field| values(field).collect::<Vec<_>>()).collect())
    }

    fn agrees<T: Serialize + ?Sized>(value: &T) {
        let text = serde_json::to_string(value).unwrap();
        assert_eq!(of_value(value), of_text(&text), "{text}");
    }

    #[derive(Serialize)]
    enum State {
        Open,
        Number(f32),
        Pair(i8, u16),
        Named { n: Option<u64> },
    }

    #[test]
    fn values_read_like_their_json() {
        #[derive(Serialize)]
        struct Part<'p> {
            n: f32,
            tags: &'p [char],
        }
        #[derive(Serialize)]
        struct Whole<'p> {
            id: &'p str,
            s: State,
            n: i64,
            b: bool,
            list: (String, &'p str),
            o: State,
            a: Vec<Part<'p>>,
            u: u64,
            unknown: BTreeMap<i32, State>,
        }
        let mut whole = Whole {
            id: "1",
            s: State::Open,
            n: 9_007_199_254_740_993,
            b: true,
            list: ("x".to_owned(), "y"),
            o: State::Named { n: Some(u64::MAX) },
            a: vec![Part { n: 0.1, tags: &['é', 'b'] }, Part { n: f32::NAN, tags: &[] }],
            u: 86_400_000,
            unknown: BTreeMap::from([(1, State::Pair(1, 2)), (-2, State::Open)]),
        };
        agrees(&whole);
        for state in [State::Number(1.5), State::Pair(-1, 2), State::Named { n: None }] {
            whole.o = state;
            agrees(&whole);
        }
        agrees(&BTreeMap::from([("id", "x"), ("s", ""), ("level", "high")]));
        agrees(&json!([]));
        agrees(&json!("text"));
        agrees(&json!(null));
        agrees(&1.5);
        agrees(&json!({"id": ""}));
        agrees(&json!({"id": 1}));
        agrees(&json!({}));
        assert_eq!(of_value(&BTreeMap::from([((1, 2), 3)])).unwrap_err()[0].0, ErrorKind::BadValue);
    }

    #[test]
    fn a_deep_value_is_an_error_before_the_stack_ends() {
        let mut deep = json!(1);
        for _ in 0..2000 {
            deep = json!([deep]);
        }
        assert_eq!(of_value(&json!({"id": "1", "x": deep})).unwrap_err()[0].0, ErrorKind::TooDeep);
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        let scalar = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(|value| json!(value)),
            prop_oneof![Just(0), Just(-1), Just(i64::MAX), Just(1_700_000_000_000)]
                .prop_map(|value| json!(value)),
            prop_oneof![Just(0.5), Just(1e300), Just(5.0)].prop_map(|value| json!(value)),
            prop::sample::select(vec!["", "a", "2024-02-29 00:00:00", "2024-02-29", "86400000", "é"])
                .prop_map(|value| json!(value)),
        ];
        let key =
            prop::sample::select(vec!["id", "s", "n", "t", "u", "b", "list", "o", "a", "tags", "level", "x"]);
        scalar.prop_recursive(4, 24, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                prop::collection::btree_map(key.clone(), inner, 0..6).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_reads_like_its_json(members in prop::collection::btree_map(
            prop::sample::select(vec!["s", "n", "t", "u", "b", "list", "o", "a", "level", "x"]), value(), 0..8,
        )) {
            let mut document = json!(members);
            document["id"] = json!("1");
            let text = document.to_string();
            prop_assert_eq!(of_value(&document), of_text(&text), "{}", text);
        }
    }
}
