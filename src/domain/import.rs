//! Imports of records. Each import is stored completely or not at all.

use std::fmt;

use super::kind::RecordKind;
use super::record_import::{Importer, Noted};
use super::replaced_levels::ReplacedLevels;
use super::report::Imported;
use crate::engine::ImportMode;
use crate::ingest::{Piece, Splitter};
use crate::limits::Limits;
use crate::store::{Store, StoreError};

/// An import of records in progress; see [`import_records`].
pub struct RecordImport<'i, 's> {
    splitter: Splitter,
    importer: Importer<'i, 's>,
}

/// Imports records of one kind strictly: stores all records that `read` pushes, or no record if any record is invalid.
///
/// A source has one of the layouts of an [`Import`](crate::Import). A record replaces the stored record with the same key. Members of an
/// applicant's `info` that [`update_info`](super::update_info) changed are kept, unless the record's data is of a later date.
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
/// Returns the error of `read`. Returns [`Refused`](crate::StoreErrorKind::Refused) if a record is invalid. Returns an error if the file
/// cannot be read or written.
pub fn import_records<E: From<StoreError>>(
    store: &Store,
    kind: RecordKind,
    read: impl FnOnce(&mut RecordImport<'_, '_>) -> Result<(), E>,
) -> Result<Imported, E> {
    import_records_in(store, kind, ImportMode::Strict, read)
}

/// Imports records of one kind in a mode; see [`import_records`].
///
/// A lenient import leaves out the smallest optional part around a fault: an optional member, or an element of a list. It skips the whole
/// record if there is no such part. It also skips the record if the fault is in a member whose absence changes the meaning, such as
/// `active` or the `countries` of a step. The report lists the parts and records that were left out.
///
/// ```
/// use casefilter::domain::{RecordKind, import_records_in};
/// use casefilter::{Catalog, ImportMode, Store, StoreError, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cases.db");
/// # let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
/// let records = br#"[{"id":"a1","type":"individual","info":{"dob":"1.2.1990"}},{"id":"a2"}]"#;
/// let imported = import_records_in(&store, RecordKind::Applicants, ImportMode::Lenient, |import| import.push(records))?;
/// assert_eq!((imported.stored, imported.incomplete, imported.skipped), (1, 1, 1));
/// assert_eq!(imported.refusals[0].error.path, "info.dob");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns the errors of [`import_records`]. A lenient import does not fail for an invalid record, but fails if the start of the next
/// record cannot be found.
pub fn import_records_in<E: From<StoreError>>(
    store: &Store,
    kind: RecordKind,
    mode: ImportMode,
    read: impl FnOnce(&mut RecordImport<'_, '_>) -> Result<(), E>,
) -> Result<Imported, E> {
    store.write_records(|records| {
        let importer = Importer {
            store,
            kind,
            mode,
            records,
            source: String::new(),
            last_applicant: None,
            last_level: None,
            noted: Noted::default(),
            replaced_levels: ReplacedLevels::default(),
            imported: Imported::default(),
        };
        let mut import = RecordImport { splitter: Splitter::new(&Limits::default()), importer };
        read(&mut import)?;
        import.end_source()?;
        Ok(import.importer.finish()?)
    })
}

impl RecordImport<'_, '_> {
    /// Starts the next source. Errors contain its name.
    ///
    /// # Errors
    /// Returns the errors of [`push`](Self::push) for the end of the previous source.
    pub fn source(&mut self, name: &str) -> Result<(), StoreError> {
        self.end_source()?;
        name.clone_into(&mut self.importer.source);
        Ok(())
    }

    /// Adds the next bytes of the source, which may be split anywhere. The buffer is bounded as in [`Import::push`](crate::Import::push).
    ///
    /// # Errors
    /// Returns an error if a record is rejected, or if the file cannot be read or written.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let importer = &mut self.importer;
        let result = self.splitter.push(bytes, &mut |piece: Piece<'_>| importer.piece(piece));
        result.map_err(|stop| self.importer.error(stop))
    }

    fn end_source(&mut self) -> Result<(), StoreError> {
        let next = Splitter::new(&Limits::default());
        let splitter = std::mem::replace(&mut self.splitter, next);
        let importer = &mut self.importer;
        let result = splitter.finish(&mut |piece: Piece<'_>| importer.piece(piece));
        result.map_err(|stop| self.importer.error(stop))
    }
}

impl fmt::Debug for RecordImport<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordImport").field("kind", &self.importer.kind).finish_non_exhaustive()
    }
}
