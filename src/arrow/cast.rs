//! Casts the columns of a record batch to the types that the plan reads.
//!
//! Arrow's own casts convert between all types, and would make a program 4 MB larger. The casts that a plan needs change only the
//! encoding of a column, never a value. So this module implements them itself.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericListViewArray, ListArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions,
    StringViewArray, StructArray, UInt64Array, downcast_run_array,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::take::take;

use super::plan::Plan;
use super::types::{canonical_field, canonical_type};
use crate::error::{Error, ErrorKind};

/// Returns the columns that a plan reads, cast to their [`canonical_type`]. A column that already has this
/// type is shared and not copied.
///
/// # Errors
/// Returns an error if a column cannot be cast. One cause is that its lists have more than 2^31 - 1 values together. The other is
/// that an array within the column has nulls although its type allows none. The path of the error is the name of the column.
pub(super) fn cast_batch(batch: &RecordBatch, plan: &Plan) -> Result<RecordBatch, Error> {
    let schema = batch.schema();
    let mut columns = Vec::with_capacity(plan.columns.len());
    let mut fields = Vec::with_capacity(plan.columns.len());
    for number in &plan.columns {
        let (Some(column), Some(field)) = (batch.columns().get(*number), schema.fields().get(*number)) else {
            continue;
        };
        let column = canonical(column).map_err(|error| {
            let expected = "a column that can be cast to plain values";
            Error::new(ErrorKind::WrongType, 0, error.to_string(), expected).at(field.name().clone())
        })?;
        // Always nullable, because a cast can add nulls.
        fields.push(canonical_field(field).with_nullable(true));
        columns.push(column);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Schema::new(fields).into(), columns, &options)
        .map_err(|error| Error::new(ErrorKind::WrongType, 0, error.to_string(), "a valid record batch"))
}

/// Casts an array to its [canonical type]. Shares an array that already has this type. Recurses as deeply as the type nests.
///
/// [canonical type]: canonical_type
fn canonical(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    // An array from a Parquet file may have nulls although its type allows none. Arrow would refuse to build such an array again.
    if canonical_type(array.data_type()) == *array.data_type() {
        return Ok(Arc::clone(array));
    }
    Ok(match array.data_type() {
        DataType::Utf8 => Arc::new(StringViewArray::from(array.as_string::<i32>())),
        DataType::LargeUtf8 => Arc::new(StringViewArray::from(array.as_string::<i64>())),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            take(&canonical(dictionary.values())?, dictionary.keys(), None)?
        }
        DataType::RunEndEncoded(..) => decode_runs(array)?,
        DataType::List(element) => {
            let list = array.as_list::<i32>();
            list_of(element, list.offsets().clone(), list.values(), list)?
        }
        DataType::LargeList(element) => {
            let list = array.as_list::<i64>();
            let offsets = list.offsets().iter().map(|offset| i32::try_from(*offset));
            let offsets: Vec<i32> = offsets.collect::<Result<_, _>>().map_err(|_| too_long())?;
            list_of(element, OffsetBuffer::new(offsets.into()), list.values(), list)?
        }
        DataType::FixedSizeList(element, size) => {
            let list = array.as_fixed_size_list();
            let ends = (0..=list.len()).map(|count| i32::try_from(count).ok()?.checked_mul(*size));
            let offsets: Vec<i32> = ends.collect::<Option<_>>().ok_or_else(too_long)?;
            list_of(element, OffsetBuffer::new(offsets.into()), list.values(), list)?
        }
        DataType::ListView(element) => gather(element, array.as_list_view::<i32>())?,
        DataType::LargeListView(element) => gather(element, array.as_list_view::<i64>())?,
        DataType::Struct(fields) => {
            let object = array.as_struct();
            let members: Vec<ArrayRef> = object.columns().iter().map(canonical).collect::<Result<_, _>>()?;
            let fields = fields.iter().map(|field| canonical_field(field)).collect();
            Arc::new(StructArray::try_new(fields, members, object.nulls().cloned())?)
        }
        _ => Arc::clone(array),
    })
}

/// Returns a list of the cast values, with the nulls of `list`.
fn list_of(
    element: &Field,
    offsets: OffsetBuffer<i32>,
    values: &ArrayRef,
    list: &dyn Array,
) -> Result<ArrayRef, ArrowError> {
    let element = canonical_field(element).into();
    Ok(Arc::new(ListArray::try_new(element, offsets, canonical(values)?, list.nulls().cloned())?))
}

/// Copies the values of a list view to a list, in the order of the rows.
fn gather<O: OffsetSizeTrait>(
    element: &Field,
    view: &GenericListViewArray<O>,
) -> Result<ArrayRef, ArrowError> {
    let rows = || view.offsets().iter().zip(view.sizes()).enumerate();
    // Views may overlap, so their lengths are added up before memory is taken.
    let lengths = rows().filter(|(row, _)| !view.is_null(*row)).map(|(_, (_, length))| length.as_usize());
    let count = lengths.fold(0_usize, usize::saturating_add);
    i32::try_from(count).map_err(|_| too_long())?;
    let mut indices = Vec::with_capacity(count);
    let mut offsets = Vec::with_capacity(view.len().saturating_add(1));
    offsets.push(0);
    for (row, (start, length)) in rows() {
        if !view.is_null(row) {
            let start = start.as_usize();
            indices.extend((start..start.saturating_add(length.as_usize())).map(|index| index as u64));
        }
        offsets.push(i32::try_from(indices.len()).map_err(|_| too_long())?);
    }
    let values = take(view.values(), &UInt64Array::from(indices), None)?;
    list_of(element, OffsetBuffer::new(ScalarBuffer::from(offsets)), &values, view)
}

/// Returns an array that contains, for each row, the value of the row's run.
fn decode_runs(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let rows: Vec<u64> = (0..array.len() as u64).collect();
    downcast_run_array!(
        array => {
            let runs = array.get_physical_indices(&rows)?;
            let runs = UInt64Array::from_iter_values(runs.into_iter().map(|run| run as u64));
            take(&canonical(array.values())?, &runs, None)
        },
        // The caller has matched the type.
        _ => Ok(Arc::clone(array)),
    )
}

fn too_long() -> ArrowError {
    ArrowError::ComputeError("a list of more than 2,147,483,647 values".to_owned())
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{FixedSizeListBuilder, ListBuilder, ListViewBuilder, StringBuilder};
    use arrow_array::types::Int16Type;
    use arrow_array::{DictionaryArray, Int32Array, RunArray, StringArray};

    use super::*;

    /// Checks that an array, and a slice of it, are cast as Arrow casts them.
    fn check(array: &dyn Array) {
        for array in [array.slice(0, array.len()), array.slice(1, array.len() - 2), array.slice(0, 0)] {
            let kind = canonical_type(array.data_type());
            let expected = arrow_cast::cast(&array, &kind).unwrap();
            let own = canonical(&array).unwrap();
            own.to_data().validate_full().unwrap();
            assert_eq!((own.data_type(), &own), (&kind, &expected), "{:?}", array.data_type());
        }
    }

    fn texts() -> StringArray {
        StringArray::from(vec![
            Some("a"),
            None,
            Some("a text of more than twelve bytes"),
            Some(""),
            Some("a"),
        ])
    }

    #[test]
    fn casts_are_those_of_arrow() {
        check(&texts());
        check(&arrow_cast::cast(&texts(), &DataType::LargeUtf8).unwrap());
        check(&Int32Array::from(vec![Some(1), None, Some(3)]));
        let dictionary: DictionaryArray<Int16Type> = texts().iter().collect();
        check(&dictionary);
        // A null among the values, and a null key.
        let keys = arrow_array::Int16Array::from(vec![Some(1), None, Some(0), Some(2)]);
        check(&DictionaryArray::new(keys, Arc::new(texts())));
        check(&RunArray::try_new(&Int32Array::from(vec![2, 3, 4, 7, 9]), &texts()).unwrap());

        let mut lists = ListBuilder::new(StringBuilder::new());
        let mut views = ListViewBuilder::new(StringBuilder::new());
        let mut pairs = FixedSizeListBuilder::new(StringBuilder::new(), 2);
        for row in 0..7 {
            for value in 0..row % 3 {
                let text = (value != 1).then(|| format!("{row} {value}"));
                lists.values().append_option(text.as_deref());
                views.values().append_option(text.as_deref());
            }
            lists.append(row != 4);
            views.append(row != 4);
            pairs.values().append_value("x");
            pairs.values().append_option((row != 2).then_some("y"));
            pairs.append(row != 3);
        }
        let lists = lists.finish();
        check(&lists);
        check(&views.finish());
        check(&pairs.finish());
        let DataType::List(element) = lists.data_type() else { panic!("a list") };
        let large = DataType::LargeList(Arc::clone(element));
        check(&arrow_cast::cast(&lists, &large).unwrap());
        check(&arrow_cast::cast(&lists, &DataType::LargeListView(Arc::clone(element))).unwrap());

        let object = StructArray::from(vec![
            (Arc::new(Field::new("list", large.clone(), true)), arrow_cast::cast(&lists, &large).unwrap()),
            (Arc::new(Field::new("text", DataType::Utf8, true)), Arc::new(texts_of(7)) as ArrayRef),
        ]);
        check(&object);
        check(&StructArray::new_empty_fields(3, None));
    }

    fn texts_of(count: usize) -> StringArray {
        (0..count).map(|row| (row != 1).then(|| row.to_string())).collect()
    }

    #[test]
    fn overlapping_views_do_not_take_more_memory_than_a_list_may_have() {
        let values = Arc::new(texts_of(1 << 16)) as ArrayRef;
        let count = 1 << 16;
        let element = Arc::new(Field::new("item", DataType::Utf8, true));
        let offsets = ScalarBuffer::from(vec![0_i32; count]);
        let sizes = ScalarBuffer::from(vec![1_i32 << 16; count]);
        let views = GenericListViewArray::<i32>::try_new(element, offsets, sizes, values, None).unwrap();
        let error = canonical(&(Arc::new(views) as ArrayRef)).unwrap_err();
        assert!(error.to_string().contains("2,147,483,647"), "{error}");
    }
}
