//! Record batches as plans read them.

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;

use super::plan::Plan;
use super::types::{read_as, read_field_as};
use crate::error::{Error, ErrorKind};

/// The columns of a plan, each of the type of [`read_as`]. Those that have it already are shared, not copied.
///
/// # Errors
/// A column that cannot be read so; the path is its name.
pub(super) fn view(batch: &RecordBatch, plan: &Plan) -> Result<RecordBatch, Error> {
    let schema = batch.schema();
    let mut columns = Vec::with_capacity(plan.columns.len());
    let mut fields = Vec::with_capacity(plan.columns.len());
    for number in &plan.columns {
        let (Some(column), Some(field)) = (batch.columns().get(*number), schema.fields().get(*number)) else {
            continue;
        };
        let kind = read_as(column.data_type());
        let column = arrow_cast::cast(column, &kind).map_err(|error| {
            Error::new(
                ErrorKind::WrongType,
                0,
                error.to_string(),
                "a column that Arrow can read as plain values",
            )
            .at(field.name().clone())
        })?;
        // Whether a column may have nulls, its values show.
        fields.push(read_field_as(field).with_nullable(true));
        columns.push(column);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Schema::new(fields).into(), columns, &options)
        .map_err(|error| Error::new(ErrorKind::WrongType, 0, error.to_string(), "a sound record batch"))
}
