//! The serializer of values: passes scalars on to the reader, and opens arrays and objects.

use serde::Serialize;
use serde::ser::Serializer;

use super::compound::Compound;
use super::reader::{ReadError, Scalar, Segment, ValueReader};
use crate::json::JsonType;

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
        // Converts the shortest decimal number that identifies this `f32`, as JSON would contain it: 0.1 instead of
        // 0.10000000149011612.
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
