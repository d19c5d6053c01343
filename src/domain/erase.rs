//! Erasure of an applicant: its records, and the cases that refer to it.

use super::clients::is_entry_of;
use super::profile::is_share_token_of;
use super::records::{AML_CASES, APPLICANTS, DOCUMENTS, SHARE_TOKENS, applicant_key};
use crate::catalog::Catalog;
use crate::filter::Filter;
use crate::operator::Operator;
use crate::store::Erasure;

/// The field of a case that has the id of its applicant.
const APPLICANT_ID: &str = "applicantReference.applicantId";

/// Returns the erasure of an applicant, for [`Store::erase`](crate::Store::erase): the record of the applicant, its documents, its AML
/// cases, its share tokens, its entry in the index of clients, and all cases whose `applicantReference.applicantId` is this id. If the catalogue has no such field, no case is
/// selected.
///
/// Records of other applicants stay, even if they name this id, such as a company that lists a beneficiary.
///
/// ```
/// use casefilter::domain::{RecordKind, erasure_of_applicant, import_records};
/// use casefilter::{Catalog, Durability, Store, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
/// let anna = r#"{"id":"anna","type":"individual"}"#;
/// import_records(&store, RecordKind::Applicants, |import| import.push(anna.as_bytes()))?;
/// store.upsert(br#"{"id":"c-1","applicantReference":{"applicantId":"anna"}}"#, Durability::Synced)?;
/// let erased = store.erase(&erasure_of_applicant(store.catalog(), "anna"))?;
/// assert_eq!((erased.cases, erased.records), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn erasure_of_applicant(catalog: &Catalog, id: &str) -> Erasure {
    let prefix = applicant_key(id, "");
    let own = id.to_owned();
    let erasure = Erasure::new().with_records(move |kind, key, text| match kind {
        APPLICANTS => key == own,
        DOCUMENTS | AML_CASES => key.starts_with(&prefix),
        SHARE_TOKENS => is_share_token_of(text, &own),
        _ => is_entry_of(kind, key, &own),
    });
    match Filter::test(catalog, APPLICANT_ID, Operator::Equal, [id]) {
        Ok(filter) => erasure.with_cases(filter),
        Err(_) => erasure,
    }
}
