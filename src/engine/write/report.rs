//! The report of an import: counts, errors and notes.

use std::fmt;

use super::note::DocumentNote;
use crate::batch::Row;
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind};

/// The outcome of storing one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UpsertOutcome {
    /// The `id` of the document is new.
    Stored,
    /// The document replaced the document with the same `id`. The new document keeps the position of the old document in the
    /// insertion order.
    Replaced,
}

/// An error of an import: a rejected document, or a rejected value of an accepted document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ImportError {
    /// The [name](crate::engine::Import::begin_source) of the source. Empty if the source has no name.
    pub source: String,
    /// The line of the source that contains the error, counted from 1. If the source consists of rows, this is the number of the
    /// row. If a document has several lines, the error can be in a line after the first line of the document. The value is 0 if the
    /// error affects the complete source.
    ///
    /// If an array is written on one line, all of its elements have the same line, but different values of
    /// [`document`](Self::document).
    pub line: u64,
    /// The position of the document in the source, or among the documents that were passed one by one, counted from 1. The value is
    /// 0 if the error affects the complete source.
    #[cfg_attr(feature = "serde", serde(default))]
    pub document: u64,
    /// True if the document was stored, and the rejected value counts as absent.
    ///
    /// If `line` is 0, the error affects the complete source. Then the value is true only for an error about a column of the
    /// source. The documents of the source were stored despite this error. If the name of the column is an alias of a field, the
    /// documents contain the values of the column, but searches do not find them. Any other column with an error was not read.
    pub kept: bool,
    /// The error. Its path and offset are relative to the document.
    pub error: Box<Error>,
}

impl ImportError {
    /// Creates the error of a document or row that begins at a line of a source. If the line is 0, it is the error of the complete
    /// source.
    ///
    /// ```
    /// use casefilter::{Error, ErrorKind, ImportError};
    /// let error = Error::new(ErrorKind::Syntax, 0, "3 cells", "5 cells, as in the header");
    /// let refused = ImportError::new("monday.csv", 7, error);
    /// assert!(refused.to_string().starts_with("monday.csv: line 7: "));
    /// ```
    #[must_use]
    pub fn new(source: &str, line: u64, error: Error) -> Self {
        Self { source: source.to_owned(), line, document: 0, kept: false, error: Box::new(error) }
    }

    /// Sets the number of the document.
    pub(crate) fn of_document(self, document: u64) -> Self {
        Self { document, ..self }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.source.is_empty() {
            write!(f, "{}: ", self.source)?;
        }
        match (self.line, self.document) {
            (0, _) => {}
            // Several documents are on one line.
            (line, document) if document > line => write!(f, "line {line}, document {document}: ")?,
            (line, _) => write!(f, "line {line}: ")?,
        }
        write!(f, "{}", self.error)?;
        if self.kept {
            f.write_str(match (self.line, self.error.kind) {
                // The name of the column is an alias.
                (0, ErrorKind::UnknownField) => " (kept, searches do not find the values of the column)",
                (0, _) => " (kept, the column is not read)",
                _ => " (kept, the field counts as absent)",
            })?;
        }
        Ok(())
    }
}

impl std::error::Error for ImportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.error)
    }
}

/// The report of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ImportReport {
    /// The number of new documents.
    pub stored: u64,
    /// The number of documents that replaced a document with the same `id`. The replaced document was stored before the import, or
    /// came earlier in the import.
    pub replaced: u64,
    /// The number of stored documents with at least one rejected value. A rejected value counts as absent.
    pub incomplete: u64,
    /// The number of malformed documents that were skipped.
    pub skipped: u64,
    /// The errors in the order of the sources: at most 10 per document, and at most 100,000 in total.
    #[cfg_attr(feature = "serde", serde(rename = "refusals"))]
    pub errors: Vec<ImportError>,
    /// The number of further errors, which are not listed.
    pub unlisted: u64,
    /// Notes on possible mistakes, at most 256, in the order of their first occurrence.
    #[cfg_attr(feature = "serde", serde(default))]
    pub notes: Vec<DocumentNote>,
}

/// The maximum number of errors that a report lists. Further errors are only counted. Without this limit, the report on a file that
/// has only errors would be much larger than the file.
const LISTED_REFUSALS: usize = 100_000;

impl ImportReport {
    pub(crate) fn list(&mut self, refusal: ImportError) {
        if self.errors.len() < LISTED_REFUSALS {
            self.errors.push(refusal);
        } else {
            self.unlisted += 1;
        }
    }

    /// Adds the remarks on an accepted document to the notes.
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

    /// Adds the report on later documents to this report.
    pub(crate) fn append(&mut self, later: Self) {
        self.incomplete += later.incomplete;
        self.skipped += later.skipped;
        self.unlisted += later.unlisted;
        later.errors.into_iter().for_each(|refusal| self.list(refusal));
        DocumentNote::append(&mut self.notes, later.notes);
    }
}
