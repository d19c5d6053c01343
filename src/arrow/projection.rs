//! Chooses the leaf columns of a Parquet file that a scan reads.

use arrow_array::{Array, Int32Array, Int64Array, make_array};
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
    /// True if the column is needed to find the rows that have an unknown member which looks like a field.
    pub(super) is_of_stray: bool,
}

/// The result of checking a column of one row group by its type and its statistics alone. It says whether the column can have
/// malformed values or *noted* values. A value is noted if an import makes a note on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnCheck {
    /// All values are valid, and none is noted.
    Plain,
    /// All values are valid, and each is noted. Contains the number of rows with a value, if it is known.
    Noted(Option<u64>),
    /// Each value has to be checked.
    Unknown,
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
    let (found, arrays) = (Vec::new(), SmallVec::new());
    let mut walk = Walk { plan, schema, starts, found, arrays, lists: 0, is_in_stray: false };
    let mut similar = Vec::new();
    for member in &plan.members {
        let fields = member.noted_fields();
        walk.is_in_stray = fields.is_some();
        similar.extend_from_slice(fields.unwrap_or_default());
        walk.node(&member.node, None)?;
    }
    for column in &mut walk.found {
        column.is_of_stray |= column.field.is_some_and(|field| similar.contains(&field));
    }
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
    /// For each column, the index of its first leaf column.
    starts: Vec<usize>,
    found: Vec<LeafColumn>,
    arrays: SmallVec<[ArrayId; 2]>,
    /// The number of lists around the node.
    lists: usize,
    /// True while the walk is in an unknown member that looks like a field.
    is_in_stray: bool,
}

impl<'p> Walk<'p> {
    /// Adds the leaf columns of a node. `around` is the enclosing column: the index of its first leaf column, and its type.
    /// Recurses as deeply as the plan nests, which is limited.
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
                self.found.push(LeafColumn {
                    leaf,
                    field: *field,
                    kind: kind.clone(),
                    arrays: self.arrays.clone(),
                    is_list: self.lists > 0,
                    is_of_stray: self.is_in_stray,
                });
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

impl ColumnCheck {
    /// Adapts the check of a column in a row group to the row groups before it. `noted` contains the fields that have a noted value
    /// in an earlier row group.
    ///
    /// Only [`Noted`](Self::Noted) can change. It stays the same if its number of rows is known and `noted` contains the field. If
    /// not, returns [`Unknown`](Self::Unknown). The column then has to be read, to find its first noted value or to count its noted
    /// values. If the number of rows is known, also adds the field to `noted`, so that later row groups need not read the column.
    pub(super) fn of_group(self, field: Option<FieldId>, noted: &mut Vec<FieldId>) -> Self {
        match (self, field) {
            (Self::Noted(Some(_)), Some(field)) if noted.contains(&field) => self,
            (Self::Noted(rows), Some(field)) => {
                noted.extend(rows.map(|_| field));
                Self::Unknown
            }
            (check, _) => check,
        }
    }
}

impl LeafColumn {
    /// Checks the values of the column in a row group, without reading them.
    pub(super) fn check(&self, catalog: &Catalog, column: &ColumnChunkMetaData) -> ColumnCheck {
        let Some(id) = self.field else { return ColumnCheck::Plain };
        let nulls = column.statistics().and_then(Statistics::null_count_opt);
        let values = nulls.zip(u64::try_from(column.num_values()).ok());
        let values = values.and_then(|(nulls, values)| values.checked_sub(nulls));
        if values == Some(0) {
            return ColumnCheck::Plain;
        }
        let field = catalog.field(id);
        match (field.field_type(), &self.kind) {
            (FieldType::Timestamp, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64) => {
                if !has_valid_extremes(field, &self.kind, column.statistics()) {
                    return ColumnCheck::Unknown;
                }
                let is_noted =
                    !matches!(&self.kind, DataType::Timestamp(_, Some(_))) && field.form().is_text();
                // A row can have several values in a list.
                if is_noted {
                    ColumnCheck::Noted(values.filter(|_| !self.is_list))
                } else {
                    ColumnCheck::Plain
                }
            }
            (_, kind) if is_always_plain(field, kind) => ColumnCheck::Plain,
            _ => ColumnCheck::Unknown,
        }
    }
}

/// Returns true if a column of this type cannot have malformed or noted values. The type must fit the field.
fn is_always_plain(field: &Field, kind: &DataType) -> bool {
    match (field.field_type(), kind) {
        (_, DataType::Boolean) => true,
        (FieldType::String, DataType::Utf8View) => {
            OrderedForm::of(field).is_none() && field.id_type() == IdType::String
        }
        (FieldType::Integer, kind) => kind.is_integer() && *kind != DataType::UInt64,
        // A double represents all integers of 32 bits.
        (FieldType::Number, kind) => kind.is_integer() && !matches!(kind, DataType::Int64 | DataType::UInt64),
        _ => false,
    }
}

/// Returns true if the least and the greatest value of a column are valid instants. Then all values between them are valid.
fn has_valid_extremes(field: &Field, kind: &DataType, statistics: Option<&Statistics>) -> bool {
    let extremes = match (statistics, kind) {
        (Some(Statistics::Int64(found)), DataType::Timestamp(..)) => found
            .min_opt()
            .zip(found.max_opt())
            .map(|(least, greatest)| Int64Array::from(vec![*least, *greatest]).to_data()),
        (Some(Statistics::Int32(found)), DataType::Date32) => found
            .min_opt()
            .zip(found.max_opt())
            .map(|(least, greatest)| Int32Array::from(vec![*least, *greatest]).to_data()),
        _ => None,
    };
    let typed = extremes.and_then(|data| data.into_builder().data_type(kind.clone()).build().ok());
    let Some(array) = typed.map(make_array) else { return false };
    let is_valid = |at| values(&array).is_some_and(|values| value_of(field, &values, at).is_ok());
    is_valid(0) && is_valid(1)
}
