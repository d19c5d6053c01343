//! Finds, in a batch, the rows on which an import would make a note.

use arrow_buffer::BooleanBuffer;

use super::bind::{BoundKind, BoundMember, BoundNode, Object};
use super::mask::{Found, Place, Seek};
use super::memo::Memo;
use super::value::{has_remark, value_of};
use super::values::Values;
use crate::catalog::{Field, FieldId};
use crate::error::Error;
use crate::value::{Number, Timestamp};

/// Returns the rows in which an import would make a note on a value of the field.
///
/// # Errors
/// Returns an error if a value is invalid.
pub(super) fn rows_with_noted_value(
    case: &Object<'_>,
    rows: usize,
    (id, field): (FieldId, &Field),
) -> Result<BooleanBuffer, Error> {
    Place::Case(case, rows).find(&NotedValues { id, field })
}

/// Returns the rows that have a [stray](crate::catalog::Stray) member, and no value of any field that the member looks like.
///
/// # Errors
/// Returns no error, because this search does not read values.
pub(super) fn rows_with_stray(
    case: &Object<'_>,
    rows: usize,
    member: &BoundMember<'_>,
    fields: &[FieldId],
) -> Result<BooleanBuffer, Error> {
    let all = BooleanBuffer::new_set(rows);
    let mut strays = presence(&member.node, &all);
    for field in fields {
        strays = &strays & &!&Place::Case(case, rows).find(&AnyValue(*field))?;
    }
    Ok(strays)
}

/// A search for those values of a field on which an import would make a note.
struct NotedValues<'s> {
    id: FieldId,
    field: &'s Field,
}

impl Seek for NotedValues<'_> {
    fn hit(&self, kind: &BoundKind<'_>, there: &BooleanBuffer) -> Found {
        let BoundKind::Value(own, values) = kind else { return None };
        if *own != Some(self.id) {
            return None;
        }
        let mut memo = Memo::new(values);
        let mut noted = Vec::new();
        for at in there.set_indices() {
            let test =
                || value_of(self.field, values, at).map(|value| has_remark(self.field, values, at, &value));
            match memo.result(at, test) {
                Ok(true) => noted.push(at),
                Ok(false) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(bitmap(there.len(), noted)))
    }
}

/// Returns a bitmap of `len` bits, in which the bits at the indexes in `set` are set. The indexes are in ascending order.
fn bitmap(len: usize, set: Vec<usize>) -> BooleanBuffer {
    if set.is_empty() {
        return BooleanBuffer::new_unset(len);
    }
    let mut set = set.into_iter().peekable();
    BooleanBuffer::collect_bool(len, |at| set.next_if_eq(&at).is_some())
}

/// A search for any value of a field. The values must be valid.
struct AnyValue(FieldId);

impl Seek for AnyValue {
    fn hit(&self, kind: &BoundKind<'_>, there: &BooleanBuffer) -> Found {
        matches!(kind, BoundKind::Value(Some(field), _) if *field == self.0).then(|| Ok(there.clone()))
    }
}

/// Returns the rows whose documents contain a node: the rows in which [`RowReader`](super::rows::RowReader) writes the node.
/// `around` has the rows in which the enclosing object is present. Recurses as deeply as the plan nests, which is limited.
fn presence(node: &BoundNode<'_>, around: &BooleanBuffer) -> BooleanBuffer {
    let own = node.nulls.map(|nulls| around & &nulls.inner().slice(0, around.len()));
    let there = own.as_ref().unwrap_or(around);
    match &node.kind {
        BoundKind::Object(object) => {
            let is_empty = || BooleanBuffer::new_unset(around.len());
            let start = if object.is_struct { there.clone() } else { is_empty() };
            object.members.iter().fold(start, |any, entry| {
                &any | &presence(&entry.node, if entry.is_struct_child { there } else { around })
            })
        }
        // A list of objects is present if one of its columns has a list.
        BoundKind::Zip(lanes, _) => lanes
            .iter()
            .fold(BooleanBuffer::new_unset(around.len()), |any, (_, lane)| &any | &presence(lane, there)),
        BoundKind::List(..) => there.clone(),
        BoundKind::Value(_, values) => {
            BooleanBuffer::collect_bool(there.len(), |at| there.value(at) && has_json(values, at))
        }
    }
}

/// Returns true if JSON can represent the value at an index of a column that does not belong to a field.
fn has_json(values: &Values<'_>, at: usize) -> bool {
    match values {
        Values::Instants(instants) => {
            let instant = instants.millis(at).map(Timestamp::from_millis);
            instant.is_some_and(Timestamp::is_in_years)
        }
        Values::Floats(floats) => floats.get(at).is_some_and(|float| Number::new(*float).is_some()),
        _ => true,
    }
}
