//! Finds row groups and pages in which a filter selects no case, by the statistics and the dictionaries of their columns.

use std::borrow::Cow;

use arrow_array::{Array, Float64Array, Int32Array, Int64Array, make_array};
use arrow_schema::DataType;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use smallvec::smallvec;

use super::projection::LeafColumn;
use super::value::value_of;
use super::values::values;
use crate::catalog::{Catalog, Field, FieldId, FieldType, IdType};
use crate::filter::Filter;
use crate::predicate::{Leaf, Points, Set, Test};
use crate::value::Value;

/// A part of a file, such as a row group, with what is known about the values of its columns.
pub(super) struct Zone<'z> {
    pub(super) leaves: &'z [LeafColumn],
    pub(super) catalog: &'z Catalog,
    /// Returns what is known about the values of a leaf column in this part.
    pub(super) values: &'z dyn Fn(usize) -> Values<'z>,
}

/// The bounds of the values of a column in a part of a file, as far as they are known.
pub(super) enum Values<'s> {
    /// There are no values.
    None,
    /// The least and the greatest value.
    Of(Cow<'s, Statistics>),
    /// All texts of a column of texts.
    Texts(&'s [Box<str>]),
    Unknown,
}

impl<'s> Values<'s> {
    /// Returns what the statistics of a row group say about a column.
    pub(super) fn of_column(group: &'s RowGroupMetaData, leaf: usize) -> Self {
        let Some(chunk) = group.columns().get(leaf) else { return Self::Unknown };
        let Some(statistics) = chunk.statistics() else { return Self::Unknown };
        let values = u64::try_from(chunk.num_values()).ok();
        if values.is_some() && statistics.null_count_opt() == values {
            return Self::None;
        }
        Self::Of(Cow::Borrowed(statistics))
    }
}

impl Zone<'_> {
    /// Returns false if the statistics show that the filter selects no case of this part.
    pub(super) fn may_select(&self, filter: &Filter) -> bool {
        filter.predicate().evaluate(|leaf| self.may_hold(leaf))
    }

    /// Returns false if the statistics show that no case of this part has this id.
    pub(super) fn may_have_id(&self, id: &str) -> bool {
        self.may_have(FieldId::ID, &Set::Strings(Points::new(smallvec![id.into()])))
    }

    /// Returns false if the statistics show that the test is false for all cases of this part. Recurses as deeply as arrays
    /// nest in the catalogue.
    fn may_hold(&self, leaf: &Leaf) -> bool {
        match &leaf.test {
            Test::Any(set) | Test::All(set) => self.may_have(leaf.field, set),
            // An element that passes a nested test has a value that passes it, unless the test is negated. This value is also in
            // the column, so the nested tests can be evaluated on columns.
            Test::Elem(elements) => elements.tree.evaluate(|leaf| self.may_hold(leaf)),
            Test::None(_) | Test::NotAll(_) | Test::NoElem(_) => true,
        }
    }

    /// Returns false if the statistics show that no case of this part has a value of the set.
    fn may_have(&self, field: FieldId, set: &Set) -> bool {
        let default = self.catalog.defaults().iter().find(|(other, _)| *other == field);
        if default.is_some_and(|(_, value)| set.contains(value)) {
            return true;
        }
        let Some(column) = self.leaves.iter().find(|column| column.field == Some(field)) else {
            return false;
        };
        let statistics = match (self.values)(column.leaf) {
            Values::None => return false,
            Values::Unknown => return true,
            Values::Of(statistics) => statistics,
            Values::Texts(texts) => {
                return texts.iter().any(|text| set.contains(&Value::String((&**text).into())));
            }
        };
        let statistics = &*statistics;
        let field = self.catalog.field(field);
        match set {
            Set::Strings(_) => may_have_text(field, &column.kind, statistics, set),
            Set::Ordered(intervals) => {
                let Some((least, greatest)) = ordinals(field, &column.kind, statistics) else { return true };
                intervals.as_slice().iter().any(|(low, high)| *low <= greatest && *high >= least)
            }
            Set::Booleans(_) | Set::Matching(_) => true,
        }
    }
}

/// Returns true if the values of a field are the texts of its column. UUIDs are not, because they are converted to their canonical
/// text.
pub(super) fn is_text(field: &Field, kind: &DataType) -> bool {
    *kind == DataType::Utf8View
        && field.field_type() == FieldType::String
        && field.id_type() == IdType::String
}

/// Returns false if no text of the set is between the least and the greatest text of a column.
fn may_have_text(field: &Field, kind: &DataType, statistics: &Statistics, set: &Set) -> bool {
    let Statistics::ByteArray(_) = statistics else { return true };
    if !is_text(field, kind) || statistics.is_min_max_deprecated() {
        return true;
    }
    // A truncated bound is still a bound.
    let bounds = statistics.min_bytes_opt().zip(statistics.max_bytes_opt());
    let Some((least, greatest)) = bounds else { return true };
    let Set::Strings(points) = set else { return true };
    let from = points.as_slice().partition_point(|text| text.as_bytes() < least);
    points.as_slice().get(from).is_some_and(|text| text.as_bytes() <= greatest)
}

/// Returns the ordinals of the least and the greatest value of a column. `None` if they are not known.
fn ordinals(field: &Field, kind: &DataType, statistics: &Statistics) -> Option<(i64, i64)> {
    if statistics.is_min_max_deprecated() && !statistics.is_min_max_backwards_compatible() {
        return None;
    }
    let data = match statistics {
        Statistics::Int32(found) => Int32Array::from(vec![*found.min_opt()?, *found.max_opt()?]).into_data(),
        Statistics::Int64(found) => Int64Array::from(vec![*found.min_opt()?, *found.max_opt()?]).into_data(),
        Statistics::Double(found) => {
            Float64Array::from(vec![*found.min_opt()?, *found.max_opt()?]).into_data()
        }
        _ => return None,
    };
    let has_same_layout = matches!(
        (data.data_type(), kind),
        (DataType::Int32, DataType::Int32 | DataType::Date32)
            | (DataType::Int64, DataType::Int64 | DataType::Timestamp(..))
            | (DataType::Float64, DataType::Float64)
    );
    if !has_same_layout {
        return None;
    }
    let array = make_array(data.into_builder().data_type(kind.clone()).build().ok()?);
    let found = values(&array)?;
    let ordinal = |at| value_of(field, &found, at).ok()?.ordinal().map(|(_, ordinal)| ordinal);
    Some((ordinal(0)?, ordinal(1)?))
}
