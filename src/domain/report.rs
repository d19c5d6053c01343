//! What an import of records did.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::engine::Refusal;

/// How many faults, and how many notes, a report lists.
const LISTED: usize = 100_000;

/// What an import of records did; see [`import_records`](super::import_records).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Imported {
    /// Records that are new.
    pub stored: u64,
    /// Records that took the place of one of the same key, of this import or before.
    pub replaced: u64,
    /// Records taken in with a part at fault left out.
    pub incomplete: u64,
    /// Malformed records left out.
    pub skipped: u64,
    /// Members of applicants' info that operation 5 had changed and that the import left as they were.
    pub kept_changes: u64,
    /// Members of applicants' info that operation 5 had changed and that later data of the import replaced.
    pub overwritten_changes: u64,
    /// Times without an offset, of members that the interface document has with one. They count as UTC.
    pub without_zone: u64,
    /// The faults in the order of the sources: the first ten of a record, and the first 100,000 of all.
    pub refusals: Vec<Refusal>,
    /// What was taken in but deserves a look, in the order of the sources: the first 100,000. Notes on replaced levels come last.
    pub notes: Vec<ImportNote>,
    /// How many further faults and notes are in neither list.
    pub unlisted: u64,
}

/// Something about a record that was taken in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ImportNote {
    /// The name of the source; empty when there was none.
    pub source: String,
    /// The line in the source, counted from 1.
    pub line: u64,
    /// What it is about.
    pub kind: ImportNoteKind,
    /// What was found, and what became of it.
    pub message: String,
}

/// What an [`ImportNote`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ImportNoteKind {
    /// A step that the interface document does not list; noted once an import for each. It is kept and served.
    UnknownStep,
    /// A level with steps that its applicants cannot have. Applicants bring it up, and so does a level that replaces the level of
    /// stored applicants. It is noted once an import for each level and type of applicant. The answers leave the steps out.
    StepsOfOthers,
    /// Members that operation 5 had changed stay as they were.
    KeptChanges,
    /// Members that operation 5 had changed were replaced by later data.
    OverwrittenChanges,
    /// What this version of the library does not know.
    #[serde(other)]
    Other,
}

impl Imported {
    pub(super) fn list(&mut self, refusal: Refusal) {
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
