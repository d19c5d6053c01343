//! Chooses the leaf columns of a Parquet file that a scan reads.

use arrow_array::{Int64Array, make_array};
use arrow_schema::{DataType, Schema};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use smallvec::SmallVec;

use super::plan::{Kind, Node, Origin, Plan};
use super::value::value_of;
use super::values::values;
use crate::catalog::{ArrayId, Catalog, Field, FieldId, FieldType, IdType};
use crate::ingest::OrderedForm;

/// A leaf column of a Parquet file that belongs to a node of the plan.
#[derive(Debug)]
pub(super) struct LeafColumn {
    /// The index of the column among all leaf columns of the file.
    pub(super) leaf: usize,
    pub(super) field: Option<FieldId>,
    pub(super) kind: DataType,
    /// The arrays of objects around the column.
    pub(super) arrays: SmallVec<[ArrayId; 2]>,
    /// True if the column is in a list.
    pub(super) is_list: bool,
}

/// The values of a column that can be malformed, or can be worth a note in the report of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubtful {
    /// No value.
    None,
    /// Only the extremes: if the least and the greatest value are valid, all values are valid.
    Extremes,
    Any,
}

/// Returns the leaf columns of a plan. `schema` is the canonical schema that the plan was made for, and `leaves` is the number of
/// all leaf columns of the file. Returns `None` if the schema has another number of leaf columns.
pub(super) fn leaf_columns(plan: &Plan, schema: &Schema, leaves: usize) -> Option<Vec<LeafColumn>> {
    let mut starts = Vec::with_capacity(schema.fields().len());
    let mut next = 0_usize;
    for field in schema.fields() {
        starts.push(next);
        next = next.saturating_add(count(field.data_type()));
    }
    if next != leaves {
        return None;
    }
    let mut walk = Walk { plan, schema, starts, found: Vec::new(), arrays: SmallVec::new(), lists: 0 };
    plan.members.iter().try_for_each(|member| walk.node(&member.node, None))?;
    Some(walk.found)
}

/// Returns the number of leaf columns of a column.
fn count(kind: &DataType) -> usize {
    match kind {
        DataType::Struct(members) => members.iter().map(|member| count(member.data_type())).sum(),
        DataType::List(element) | DataType::Map(element, _) => count(element.data_type()),
        _ => 1,
    }
}

/// A walk through the nodes of a plan.
struct Walk<'p> {
    plan: &'p Plan,
    schema: &'p Schema,
    /// The first leaf of each column.
    starts: Vec<usize>,
    found: Vec<LeafColumn>,
    arrays: SmallVec<[ArrayId; 2]>,
    /// The number of lists around the node.
    lists: usize,
}

impl<'p> Walk<'p> {
    /// Adds the leaf columns of a node. `around` is the first leaf and the type of the enclosing column. Recurses as deeply as the
    /// plan nests, which is limited.
    fn node(&mut self, node: &'p Node, around: Option<(usize, &'p DataType)>) -> Option<()> {
        let own = match (node.origin, around) {
            (Origin::Members, _) => None,
            (Origin::Column(number), _) => {
                let column = *self.plan.columns.get(number)?;
                Some((*self.starts.get(column)?, self.schema.fields().get(column)?.data_type()))
            }
            (Origin::Child(number), Some((first, DataType::Struct(members)))) => {
                let before = members.iter().take(number).map(|member| count(member.data_type()));
                Some((first.saturating_add(before.sum()), members.get(number)?.data_type()))
            }
            (Origin::Element, Some((first, DataType::List(element)))) => Some((first, element.data_type())),
            _ => return None,
        };
        match &node.kind {
            Kind::Object(members) => members.iter().try_for_each(|member| self.node(&member.node, own)),
            Kind::List(element, array) => self.list(*array, |walk| walk.node(element, own)),
            Kind::Zip(lanes, array) => {
                self.list(*array, |walk| lanes.iter().try_for_each(|lane| walk.node(&lane.node, None)))
            }
            Kind::Value(field) => {
                let (leaf, kind) = own?;
                let (arrays, is_list) = (self.arrays.clone(), self.lists > 0);
                self.found.push(LeafColumn { leaf, field: *field, kind: kind.clone(), arrays, is_list });
                Some(())
            }
        }
    }

    fn list(&mut self, array: Option<ArrayId>, below: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let arrays = self.arrays.len();
        self.arrays.extend(array);
        self.lists = self.lists.saturating_add(1);
        let walked = below(self);
        self.lists = self.lists.saturating_sub(1);
        self.arrays.truncate(arrays);
        walked
    }
}

impl LeafColumn {
    /// Returns true if the column can have a value in this row group that is malformed, or that an import notes in its report.
    pub(super) fn is_doubtful(&self, catalog: &Catalog, column: &ColumnChunkMetaData) -> bool {
        let Some(id) = self.field else { return false };
        let field = catalog.field(id);
        match doubtful(field, &self.kind) {
            Doubtful::None => false,
            Doubtful::Any => true,
            Doubtful::Extremes => !has_valid_extremes(field, &self.kind, column.statistics()),
        }
    }
}

/// Returns the doubtful values of a column of this type, which fits the field.
fn doubtful(field: &Field, kind: &DataType) -> Doubtful {
    match (field.field_type(), kind) {
        (_, DataType::Boolean) => Doubtful::None,
        (FieldType::String, DataType::Utf8View)
            if OrderedForm::of(field).is_none() && field.id_type() == IdType::String =>
        {
            Doubtful::None
        }
        (FieldType::Integer, kind) if kind.is_integer() && *kind != DataType::UInt64 => Doubtful::None,
        // A double represents all integers of 32 bits.
        (FieldType::Number, kind)
            if kind.is_integer() && !matches!(kind, DataType::Int64 | DataType::UInt64) =>
        {
            Doubtful::None
        }
        (FieldType::Timestamp, DataType::Timestamp(_, zone)) if zone.is_some() || !field.form().is_text() => {
            Doubtful::Extremes
        }
        _ => Doubtful::Any,
    }
}

/// Returns true if the least and the greatest value of a column are valid instants. Then all values between them are valid.
fn has_valid_extremes(field: &Field, kind: &DataType, statistics: Option<&Statistics>) -> bool {
    let Some(Statistics::Int64(statistics)) = statistics else { return false };
    let Some((least, greatest)) = statistics.min_opt().zip(statistics.max_opt()) else {
        return false;
    };
    let integers = arrow_array::Array::to_data(&Int64Array::from(vec![*least, *greatest]));
    let Ok(data) = integers.into_builder().data_type(kind.clone()).build() else { return false };
    let array = make_array(data);
    let is_valid = |at| values(&array).is_some_and(|values| value_of(field, &values, at).is_ok());
    is_valid(0) && is_valid(1)
}
