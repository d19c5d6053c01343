//! Processes each record of an import: checks it, merges it with the stored record, then stores or rejects it.

use std::collections::HashSet;

use super::changes::{Merged, merge, with_origins};
use super::check::{Checked, check};
use super::clients::{complete_index, index_applicant};
use super::hit_review::merge_reviews;
use super::kind::RecordKind;
use super::levels::{check_level, excluded_steps, sentence};
use super::members::Members;
use super::records::{
    AML_CASES, APPLICANTS, AmlHead, Applicant, ApplicantKind, Document, LEVELS, Level, applicant_key,
};
use super::replaced_levels::ReplacedLevels;
use super::report::{ImportNote, ImportNoteKind, RecordImportReport};
use crate::engine::{ImportError, ImportMode};
use crate::error::{Error, ErrorKind, Found, quote};
use crate::filter::utf8;
use crate::ingest::{FileFault, Piece, trim};
use crate::store::{RecordWriter, Store, StoreError};

/// The state of an import. The splitter, which divides sources into records, is separate.
pub(super) struct Importer<'i, 's> {
    pub(super) store: &'i Store,
    pub(super) kind: RecordKind,
    pub(super) mode: ImportMode,
    pub(super) records: &'i mut RecordWriter<'s>,
    pub(super) source: String,
    /// The id of the applicant of the previous record. This applicant is known to be stored, so consecutive records of one
    /// applicant need only one lookup.
    pub(super) last_applicant: Option<String>,
    /// The level of the previous applicant. If consecutive applicants have the same level, it is read only once.
    pub(super) last_level: Option<Level>,
    /// True if the index of applicants by client is known to be complete.
    pub(super) is_indexed: bool,
    /// The steps and levels for which the report already has a note.
    pub(super) noted: Noted,
    pub(super) replaced_levels: ReplacedLevels,
    pub(super) imported: RecordImportReport,
}

/// The steps and levels that the report notes only once.
#[derive(Default)]
pub(super) struct Noted {
    steps: HashSet<String>,
    levels: HashSet<(String, ApplicantKind)>,
}

/// The maximum number of steps, and of levels, that are remembered. Further steps and levels are noted each time that they occur.
const MAX_NOTED: usize = 10_000;

/// The reason why an import ends before the end of its sources.
pub(super) enum ImportEnd {
    Refused(u64, Box<Error>),
    Store(StoreError),
}

impl From<FileFault> for ImportEnd {
    fn from(fault: FileFault) -> Self {
        Self::Refused(fault.line, Box::new(fault.error))
    }
}

/// A problem with a record: the record is invalid, or the file could not be read or written.
enum Fault {
    Record(Vec<Error>),
    Store(StoreError),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Record(vec![error])
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Returns the error for a member whose value contradicts the rest of the record or the stored records.
fn unfit(path: impl Into<String>, found: impl Into<Found>, expected: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadValue, 0, found, expected).at(path)
}

/// A record that passed its checks.
struct Accepted {
    key: String,
    text: String,
    /// The faults of the parts that were left out of the record.
    faults: Vec<Error>,
    merged: Vec<Merged>,
}

/// The position of a record in its source, from which the lines of its errors are computed.
struct Lines<'p> {
    first: u64,
    bytes: &'p [u8],
}

impl Lines<'_> {
    /// Returns the line number of an error in the record. A record may have several lines.
    fn of(&self, error: &Error) -> u64 {
        let before = self.bytes.get(..error.offset.min(self.bytes.len())).unwrap_or_default();
        self.first.saturating_add(memchr::memchr_iter(b'\n', before).count() as u64)
    }
}

impl Importer<'_, '_> {
    fn refusal(&self, line: u64, error: Error, kept: bool) -> ImportError {
        ImportError { kept, ..ImportError::new(&self.source, line, error) }
    }

    /// Finishes the import, and returns its report.
    pub(super) fn finish(mut self) -> Result<RecordImportReport, StoreError> {
        let notes = std::mem::take(&mut self.replaced_levels).notes(self.store, self.records)?;
        notes.into_iter().for_each(|note| self.imported.note(note));
        Ok(self.imported)
    }

    pub(super) fn error(&self, stop: ImportEnd) -> StoreError {
        match stop {
            ImportEnd::Store(error) => error,
            ImportEnd::Refused(line, error) => self.store.refuse(self.refusal(line, *error, false)),
        }
    }

    /// Processes one record: stores it, skips it, or ends the import.
    pub(super) fn piece(&mut self, piece: Piece<'_>) -> Result<(), ImportEnd> {
        let bytes = match piece.bytes {
            Ok(bytes) => trim(bytes),
            Err(error) => return self.refuse(&Lines { first: piece.line, bytes: b"" }, vec![error]),
        };
        let lines = Lines { first: piece.line, bytes };
        let taken = match utf8(bytes) {
            Ok(text) => self.record(text, &lines),
            Err(error) => Err(error.into()),
        };
        match taken {
            Ok(()) => Ok(()),
            Err(Fault::Store(error)) => Err(ImportEnd::Store(error)),
            Err(Fault::Record(errors)) => self.refuse(&lines, errors),
        }
    }

    /// Counts an invalid record as skipped. In a strict import, returns the error that ends the import.
    fn refuse(&mut self, lines: &Lines<'_>, errors: Vec<Error>) -> Result<(), ImportEnd> {
        self.imported.skipped = self.imported.skipped.saturating_add(1);
        for error in errors {
            let line = lines.of(&error);
            if self.mode == ImportMode::Strict {
                return Err(ImportEnd::Refused(line, Box::new(error)));
            }
            let refusal = self.refusal(line, error, false);
            self.imported.list(refusal);
        }
        Ok(())
    }

    fn record(&mut self, text: &str, lines: &Lines<'_>) -> Result<(), Fault> {
        let checked = check(text, self.kind.schema()).map_err(Fault::Record)?;
        let Checked { text, faults, without_zone, unknown_steps } = checked;
        if self.mode == ImportMode::Strict && !faults.is_empty() {
            return Err(Fault::Record(faults));
        }
        let record = Accepted { key: String::new(), text: text.into_owned(), faults, merged: Vec::new() };
        let mut level = None;
        let Accepted { key, text, faults, merged } = match self.kind {
            RecordKind::Levels => {
                let own: Level = read(&record.text)?;
                check_level(&own)?;
                let key = own.name.clone();
                level = Some(own);
                Accepted { key, ..record }
            }
            RecordKind::Applicants => self.applicant(record, lines)?,
            RecordKind::Documents => {
                let document: Document = read(&record.text)?;
                self.check_applicant("applicantId", &document.applicant_id)?;
                check_document(&document)?;
                Accepted { key: applicant_key(&document.applicant_id, &document.id), ..record }
            }
            RecordKind::AmlCases => {
                let case: AmlHead = read(&record.text)?;
                self.check_applicant("targetEntityId", &case.target_entity_id)?;
                let key = applicant_key(&case.target_entity_id, &case.id);
                let text = self.with_reviews(&key, &case, record.text, lines.first)?;
                Accepted { key, text, ..record }
            }
        };
        let is_replaced = self.records.put(self.kind.table(), &key, &text)?;
        if let Some(level) = level.filter(|_| is_replaced) {
            self.replaced_levels.add(&level, &self.source, lines.first, self.imported.replaced);
        }
        let count = match is_replaced {
            true => &mut self.imported.replaced,
            false => &mut self.imported.stored,
        };
        *count = count.saturating_add(1);
        let imported = &mut self.imported;
        imported.times_without_zone = imported.times_without_zone.saturating_add(without_zone);
        if !faults.is_empty() {
            imported.incomplete = imported.incomplete.saturating_add(1);
        }
        for fault in faults {
            let refusal = self.refusal(lines.of(&fault), fault, true);
            self.imported.list(refusal);
        }
        for (step, error) in unknown_steps {
            if is_new(&mut self.noted.steps, step) {
                let path = &error.path;
                let message = format!("{path}: {}; kept as it is", error.message());
                self.note(lines.of(&error), ImportNoteKind::UnknownStep, message);
            }
        }
        for merged in merged {
            self.report_merged(&key, &merged, lines.first);
        }
        Ok(())
    }

    fn note(&mut self, line: u64, kind: ImportNoteKind, message: String) {
        self.imported.note(ImportNote { source: self.source.clone(), line, kind, message });
    }

    /// Checks the level of an applicant, and merges the record with the changes that clients have made to the stored applicant.
    fn applicant(&mut self, mut record: Accepted, lines: &Lines<'_>) -> Result<Accepted, Fault> {
        let mut applicant: Applicant = read(&record.text)?;
        if let Some(name) = applicant.level_name().map(str::to_owned)
            && let Err(fault) = self.check_level_of(&applicant, &name, lines)
        {
            match fault {
                Fault::Record(errors) if self.mode == ImportMode::Lenient => {
                    record.text = without_level(&record.text).map_err(|error| *error)?;
                    record.faults.extend(errors);
                    applicant = read(&record.text)?;
                }
                fault => return Err(fault),
            }
        }
        record.key = applicant.id;
        if !self.is_indexed {
            complete_index(self.records)?;
            self.is_indexed = true;
        }
        let stored = self.records.get(APPLICANTS, &record.key)?;
        if let Some(stored) = &stored {
            record.merged = merge(stored, &record.text).map_err(|error| *error)?;
            if let Some(merged) = record.merged.last() {
                record.text.clone_from(&merged.text);
            }
            if let Some(text) = with_origins(stored, &record.text).map_err(|error| *error)? {
                record.text = text;
            }
        }
        index_applicant(self.records, &record.key, stored.as_deref(), &record.text)?;
        Ok(record)
    }

    /// Checks that the level of an applicant is stored. Adds a note if the level has steps that the applicant cannot have.
    fn check_level_of(&mut self, applicant: &Applicant, name: &str, lines: &Lines<'_>) -> Result<(), Fault> {
        if self.last_level.as_ref().is_none_or(|level| level.name != name) {
            let Some(text) = self.records.get(LEVELS, name)? else {
                return Err(not_stored("review.levelName", "level", name).into());
            };
            self.last_level = Some(read(&text)?);
        }
        let Some(level) = &self.last_level else { return Ok(()) };
        let kind = applicant.kind;
        if let Some(steps) = excluded_steps(level, kind)
            && is_new(&mut self.noted.levels, (name.to_owned(), kind))
        {
            let of = format!("the level {} of {}", quote(name), kind.in_words());
            let message = sentence(&of, kind, &steps);
            self.note(lines.first, ImportNoteKind::InapplicableSteps, format!("review.levelName: {message}"));
        }
        Ok(())
    }

    /// Checks that the applicant of a record is stored.
    fn check_applicant(&mut self, path: &str, id: &str) -> Result<(), Fault> {
        if self.last_applicant.as_deref() == Some(id) {
            return Ok(());
        }
        if self.records.get(APPLICANTS, id)?.is_none() {
            return Err(not_stored(path, "applicant", id).into());
        }
        self.last_applicant = Some(id.to_owned());
        Ok(())
    }

    /// Merges an AML case with the reviews that clients have made of its hits, and adds notes on them.
    fn with_reviews(&mut self, key: &str, case: &AmlHead, text: String, line: u64) -> Result<String, Fault> {
        let Some(stored) = self.records.get(AML_CASES, key)? else { return Ok(text) };
        let Some(merged) = merge_reviews(&stored, &text).map_err(|error| *error)? else { return Ok(text) };
        let outcomes = [
            (ImportNoteKind::KeptReviews, &merged.kept, "kept", "the import has no later review"),
            (ImportNoteKind::ReplacedReviews, &merged.replaced, "replaced", "the import has a later review"),
            (ImportNoteKind::RemovedReviews, &merged.removed, "removed", "the import lacks the hit"),
        ];
        for (kind, hits, verb, why) in outcomes {
            // The note names the first hits only, because a case may have very many.
            let (Some(_), count) = (hits.first(), hits.len()) else { continue };
            let names = hits.iter().take(10).map(|id| quote(id).to_string()).collect::<Vec<_>>().join(", ");
            let more = if count > 10 { ", …" } else { "" };
            let reviews =
                if count == 1 { "review of 1 hit".to_owned() } else { format!("reviews of {count} hits") };
            let (id, applicant) = (quote(&case.id), quote(&case.target_entity_id));
            let message =
                format!("AML case {id} of {applicant}: {verb} the client {reviews}, {names}{more}: {why}");
            self.note(line, kind, message);
        }
        Ok(merged.text)
    }

    /// Counts the changes by clients that were kept or overwritten, and adds notes on them.
    fn report_merged(&mut self, id: &str, merged: &Merged, line: u64) {
        let date = match &merged.date {
            Some(date) => format!("the latest date of the record is {date}"),
            None => "the record has no date".to_owned(),
        };
        let outcomes = [
            (ImportNoteKind::KeptChanges, &merged.kept, "kept", "later"),
            (ImportNoteKind::OverwrittenChanges, &merged.overwritten, "overwrote", "earlier"),
        ];
        for (kind, members, verb, when) in outcomes {
            if members.is_empty() {
                continue;
            }
            let count = members.len();
            let names = members.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let noun = if count == 1 { "member" } else { "members" };
            let message = format!(
                "applicant {}: {verb} {count} changed {noun}, {names}: changed by {} {when}, {date}",
                quote(id),
                merged.by
            );
            let total = match kind {
                ImportNoteKind::KeptChanges => &mut self.imported.kept_changes,
                _ => &mut self.imported.overwritten_changes,
            };
            *total = total.saturating_add(count as u64);
            self.note(line, kind, message);
        }
    }
}

/// Adds a step or level to the set of noted steps or levels. Returns true if it was not in the set.
fn is_new<T: Eq + std::hash::Hash>(noted: &mut HashSet<T>, what: T) -> bool {
    if noted.contains(&what) {
        return false;
    }
    if noted.len() < MAX_NOTED {
        noted.insert(what);
    }
    true
}

fn not_stored(path: &str, what: &str, key: &str) -> Error {
    let expected = format!("the {what} to be stored already; import {what}s first");
    unfit(path, format!("no {what} {}", quote(key)), expected)
}

/// Returns the text of an applicant without its level.
fn without_level(text: &str) -> crate::json::Result<String> {
    let mut applicant = Members::read(text)?;
    let review = applicant.get("review").unwrap_or("{}").to_owned();
    let mut review = Members::read(&review)?;
    review.remove("levelName");
    applicant.set("review", review.to_json());
    Ok(applicant.to_json())
}

/// Deserialises a record that has passed its check.
fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|fault| unfit("", fault.to_string(), "a record that can be read"))
}

/// Checks that the images of a document have different ids, and that only a document of the step `COMPANY` has a part.
fn check_document(document: &Document) -> Result<(), Error> {
    if document.part.is_some() && document.step != "COMPANY" {
        let expected = "no `part`, which only documents of the step `COMPANY` have";
        return Err(unfit("part", format!("a part of {}", quote(&document.step)), expected));
    }
    let mut seen = HashSet::new();
    for (at, image) in document.images().enumerate() {
        if !seen.insert(&image.id) {
            let path = format!("images[{at}].imageId");
            return Err(unfit(path, format!("{} again", quote(&image.id)), "each image once"));
        }
    }
    Ok(())
}
