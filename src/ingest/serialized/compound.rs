//! Reads the members of structs and maps, and the elements of sequences.

use serde::Serialize;
use serde::ser;

use super::key::KeyReader;
use super::reader::{Open, ReadError, Segment, ValueReader};
use crate::catalog::PathId;

/// An array or object that is being read.
pub(super) struct Compound<'r, 'c> {
    pub(super) reader: &'r mut ValueReader<'c>,
    pub(super) open: Open,
    /// The node of the member whose key has been read.
    pub(super) member: Option<PathId>,
    /// The number of further brackets that are closed together with this array or object. It is 1 for the data of an enum variant,
    /// which JSON writes inside an object.
    pub(super) extra: usize,
}

impl Compound<'_, '_> {
    pub(super) fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ReadError> {
        let child = self.open.node.and_then(|node| self.reader.catalog.paths().child(node, ""));
        if let Some(array) = child.and_then(|(_, child)| self.reader.catalog.paths().element_of(child)) {
            self.reader.row.begin_element(array);
        }
        let segment = Segment::Index(self.open.index);
        self.open.index = self.open.index.saturating_add(1);
        self.value(child.map(|(_, child)| child), segment, value)
    }

    pub(super) fn member<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), ReadError> {
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

    pub(super) fn end(self) {
        self.reader.close();
        for _ in 0..self.extra {
            self.reader.close();
            self.reader.path.pop();
        }
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
