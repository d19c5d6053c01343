//! Scans of Parquet files: the API, and the loop over row groups.

use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::Result as ParquetResult;
use parquet::file::reader::{ChunkReader, Length};

use super::scan_file::{Needs, ScanFile};
use super::scan_group::{Unread, read_part};
use crate::engine::{Detached, DocumentNote, Queue, available_workers};
use crate::scan::{
    ReadRows, RowGroups, RowRequest, Scan, ScanAnswer, ScanError, ScanOutcome, SourceEnd, SourceRows,
};

/// Scans of Parquet files. Requires the feature `arrow`.
impl Scan {
    /// Scans a Parquet file, which has the columns of [`Import::parquet`](crate::Import::parquet). Files of other formats may come
    /// before it and after it.
    ///
    /// Only some columns are decompressed: the columns of the filter, the order, the counts and the ids. Columns that can have
    /// malformed values or [notes](crate::DocumentNote) are decompressed, too, for example strings that contain timestamps.
    /// [`finish`](Self::finish) builds the documents of the cases on the page of results, and no other documents. With the feature
    /// `parallel`, other threads read row groups, or parts of a large row group. The statistics or dictionaries of a row group may
    /// show that the filters select none of its cases. Then only its ids and its columns that can have malformed values or notes
    /// are read.
    ///
    /// The only errors in the report of a lenient scan are those about columns that are not fields.
    ///
    /// A file may have the mark of [`ParquetWriter::with_unique_ids`](crate::arrow::ParquetWriter::with_unique_ids). If it is the
    /// only source, no values are checked, and ids are read only if the request needs them.
    ///
    /// # What is not checked
    ///
    /// - Damage in Parquet pages that are not read.
    /// - The limit on the [size of a document](crate::Limits::document_bytes), if the case is not on the page of results.
    /// - The limit on the total size of the documents of a file: each document counts as only 64 bytes.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, ImportMode, Limits, Scan, ScanOutcome, SearchRequest};
    /// use casefilter::arrow::ParquetWriter;
    /// let cases = Catalog::cases();
    /// let mut writer = ParquetWriter::new(Vec::new(), &cases, None)?;
    /// writer.push(r#"{"id":"a","tags":["vip"],"name":"Ana"}"#)?;
    /// let file = bytes::Bytes::from(writer.finish()?);
    ///
    /// let request = SearchRequest::new(Filter::compile_text(&cases, "tags = vip")?);
    /// let mut scan = Scan::new(&cases, &Limits::default(), ImportMode::Strict, &request)?;
    /// let found = loop {
    ///     scan.parquet("monday.parquet", file.clone())?;
    ///     scan.begin_source("tuesday.ndjson")?;
    ///     scan.push(br#"{"id":"b","tags":["vip"]}"#)?;
    ///     match scan.finish()? {
    ///         ScanOutcome::Answer(found) => break found,
    ///         ScanOutcome::ReadAgain(again) => scan = again,
    ///     }
    /// };
    /// assert_eq!(found.answer.ids().collect::<Vec<_>>(), ["a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - The errors of [`push`](Self::push), for the end of the previous source.
    /// - [`ScanError::ImportNeeded`] if an import may report an error about the file or one of its cases, or if a report cannot
    ///   list all notes. Then an import of all sources gives the report.
    /// - [`ScanError::Search`] if the request was cancelled, or if its deadline has passed.
    ///
    /// # Complexity
    /// Linear in the number of rows and in the number of values of the columns that are read. The memory is 8 bytes for each row,
    /// and the compressed columns of several row groups. The number of these row groups is at most the number of threads plus one.
    pub fn parquet(&mut self, name: &str, reader: impl ChunkReader + 'static) -> Result<(), ScanError> {
        let (request, mut rows) = self.begin_rows(name)?;
        let Some(file) = ScanFile::open(name.to_owned(), reader, &request) else {
            return Err(self.import_needed(&rows));
        };
        file.column_errors().for_each(|error| self.list(error));
        let row_groups = match self.read_row_groups(&mut rows, &request, &file) {
            Ok(row_groups) => row_groups,
            Err(Unread::Unfit) => return Err(self.import_needed(&rows)),
            Err(Unread::Stopped(error)) => return Err(self.stopped(error)),
        };
        let file = Arc::new(file);
        let of_documents = (Arc::clone(&file), request.clone());
        let end = SourceEnd {
            bytes: file.bytes(),
            row_groups,
            has_unread_ids: file.has_unread_ids(&request),
            documents: Box::new(move |rows| {
                let (file, request) = &of_documents;
                file.documents(rows, request)
            }),
        };
        let notes = |rows: &[u64]| {
            let mut notes: Vec<DocumentNote> = Vec::new();
            file.add_notes(&mut notes, rows, &request).map(|()| notes)
        };
        self.end_rows(rows, end, notes)
    }

    /// Scans one Parquet file, as [`parquet`](Self::parquet) does, and returns the answer. Reads the file again if ids are
    /// repeated.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, ImportMode, Limits, Scan, SearchRequest};
    /// use casefilter::arrow::ParquetWriter;
    /// let cases = Catalog::cases();
    /// let mut writer = ParquetWriter::new(Vec::new(), &cases, None)?;
    /// writer.push(r#"{"id":"a","tags":["vip"],"name":"Ana"}"#)?;
    /// writer.push(r#"{"id":"b"}"#)?;
    /// let file = bytes::Bytes::from(writer.finish()?);
    ///
    /// let request = SearchRequest::new(Filter::compile_text(&cases, "tags = vip")?).with_count(true);
    /// let scan = Scan::new(&cases, &Limits::default(), ImportMode::Strict, &request)?;
    /// let found = scan.read_parquet(file)?;
    /// assert_eq!(found.answer.ids().collect::<Vec<_>>(), ["a"]);
    /// assert_eq!((found.documents, found.selected), (2, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`parquet`](Self::parquet) and [`finish`](Self::finish).
    pub fn read_parquet(mut self, file: impl ChunkReader + 'static) -> Result<ScanAnswer, ScanError> {
        let file = Shared(Arc::new(file));
        loop {
            self.parquet("", file.clone())?;
            match self.finish()? {
                ScanOutcome::Answer(answer) => return Ok(answer),
                ScanOutcome::ReadAgain(again) => self = again,
            }
        }
    }

    /// Reads all row groups of a file, and adds their results in order.
    fn read_row_groups<R: ChunkReader + 'static>(
        &mut self,
        rows: &mut SourceRows,
        request: &RowRequest,
        file: &ScanFile<R>,
    ) -> Result<RowGroups, Unread> {
        let needs = Needs::new(request);
        let mut row_groups = RowGroups::default();
        let mut noted = Vec::new();
        let mut queue: Queue<'static, Result<ReadRows, Unread>> = Queue::new(available_workers());
        let groups = file.group_rows().count();
        // If there are only few row groups, they are split, so that every thread has work.
        let is_few = groups < queue.workers().saturating_mul(2);
        let most_parts = if is_few { queue.workers() } else { 1 };
        for (number, count) in file.group_rows().enumerate() {
            request.check_stop().map_err(Unread::Stopped)?;
            if count == 0 {
                // Some writers add a row group for an empty batch.
                row_groups.skipped = row_groups.skipped.saturating_add(1);
                continue;
            }
            let group = file.group(number, &needs, request, &mut noted).ok_or(Unread::Unfit)?;
            let counter = if group.is_skipped { &mut row_groups.skipped } else { &mut row_groups.tested };
            *counter = counter.saturating_add(1);
            row_groups.excluded_rows = row_groups.excluded_rows.saturating_add(group.excluded_rows());
            for part in group.into_parts(most_parts) {
                let (own, bound) = (request.clone(), self.row_bound());
                if queue.workers() == 1 {
                    self.add_rows(rows, read_part(&part, &own, bound)?);
                    continue;
                }
                queue.start(Detached, move || read_part(&part, &own, bound));
                if let Some(read) = queue.next_if_full() {
                    self.add_rows(rows, read?);
                }
            }
        }
        while let Some(read) = queue.next() {
            self.add_rows(rows, read?);
        }
        request.check_stop().map_err(Unread::Stopped)?;
        Ok(row_groups)
    }
}

/// A reader of a file that is read more than once.
struct Shared<R>(Arc<R>);

impl<R> Clone for Shared<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R: Length> Length for Shared<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for Shared<R> {
    type T = R::T;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.0.get_bytes(start, length)
    }
}
