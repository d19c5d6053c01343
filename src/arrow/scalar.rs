//! Reads single values of a record batch.

use arrow_array::StringViewArray;
use arrow_buffer::NullBuffer;
use smallvec::SmallVec;

use super::bind::{BoundKind, Object};
use super::value::value_of;
use super::values::Values;
use crate::catalog::{Field, FieldId};
use crate::error::Error;
use crate::value::Value;

type Nulls<'b> = SmallVec<[&'b NullBuffer; 3]>;

/// The column of a field with at most one value for each case.
pub(super) struct Scalar<'b> {
    /// The null bitmaps of the column and of the structs around it.
    nulls: Nulls<'b>,
    values: &'b Values<'b>,
}

impl<'b> Scalar<'b> {
    /// Finds the column of a field that is not in a list.
    pub(super) fn find(case: &'b Object<'b>, field: FieldId) -> Option<Self> {
        Self::find_in(case, field, &Nulls::new(), None)
    }

    /// Finds the column in an object. `around` has the null bitmaps of the enclosing node, and `own` has the null bitmaps of the
    /// struct column. Recurses as deeply as the plan nests, which is limited.
    fn find_in(
        object: &'b Object<'b>,
        field: FieldId,
        around: &Nulls<'b>,
        own: Option<&Nulls<'b>>,
    ) -> Option<Self> {
        object.members.iter().find_map(|entry| {
            let around = own.filter(|_| entry.is_struct_child).unwrap_or(around);
            let mut nulls = around.clone();
            nulls.extend(entry.node.nulls);
            match &entry.node.kind {
                BoundKind::Object(members) => Self::find_in(members, field, around, Some(&nulls)),
                BoundKind::Value(own, values) if *own == Some(field) => Some(Self { nulls, values }),
                _ => None,
            }
        })
    }

    /// Returns the strings of the column, if it is a column of strings without nulls.
    pub(super) fn texts(&self) -> Option<&'b StringViewArray> {
        match self.values {
            Values::Text(texts) if self.nulls.iter().all(|nulls| nulls.null_count() == 0) => Some(texts),
            _ => None,
        }
    }

    /// Returns the value of a row. `None` if the row has none.
    ///
    /// # Errors
    /// Returns an error if the value is invalid for the field.
    #[inline]
    pub(super) fn value(&self, field: &Field, at: usize) -> Option<Result<Value<'b>, Error>> {
        let is_null = self.nulls.iter().any(|nulls| nulls.is_null(at));
        (!is_null).then(|| value_of(field, self.values, at))
    }
}
