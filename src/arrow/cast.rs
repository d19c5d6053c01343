//! Casts the columns of a record batch to the types that the plan reads.

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;

use super::plan::Plan;
use super::types::{canonical_field, canonical_type};
use crate::error::{Error, ErrorKind};

/// Returns the columns that a plan reads, cast to their [`canonical_type`]. A column that already has this type is shared and not
/// copied.
///
/// # Errors
/// Returns an error if Arrow cannot cast a column. The path of the error is the name of the column.
pub(super) fn cast_batch(batch: &RecordBatch, plan: &Plan) -> Result<RecordBatch, Error> {
    let schema = batch.schema();
    let mut columns = Vec::with_capacity(plan.columns.len());
    let mut fields = Vec::with_capacity(plan.columns.len());
    for number in &plan.columns {
        let (Some(column), Some(field)) = (batch.columns().get(*number), schema.fields().get(*number)) else {
            continue;
        };
        let kind = canonical_type(column.data_type());
        let column = arrow_cast::cast(column, &kind).map_err(|error| {
            Error::new(
                ErrorKind::WrongType,
                0,
                error.to_string(),
                "a column that Arrow can cast to plain values",
            )
            .at(field.name().clone())
        })?;
        // Always nullable, because a cast can add nulls.
        fields.push(canonical_field(field).with_nullable(true));
        columns.push(column);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Schema::new(fields).into(), columns, &options)
        .map_err(|error| Error::new(ErrorKind::WrongType, 0, error.to_string(), "a valid record batch"))
}
