//! Builds the Arrow arrays of complete cases from JSON documents, including their objects and lists.

use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};

use super::leaf::Leaf;
use crate::catalog::{Catalog, FieldId};
use crate::json::{self, JsonType, Reader};

/// The builders of the members of an object.
#[derive(Default)]
pub(super) struct Members {
    pub(super) list: Vec<Member>,
    /// The number of objects that have been appended, including nulls for absent objects.
    pub(super) count: usize,
}

pub(super) struct Member {
    key: Box<str>,
    pub(super) column: Column,
}

pub(super) enum Column {
    Object(Members, NullBufferBuilder),
    List { element: Box<Column>, offsets: Vec<i32>, nulls: NullBufferBuilder },
    Leaf(FieldId, Leaf),
}

impl Members {
    pub(super) fn new(catalog: &Catalog) -> Self {
        let mut members = Self::default();
        for (id, field) in catalog.visible_fields() {
            let leaf = Column::Leaf(id, Leaf::new(field));
            members.insert(&field.path().split('.').collect::<Vec<_>>(), leaf);
        }
        members
    }

    fn insert(&mut self, path: &[&str], leaf: Column) {
        let Some((segment, rest)) = path.split_first() else { return };
        let key = segment.trim_end_matches("[]");
        let lists = segment.len().saturating_sub(key.len()) / 2;
        if let Some(found) = self.list.iter_mut().find(|member| *member.key == *key) {
            // Two paths can only diverge at an object or at a list of objects. The catalogue has checked this.
            let mut column = &mut found.column;
            while let Column::List { element, .. } = column {
                column = element;
            }
            if let Column::Object(members, _) = column {
                members.insert(rest, leaf);
            }
            return;
        }
        let mut column = match rest {
            [] => leaf,
            rest => {
                let mut members = Self::default();
                members.insert(rest, leaf);
                Column::Object(members, NullBufferBuilder::new(0))
            }
        };
        for _ in 0..lists {
            let nulls = NullBufferBuilder::new(0);
            column = Column::List { element: Box::new(column), offsets: vec![0], nulls };
        }
        self.list.push(Member { key: key.into(), column });
    }

    /// Reads the next object, and appends its members to their columns.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, has_value: &[bool]) -> json::Result<()> {
        reader.open();
        let mut first = true;
        let mut likely = 0_usize;
        while let Some((key, _)) = reader.next_key(std::mem::take(&mut first))? {
            let found = match self.list.get(likely) {
                Some(member) if *member.key == *key => Some(likely),
                _ => self.list.iter().position(|member| *member.key == *key),
            };
            match found.and_then(|at| self.list.get_mut(at)) {
                Some(member) => {
                    member.column.read(reader, has_value)?;
                    likely = found.unwrap_or_default().saturating_add(1);
                }
                None => reader.skip_value()?,
            }
        }
        self.end();
        Ok(())
    }

    /// Ends an object. Appends a null to the column of each member that the object did not contain.
    fn end(&mut self) {
        self.count = self.count.saturating_add(1);
        for member in &mut self.list {
            if member.column.len() < self.count {
                member.column.push_null();
            }
        }
    }
}

impl Member {
    pub(super) fn field(&self) -> Field {
        Field::new(&*self.key, self.column.data_type(), true)
    }
}

impl Column {
    fn data_type(&self) -> DataType {
        match self {
            Self::Object(members, _) => {
                DataType::Struct(members.list.iter().map(Member::field).collect::<Fields>())
            }
            Self::List { element, .. } => DataType::List(Arc::new(element.element_field())),
            Self::Leaf(_, leaf) => leaf.data_type(),
        }
    }

    fn element_field(&self) -> Field {
        Field::new_list_field(self.data_type(), true)
    }

    fn len(&self) -> usize {
        match self {
            Self::Object(_, nulls) | Self::List { nulls, .. } => nulls.len(),
            Self::Leaf(_, leaf) => leaf.len(),
        }
    }

    fn push_null(&mut self) {
        match self {
            Self::Object(members, nulls) => {
                members.end();
                nulls.append_null();
            }
            Self::List { offsets, nulls, .. } => {
                offsets.extend(offsets.last().copied());
                nulls.append_null();
            }
            Self::Leaf(_, leaf) => leaf.push_null(),
        }
    }

    /// Reads the next value and appends it to the column. Appends a null if the value is invalid for the field. `has_value` tells,
    /// for each field id, if the document has a valid value.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, has_value: &[bool]) -> json::Result<()> {
        let found = reader.peek()?;
        let is_present = |field: &FieldId| has_value.get(field.index()).copied().unwrap_or(false);
        match self {
            Self::Object(members, nulls) if found == JsonType::Object => {
                members.read(reader, has_value)?;
                nulls.append_non_null();
                return Ok(());
            }
            Self::List { element, offsets, nulls }
                if found == JsonType::Array && element.is_present(&is_present) =>
            {
                reader.open();
                let mut first = true;
                while reader.next_element(std::mem::take(&mut first))? {
                    element.read(reader, has_value)?;
                }
                // Each element takes at least one byte of a document. The documents of a batch have less than 2 GiB in total: at
                // most 1 GiB (`MAX_DOCUMENT_BYTES`) and the last document. So the count fits an `i32`.
                offsets.push(i32::try_from(element.len()).unwrap_or(i32::MAX));
                nulls.append_non_null();
                return Ok(());
            }
            Self::Leaf(field, leaf) if is_present(field) && leaf.accepts(found) => {
                return leaf.read(reader, found);
            }
            _ => {}
        }
        self.push_null();
        reader.skip_value()
    }

    /// Returns true if the elements of a list are to be read into this column. If one value of a field is invalid, the whole field
    /// is null, and its list is skipped.
    fn is_present(&self, has_value: &impl Fn(&FieldId) -> bool) -> bool {
        match self {
            Self::Object(..) => true,
            Self::List { element, .. } => element.is_present(has_value),
            Self::Leaf(field, _) => has_value(field),
        }
    }

    /// Returns the array of all values, and resets the builder.
    pub(super) fn finish(&mut self) -> ArrayRef {
        let data_type = self.data_type();
        match self {
            Self::Object(members, nulls) => {
                members.count = 0;
                let length = nulls.len();
                let columns: Vec<ArrayRef> =
                    members.list.iter_mut().map(|member| member.column.finish()).collect();
                let DataType::Struct(fields) = &data_type else {
                    return arrow_array::new_empty_array(&data_type);
                };
                match StructArray::try_new_with_length(fields.clone(), columns, nulls.finish(), length) {
                    Ok(array) => Arc::new(array),
                    Err(_) => arrow_array::new_null_array(&data_type, length),
                }
            }
            Self::List { element, offsets, nulls } => {
                let length = nulls.len();
                let field = Arc::new(element.element_field());
                let values = element.finish();
                let offsets = OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(offsets, vec![0])));
                match ListArray::try_new(field, offsets, values, nulls.finish()) {
                    Ok(array) => Arc::new(array) as ArrayRef,
                    Err(_) => arrow_array::new_null_array(&data_type, length),
                }
            }
            Self::Leaf(_, leaf) => leaf.finish(),
        }
    }
}
