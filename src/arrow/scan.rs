//! Scans of Parquet files: the API, and the loop over row groups.

use parquet::file::reader::ChunkReader;

use super::scan_file::{Needs, ScanFile};
use super::scan_group::{Unread, read_part};
use crate::engine::{Detached, DocumentNote, Queue, available_workers};
use crate::scan::{ReadRows, RowGroups, RowRequest, RowResults, RowScan, Scan, ScanAnswer, ScanError};

/// Scans of Parquet files. Requires the feature `arrow`.
impl Scan {
    /// Answers the request from Parquet files, which have the columns of [`Import::parquet`](crate::Import::parquet).
    ///
    /// Each file has a name, which the errors and notes of the report contain.
    ///
    /// Returns `None` if the request needs an import of the files, because an import may report an error of a file or of a case.
    /// Also returns `None` if a report cannot list all notes. The only errors in the report of a lenient scan are those about
    /// columns that are not fields.
    ///
    /// Only some columns are decompressed: those of the filter, of the order, of the counts and of the ids, and those that can have
    /// malformed values or notes, such as strings that contain timestamps. The document of a case is built only if the case is on
    /// the page. With the feature `parallel`, other threads read row groups. The statistics or dictionaries of a row group may show
    /// that the filters select none of its cases. Then only its ids and its columns that can have malformed values or notes are
    /// read. If ids are repeated, all row groups are read twice.
    ///
    /// A single file may have the mark of [`ParquetWriter::with_unique_ids`](crate::arrow::ParquetWriter::with_unique_ids). Then no
    /// values are checked, and ids are read only if the request needs them.
    ///
    /// # What is not checked
    ///
    /// - Damage in pages that are not read.
    /// - The limit on the [size of a document](crate::Limits::document_bytes), and the limit on the size of all documents of a file, for
    ///   the columns that are not read.
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
    /// let found = scan.parquet([("cases.parquet", file)])?.ok_or("the file needs an import")?;
    /// assert_eq!(found.answer.ids().collect::<Vec<_>>(), ["a"]);
    /// assert_eq!((found.documents, found.selected), (2, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`ScanError::Search`] if the request was cancelled, or if its deadline has passed.
    /// - The same error if the cursor after the page would be too long, or if a histogram has too many buckets.
    ///
    /// # Complexity
    /// Linear in the number of rows and in the number of values of the columns that are read. Uses 8 bytes for each row, and the
    /// compressed columns of as many row groups as there are threads, plus one.
    pub fn parquet<N: Into<String>, R: ChunkReader + 'static>(
        self,
        files: impl IntoIterator<Item = (N, R)>,
    ) -> Result<Option<ScanAnswer>, ScanError> {
        let mut scan = self.into_rows();
        let request = scan.request().clone();
        let files = files.into_iter().map(|(name, file)| ScanFile::open(name.into(), file, &request));
        let Some(files) = files.collect::<Option<Vec<ScanFile<R>>>>() else { return Ok(None) };
        let bytes = || files.iter().map(ScanFile::bytes).sum::<u64>();
        let mut bytes_before = 0;
        loop {
            let request = scan.request().clone();
            files.iter().flat_map(ScanFile::column_errors).for_each(|error| scan.list(error));
            let row_groups = match read_groups(&mut scan, &request, &files) {
                Ok(row_groups) => row_groups,
                Err(Unread::Unfit) => return Ok(None),
                Err(Unread::Stopped(error)) => return Err(error.into()),
            };
            request.check_stop()?;
            let read = bytes().saturating_sub(bytes_before);
            let documents = |rows: &[u64]| documents(&files, rows, &request);
            let notes = |rows: &[u64]| notes(&files, rows, &request);
            match scan.finish((read, row_groups), documents, notes)? {
                RowResults::Answer(answer) => return Ok(Some(answer)),
                RowResults::ReadAgain(again) => (scan, bytes_before) = (again, bytes()),
                RowResults::Unfit => return Ok(None),
            }
        }
    }
}

/// Reads all row groups, and adds their results in order.
fn read_groups<R: ChunkReader + 'static>(
    scan: &mut RowScan,
    request: &RowRequest,
    files: &[ScanFile<R>],
) -> Result<RowGroups, Unread> {
    let needs = Needs::new(request, files.len());
    let mut row_groups = RowGroups::default();
    let mut noted = Vec::new();
    let mut queue: Queue<'static, Result<ReadRows, Unread>> = Queue::new(available_workers());
    // If there are only few row groups, they are split, so that every thread has work.
    let groups: usize = files.iter().map(|file| file.group_rows().count()).sum();
    let is_few = groups < queue.workers().saturating_mul(2);
    let most_parts = if is_few { queue.workers() } else { 1 };
    for file in files {
        for number in 0..file.group_rows().count() {
            request.check_stop().map_err(Unread::Stopped)?;
            let group = file.group(number, &needs, request, &mut noted).ok_or(Unread::Unfit)?;
            let counter = if group.is_skipped { &mut row_groups.skipped } else { &mut row_groups.tested };
            *counter = counter.saturating_add(1);
            row_groups.excluded_rows = row_groups.excluded_rows.saturating_add(group.excluded_rows());
            for part in group.into_parts(most_parts) {
                let (own, bound) = (request.clone(), scan.bound());
                if queue.workers() == 1 {
                    scan.add(read_part(&part, &own, bound)?);
                    continue;
                }
                queue.start(Detached, move || read_part(&part, &own, bound));
                if let Some(read) = queue.next_if_full() {
                    scan.add(read?);
                }
            }
        }
    }
    while let Some(read) = queue.next() {
        scan.add(read?);
    }
    Ok(row_groups)
}

/// Returns the documents of rows. `rows` contains the row numbers in ascending order, counted from 0 over all files.
fn documents<R: ChunkReader + 'static>(
    files: &[ScanFile<R>],
    rows: &[u64],
    request: &RowRequest,
) -> Option<Vec<Box<str>>> {
    let mut documents = Vec::with_capacity(rows.len());
    for (file, rows) in rows_by_file(files, rows)? {
        documents.extend(file.documents(&rows, request)?);
    }
    Some(documents)
}

/// Returns the notes that an import makes on rows. The row numbers are as in [`documents`].
fn notes<R: ChunkReader + 'static>(
    files: &[ScanFile<R>],
    rows: &[u64],
    request: &RowRequest,
) -> Option<Vec<DocumentNote>> {
    let mut notes = Vec::new();
    for (file, rows) in rows_by_file(files, rows)? {
        file.add_notes(&mut notes, &rows, request)?;
    }
    Some(notes)
}

/// Returns each file that has some of the rows, with the numbers of these rows in the file.
fn rows_by_file<'f, R: ChunkReader + 'static>(
    files: &'f [ScanFile<R>],
    rows: &[u64],
) -> Option<Vec<(&'f ScanFile<R>, Vec<u64>)>> {
    let mut found = Vec::new();
    let (mut rows, mut start) = (rows, 0_u64);
    for file in files {
        let end = start.checked_add(file.group_rows().sum())?;
        let (own, rest) = rows.split_at_checked(rows.partition_point(|row| *row < end))?;
        if !own.is_empty() {
            let own: Option<Vec<u64>> = own.iter().map(|row| row.checked_sub(start)).collect();
            found.push((file, own?));
        }
        (rows, start) = (rest, end);
    }
    Some(found)
}
