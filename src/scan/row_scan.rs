//! Adds sources of rows to a scan.

use std::sync::Arc;

use super::answer::{RowGroups, ScanError};
use super::failed::{Failed, SplitError};
use super::row_notes::RowNotes;
use super::row_sources::{ReadDocuments, RowSource};
use super::rows::{ReadRows, RowBound, RowRequest};
use super::run::Scan;
use crate::engine::{DocumentNote, ImportError, ImportReport};
use crate::error::Error;

/// The rows of the source that is being scanned.
pub(crate) struct SourceRows {
    name: Arc<str>,
    /// The number of documents of all earlier sources.
    start: u64,
    /// The number of rows that were added so far.
    rows: u64,
    notes: RowNotes,
}

/// The end of a source of rows.
pub(crate) struct SourceEnd {
    /// The number of bytes that were read.
    pub(crate) bytes: u64,
    pub(crate) row_groups: RowGroups,
    /// True if not all ids were read, because the ids of the source are unique.
    pub(crate) has_unread_ids: bool,
    pub(crate) documents: ReadDocuments,
}

/// Scans of sources of rows.
impl Scan {
    /// Begins a source of rows. The caller then adds all rows by [`add_rows`](Self::add_rows), and calls
    /// [`end_rows`](Self::end_rows).
    ///
    /// # Errors
    /// Returns the errors of [`begin_source`](Self::begin_source), and the error of an earlier document.
    pub(crate) fn begin_rows(&mut self, name: &str) -> Result<(RowRequest, SourceRows), ScanError> {
        self.begin_source(name)?;
        let drained = self.drain().map_err(SplitError::from);
        self.note(drained)?;
        self.row_sources.begin_other();
        let start = self.merged.documents();
        let request = RowRequest {
            request: self.request.clone(),
            settings: Arc::clone(&self.settings),
            is_sole_source: start == 0 && !self.settings.has_several_sources,
        };
        Ok((request, SourceRows { name: name.into(), start, rows: 0, notes: RowNotes::default() }))
    }

    /// Returns a row after which no row is on the page.
    pub(crate) fn row_bound(&self) -> RowBound {
        RowBound(self.merged.bound())
    }

    /// Adds an error to the report. The error does not end the scan.
    pub(crate) fn list(&mut self, error: ImportError) {
        self.merged.report.list(error);
    }

    /// Adds the next block of a source, in the order of its rows.
    pub(crate) fn add_rows(&mut self, rows: &mut SourceRows, ReadRows(block, notes): ReadRows) {
        rows.notes.append(notes, rows.rows);
        rows.rows = rows.rows.saturating_add(block.accepted as u64);
        // A block of valid rows has no error.
        let added = self.merged.add(&self.settings, block);
        debug_assert!(added.is_ok(), "all rows were valid");
    }

    /// Ends a source of rows. The function `notes` takes row numbers, as [`ReadDocuments`] does, and returns the notes that an
    /// import makes on these rows.
    ///
    /// # Errors
    /// Returns an error if `notes` returns `None`, or notes with other subjects than those that the scan has counted.
    pub(crate) fn end_rows(
        &mut self,
        rows: SourceRows,
        end: SourceEnd,
        notes: impl FnOnce(&[u64]) -> Option<Vec<DocumentNote>>,
    ) -> Result<(), ScanError> {
        let first_rows = rows.notes.first_rows();
        if !first_rows.is_empty() {
            let notes = notes(&first_rows);
            let notes = notes.and_then(|notes| rows.notes.complete(notes, &self.settings.catalog));
            let Some(notes) = notes else { return Err(self.import_needed(&rows)) };
            self.merged.report.append(ImportReport { notes, ..ImportReport::default() });
        }
        let SourceEnd { bytes, row_groups, has_unread_ids, documents } = end;
        self.bytes = self.bytes.saturating_add(bytes);
        let range = rows.start..rows.start.saturating_add(rows.rows);
        self.row_sources.add(RowSource { name: rows.name, range, documents }, row_groups, has_unread_ids);
        self.begin_source("")
    }

    /// Ends the scan, because the host has to import the source. Returns the error.
    pub(crate) fn import_needed(&mut self, rows: &SourceRows) -> ScanError {
        self.failed.insert(Failed::ImportNeeded(Arc::clone(&rows.name))).clone().into()
    }

    /// Ends the scan with `error`, the error of a stopped search. Returns this error as a [`ScanError`].
    pub(crate) fn stopped(&mut self, error: Error) -> ScanError {
        self.failed.insert(error.into()).clone().into()
    }
}
