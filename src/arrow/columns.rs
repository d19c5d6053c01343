//! The columns of cases, being filled from documents.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder, TimestampMillisecondBuilder};
use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields, TimeUnit};

use crate::catalog::{Catalog, FieldId, FieldType};
use crate::json::{self, JsonType, Reader};
use crate::value::{Number, Timestamp};

const UTC: &str = "+00:00";

/// The members of an object, being filled.
#[derive(Default)]
pub(super) struct Members {
    pub(super) list: Vec<Member>,
    /// How many objects were read, absent ones too.
    pub(super) count: usize,
}

pub(super) struct Member {
    key: Box<str>,
    pub(super) column: Column,
}

pub(super) enum Column {
    Object(Members, NullBufferBuilder),
    List {
        element: Box<Column>,
        offsets: Vec<i32>,
        nulls: NullBufferBuilder,
    },
    String(FieldId, StringBuilder),
    /// Milliseconds in digits.
    UnixMillis(FieldId, StringBuilder),
    Number(FieldId, Float64Builder),
    Timestamp(FieldId, TimestampMillisecondBuilder),
    Boolean(FieldId, BooleanBuilder),
}

impl Members {
    pub(super) fn new(catalog: &Catalog) -> Self {
        let mut members = Self::default();
        for (id, field) in catalog.visible_fields() {
            let leaf = match field.kind() {
                FieldType::Timestamp if field.is_unix_millis() => {
                    Column::UnixMillis(id, StringBuilder::new())
                }
                FieldType::Timestamp => {
                    Column::Timestamp(id, TimestampMillisecondBuilder::new().with_timezone(UTC))
                }
                FieldType::String => Column::String(id, StringBuilder::new()),
                FieldType::Number => Column::Number(id, Float64Builder::new()),
                FieldType::Boolean => Column::Boolean(id, BooleanBuilder::new()),
            };
            members.insert(&field.path().split('.').collect::<Vec<_>>(), leaf);
        }
        members
    }

    fn insert(&mut self, path: &[&str], leaf: Column) {
        let Some((segment, rest)) = path.split_first() else { return };
        let key = segment.trim_end_matches("[]");
        let lists = segment.len().saturating_sub(key.len()) / 2;
        if let Some(found) = self.list.iter_mut().find(|member| *member.key == *key) {
            // Two paths part below an object or below a list of objects: the catalogue has seen to that.
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

    /// Reads the object that stands next.
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

    /// Ends an object: members that it did not have are null.
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
            Self::String(..) | Self::UnixMillis(..) => DataType::Utf8,
            Self::Number(..) => DataType::Float64,
            Self::Timestamp(..) => DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())),
            Self::Boolean(..) => DataType::Boolean,
        }
    }

    fn element_field(&self) -> Field {
        Field::new_list_field(self.data_type(), true)
    }

    fn len(&self) -> usize {
        use arrow_array::builder::ArrayBuilder;
        match self {
            Self::Object(_, nulls) | Self::List { nulls, .. } => nulls.len(),
            Self::String(_, texts) | Self::UnixMillis(_, texts) => texts.len(),
            Self::Number(_, numbers) => numbers.len(),
            Self::Timestamp(_, instants) => instants.len(),
            Self::Boolean(_, booleans) => booleans.len(),
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
            Self::String(_, texts) | Self::UnixMillis(_, texts) => texts.append_null(),
            Self::Number(_, numbers) => numbers.append_null(),
            Self::Timestamp(_, instants) => instants.append_null(),
            Self::Boolean(_, booleans) => booleans.append_null(),
        }
    }

    /// Reads the value that stands next; what is no value of the field is null.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, has_value: &[bool]) -> json::Result<()> {
        let found = reader.peek()?;
        let is_there = |field: &FieldId| has_value.get(field.index()).copied().unwrap_or(false);
        match self {
            Self::Object(members, nulls) if found == JsonType::Object => {
                members.read(reader, has_value)?;
                nulls.append_non_null();
                return Ok(());
            }
            Self::List { element, offsets, nulls }
                if found == JsonType::Array && element.is_there(&is_there) =>
            {
                reader.open();
                let mut first = true;
                while reader.next_element(std::mem::take(&mut first))? {
                    element.read(reader, has_value)?;
                }
                // No batch has more elements than its texts have bytes, and these are bounded.
                offsets.push(i32::try_from(element.len()).unwrap_or(i32::MAX));
                nulls.append_non_null();
                return Ok(());
            }
            Self::String(field, texts) if found == JsonType::String && is_there(field) => {
                texts.append_value(reader.string()?);
                return Ok(());
            }
            Self::UnixMillis(field, texts) if is_there(field) => match found {
                JsonType::String => {
                    texts.append_value(reader.string()?);
                    return Ok(());
                }
                JsonType::Number => {
                    texts.append_value(reader.number()?);
                    return Ok(());
                }
                _ => {}
            },
            Self::Number(field, numbers) if found == JsonType::Number && is_there(field) => {
                numbers.append_option(reader.number()?.parse().ok().and_then(Number::new).map(Number::get));
                return Ok(());
            }
            Self::Timestamp(field, instants) if found == JsonType::String && is_there(field) => {
                instants.append_option(Timestamp::parse(&reader.string()?).ok().map(Timestamp::as_millis));
                return Ok(());
            }
            Self::Boolean(field, booleans) if found == JsonType::Boolean && is_there(field) => {
                booleans.append_value(reader.boolean()?);
                return Ok(());
            }
            _ => {}
        }
        self.push_null();
        reader.skip_value()
    }

    /// Whether a list of this column's values is one that counts: of a field at fault nothing is left, not even nulls.
    fn is_there(&self, has_value: &impl Fn(&FieldId) -> bool) -> bool {
        match self {
            Self::Object(..) => true,
            Self::List { element, .. } => element.is_there(has_value),
            Self::String(field, _)
            | Self::UnixMillis(field, _)
            | Self::Number(field, _)
            | Self::Timestamp(field, _)
            | Self::Boolean(field, _) => has_value(field),
        }
    }

    /// The array of all values; none is left.
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
            Self::String(_, texts) | Self::UnixMillis(_, texts) => Arc::new(texts.finish()),
            Self::Number(_, numbers) => Arc::new(numbers.finish()),
            Self::Timestamp(_, instants) => Arc::new(instants.finish()),
            Self::Boolean(_, booleans) => Arc::new(booleans.finish()),
        }
    }
}
