//! Operation 4 (AML case): returns the AML case of an applicant.

use super::clients::Clients;
use super::copy::{View, copy};
use super::error::DomainError;
use super::records::{AML_CASES, APPLICANTS, AmlHead, applicant_key, read};
use super::room::Room;
use super::schemas;
use crate::store::Store;

/// Returns the latest active AML case of an applicant as JSON. The latest case is the case with the greatest `createdAt`. If
/// several cases have this `createdAt`, the latest case is the one with the greatest `id`.
///
/// If `sees_personal_data` is false, the answer has no `reviewerName`, `attributes` or `clusteredLinks`. Members that this library
/// does not know are kept, and numbers keep their spelling. Nulls are treated as absent.
///
/// ```
/// use casefilter::domain::{RecordKind, aml_case, import_records};
/// use casefilter::{Catalog, Store, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cases.db");
/// # let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
/// # let applicant = br#"{"id":"a1","type":"individual","info":{"lastName":"Jung"}}"#;
/// # import_records(&store, RecordKind::Applicants, |import| import.push(applicant))?;
/// let case = concat!(
///     r#"{"id":"m1","createdAt":"2026-01-01 00:00:00","targetEntityType":"applicant","#,
///     r#""targetEntityId":"a1"}"#
/// );
/// import_records(&store, RecordKind::AmlCases, |import| import.push(case.as_bytes()))?;
/// assert_eq!(aml_case(&store, "a1", false)?, case);
/// assert!(aml_case(&store, "a2", false).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`NotFound`](super::DomainErrorKind::NotFound) if the applicant does not exist or has no active case. Returns an error
/// if the store cannot be read.
pub fn aml_case(store: &Store, applicant_id: &str, sees_personal_data: bool) -> Result<String, DomainError> {
    aml_case_in(store, applicant_id, sees_personal_data, Clients::All, &mut Room::new(&mut |_| true))
}

/// Like [`aml_case`], but for a caller who sees only the applicants of `clients`, and within the memory budget `room`.
pub(crate) fn aml_case_in(
    store: &Store,
    applicant_id: &str,
    sees_personal_data: bool,
    clients: Clients<'_>,
    room: &mut Room<'_>,
) -> Result<String, DomainError> {
    let records = store.records()?;
    if !clients.list(&records, applicant_id)? {
        return Err(DomainError::no_aml_case());
    }
    let prefix = applicant_key(applicant_id, "");
    // Three records may be in memory at the same time: the latest case so far, the next case, and the answer.
    room.take(records.sizes(AML_CASES, &prefix)?.largest.saturating_mul(3))?;
    if let Clients::Only(_) = clients {
        room.take(records.size(APPLICANTS, applicant_id)?)?;
        if clients.get(&records, applicant_id)?.is_none() {
            return Err(DomainError::no_aml_case());
        }
    }
    let mut latest: Option<(AmlHead, String)> = None;
    let mut last = prefix.clone();
    while let Some((key, text)) = records.page(AML_CASES, Some(&last), 1)?.pop() {
        if !key.starts_with(&prefix) {
            break;
        }
        last = key;
        let head: AmlHead = read(store, &text)?;
        let is_later = latest
            .as_ref()
            .is_none_or(|(last, _)| (&last.created_at, &last.id) < (&head.created_at, &head.id));
        if head.active != Some(false) && is_later {
            latest = Some((head, text));
        }
    }
    let Some((_, text)) = latest else { return Err(DomainError::no_aml_case()) };
    let view = View { unknown: true, personal: sees_personal_data };
    copy(&text, &schemas::AML_CASE, view).map_err(|fault| store.corrupt_record(&fault.to_string()).into())
}
