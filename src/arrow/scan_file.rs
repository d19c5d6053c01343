//! Opens a Parquet file for a scan, loads the needed columns of a row group into memory, and reads the documents of single rows.
//!
//! Each of these steps returns `None` if the scan cannot read the file. An import then has to read it instead. `scan_group`
//! evaluates the loaded row groups.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{PageIndexPolicy, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use smallvec::SmallVec;

use super::bind::bind;
use super::dictionaries::texts_of;
use super::mark::has_mark;
use super::mask::arrays_of;
use super::pages::{begin_with_rows, have_fitting_lists, possible_rows};
use super::parquet_reader::{Opened, catch_panics, open_file};
use super::plan::Plan;
use super::projection::{ColumnCheck, LeafColumn, leaf_columns};
use super::read::{ROW_BYTES, max_document_bytes};
use super::row_group::{Chunks, Group};
use super::rows::RowReader;
use super::zones::{Values, Zone, is_text};
use crate::catalog::{ArrayId, FieldId};
use crate::engine::{DocumentNote, ImportError, ImportMode};
use crate::filter::Filter;
use crate::ingest::{case_limit, complete};
use crate::scan::RowRequest;

/// The number of documents that are built at a time.
const DOCUMENT_ROWS: usize = 256;

/// A Parquet file whose columns fit the catalogue.
pub(super) struct ScanFile<R> {
    name: String,
    reader: Counted<R>,
    /// The plan of the file. For a strict scan, it has no errors about columns.
    plan: Plan,
    schema: SchemaRef,
    metadata: ArrowReaderMetadata,
    leaves: Vec<LeafColumn>,
    /// True if the file has a [mark](super::mark) of this library.
    is_marked: bool,
    /// The metadata with the positions of all pages. It is loaded when it is first needed, and is `None` if it cannot be used.
    with_pages: OnceLock<Option<ArrowReaderMetadata>>,
}

/// The fields and arrays of objects that a scan reads in every row.
pub(super) struct Needs {
    fields: Vec<FieldId>,
    arrays: Vec<ArrayId>,
}

impl Needs {
    pub(super) fn new(request: &RowRequest) -> Self {
        let mut fields = Vec::new();
        if request.has_page() || request.sought().next().is_some() {
            fields.push(FieldId::ID);
        }
        let mut arrays = Vec::new();
        for filter in request.count_filters().chain([request.filter()]) {
            fields.extend(filter.predicate().fields());
            let tested = arrays_of(filter.predicate()).into_iter();
            arrays.extend(tested.filter_map(|array| request.catalog().array_id(array)));
        }
        fields.extend(request.sort_fields().chain(request.counted_fields()));
        fields.sort_unstable();
        fields.dedup();
        Self { fields, arrays }
    }

    fn has(&self, column: &LeafColumn) -> bool {
        column.field.is_some_and(|field| self.fields.contains(&field))
            || column.arrays.iter().any(|array| self.arrays.contains(array))
    }
}

impl<R: ChunkReader + 'static> ScanFile<R> {
    /// Opens a file. `name` is the name of the source in errors and notes. Returns `None` if an import has to read the file.
    pub(super) fn open(name: String, reader: R, request: &RowRequest) -> Option<Self> {
        let catalog = request.catalog();
        let reader = Counted { reader: Arc::new(reader), bytes: Arc::default() };
        let Opened { plan, schema, metadata } = open_file(&reader, catalog).ok()?;
        let is_refused = request.mode() == ImportMode::Strict && !plan.column_errors.is_empty();
        let leaves = leaf_columns(&plan, &schema, metadata.parquet_schema().num_columns())?;
        let is_list = |field| leaves.iter().any(|leaf| leaf.field == Some(field) && leaf.is_list);
        let mut groups = metadata.metadata().row_groups().iter();
        let rows =
            groups.try_fold(0_u64, |rows, group| rows.checked_add(u64::try_from(group.num_rows()).ok()?))?;
        let bytes = rows.checked_mul(ROW_BYTES)?;
        let is_too_large = bytes > max_document_bytes(reader.len());
        if is_refused || is_too_large || request.sort_fields().chain([FieldId::ID]).any(is_list) {
            return None;
        }
        let is_marked = has_mark(catalog, metadata.metadata());
        let with_pages = OnceLock::new();
        Some(Self { name, reader, plan, schema, metadata, leaves, is_marked, with_pages })
    }

    /// Returns the errors about columns that a lenient import reports.
    pub(super) fn column_errors(&self) -> impl Iterator<Item = ImportError> {
        self.plan
            .column_errors
            .iter()
            .map(|error| ImportError { kept: true, ..ImportError::new(&self.name, 0, error.clone()) })
    }

    /// Returns the number of rows of each row group.
    pub(super) fn group_rows(&self) -> impl Iterator<Item = u64> {
        let groups = self.metadata.metadata().row_groups().iter();
        groups.map(|group| u64::try_from(group.num_rows()).unwrap_or(0))
    }

    /// Returns true if the ids need not be read, because they are unique.
    pub(super) fn has_unread_ids(&self, request: &RowRequest) -> bool {
        self.is_marked && request.is_sole_source()
    }

    /// Returns the number of bytes that were read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.reader.bytes.load(Ordering::Relaxed)
    }

    /// Reads the needed columns of a row group, without decompressing them. `noted` has the fields that have a noted value in an
    /// earlier row group. Returns `None` if an import has to read the file.
    pub(super) fn group(
        &self,
        number: usize,
        needs: &Needs,
        request: &RowRequest,
        noted: &mut Vec<FieldId>,
    ) -> Option<Group> {
        let group = self.metadata.metadata().row_groups().get(number)?;
        let rows = usize::try_from(group.num_rows()).ok()?;
        let length = self.reader.len();
        let values = |leaf: usize| Values::of_column(group, leaf);
        let zone = Zone { leaves: &self.leaves, catalog: request.catalog(), values: &values };
        let filters = || request.count_filters().chain([request.filter()]);
        let is_skipped = !filters().any(|filter| zone.may_select(filter))
            || (!filters().any(Filter::is_all) && self.is_excluded_by_texts(group, rows, request));
        let possible = if is_skipped || filters().any(Filter::is_all) {
            None
        } else {
            let filters: SmallVec<[&Filter; 4]> = filters().collect();
            let fields = (self.leaves.as_slice(), request.catalog());
            possible_rows(&self.reader, group, fields, filters.iter().copied())
        };
        let is_checked = self.has_unread_ids(request);
        // Even in a row group that is skipped, ids are read to find repeated ids, and to find the ids that the scan looks for. If
        // rows must be tested and no other column is needed, the ids are read only for the number of rows.
        let has_needs = is_skipped || request.selects_all() || self.leaves.iter().any(|leaf| needs.has(leaf));
        let has_ids = !is_checked || !has_needs || request.sought().any(|id| zone.may_have_id(id));
        let (mut leaves, mut always, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut doubtful, mut counted) = (Vec::new(), Vec::new());
        let mut left = length;
        for column in &self.leaves {
            let chunk = group.columns().get(column.leaf)?;
            let is_needed = !is_skipped && needs.has(column);
            let mut is_always_read = column.field == Some(FieldId::ID) && (has_ids || is_needed);
            if !is_checked {
                is_always_read |= column.is_of_stray;
                match column.check(request.catalog(), chunk).of_group(column.field, noted) {
                    ColumnCheck::Plain => {}
                    ColumnCheck::Noted(rows) => counted.extend(column.field.zip(rows)),
                    ColumnCheck::Unknown => {
                        is_always_read = true;
                        doubtful.extend(column.field);
                    }
                }
            }
            if is_always_read {
                always.push(column.leaf);
            } else if !is_needed {
                continue;
            }
            leaves.push(column.leaf);
            if chunk.num_values() == 0 {
                continue;
            }
            let (start, size) = catch_panics(|| Ok::<_, ParquetError>(chunk.byte_range())).ok()?;
            // The columns of a file do not overlap, so together they are not larger than the file.
            left = left.checked_sub(size)?;
            if start.checked_add(size)? > length {
                return None;
            }
            let size = usize::try_from(size).ok()?;
            parts.push((start, catch_panics(|| self.reader.get_bytes(start, size)).ok()?));
        }
        let chunks = Chunks { length, parts: parts.into() };
        let has_list = self.leaves.iter().any(|column| column.is_list && leaves.contains(&column.leaf));
        let metadata = match possible {
            Some(_) => self.metadata_for_rows(has_list).clone(),
            None => self.metadata.clone(),
        };
        Some(Group {
            chunks,
            metadata,
            number,
            rows,
            is_skipped,
            possible,
            leaves,
            always,
            doubtful,
            noted: counted,
            is_checked,
        })
    }

    /// Returns true if the dictionaries of the tested columns show that the filters select no row of a row group.
    fn is_excluded_by_texts(&self, group: &RowGroupMetaData, rows: usize, request: &RowRequest) -> bool {
        let catalog = request.catalog();
        let filters = || request.count_filters().chain([request.filter()]);
        let fields: Vec<FieldId> = filters().flat_map(|filter| filter.predicate().fields()).collect();
        let of_column = |column: &LeafColumn| {
            let id = column.field.filter(|id| fields.contains(id))?;
            let chunk =
                group.columns().get(column.leaf).filter(|_| is_text(catalog.field(id), &column.kind))?;
            Some((column.leaf, texts_of(&self.reader, chunk, rows)?))
        };
        let texts: Vec<(usize, Vec<Box<str>>)> = self.leaves.iter().filter_map(of_column).collect();
        let values = |leaf: usize| match texts.iter().find(|(own, _)| *own == leaf) {
            Some((_, texts)) => Values::Texts(texts),
            None => Values::of_column(group, leaf),
        };
        let zone = Zone { leaves: &self.leaves, catalog, values: &values };
        !texts.is_empty() && !filters().any(|filter| zone.may_select(filter))
    }

    /// Returns the metadata for reading some rows. With the positions of pages, the pages of other rows are not read. The
    /// positions are left out if they are damaged or too large. They are also left out if the columns have lists whose pages may
    /// begin within a row.
    fn metadata_for_rows(&self, has_list: bool) -> &ArrowReaderMetadata {
        if has_list && !begin_with_rows(self.metadata.metadata()) {
            return &self.metadata;
        }
        let load = || {
            let options = ArrowReaderOptions::new().with_schema(Arc::clone(&self.schema));
            let options = options.with_offset_index_policy(PageIndexPolicy::Optional);
            let is_fitting = have_fitting_lists(&self.reader, self.metadata.metadata());
            is_fitting
                .then(|| catch_panics(|| ArrowReaderMetadata::load(&self.reader, options)).ok())
                .flatten()
        };
        self.with_pages.get_or_init(load).as_ref().unwrap_or(&self.metadata)
    }

    /// Returns the documents of `rows`: row numbers of the file in ascending order, counted from 0. Returns `None` if an import has
    /// to read the file.
    pub(super) fn documents(&self, rows: &[u64], request: &RowRequest) -> Option<Vec<Box<str>>> {
        let mut documents = Vec::with_capacity(rows.len());
        self.read_rows(rows, request, |row| documents.push(row.text.as_str().into()))?;
        Some(documents)
    }

    /// Adds the notes that an import makes on `rows`, which are row numbers as in [`documents`](Self::documents).
    pub(super) fn add_notes(
        &self,
        notes: &mut Vec<DocumentNote>,
        rows: &[u64],
        request: &RowRequest,
    ) -> Option<()> {
        let mut numbers = rows.iter();
        self.read_rows(rows, request, |row| {
            let line = numbers.next().map_or(0, |number| number.saturating_add(1));
            DocumentNote::add_all(notes, &row.row, &self.name, line, request.catalog());
        })
    }

    /// Reads all columns of `rows`, and calls `take` for each row.
    fn read_rows(
        &self,
        rows: &[u64],
        request: &RowRequest,
        mut take: impl FnMut(&RowReader<'_, '_>),
    ) -> Option<()> {
        let (groups, selectors) = self.select(rows)?;
        let metadata = self.metadata_for_rows(self.leaves.iter().any(|column| column.is_list)).clone();
        let mut batches = catch_panics(|| {
            let mask = ProjectionMask::roots(metadata.parquet_schema(), self.plan.columns.iter().copied());
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.reader.clone(), metadata)
                .with_projection(mask)
                .with_row_groups(groups)
                .with_row_selection(RowSelection::from(selectors))
                .with_batch_size(DOCUMENT_ROWS)
                .build()
        })
        .ok()?;
        while let Some(batch) = catch_panics(|| batches.next().transpose()).ok()? {
            let case = bind(&self.plan.members, &batch)?;
            let mut reader = RowReader::new(request.catalog(), case_limit(request.limits()));
            for at in 0..batch.num_rows() {
                reader.read(&case, at).ok()?;
                complete(&mut reader.row, &reader.rejected, 0, request.catalog()).ok()?;
                if !reader.rejected.is_empty() {
                    return None;
                }
                take(&reader);
            }
        }
        Some(())
    }

    /// Returns the row groups that contain the `rows`, and the selection of the rows in these row groups.
    fn select(&self, rows: &[u64]) -> Option<(Vec<usize>, Vec<RowSelector>)> {
        let (mut groups, mut selectors) = (Vec::new(), Vec::new());
        let mut rows = rows.iter().copied().peekable();
        let mut start = 0_u64;
        for (number, count) in self.group_rows().enumerate() {
            let end = start.checked_add(count)?;
            let mut next = start;
            while let Some(row) = rows.next_if(|row| *row < end) {
                selectors.push(RowSelector::skip(usize::try_from(row.checked_sub(next)?).ok()?));
                selectors.push(RowSelector::select(1));
                next = row.checked_add(1)?;
            }
            if next > start {
                groups.push(number);
                selectors.push(RowSelector::skip(usize::try_from(end.checked_sub(next)?).ok()?));
            }
            start = end;
        }
        selectors.retain(|selector| selector.row_count > 0);
        Some((groups, selectors))
    }
}

/// A reader that counts the bytes that it reads.
struct Counted<R> {
    reader: Arc<R>,
    bytes: Arc<AtomicU64>,
}

impl<R> Clone for Counted<R> {
    fn clone(&self) -> Self {
        Self { reader: Arc::clone(&self.reader), bytes: Arc::clone(&self.bytes) }
    }
}

impl<R: ChunkReader> Length for Counted<R> {
    fn len(&self) -> u64 {
        self.reader.len()
    }
}

impl<R: ChunkReader> ChunkReader for Counted<R> {
    type T = R::T;

    // The Parquet reader calls this method only for the few bytes before each page, so these bytes are not counted.
    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        self.reader.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.bytes.fetch_add(length as u64, Ordering::Relaxed);
        self.reader.get_bytes(start, length)
    }
}
