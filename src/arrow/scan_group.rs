//! Reads a part of a row group: tests the filters on its columns, and ranks the selected rows.

use std::borrow::Cow;
use std::ops::Range;

use arrow_buffer::BooleanBuffer;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection};

use arrow_array::RecordBatch;

use super::bind::{Object, bind};
use super::mask::FilterMask;
use super::noted::{rows_with_noted_value, rows_with_stray};
use super::parquet_reader::catch_panics;
use super::plan::Plan;
use super::row_group::{Group, GroupPart};
use super::rows::RowReader;
use super::scalar::Scalar;
use super::scan_batch::{BatchIds, SortColumns, TestedBatch};
use crate::batch::Row;
use crate::catalog::{FieldId, IdType};
use crate::error::Error;
use crate::filter::Filter;
use crate::ingest::{MAX_ID_BYTES, add_defaults, case_limit, complete};
use crate::scan::{NoteSubject, ReadRows, RowBlock, RowBound, RowRequest};
use crate::value::Value;

/// The number of rows that are decoded at a time.
const BATCH_ROWS: usize = 8192;

/// The reason why a row group has no results.
pub(super) enum Unread {
    /// An import has to read the file, because the import may report an error.
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

/// A reader of batches of one part of a row group.
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

/// Reads a part of a row group. No row after `bound` is on the page of results.
pub(super) fn read_part(part: &GroupPart, request: &RowRequest, bound: RowBound) -> Result<ReadRows, Unread> {
    let Group { is_skipped, is_checked, .. } = *part.group;
    let rows = part.rows.len();
    let mut block = request.block(bound, if is_checked { 0 } else { rows });
    if part.rows.start == 0 {
        for (field, count) in &part.group.noted {
            // The first row of the note is in an earlier row group.
            block.note(NoteSubject::Field(*field), *count, 0);
        }
    }
    let all = &part.group.leaves;
    if is_checked && all.is_empty() && (is_skipped || request.selects_all()) {
        block.add_rows(rows);
        block.add_selected(if is_skipped { 0 } else { rows });
        return Ok(block.finish());
    }
    let Some(possible) = part.possible() else {
        read_rows(part, (all, is_skipped), std::slice::from_ref(&part.rows), request, &mut block)?;
        return Ok(block.finish());
    };
    read_rows(part, (all, is_skipped), &possible, request, &mut block)?;
    // No filter selects the other rows. They are read only if they need a check, or if the scan looks for ids.
    let others = part.complement(&possible);
    if is_checked && request.sought().next().is_none() {
        block.add_rows(others.iter().map(ExactSizeIterator::len).sum());
    } else {
        read_rows(part, (&part.group.always, true), &others, request, &mut block)?;
    }
    Ok(block.finish())
}

/// Reads the columns `leaves` of some rows of a part. `rows` contains ascending ranges of row numbers. If `is_skipped` is true, the
/// filters select none of these rows.
fn read_rows(
    part: &GroupPart,
    (leaves, is_skipped): (&[usize], bool),
    rows: &[Range<usize>],
    request: &RowRequest,
    block: &mut RowBlock<'_>,
) -> Result<(), Unread> {
    use arrow_array::RecordBatchReader;
    let Group { chunks, metadata, number, .. } = &*part.group;
    let mut batches = catch_panics(|| {
        let mask = ProjectionMask::leaves(metadata.parquet_schema(), leaves.iter().copied());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks.clone(), metadata.clone())
            .with_row_groups(vec![*number])
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS);
        let all = 0..part.group.rows;
        if rows == std::slice::from_ref(&all) {
            return builder.build();
        }
        let rows = rows.iter().cloned();
        builder.with_row_selection(RowSelection::from_consecutive_ranges(rows, part.group.rows)).build()
    })?;
    let plan = Plan::of_columns(&batches.schema(), request.catalog(), |_| true)?;
    let tested = |filter| if is_skipped { Ok(Tested::None) } else { Tested::new(filter, &batches) };
    let count_filters = request.count_filters().map(tested);
    let mut reader = GroupReader {
        request,
        count_filters: count_filters.collect::<Result<_, _>>()?,
        filter: tested(request.filter())?,
        doubtful: &part.group.doubtful,
        is_checked: part.group.is_checked,
        rows: 0,
        numbers: RowNumbers::new(rows, part.rows.start),
    };
    while let Some(batch) = catch_panics(|| batches.next().transpose())? {
        request.check_stop().map_err(Unread::Stopped)?;
        reader.read(&plan, &batch, block)?;
    }
    // The row numbers are computed from the size of the row group in the footer, so the scan gives up if the row group has another
    // size.
    if reader.rows == reader.numbers.count { Ok(()) } else { Err(Unread::Unfit) }
}

/// A map from the rows that are read to their row numbers in the part.
struct RowNumbers {
    /// For each range of rows that is read: the number of rows that are read before it, and the row number of its first row in the
    /// part.
    starts: Vec<(usize, usize)>,
    /// The number of all rows that are read.
    count: usize,
}

impl RowNumbers {
    /// Creates the map. `rows` contains the ranges of rows that are read, and `start` is the first row of the part. The row numbers
    /// in `rows`, and `start`, are relative to the start of the row group.
    fn new(rows: &[Range<usize>], start: usize) -> Self {
        let mut count = 0_usize;
        let mut starts = Vec::with_capacity(rows.len());
        for range in rows {
            starts.push((count, range.start.saturating_sub(start)));
            count = count.saturating_add(range.len());
        }
        Self { starts, count }
    }

    /// Returns the row number, in the part, of the row with index `at` among the rows that are read.
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
        self.add_notes(plan, &case, batch.num_rows(), block)?;
        let BatchIds { column, repeated } = self.ids(&case, batch.num_rows(), block)?;
        let mut batch = TestedBatch {
            selected: self.filter.of(batch)?,
            counted: self.count_filters.iter().map(|filter| filter.of(batch)).collect::<Result<_, _>>()?,
            case: &case,
            rows: batch.num_rows(),
        };
        if !repeated.is_empty() {
            let ids = column.as_ref().ok_or(Unread::Unfit)?;
            self.add_repeated(&batch, ids, &repeated, block)?;
            batch.exclude(&repeated);
        }
        block.add_selected(batch.selected.count_set_bits());
        if let Some(ids) = &column
            && block.wants_rows()
        {
            self.rank(&batch, ids, block)?;
        }
        self.count(&batch, block)?;
        self.rows = self.rows.saturating_add(batch.rows);
        Ok(())
    }

    /// Converts the row number `at` in the batch to a row number in the part.
    fn number(&self, at: usize) -> usize {
        self.numbers.of(self.rows.saturating_add(at))
    }

    /// Checks doubtful values, and counts the rows on which an import would make a note.
    fn add_notes(
        &self,
        plan: &Plan,
        case: &Object<'_>,
        rows: usize,
        block: &mut RowBlock<'_>,
    ) -> Result<(), Unread> {
        let catalog = self.request.catalog();
        let mut add = |subject: NoteSubject, noted: &BooleanBuffer| {
            if let Some(first) = noted.set_indices().next() {
                block.note(subject, noted.count_set_bits() as u64, self.number(first));
            }
        };
        for id in self.doubtful {
            let noted = rows_with_noted_value(case, rows, (*id, catalog.field(*id)))?;
            add(NoteSubject::Field(*id), &noted);
        }
        if self.is_checked {
            return Ok(());
        }
        for (member, bound) in plan.members.iter().zip(&case.members) {
            if let (Some(stray), Some(fields)) = (&member.stray, member.noted_fields()) {
                let noted = rows_with_stray(case, rows, bound, fields)?;
                add(NoteSubject::Member(stray.path.clone()), &noted);
            }
        }
        Ok(())
    }

    /// Adds all rows of a batch to `block`. If the rows need a check, also adds their ids. If they need no check, only records the
    /// ids that the scan looks for.
    fn ids<'b>(
        &self,
        case: &'b Object<'b>,
        count: usize,
        block: &mut RowBlock<'_>,
    ) -> Result<BatchIds<'b>, Unread> {
        block.add_rows(count);
        let field = self.request.catalog().field(FieldId::ID);
        let mut repeated = Vec::new();
        let Some(ids) = Scalar::find(case, FieldId::ID) else {
            return if self.is_checked {
                Ok(BatchIds { column: None, repeated })
            } else {
                Err(Unread::Unfit)
            };
        };
        if self.is_checked && self.request.sought().next().is_none() {
            return Ok(BatchIds { column: Some(ids), repeated });
        }
        let mut push = |at: usize, id: &str| {
            if self.is_checked {
                block.note_id(id);
            } else if block.push_id(id) {
                repeated.push(at);
            }
        };
        let is_id = |id: &str| (1..=MAX_ID_BYTES).contains(&id.len());
        if field.id_type() == IdType::String
            && let Some(texts) = ids.texts()
        {
            for (at, id) in texts.iter().take(count).enumerate() {
                push(at, id.filter(|id| is_id(id)).ok_or(Unread::Unfit)?);
            }
            return Ok(BatchIds { column: Some(ids), repeated });
        }
        for at in 0..count {
            match ids.value(field, at) {
                Some(Ok(Value::String(id))) if is_id(&id) => push(at, &id),
                _ => return Err(Unread::Unfit),
            }
        }
        Ok(BatchIds { column: Some(ids), repeated })
    }

    /// Offers the selected rows of a batch to `block`, as candidates for the page of results.
    fn rank<'b>(
        &self,
        batch: &TestedBatch<'b>,
        ids: &Scalar<'b>,
        block: &mut RowBlock<'_>,
    ) -> Result<(), Unread> {
        let columns = SortColumns::new(self.request, batch.case);
        let mut row = Row::default();
        for at in batch.selected.set_indices() {
            columns.read(at, &mut row)?;
            block.offer(self.number(at), &self.id(ids, at)?, &row);
            if !block.wants_rows() {
                break;
            }
        }
        Ok(())
    }

    fn id<'b>(&self, ids: &Scalar<'b>, at: usize) -> Result<Cow<'b, str>, Unread> {
        match ids.value(self.request.catalog().field(FieldId::ID), at) {
            Some(Ok(Value::String(id))) => Ok(id),
            _ => Err(Unread::Unfit),
        }
    }

    /// Adds to `block` the rows whose ids may be repeated.
    fn add_repeated<'b>(
        &self,
        batch: &TestedBatch<'b>,
        ids: &Scalar<'b>,
        repeated: &[usize],
        block: &mut RowBlock<'_>,
    ) -> Result<(), Unread> {
        let columns = SortColumns::new(self.request, batch.case);
        let mut values = RowReader::new(self.request.catalog(), case_limit(self.request.limits()));
        let mut sort_row = Row::default();
        for at in repeated.iter().copied() {
            let is_selected = batch.selected.value(at);
            if is_selected {
                columns.read(at, &mut sort_row)?;
            }
            let selects = |number: usize| batch.counts(number, at);
            let is_counted = (0..batch.counted.len()).any(selects);
            if is_counted {
                self.read_values(&mut values, batch.case, at)?;
            }
            let counted = is_counted.then_some((&values.row, &selects as &dyn Fn(usize) -> bool));
            let id = self.id(ids, at)?;
            block.push_repeated(self.number(at), &id, is_selected.then_some(&sort_row), counted);
        }
        Ok(())
    }

    /// For each filter of [`RowRequest::count_filters`], counts the values of the rows that the filter selects.
    fn count(&self, batch: &TestedBatch<'_>, block: &mut RowBlock<'_>) -> Result<(), Unread> {
        let mut masks = batch.counted.iter();
        let Some(first) = masks.next() else { return Ok(()) };
        let any = masks.fold(first.clone(), |any, mask| &any | mask);
        let mut values = RowReader::new(self.request.catalog(), case_limit(self.request.limits()));
        for at in any.set_indices() {
            self.read_values(&mut values, batch.case, at)?;
            block.count(&values.row, |number| batch.counts(number, at));
        }
        Ok(())
    }

    /// Reads the values of a row from the columns that were read.
    fn read_values<'b>(
        &self,
        values: &mut RowReader<'b, '_>,
        case: &'b Object<'b>,
        at: usize,
    ) -> Result<(), Unread> {
        let catalog = self.request.catalog();
        values.read(case, at)?;
        if self.is_checked && values.rejected.is_empty() {
            // The id may not have been read.
            add_defaults(&mut values.row, catalog);
        } else {
            complete(&mut values.row, &values.rejected, 0, catalog)?;
        }
        Ok(())
    }
}
