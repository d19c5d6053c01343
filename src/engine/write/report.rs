//! The report of an import: counts, refused cases and notes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::note::Note;
use crate::batch::Row;
use crate::catalog::Catalog;
use crate::error::Error;

/// The outcome of storing one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upserted {
    /// Its `id` is new.
    Stored,
    /// It replaced the document of the same `id`, and keeps its place.
    Replaced,
}

/// A case, or a field value of one, that was not taken in as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The name given to [`Import::source`](crate::engine::Import::source); empty when there was none.
    pub source: String,
    /// The line in the source where the fault lies, or the row, counted from 1; 0 for a source as a whole.
    pub line: u64,
    /// The case was kept, the field at fault counting as absent; of line 0, the cases without that column.
    pub kept: bool,
    /// The fault; path and offset are those in the document.
    pub error: Box<Error>,
}

impl Refusal {
    /// Returns the refusal of a case, or of a source as a whole, that is left out.
    pub(crate) fn new(source: &str, line: u64, error: Error) -> Self {
        Self { source: source.to_owned(), line, kept: false, error: Box::new(error) }
    }
}

impl fmt::Display for Refusal {
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

impl std::error::Error for Refusal {}

/// The report of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Cases that are new.
    pub stored: u64,
    /// Documents that replaced an earlier one of the same `id`, of this import or before.
    pub replaced: u64,
    /// Documents taken in with a field at fault counting as absent.
    pub incomplete: u64,
    /// Malformed cases left out.
    pub skipped: u64,
    /// The faults in the order of the sources: the first ten of a case, and the first 100,000 of all.
    pub refusals: Vec<Refusal>,
    /// The number of further faults that are not in the list.
    pub unlisted: u64,
    /// Values and members that may not be meant, in the order in which it was first met: at most 256.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// The most faults that a report lists. A file of nothing but faults would otherwise take far more memory
/// than its own size.
const LISTED_REFUSALS: usize = 100_000;

impl Report {
    pub(crate) fn list(&mut self, refusal: Refusal) {
        if self.refusals.len() < LISTED_REFUSALS {
            self.refusals.push(refusal);
        } else {
            self.unlisted += 1;
        }
    }

    /// Counts the remarks on a case that is taken in.
    #[inline]
    pub(crate) fn note(&mut self, row: &Row<'_>, source: &str, line: u64, catalog: &Catalog) {
        if !row.remarks().is_empty() {
            Note::add_all(&mut self.notes, row, source, line, catalog);
        }
    }

    pub(crate) fn count(&mut self, upserted: Upserted) {
        let count = match upserted {
            Upserted::Stored => &mut self.stored,
            Upserted::Replaced => &mut self.replaced,
        };
        *count += 1;
    }

    /// Adds what was found in later documents.
    pub(crate) fn append(&mut self, later: Self) {
        self.incomplete += later.incomplete;
        self.skipped += later.skipped;
        self.unlisted += later.unlisted;
        later.refusals.into_iter().for_each(|refusal| self.list(refusal));
        Note::append(&mut self.notes, later.notes);
    }
}
