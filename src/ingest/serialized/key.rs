//! The serializer of the keys of maps.

use serde::Serialize;
use serde::ser::{self, Impossible, Serializer};

use super::reader::{Open, ReadError, ValueReader};
use crate::catalog::PathId;

/// A reader of the keys of a map. It returns the node of a key in the catalogue's paths.
pub(super) struct KeyReader<'r, 'c> {
    pub(super) reader: &'r ValueReader<'c>,
    pub(super) open: &'r mut Open,
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
