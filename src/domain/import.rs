//! Records coming in: all of an import, or nothing of it.

use std::collections::HashSet;
use std::fmt;

use super::records::{
    AML_CASES, APPLICANTS, AmlHead, Applicant, DOCUMENTS, Document, LEVELS, Level, part_of,
};
use super::shape::check;
use super::shapes;
use crate::engine::Refusal;
use crate::error::{Error, ErrorKind, quote};
use crate::filter::utf8;
use crate::ingest::{FileFault, Piece, Splitter, trim};
use crate::limits::Limits;
use crate::store::{RecordWrite, Store, StoreError};

/// The records beside the cases, by kind. An import takes one kind; what a record refers to is stored before
/// it: levels, then applicants, then documents and AML cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// Levels with their steps.
    Levels,
    /// Applicants, individuals and companies.
    Applicants,
    /// Documents with their images.
    Documents,
    /// AML cases with their hits.
    AmlCases,
}

/// What an import of records did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Records that are new.
    pub stored: u64,
    /// Records that took the place of one of the same key, of this import or before.
    pub replaced: u64,
}

/// An import of records under way; see [`import_records`].
pub struct RecordImport<'i, 's> {
    splitter: Splitter,
    pending: Pending<'i, 's>,
}

struct Pending<'i, 's> {
    store: &'i Store,
    kind: RecordKind,
    records: &'i mut RecordWrite<'s>,
    source: String,
    /// What a record referred to last, and was found to be there.
    last_found: Option<(&'static str, String)>,
    imported: Imported,
}

/// Imports records of one kind: what `read` pushes, all of it or, when anything is wrong, nothing.
///
/// A source is NDJSON or a JSON array. A record whose key is stored already replaces that one.
///
/// ```
/// use casefilter::domain::{RecordKind, import_records};
/// use casefilter::{Catalog, Store, StoreError, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cases.db");
/// let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
/// let imported = import_records(&store, RecordKind::Applicants, |import| {
///     import.source("applicants.ndjson")?;
///     import.push(br#"{"id":"a1","type":"individual","info":{"firstName":"Ana"}}"#)
/// })?;
/// assert_eq!(imported.stored, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// What `read` gives; a record that is refused ([`Refused`](crate::StoreErrorKind::Refused)); faults of the
/// file.
pub fn import_records<E: From<StoreError>>(
    store: &Store,
    kind: RecordKind,
    read: impl FnOnce(&mut RecordImport<'_, '_>) -> Result<(), E>,
) -> Result<Imported, E> {
    store.write_records(|records| {
        let pending = Pending {
            store,
            kind,
            records,
            source: String::new(),
            last_found: None,
            imported: Imported::default(),
        };
        let mut import = RecordImport { splitter: Splitter::new(&Limits::default()), pending };
        read(&mut import)?;
        import.end_source()?;
        Ok(import.pending.imported)
    })
}

impl RecordImport<'_, '_> {
    /// Begins another source; errors name it.
    ///
    /// # Errors
    /// As [`push`](Self::push), for the end of the source before.
    pub fn source(&mut self, name: &str) -> Result<(), StoreError> {
        self.end_source()?;
        name.clone_into(&mut self.pending.source);
        Ok(())
    }

    /// Takes the next bytes of the source, parted anywhere; what is held is bounded as in [`Import::push`](crate::Import::push).
    ///
    /// # Errors
    /// A record that is refused, and faults of the file.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let pending = &mut self.pending;
        let result = self.splitter.push(bytes, &mut |piece: Piece<'_>| pending.piece(piece));
        result.map_err(|stop| self.pending.error(stop))
    }

    fn end_source(&mut self) -> Result<(), StoreError> {
        let next = Splitter::new(&Limits::default());
        let splitter = std::mem::replace(&mut self.splitter, next);
        let pending = &mut self.pending;
        let result = splitter.finish(&mut |piece: Piece<'_>| pending.piece(piece));
        result.map_err(|stop| self.pending.error(stop))
    }
}

impl fmt::Debug for RecordImport<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordImport").field("kind", &self.pending.kind).finish_non_exhaustive()
    }
}

/// Why an import ends.
enum Stop {
    Refused(u64, Box<Error>),
    Store(StoreError),
}

impl From<FileFault> for Stop {
    fn from(fault: FileFault) -> Self {
        Self::Refused(fault.line, Box::new(fault.error))
    }
}

/// What is wrong with a record, or with the file.
enum Fault {
    Record(Box<Error>),
    Store(StoreError),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Record(Box::new(error))
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The error for a member whose value does not fit what is around it.
fn unfit(path: impl Into<String>, found: impl Into<String>, expected: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadValue, 0, found, expected).at(path)
}

impl Pending<'_, '_> {
    fn error(&self, stop: Stop) -> StoreError {
        match stop {
            Stop::Store(error) => error,
            Stop::Refused(line, error) => {
                self.store.refuse(Refusal { source: self.source.clone(), line, kept: false, error })
            }
        }
    }

    /// Takes in a record, or refuses it.
    fn piece(&mut self, piece: Piece<'_>) -> Result<(), Stop> {
        let refuse = |error: Error| Stop::Refused(piece.line, Box::new(error));
        let bytes = trim(piece.bytes.map_err(refuse)?);
        let text = utf8(bytes).map_err(refuse)?;
        self.record(text).map_err(|fault| match fault {
            Fault::Store(error) => Stop::Store(error),
            Fault::Record(error) => {
                // A record may span lines.
                let before = bytes.get(..error.offset.min(bytes.len())).unwrap_or_default();
                let line = piece.line.saturating_add(memchr::memchr_iter(b'\n', before).count() as u64);
                Stop::Refused(line, error)
            }
        })
    }

    fn record(&mut self, text: &str) -> Result<(), Fault> {
        let (table, shape) = match self.kind {
            RecordKind::Levels => (LEVELS, &shapes::LEVEL),
            RecordKind::Applicants => (APPLICANTS, &shapes::APPLICANT),
            RecordKind::Documents => (DOCUMENTS, &shapes::DOCUMENT),
            RecordKind::AmlCases => (AML_CASES, &shapes::AML_CASE),
        };
        check(text, shape)?;
        let key = match self.kind {
            RecordKind::Levels => {
                let level: Level = read(text)?;
                check_level(&level)?;
                level.name
            }
            RecordKind::Applicants => {
                let applicant: Applicant = read(text)?;
                if let Some(name) = applicant.level_name() {
                    self.check_reference(LEVELS, "review.levelName", name, "level")?;
                }
                applicant.id
            }
            RecordKind::Documents => {
                let document: Document = read(text)?;
                self.check_reference(APPLICANTS, "applicantId", &document.applicant_id, "applicant")?;
                check_document(&document)?;
                part_of(&document.applicant_id, &document.id)
            }
            RecordKind::AmlCases => {
                let case: AmlHead = read(text)?;
                self.check_reference(APPLICANTS, "targetEntityId", &case.target_entity_id, "applicant")?;
                part_of(&case.target_entity_id, &case.id)
            }
        };
        let count = match self.records.put(table, &key, text)? {
            true => &mut self.imported.replaced,
            false => &mut self.imported.stored,
        };
        *count = count.saturating_add(1);
        Ok(())
    }

    /// Refuses a reference to what is not stored.
    fn check_reference(
        &mut self,
        table: &'static str,
        path: &str,
        key: &str,
        what: &str,
    ) -> Result<(), Fault> {
        let is_last = self.last_found.as_ref().is_some_and(|(last, name)| *last == table && name == key);
        if is_last {
            return Ok(());
        }
        if self.records.get(table, key)?.is_none() {
            let expected = format!("the {what} to be stored already; import {what}s first");
            return Err(unfit(path, format!("no {what} {}", quote(key)), expected).into());
        }
        self.last_found = Some((table, key.to_owned()));
        Ok(())
    }
}

/// Reads a record that was checked.
fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|fault| unfit("", fault.to_string(), "a sound record"))
}

/// Refuses a level whose steps do not go together.
fn check_level(level: &Level) -> Result<(), Error> {
    let steps: Vec<&str> = level.steps().map(|step| &*step.name).collect();
    let successor = steps.iter().find(|step| step.starts_with("COMPANY_"));
    for (at, step) in level.steps().enumerate() {
        let path = |member: &str| format!("docSets[{at}].{member}");
        if steps.get(..at).unwrap_or_default().contains(&&*step.name) {
            return Err(unfit(
                path("idDocSetType"),
                format!("{} again", quote(&step.name)),
                "each step once",
            ));
        }
        if step.name == "COMPANY"
            && let Some(successor) = successor
        {
            let expected = "either `COMPANY` (KYB 1.0) or the three steps that replace it (KYB 2.0)";
            return Err(unfit(path("idDocSetType"), format!("`COMPANY` beside `{successor}`"), expected));
        }
        // A chain of dependencies longer than the level leads in a circle.
        let mut dependency = step.depends_on.as_deref();
        let mut length: usize = 0;
        while let Some(name) = dependency {
            let next = level.steps().find(|other| other.name == name);
            length = length.saturating_add(1);
            if next.is_none() || length > steps.len() {
                let found = quote(step.depends_on.as_deref().unwrap_or_default());
                let expected = "a step of this level that does not depend on this one";
                return Err(unfit(path("dependsOn"), found, expected));
            }
            dependency = next.and_then(|next| next.depends_on.as_deref());
        }
    }
    Ok(())
}

/// Refuses a document with an image twice, or with a part that its step does not have.
fn check_document(document: &Document) -> Result<(), Error> {
    if document.part.is_some() && document.step != "COMPANY" {
        let expected = "no `part`, which only documents of the step `COMPANY` have";
        return Err(unfit("part", format!("a part of {}", document.step), expected));
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
