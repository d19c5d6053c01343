//! Reads the members of structs and maps, and the elements of sequences.

use serde::Serialize;
use serde::ser;

use super::key::KeyReader;
use super::{ReadError, Segment, ValueReader};
use crate::catalog::PathId;
use crate::error::{Error, ErrorKind, quote};

/// An open array or object.
pub(super) struct Open {
    /// The node in the catalogue's paths. `None` if there is no field below the array or object.
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

/// An array or object that is being read.
pub(super) struct Compound<'r, 'c> {
    pub(super) reader: &'r mut ValueReader<'c>,
    pub(super) open: Open,
    /// The node of the member whose key has been read.
    pub(super) member: Option<PathId>,
    /// The number of brackets that are closed together with this array or object. It is 1 for the data of an enum variant, which
    /// JSON writes inside an object.
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
