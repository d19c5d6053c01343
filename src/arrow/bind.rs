//! A plan over the arrays of one record batch.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;

use super::plan::{Kind, Member, Node, Origin};
use super::values::{Values, values};
use crate::catalog::{FieldId, Stray};

/// A part of every case of a batch.
pub(super) struct Part<'b> {
    /// Which cases have it; none when all do, or when its members tell.
    pub(super) nulls: Option<&'b NullBuffer>,
    pub(super) shape: Bound<'b>,
}

/// What a part is, with its values.
pub(super) enum Bound<'b> {
    Object(Object<'b>),
    /// Where the elements of each case start, and behind the last of them where they end.
    List(&'b [i32], Box<Part<'b>>),
    /// Lists side by side, by the label of their key.
    Zip(Vec<(&'b str, Part<'b>)>),
    Value(Option<FieldId>, Values<'b>),
}

/// The members of an object.
pub(super) struct Object<'b> {
    /// A struct column stands behind it, so that it can be there without any member.
    pub(super) is_struct: bool,
    pub(super) members: Vec<Entry<'b>>,
}

/// A member of an object.
pub(super) struct Entry<'b> {
    /// The key as it stands in a document, with its colon.
    pub(super) label: &'b str,
    pub(super) part: Part<'b>,
    /// It is a member of the struct column, and absent where that is null.
    pub(super) of_struct: bool,
    /// The field that the column's name resembles, if the column is no field itself.
    pub(super) stray: Option<&'b Arc<Stray>>,
}

/// The members of a case in a batch; none when the batch is not of the plan's schema.
pub(super) fn bind<'b>(members: &'b [Member], batch: &'b RecordBatch) -> Option<Object<'b>> {
    object(members, batch, None)
}

fn object<'b>(
    members: &'b [Member],
    batch: &'b RecordBatch,
    around: Option<&'b ArrayRef>,
) -> Option<Object<'b>> {
    let entries = members.iter().map(|Member { label, node, stray, .. }| {
        let of_struct = matches!(node.origin, Origin::Child(_));
        Some(Entry { label, part: part(node, batch, around)?, of_struct, stray: stray.as_ref() })
    });
    Some(Object { is_struct: around.is_some(), members: entries.collect::<Option<_>>()? })
}

fn part<'b>(node: &'b Node, batch: &'b RecordBatch, around: Option<&'b ArrayRef>) -> Option<Part<'b>> {
    let array = match node.origin {
        Origin::Column(number) => Some(batch.columns().get(number)?),
        Origin::Child(number) => Some(around?.as_struct_opt()?.columns().get(number)?),
        Origin::Element => Some(around?),
        Origin::Members => None,
    };
    let shape = match &node.kind {
        Kind::Object(members) => Bound::Object(object(members, batch, array)?),
        Kind::List(element) => {
            let list = array?.as_list_opt::<i32>()?;
            Bound::List(list.value_offsets(), Box::new(part(element, batch, Some(list.values()))?))
        }
        Kind::Zip(lanes) => {
            let lane = |Member { label, node, .. }: &'b Member| Some((&**label, part(node, batch, None)?));
            Bound::Zip(lanes.iter().map(lane).collect::<Option<_>>()?)
        }
        Kind::Value(field) => Bound::Value(*field, values(array?)?),
    };
    Some(Part { nulls: array.and_then(|array| array.nulls()), shape })
}
