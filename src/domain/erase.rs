//! Erasure of an applicant: its records, and the cases that refer to it.

use super::clients::is_entry_of;
use super::records::{AML_CASES, APPLICANTS, DOCUMENTS, SHARE_TOKENS, applicant_key};
use super::share_token::is_share_token_of;
use crate::catalog::Catalog;
use crate::error::Errors;
use crate::filter::Filter;
use crate::operator::Operator;
use crate::store::Erasure;

/// The field of a case that has the id of its applicant.
const APPLICANT_ID: &str = "applicantReference.applicantId";

/// Returns the erasure of an applicant, for [`Store::erase`](crate::Store::erase): the record of the applicant, its documents, its AML
/// cases, its share tokens, its entry in the index of clients, and all cases whose `applicantReference.applicantId` is this id.
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
/// let erased = store.erase(&erasure_of_applicant(store.catalog(), "anna")?)?;
/// assert_eq!((erased.cases, erased.records), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if the catalogue has no visible field `applicantReference.applicantId`: then nothing says which cases are those of
/// the applicant.
pub fn erasure_of_applicant(catalog: &Catalog, id: &str) -> Result<Erasure, Errors> {
    let prefix = applicant_key(id, "");
    let own = id.to_owned();
    let erasure = Erasure::new().with_records(move |kind, key, text| match kind {
        APPLICANTS => key == own,
        DOCUMENTS | AML_CASES => key.starts_with(&prefix),
        SHARE_TOKENS => is_share_token_of(text, &own),
        _ => is_entry_of(kind, key, &own),
    });
    let filter = Filter::test(catalog, APPLICANT_ID, Operator::Equal, [id])?;
    Ok(erasure.with_cases(filter))
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
