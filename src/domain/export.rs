//! Records going out: as they are stored, in the form that an import takes.

use super::kind::RecordKind;
use crate::store::{Store, StoreError};

/// How many records are read at once.
const PAGE_RECORDS: usize = 256;

/// Hands over every record of a kind, as text, in the order of the keys; all of one moment.
///
/// Importing them again stores the same. An applicant has `infoChangedAt` beside `info`, if operation 5 changed members of it.
///
/// ```
/// use casefilter::domain::{RecordKind, each_record, import_records};
/// use casefilter::{Catalog, Store, StoreError, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cases.db");
/// # let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
/// let applicant = r#"{"id":"a1","type":"individual"}"#;
/// import_records(&store, RecordKind::Applicants, |import| import.push(applicant.as_bytes()))?;
/// let mut records = Vec::new();
/// each_record(&store, RecordKind::Applicants, |record| {
///     records.push(record.to_owned());
///     Ok::<_, StoreError>(())
/// })?;
/// assert_eq!(records, [applicant]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// What `take` gives; faults of the file.
pub fn each_record<E: From<StoreError>>(
    store: &Store,
    kind: RecordKind,
    mut take: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let records = store.records()?;
    let mut last: Option<String> = None;
    loop {
        let page = records.page(kind.table(), last.as_deref(), PAGE_RECORDS)?;
        for (_, text) in &page {
            take(text)?;
        }
        match page.into_iter().next_back() {
            Some((key, _)) => last = Some(key),
            None => return Ok(()),
        }
    }
}
