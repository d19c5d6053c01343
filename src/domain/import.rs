//! Records coming in: all of an import, or nothing of it.

use std::fmt;

use super::kind::RecordKind;
use super::record_import::{Noted, Pending};
use super::replaced_levels::ReplacedLevels;
use super::report::Imported;
use crate::engine::Mode;
use crate::ingest::{Piece, Splitter};
use crate::limits::Limits;
use crate::store::{Store, StoreError};

/// An import of records under way; see [`import_records`].
pub struct RecordImport<'i, 's> {
    splitter: Splitter,
    pending: Pending<'i, 's>,
}

/// Imports records of one kind strictly: all that `read` pushes or, when anything is wrong, nothing.
///
/// A source has one of the layouts of an [`Import`](crate::Import). A record whose key is stored already replaces that one; but members
/// of an applicant's `info` that [`update_info`](super::update_info) changed stay, unless the record's data are of a later date.
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
    import_records_in(store, kind, Mode::Strict, read)
}

/// Imports records of one kind in a mode; see [`import_records`].
///
/// A lenient import leaves out the smallest part that a fault lies in and that the record can do without, an optional member or an
/// element of a list, and skips a record that cannot. Members whose absence decides something, such as `active` or the
/// `countries` of a step, are never left out: the record is. What was left out is in the report.
///
/// ```
/// use casefilter::domain::{RecordKind, import_records_in};
/// use casefilter::{Catalog, Mode, Store, StoreError, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cases.db");
/// # let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
/// let records = br#"[{"id":"a1","type":"individual","info":{"dob":"1.2.1990"}},{"id":"a2"}]"#;
/// let imported = import_records_in(&store, RecordKind::Applicants, Mode::Lenient, |import| import.push(records))?;
/// assert_eq!((imported.stored, imported.incomplete, imported.skipped), (1, 1, 1));
/// assert_eq!(imported.refusals[0].error.path, "info.dob");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`import_records`]; of a lenient import also a file in which it cannot be told where a record begins.
pub fn import_records_in<E: From<StoreError>>(
    store: &Store,
    kind: RecordKind,
    mode: Mode,
    read: impl FnOnce(&mut RecordImport<'_, '_>) -> Result<(), E>,
) -> Result<Imported, E> {
    store.write_records(|records| {
        let pending = Pending {
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
        let mut import = RecordImport { splitter: Splitter::new(&Limits::default()), pending };
        read(&mut import)?;
        import.end_source()?;
        Ok(import.pending.finish()?)
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
