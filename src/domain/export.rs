//! Exports records in a form that an import accepts.

use super::kind::RecordKind;
use super::records::{PAGE_BYTES, PAGE_RECORDS};
use crate::store::{Store, StoreError};

/// Passes the text of every record of a kind to `take`, in key order. All records come from the same snapshot.
///
/// Importing the exported records again stores the same records. The record of an applicant has `infoChangedAt` if operation 5
/// (update of extracted info) has changed members of its `info`.
///
/// ```
/// use casefilter::domain::{RecordKind, export_records, import_records};
/// use casefilter::{Catalog, Store, StoreError, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cases.db");
/// # let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
/// let applicant = r#"{"id":"a1","type":"individual"}"#;
/// import_records(&store, RecordKind::Applicants, |import| import.push(applicant.as_bytes()))?;
/// let mut records = Vec::new();
/// export_records(&store, RecordKind::Applicants, |record| {
///     records.push(record.to_owned());
///     Ok::<_, StoreError>(())
/// })?;
/// assert_eq!(records, [applicant]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns the error of `take`. Returns an error if the file cannot be read.
pub fn export_records<E: From<StoreError>>(
    store: &Store,
    kind: RecordKind,
    mut take: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let records = store.records()?;
    let mut last: Option<String> = None;
    loop {
        let page = records.page_within(kind.table(), last.as_deref(), PAGE_RECORDS, PAGE_BYTES)?;
        for (_, text) in &page {
            take(text)?;
        }
        match page.into_iter().next_back() {
            Some((key, _)) => last = Some(key),
            None => return Ok(()),
        }
    }
}
