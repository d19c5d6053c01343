//! Binds a plan to one record batch: finds the array of each node of the plan.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;

use super::plan::{Kind, Member, Node, Origin};
use super::values::{Values, values};
use crate::catalog::{ArrayId, FieldId, Stray};

/// A [`Node`] of the plan, with its arrays in one record batch.
pub(super) struct BoundNode<'b> {
    /// The null bitmap. `None` if there are no nulls, or if the node has no array.
    pub(super) nulls: Option<&'b NullBuffer>,
    pub(super) kind: BoundKind<'b>,
}

/// A [`Kind`] of the plan, with its values in one record batch.
pub(super) enum BoundKind<'b> {
    Object(Object<'b>),
    /// A list: its offsets and its elements. The offsets are the start of each list among the elements, then the end of the last
    /// list. The `ArrayId` is the id of the list in the catalogue, if the list is an array of objects.
    List(&'b [i32], Box<BoundNode<'b>>, Option<ArrayId>),
    /// A list of objects that is stored as parallel list columns. Contains, for each member, its label (the key as JSON) and its
    /// list. The `ArrayId` is the id of the list in the catalogue, if it has one.
    Zip(Vec<(&'b str, BoundNode<'b>)>, Option<ArrayId>),
    Value(Option<FieldId>, Values<'b>),
}

/// The members of an object.
pub(super) struct Object<'b> {
    /// True if the object is a struct column. Then the object can be present even if all its members are absent.
    pub(super) is_struct: bool,
    pub(super) members: Vec<BoundMember<'b>>,
}

/// A member of an object, bound to its array in one record batch.
pub(super) struct BoundMember<'b> {
    /// The key as a JSON string, followed by a colon.
    pub(super) label: &'b str,
    pub(super) node: BoundNode<'b>,
    /// True if the member is a child of the struct column. Then the member is absent in rows in which the struct is null.
    pub(super) is_struct_child: bool,
    /// For a member that is not a field, but looks like a field: its path, and the fields that it looks like. `None` for all other
    /// members.
    pub(super) stray: Option<&'b Arc<Stray>>,
}

/// Binds the members of a case. Returns `None` if the schema of the batch differs from the schema of the plan.
pub(super) fn bind<'b>(members: &'b [Member], batch: &'b RecordBatch) -> Option<Object<'b>> {
    object(members, batch, None)
}

fn object<'b>(
    members: &'b [Member],
    batch: &'b RecordBatch,
    around: Option<&'b ArrayRef>,
) -> Option<Object<'b>> {
    let entries = members.iter().map(|Member { label, node, stray, .. }| {
        let is_struct_child = matches!(node.origin, Origin::Child(_));
        Some(BoundMember {
            label,
            node: bind_node(node, batch, around)?,
            is_struct_child,
            stray: stray.as_ref(),
        })
    });
    Some(Object { is_struct: around.is_some(), members: entries.collect::<Option<_>>()? })
}

fn bind_node<'b>(
    node: &'b Node,
    batch: &'b RecordBatch,
    around: Option<&'b ArrayRef>,
) -> Option<BoundNode<'b>> {
    let array = match node.origin {
        Origin::Column(number) => Some(batch.columns().get(number)?),
        Origin::Child(number) => Some(around?.as_struct_opt()?.columns().get(number)?),
        Origin::Element => Some(around?),
        Origin::Members => None,
    };
    let kind = match &node.kind {
        Kind::Object(members) => BoundKind::Object(object(members, batch, array)?),
        Kind::List(element, of_objects) => {
            let list = array?.as_list_opt::<i32>()?;
            let element = Box::new(bind_node(element, batch, Some(list.values()))?);
            BoundKind::List(list.value_offsets(), element, *of_objects)
        }
        Kind::Zip(lanes, of_objects) => {
            let lane =
                |Member { label, node, .. }: &'b Member| Some((&**label, bind_node(node, batch, None)?));
            BoundKind::Zip(lanes.iter().map(lane).collect::<Option<_>>()?, *of_objects)
        }
        Kind::Value(field) => BoundKind::Value(*field, values(array?)?),
    };
    Some(BoundNode { nulls: array.and_then(|array| array.nulls()), kind })
}
