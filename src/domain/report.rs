//! The report of an import of records.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::engine::ImportError;

/// The maximum number of faults, and of notes, that a report lists.
const LISTED: usize = 100_000;

/// The report of an import of records; see [`import_records`](super::import_records).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Imported {
    /// The number of new records.
    pub stored: u64,
    /// The number of records that replaced a record with the same key: a stored record or an earlier record of this import.
    pub replaced: u64,
    /// The number of records that were stored without an invalid part.
    pub incomplete: u64,
    /// The number of invalid records that were skipped.
    pub skipped: u64,
    /// The number of members of applicants' info that operation 5 had changed and that the import kept.
    pub kept_changes: u64,
    /// The number of members of applicants' info that operation 5 had changed and that later data of the import replaced.
    pub overwritten_changes: u64,
    /// The number of times without an offset in members that require an offset in the interface document. Such times count as UTC.
    pub without_zone: u64,
    /// The faults in the order of the sources, at most ten of a record and 100,000 in all.
    pub refusals: Vec<ImportError>,
    /// The notes on stored records in the order of the sources, at most 100,000. Notes on replaced levels come last.
    pub notes: Vec<ImportNote>,
    /// The number of further faults and notes that are in neither list.
    pub unlisted: u64,
}

/// A note on a stored record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ImportNote {
    /// The name of the source; empty if it has no name.
    pub source: String,
    /// The line in the source, counted from 1.
    pub line: u64,
    /// The kind of the note.
    pub kind: ImportNoteKind,
    /// The finding and its consequence.
    pub message: String,
}

/// The kind of an [`ImportNote`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ImportNoteKind {
    /// A step that the interface document does not list. It is kept and served, and noted once in an import.
    UnknownStep,
    /// A level with steps that its applicants cannot have, and that answers leave out. The import of an applicant notes it, and the import
    /// of a level that replaces the level of stored applicants. It is noted once for each level and type of applicants.
    StepsOfOthers,
    /// Members that operation 5 had changed, and that the import kept.
    KeptChanges,
    /// Members that operation 5 had changed, and that later data replaced.
    OverwrittenChanges,
    /// A kind that this version of the library does not know.
    #[serde(other)]
    Other,
}

impl Imported {
    pub(super) fn list(&mut self, refusal: ImportError) {
        if self.refusals.len() < LISTED {
            self.refusals.push(refusal);
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
