//! Imports records of one kind. An import stores all of its records in one transaction, or none.

use std::fmt;

use super::kind::RecordKind;
use super::record_import::{Importer, Noted};
use super::replaced_levels::ReplacedLevels;
use super::report::RecordImportReport;
use crate::engine::ImportMode;
use crate::ingest::{Piece, Splitter};
use crate::limits::Limits;
use crate::store::{Store, StoreError};

/// A running import of records. [`import_records`] creates it, and passes it to a function that adds the sources and their bytes.
///
/// ```
/// use casefilter::domain::{RecordKind, import_records};
/// use casefilter::{Catalog, Store, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
/// let imported = import_records(&store, RecordKind::Applicants, |import| {
///     import.source("first.ndjson")?;
///     import.push(br#"{"id":"a1","type":"individual"}"#)?;
///     import.source("second.ndjson")?;
///     import.push(br#"{"id":"a2","type":"individual"}"#)
/// })?;
/// assert_eq!(imported.stored, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RecordImport<'i, 's> {
    splitter: Splitter,
    importer: Importer<'i, 's>,
}

/// Imports records of one kind. Stores all records that `read` pushes. If any record is invalid, stores no record (a strict
/// import).
///
/// A source may have any of the layouts that an [`Import`](crate::Import) accepts. A record replaces the stored record with the
/// same key. Members of an applicant's `info` that [`update_info`](super::update_info) has changed are kept, unless the imported
/// record has a later date.
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
/// Returns the error of `read`. Returns [`RejectedDocument`](crate::StoreErrorKind::RejectedDocument) if a record is invalid.
/// Returns an error if the file cannot be read or written.
pub fn import_records<E: From<StoreError>>(
    store: &Store,
    kind: RecordKind,
    read: impl FnOnce(&mut RecordImport<'_, '_>) -> Result<(), E>,
) -> Result<RecordImportReport, E> {
    import_records_in(store, kind, ImportMode::Strict, read)
}

/// Imports records of one kind in strict or lenient mode; see [`import_records`].
///
/// A lenient import leaves out the smallest optional part that contains a fault: an optional member, or an element of an optional
/// list. A member whose absence has a meaning of its own is not such a part, for example `active` or the `countries` of a step. If
/// no optional part contains the fault, the import skips the whole record. The report lists the parts and records that were left
/// out.
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
/// assert_eq!(imported.errors[0].error.path, "info.dob");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns the errors of [`import_records`]. An invalid record is not an error of a lenient import. But the import fails if it
/// cannot find the start of the next record.
pub fn import_records_in<E: From<StoreError>>(
    store: &Store,
    kind: RecordKind,
    mode: ImportMode,
    read: impl FnOnce(&mut RecordImport<'_, '_>) -> Result<(), E>,
) -> Result<RecordImportReport, E> {
    store.write_records(|records| {
        let importer = Importer {
            store,
            kind,
            mode,
            records,
            source: String::new(),
            last_applicant: None,
            last_level: None,
            is_indexed: false,
            noted: Noted::default(),
            replaced_levels: ReplacedLevels::default(),
            imported: RecordImportReport::default(),
        };
        let mut import = RecordImport { splitter: Splitter::new(&Limits::default()), importer };
        read(&mut import)?;
        import.end_source()?;
        Ok(import.importer.finish()?)
    })
}

impl RecordImport<'_, '_> {
    /// Starts the next source. Error messages contain its name.
    ///
    /// # Errors
    /// Returns the errors of [`push`](Self::push), because the last record of the previous source may be processed only now.
    pub fn source(&mut self, name: &str) -> Result<(), StoreError> {
        self.end_source()?;
        name.clone_into(&mut self.importer.source);
        Ok(())
    }

    /// Adds the next bytes of the source. A chunk may begin and end at any byte. The buffer is bounded as in
    /// [`Import::push`](crate::Import::push).
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
