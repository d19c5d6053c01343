//! Erasure of an applicant: its records, and the cases that refer to it.

use serde::Deserialize;

use super::clients::is_entry_of;
use super::records::{
    AML_CASES, APPLICANTS, CLIENT_SHARE_TOKENS, DOCUMENTS, PAGE_BYTES, PAGE_RECORDS, SHARE_TOKENS,
    SHARE_TOKENS_BY_MAKER, applicant_key,
};
use super::schemas::COPIED_FROM;
use super::share_token::is_share_token_of;
use crate::catalog::Catalog;
use crate::error::Errors;
use crate::filter::Filter;
use crate::operator::Operator;
use crate::store::{Erasure, Store, StoreError};

/// The field of a case that has the id of its applicant.
const APPLICANT_ID: &str = "applicantReference.applicantId";

/// Returns the erasure of an applicant, for [`Store::erase`](crate::Store::erase): the record of the applicant, its documents, its
/// AML cases, its share tokens, its entries in the indexes, and all cases whose `applicantReference.applicantId` is this id.
///
/// Records of other applicants stay, even if they name this id. An example is a company that lists this applicant as a beneficiary.
/// Copies of the profile stay, too; [`copies_of_applicant`] finds them.
///
/// ```
/// use casefilter::domain::{RecordKind, erasure_of_applicant, import_records};
/// use casefilter::{Catalog, Durability, Store, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
/// let anna = r#"{"id":"anna","type":"individual"}"#;
/// import_records(&store, RecordKind::Applicants, |import| import.push(anna.as_bytes()))?;
/// store.upsert(br#"{"id":"c-1","applicantReference":{"applicantId":"anna"}}"#, Durability::Synced)?;
/// let erased = store.erase(&erasure_of_applicant(store.catalog(), "anna")?)?;
/// assert_eq!((erased.cases, erased.records), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if the catalogue has no visible field `applicantReference.applicantId`, because the cases of the applicant
/// cannot be found without it.
pub fn erasure_of_applicant(catalog: &Catalog, id: &str) -> Result<Erasure, Errors> {
    let prefix = applicant_key(id, "");
    let own = id.to_owned();
    let erasure = Erasure::new().with_records(move |kind, key, text| match kind {
        APPLICANTS => key == own,
        DOCUMENTS | AML_CASES => key.starts_with(&prefix),
        SHARE_TOKENS | CLIENT_SHARE_TOKENS => is_share_token_of(text, &own),
        SHARE_TOKENS_BY_MAKER => text == own,
        _ => is_entry_of(kind, key, &own),
    });
    let filter = Filter::test(catalog, APPLICANT_ID, Operator::Equal, [id])?;
    Ok(erasure.with_cases(filter))
}

/// Returns the ids of the applicants that are copies of an applicant, or copies of copies. The ids are sorted. An
/// [erasure](erasure_of_applicant) does not erase these applicants: they belong to the clients that made them.
///
/// Reads the records of all applicants.
///
/// ```
/// use casefilter::domain::{RecordKind, copies_of_applicant, import_records};
/// use casefilter::{Catalog, Store, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
/// // A client of the service makes such a record with a share token.
/// let copy = br#"{"id":"2b1c","type":"individual","copiedFrom":[{"applicantId":"anna","at":"2026-11-27 09:00:00+0000"}]}"#;
/// import_records(&store, RecordKind::Applicants, |import| import.push(copy))?;
/// assert_eq!(copies_of_applicant(&store, "anna")?, ["2b1c"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if the store cannot be read.
pub fn copies_of_applicant(store: &Store, id: &str) -> Result<Vec<String>, StoreError> {
    #[derive(Deserialize)]
    struct Copy {
        #[serde(rename = "copiedFrom")]
        copied_from: Option<Vec<Origin>>,
    }
    #[derive(Deserialize)]
    struct Origin {
        #[serde(rename = "applicantId")]
        applicant_id: String,
    }
    let is_copy = |text: &str| {
        // Most applicants are no copies, and need not be parsed. The key may be written with escapes.
        (text.contains(COPIED_FROM) || text.contains("\\u"))
            && serde_json::from_str::<Copy>(text)
                .is_ok_and(|copy| copy.copied_from.iter().flatten().any(|origin| origin.applicant_id == id))
    };
    let records = store.records()?;
    let (mut copies, mut last): (Vec<String>, Option<String>) = (Vec::new(), None);
    loop {
        let page = records.page_within(APPLICANTS, last.as_deref(), PAGE_RECORDS, PAGE_BYTES)?;
        copies.extend(page.iter().filter(|(_, text)| is_copy(text)).map(|(id, _)| id.clone()));
        match page.into_iter().next_back() {
            Some((id, _)) => last = Some(id),
            None => return Ok(copies),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Field, FieldType};

    #[test]
    fn a_catalogue_without_applicants_is_an_error() {
        let catalog = Catalog::new([Field::new("state", FieldType::String)]).unwrap();
        let error = erasure_of_applicant(&catalog, "anna").unwrap_err();
        assert!(error.to_string().contains(APPLICANT_ID), "{error}");
        assert!(erasure_of_applicant(&Catalog::cases(), "anna").is_ok());
    }
}
