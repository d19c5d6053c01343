//! Reads documents into rows, and handles malformed documents according to the mode of the import.

use super::report::{ImportError, ImportReport};
use crate::batch::Row;
use crate::catalog::Catalog;
use crate::error::Error;
use crate::filter::utf8;
use crate::ingest::{DocumentTemplate, Piece, read_by_template, trim};
use crate::limits::Limits;

/// The mode of an import: how it handles malformed documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ImportMode {
    /// The first malformed document ends the import, and no document is stored.
    #[default]
    Strict,
    /// A field value of a wrong type counts as absent. Any other malformed document is skipped.
    Lenient,
}

/// A reader that reads documents into rows and reports their errors.
pub(crate) struct DocumentReader<'e> {
    pub(crate) catalog: &'e Catalog,
    pub(crate) limits: &'e Limits,
    pub(crate) mode: ImportMode,
}

impl DocumentReader<'_> {
    /// Reads a document into a row. If the document is rejected, adds the error to the report and returns `None`. `number` is the
    /// position of the document in its source, counted from 1.
    ///
    /// # Errors
    /// Returns the error that ends a strict import.
    pub(crate) fn read<'t>(
        &self,
        (piece, number): (Piece<'t>, u64),
        source: &str,
        template: &mut DocumentTemplate,
        row: &mut Row<'t>,
        report: &mut ImportReport,
    ) -> Result<Option<&'t str>, Box<ImportError>> {
        let line = piece.line;
        let refuse = |line, error, report: &mut ImportReport| {
            self.refuse(ImportError::new(source, line, error).of_document(number), report)
        };
        let text = match piece.bytes {
            Err(error) => return refuse(line, error, report).map(|()| None),
            Ok(bytes) => match utf8(trim(bytes)) {
                Ok(text) => text,
                Err(error) => return refuse(line, error, report).map(|()| None),
            },
        };
        // Returns the line of an error, which may be inside a document of several lines.
        let line_of = |error: &Error| {
            let before = text.as_bytes().get(..error.offset.min(text.len())).unwrap_or_default();
            line + memchr::memchr_iter(b'\n', before).count() as u64
        };
        if let Err(error) = read_by_template(text, self.catalog, self.limits, template, row) {
            return refuse(line_of(&error), error, report).map(|()| None);
        }
        self.note_faults(row, source, (line_of, number), report)?;
        report.note(row, source, line, self.catalog);
        Ok(Some(text))
    }

    /// Adds the errors and remarks of a complete row to the report.
    ///
    /// # Errors
    /// Returns the error that ends a strict import.
    #[cfg(feature = "arrow")]
    pub(super) fn note_row(
        &self,
        row: &mut Row<'_>,
        source: &str,
        line: u64,
        report: &mut ImportReport,
    ) -> Result<(), Box<ImportError>> {
        self.note_faults(row, source, (|_: &Error| line, line), report)?;
        report.note(row, source, line, self.catalog);
        Ok(())
    }

    /// Moves the errors of an accepted document to the report.
    fn note_faults(
        &self,
        row: &mut Row<'_>,
        source: &str,
        (line_of, number): (impl Fn(&Error) -> u64, u64),
        report: &mut ImportReport,
    ) -> Result<(), Box<ImportError>> {
        let faults = row.take_faults();
        if faults.is_empty() {
            return Ok(());
        }
        for fault in faults {
            let refusal = ImportError::new(source, line_of(&fault), fault).of_document(number);
            if self.mode == ImportMode::Strict {
                return Err(Box::new(refusal));
            }
            report.list(ImportError { kept: true, ..refusal });
        }
        report.incomplete += 1;
        Ok(())
    }

    /// Rejects a document. A lenient import skips the document; a strict import ends with an error.
    pub(super) fn refuse(
        &self,
        refusal: ImportError,
        report: &mut ImportReport,
    ) -> Result<(), Box<ImportError>> {
        if self.mode == ImportMode::Strict {
            return Err(Box::new(refusal));
        }
        report.skipped += 1;
        report.list(refusal);
        Ok(())
    }
}
