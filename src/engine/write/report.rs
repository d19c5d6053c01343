//! The report of an import: counts, rejected cases and notes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::note::DocumentNote;
use crate::batch::Row;
use crate::catalog::Catalog;
use crate::error::Error;

/// The outcome of storing one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpsertOutcome {
    /// The `id` of the document is new.
    Stored,
    /// The document replaced the document with the same `id`, and keeps its place in the insertion order.
    Replaced,
}

/// A rejected case, or a rejected value of an accepted case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ImportError {
    /// The [name](crate::engine::Import::begin_source) of the source. Empty if it has none.
    pub source: String,
    /// The line or row of the error in the source, counted from 1. 0 if the error affects the whole source.
    pub line: u64,
    /// True if the case was kept, and the field counts as absent. For line 0: the cases of the source were kept without a column.
    pub kept: bool,
    /// The error. Its path and offset are relative to the document.
    pub error: Box<Error>,
}

impl ImportError {
    /// Creates the error of a rejected case or source.
    pub(crate) fn new(source: &str, line: u64, error: Error) -> Self {
        Self { source: source.to_owned(), line, kept: false, error: Box::new(error) }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.source.is_empty() {
            write!(f, "{}: ", self.source)?;
        }
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        write!(f, "{}", self.error)?;
        if self.kept {
            f.write_str(" (kept, the field counts as absent)")?;
        }
        Ok(())
    }
}

impl std::error::Error for ImportError {}

/// The report of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ImportReport {
    /// The number of new cases.
    pub stored: u64,
    /// The number of documents that replaced a document with the same `id`, of this import or stored before.
    pub replaced: u64,
    /// The number of documents with a rejected value, whose field counts as absent.
    pub incomplete: u64,
    /// The number of malformed cases that were skipped.
    pub skipped: u64,
    /// The errors in the order of the sources: at most 10 per case, and at most 100,000.
    pub refusals: Vec<ImportError>,
    /// The number of further errors that are not listed.
    pub unlisted: u64,
    /// Possible mistakes, at most 256, in the order of their first occurrence.
    #[serde(default)]
    pub notes: Vec<DocumentNote>,
}

/// The maximum number of errors that a report lists. Otherwise, the report on a file with only errors would be much larger than the file.
const LISTED_REFUSALS: usize = 100_000;

impl ImportReport {
    pub(crate) fn list(&mut self, refusal: ImportError) {
        if self.refusals.len() < LISTED_REFUSALS {
            self.refusals.push(refusal);
        } else {
            self.unlisted += 1;
        }
    }

    /// Counts the remarks on an accepted case.
    #[inline]
    pub(crate) fn note(&mut self, row: &Row<'_>, source: &str, line: u64, catalog: &Catalog) {
        if !row.remarks().is_empty() {
            DocumentNote::add_all(&mut self.notes, row, source, line, catalog);
        }
    }

    pub(crate) fn count(&mut self, upserted: UpsertOutcome) {
        let count = match upserted {
            UpsertOutcome::Stored => &mut self.stored,
            UpsertOutcome::Replaced => &mut self.replaced,
        };
        *count += 1;
    }

    /// Adds the report on later documents.
    pub(crate) fn append(&mut self, later: Self) {
        self.incomplete += later.incomplete;
        self.skipped += later.skipped;
        self.unlisted += later.unlisted;
        later.refusals.into_iter().for_each(|refusal| self.list(refusal));
        DocumentNote::append(&mut self.notes, later.notes);
    }
}
