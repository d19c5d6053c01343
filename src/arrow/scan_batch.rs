//! A record batch of a scan: its ids, its selected rows, and its sort columns.

use arrow_buffer::BooleanBuffer;

use super::bind::Object;
use super::scalar::Scalar;
use crate::batch::Row;
use crate::catalog::{Field, FieldId};
use crate::error::Error;
use crate::scan::RowRequest;
use crate::value::Value;

/// The ids of a batch.
pub(super) struct BatchIds<'b> {
    /// The column of the ids. `None` if the rows need no check and the ids were not read.
    pub(super) column: Option<Scalar<'b>>,
    /// The rows whose ids may be repeated, in ascending order.
    pub(super) repeated: Vec<usize>,
}

/// A batch, with the rows that the filters select.
pub(super) struct TestedBatch<'b> {
    pub(super) case: &'b Object<'b>,
    pub(super) rows: usize,
    /// The rows that the filter of the search selects.
    pub(super) selected: BooleanBuffer,
    /// For each filter of [`RowRequest::count_filters`], the rows that the filter selects. The values of these rows are counted.
    pub(super) counted: Vec<BooleanBuffer>,
}

impl TestedBatch<'_> {
    /// Returns true if a filter of [`RowRequest::count_filters`] selects row `at`. `filter` is the index of the filter.
    pub(super) fn counts(&self, filter: usize, at: usize) -> bool {
        self.counted.get(filter).is_some_and(|rows| rows.value(at))
    }

    /// Removes rows from the selected rows of all filters. `rows` must be in ascending order.
    pub(super) fn exclude(&mut self, rows: &[usize]) {
        let mut rows = rows.iter().peekable();
        let others = BooleanBuffer::collect_bool(self.rows, |at| rows.next_if_eq(&&at).is_none());
        for selected in self.counted.iter_mut().chain([&mut self.selected]) {
            *selected = &*selected & &others;
        }
    }
}

/// The columns of the sort fields.
pub(super) struct SortColumns<'r, 'b>(Vec<SortColumn<'r, 'b>>);

struct SortColumn<'r, 'b> {
    id: FieldId,
    field: &'r Field,
    values: Option<Scalar<'b>>,
    default: Option<&'r Value<'static>>,
}

impl<'r: 'b, 'b> SortColumns<'r, 'b> {
    pub(super) fn new(request: &'r RowRequest, case: &'b Object<'b>) -> Self {
        let catalog = request.catalog();
        let default_of = |id| catalog.defaults().iter().find(|(field, _)| *field == id);
        let column = |id: FieldId| SortColumn {
            id,
            field: catalog.field(id),
            values: Scalar::find(case, id),
            default: default_of(id).map(|(_, value)| value),
        };
        Self(request.sort_fields().map(column).collect())
    }

    /// Reads the sort values of a row.
    ///
    /// # Errors
    /// Returns an error if a value is invalid.
    pub(super) fn read(&self, at: usize, row: &mut Row<'b>) -> Result<(), Error> {
        row.clear();
        for SortColumn { id, field, values, default } in &self.0 {
            match values.as_ref().and_then(|values| values.value(field, at)) {
                Some(value) => row.push(*id, value?),
                None => {
                    if let Some(value) = default {
                        row.push(*id, (*value).clone());
                    }
                }
            }
        }
        Ok(())
    }
}
