//! Reads one row group of a scan: tests the filters on its columns, and ranks the selected rows.

use std::ops::Range;

use arrow_buffer::BooleanBuffer;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection};

use arrow_array::RecordBatch;

use super::bind::{Object, bind};
use super::mask::{FilterMask, Place};
use super::parquet_reader::catch_panics;
use super::plan::Plan;
use super::rows::RowReader;
use super::scalar::{Checked, Scalar};
use super::scan_file::Group;
use crate::batch::Row;
use crate::catalog::{Field, FieldId, IdType};
use crate::error::Error;
use crate::filter::Filter;
use crate::ingest::{MAX_ID_BYTES, add_defaults, case_limit, complete};
use crate::scan::{ReadRows, RowBlock, RowBound, RowRequest};
use crate::value::Value;

/// The number of rows that are decoded at a time.
const BATCH_ROWS: usize = 8192;

/// The reason why a row group has no results.
pub(super) enum Unread {
    /// An import has to read the file: it may report an error or a note.
    Unfit,
    /// The search was stopped.
    Stopped(Error),
}

/// Errors of values and of the file are reported by the import.
impl From<Error> for Unread {
    fn from(_: Error) -> Self {
        Self::Unfit
    }
}

/// A filter that is tested on batches of one schema.
enum Tested<'f> {
    /// The filter selects no row.
    None,
    /// The filter selects all rows.
    All,
    Mask(FilterMask<'f>),
}

impl<'f> Tested<'f> {
    fn new(filter: &'f Filter, reader: &ParquetRecordBatchReader) -> Result<Self, Error> {
        use arrow_array::RecordBatchReader;
        if filter.is_all() {
            return Ok(Self::All);
        }
        FilterMask::new(filter, &reader.schema()).map(Self::Mask)
    }

    fn of(&self, batch: &RecordBatch) -> Result<BooleanBuffer, Error> {
        match self {
            Self::None => Ok(BooleanBuffer::new_unset(batch.num_rows())),
            Self::All => Ok(BooleanBuffer::new_set(batch.num_rows())),
            Self::Mask(mask) => mask.of(batch).map(|mask| mask.values().clone()),
        }
    }
}

/// A reader of batches of one row group.
struct GroupReader<'r> {
    request: &'r RowRequest,
    filter: Tested<'r>,
    count_filters: Vec<Tested<'r>>,
    doubtful: &'r [FieldId],
    is_checked: bool,
    /// The number of rows that were read.
    rows: usize,
    numbers: RowNumbers,
}

/// Reads a row group. No row after `bound` is on the page.
pub(super) fn read_group(group: Group, request: &RowRequest, bound: RowBound) -> Result<ReadRows, Unread> {
    let Group { rows, is_skipped, is_checked, .. } = group;
    let mut block = request.block(bound, if is_checked { 0 } else { rows });
    if is_checked && group.leaves.is_empty() && (is_skipped || request.selects_all()) {
        block.add_rows(rows);
        block.add_selected(if is_skipped { 0 } else { rows });
        return Ok(block.finish());
    }
    let Some(possible) = &group.possible else {
        read_rows(
            &group,
            (&group.leaves, is_skipped),
            std::slice::from_ref(&(0..rows)),
            request,
            &mut block,
        )?;
        return Ok(block.finish());
    };
    read_rows(&group, (&group.leaves, is_skipped), possible, request, &mut block)?;
    // No filter selects the other rows. They are read only if they need a check, or if the scan looks for ids.
    let others = complement(possible, rows);
    if is_checked && request.sought().next().is_none() {
        block.add_rows(others.iter().map(ExactSizeIterator::len).sum());
    } else {
        read_rows(&group, (&group.always, true), &others, request, &mut block)?;
    }
    Ok(block.finish())
}

/// Returns the rows between ascending ranges of rows, out of `rows` rows.
fn complement(ranges: &[Range<usize>], rows: usize) -> Vec<Range<usize>> {
    let starts = [0].into_iter().chain(ranges.iter().map(|range| range.end));
    let ends = ranges.iter().map(|range| range.start).chain([rows]);
    starts.zip(ends).map(|(start, end)| start..end).filter(|range| !range.is_empty()).collect()
}

/// Reads some columns of some rows of a group. The rows are ascending ranges. If `is_skipped` is true, the filters select none of
/// them.
fn read_rows(
    group: &Group,
    (leaves, is_skipped): (&[usize], bool),
    rows: &[Range<usize>],
    request: &RowRequest,
    block: &mut RowBlock<'_>,
) -> Result<(), Unread> {
    use arrow_array::RecordBatchReader;
    let Group { chunks, metadata, number, .. } = group;
    let mut batches = catch_panics(|| {
        let mask = ProjectionMask::leaves(metadata.parquet_schema(), leaves.iter().copied());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks.clone(), metadata.clone())
            .with_row_groups(vec![*number])
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS);
        if group.possible.is_none() {
            return builder.build();
        }
        let rows = rows.iter().cloned();
        builder.with_row_selection(RowSelection::from_consecutive_ranges(rows, group.rows)).build()
    })?;
    let plan = Plan::of_columns(&batches.schema(), request.catalog(), |_| true)?;
    let tested = |filter| if is_skipped { Ok(Tested::None) } else { Tested::new(filter, &batches) };
    let count_filters = request.count_filters().map(tested);
    let mut reader = GroupReader {
        request,
        count_filters: count_filters.collect::<Result<_, _>>()?,
        filter: tested(request.filter())?,
        doubtful: &group.doubtful,
        is_checked: group.is_checked,
        rows: 0,
        numbers: RowNumbers::new(rows),
    };
    while let Some(batch) = catch_panics(|| batches.next().transpose())? {
        request.check_stop().map_err(Unread::Stopped)?;
        reader.read(&plan, &batch, block)?;
    }
    // The numbers of rows are computed from the number of rows that the footer declares.
    if reader.rows == reader.numbers.count { Ok(()) } else { Err(Unread::Unfit) }
}

/// The numbers of the rows that are read, among all rows of the group.
struct RowNumbers {
    /// For each range of rows: the number of rows that are read before it, and its first row.
    starts: Vec<(usize, usize)>,
    /// The number of all rows that are read.
    count: usize,
}

impl RowNumbers {
    fn new(rows: &[Range<usize>]) -> Self {
        let mut count = 0_usize;
        let mut starts = Vec::with_capacity(rows.len());
        for range in rows {
            starts.push((count, range.start));
            count = count.saturating_add(range.len());
        }
        Self { starts, count }
    }

    /// Returns the number of a row. `at` is its number among those that are read.
    fn of(&self, at: usize) -> usize {
        let place = self.starts.partition_point(|(before, _)| *before <= at);
        let (before, first) =
            place.checked_sub(1).and_then(|place| self.starts.get(place)).copied().unwrap_or_default();
        first.saturating_add(at.saturating_sub(before))
    }
}

impl<'r> GroupReader<'r> {
    fn read(&mut self, plan: &Plan, batch: &RecordBatch, block: &mut RowBlock<'_>) -> Result<(), Unread> {
        let case = bind(&plan.members, batch).ok_or(Unread::Unfit)?;
        let count = batch.num_rows();
        for id in self.doubtful {
            let field = self.request.catalog().field(*id);
            Place::Case(&case, count).find(&Checked { id: *id, field })?;
        }
        let ids = self.ids(&case, count, block)?;
        let selected = self.filter.of(batch)?;
        block.add_selected(selected.count_set_bits());
        if let Some(ids) = &ids
            && block.wants_rows()
        {
            self.rank(&case, ids, &selected, block)?;
        }
        if !self.count_filters.is_empty() {
            self.count(&case, batch, block)?;
        }
        self.rows = self.rows.saturating_add(count);
        Ok(())
    }

    /// Adds all rows. If they need a check, adds their ids. Otherwise, only notes the ids that the scan looks for. Returns the
    /// column of the ids, or `None` if the rows need no check and the ids were not read.
    fn ids<'b>(
        &self,
        case: &'b Object<'b>,
        count: usize,
        block: &mut RowBlock<'_>,
    ) -> Result<Option<Scalar<'b>>, Unread> {
        block.add_rows(count);
        let field = self.request.catalog().field(FieldId::ID);
        let Some(ids) = Scalar::find(case, FieldId::ID) else {
            return if self.is_checked { Ok(None) } else { Err(Unread::Unfit) };
        };
        if self.is_checked && self.request.sought().next().is_none() {
            return Ok(Some(ids));
        }
        let is_checked = self.is_checked;
        let mut push = |id: &str| if is_checked { block.note_id(id) } else { block.push_id(id) };
        let is_id = |id: &str| (1..=MAX_ID_BYTES).contains(&id.len());
        if field.id_type() == IdType::String
            && let Some(texts) = ids.texts()
        {
            for id in texts.iter().take(count) {
                push(id.filter(|id| is_id(id)).ok_or(Unread::Unfit)?);
            }
            return Ok(Some(ids));
        }
        for at in 0..count {
            match ids.value(field, at) {
                Some(Ok(Value::String(id))) if is_id(&id) => push(&id),
                _ => return Err(Unread::Unfit),
            }
        }
        Ok(Some(ids))
    }

    /// Offers the selected rows for the page.
    fn rank<'b>(
        &self,
        case: &'b Object<'b>,
        ids: &Scalar<'b>,
        selected: &BooleanBuffer,
        block: &mut RowBlock<'_>,
    ) -> Result<(), Unread> {
        let catalog = self.request.catalog();
        let default_of = |id| catalog.defaults().iter().find(|(field, _)| *field == id);
        let column = |id: FieldId| (id, catalog.field(id), Scalar::find(case, id), default_of(id));
        let columns: Vec<(FieldId, &Field, Option<Scalar<'b>>, _)> =
            self.request.sort_fields().map(column).collect();
        let id_field = catalog.field(FieldId::ID);
        let mut row = Row::default();
        for at in selected.set_indices() {
            row.clear();
            for (id, field, scalar, default) in &columns {
                match scalar.as_ref().and_then(|scalar| scalar.value(field, at)) {
                    Some(value) => row.push(*id, value?),
                    None => {
                        if let Some((_, value)) = default {
                            row.push(*id, value.clone());
                        }
                    }
                }
            }
            let Some(Ok(Value::String(id))) = ids.value(id_field, at) else { return Err(Unread::Unfit) };
            block.offer(self.numbers.of(self.rows.saturating_add(at)), &id, &row);
            if !block.wants_rows() {
                break;
            }
        }
        Ok(())
    }

    /// Counts the values of the rows that the filters of the counts select.
    fn count(&self, case: &Object<'_>, batch: &RecordBatch, block: &mut RowBlock<'_>) -> Result<(), Unread> {
        let catalog = self.request.catalog();
        let masks = self.count_filters.iter().map(|filter| filter.of(batch));
        let masks = masks.collect::<Result<Vec<BooleanBuffer>, Error>>()?;
        let any = masks.iter().skip(1).fold(masks.first().cloned(), |any, mask| any.map(|any| &any | mask));
        let Some(any) = any else { return Ok(()) };
        let mut rows = RowReader::new(catalog, case_limit(self.request.limits()));
        for at in any.set_indices() {
            rows.read(case, at)?;
            if self.is_checked && rows.rejected.is_empty() {
                // The id may not have been read.
                add_defaults(&mut rows.row, catalog);
            } else {
                complete(&mut rows.row, &rows.rejected, 0, catalog)?;
            }
            block.count(&rows.row, |number| masks.get(number).is_some_and(|mask| mask.value(at)));
        }
        Ok(())
    }
}
