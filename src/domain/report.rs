//! The report of an import of records: counts, errors and notes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::engine::ImportError;

/// The maximum number of errors, and of notes, that a report lists. Further errors and notes are only counted.
const LISTED: usize = 100_000;

/// The report of an import of records; see [`import_records`](super::import_records).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RecordImportReport {
    /// The number of new records.
    pub stored: u64,
    /// The number of records that replaced a record with the same key: a stored record, or an earlier record of this import.
    pub replaced: u64,
    /// The number of records that had an invalid part. The part was left out, and the rest of the record was stored.
    pub incomplete: u64,
    /// The number of invalid records that were skipped.
    pub skipped: u64,
    /// The number of members of `info` and `companyInfo` that the import kept, because a client had changed them. Clients change
    /// them by operation 5 (update of extracted info), and by updates of company data.
    pub kept_changes: u64,
    /// The number of members of `info` and `companyInfo` that a client had changed, and that the import replaced with later data.
    pub overwritten_changes: u64,
    /// The number of time values without an offset in members that require an offset in the interface document. They are treated as
    /// UTC.
    #[serde(rename = "without_zone")]
    pub times_without_zone: u64,
    /// The errors, in the order of the sources. For each record, at most ten faults, and after them the error that ended its check,
    /// if there is one. At most 100,000 in total.
    #[serde(rename = "refusals")]
    pub errors: Vec<ImportError>,
    /// The notes on stored records, in the order of the sources, at most 100,000. Notes on replaced levels are last.
    pub notes: Vec<ImportNote>,
    /// The number of errors and notes that are not in the lists, because the lists are full.
    pub unlisted: u64,
}

/// A note on a stored record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ImportNote {
    /// The name of the source. Empty if the source has no name.
    pub source: String,
    /// The line in the source, counted from 1.
    pub line: u64,
    /// The kind of the note.
    pub kind: ImportNoteKind,
    /// The message: what was found, and what the import did.
    pub message: String,
}

/// The kind of an [`ImportNote`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ImportNoteKind {
    /// A step that the interface document does not list. It is kept and served. An import notes each such step once.
    UnknownStep,
    /// A level with steps that some of its applicants cannot have. Answers leave out these steps. The import of an applicant adds
    /// the note, and so does an import that replaces the level of stored applicants. There is one note for each pair of level and
    /// applicant type. If the import did not compare all replaced levels with the stored applicants, it also adds a note of this
    /// kind.
    #[serde(rename = "steps_of_others")]
    InapplicableSteps,
    /// Members of `info` or `companyInfo` that clients had changed, and that the import kept.
    KeptChanges,
    /// Members of `info` or `companyInfo` that clients had changed, and that the import replaced with later data.
    OverwrittenChanges,
    /// Reviews that clients had made of hits. The import kept these reviews.
    KeptReviews,
    /// Reviews that clients had made of hits. The import replaced them with later reviews.
    ReplacedReviews,
    /// Reviews that clients had made of hits. The import removed these reviews, because it lacks the hits.
    RemovedReviews,
    /// A kind that this version of the library does not know.
    #[serde(other)]
    Other,
}

impl RecordImportReport {
    pub(super) fn list(&mut self, refusal: ImportError) {
        if self.errors.len() < LISTED {
            self.errors.push(refusal);
        } else {
            self.unlisted = self.unlisted.saturating_add(1);
        }
    }

    pub(super) fn note(&mut self, note: ImportNote) {
        if self.notes.len() < LISTED {
            self.notes.push(note);
        } else {
            self.unlisted = self.unlisted.saturating_add(1);
        }
    }
}

impl fmt::Display for ImportNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.source.is_empty() {
            write!(f, "{}: ", self.source)?;
        }
        write!(f, "line {}: {}", self.line, self.message)
    }
}
