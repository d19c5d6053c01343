//! The extracted data of a company (`info.companyInfo`): reads and changes it.

use chrono::{DateTime, Utc};

use super::body::{BodySchema, ValueKind, read_body};
use super::changes::{OF_COMPANY, mark_changed};
use super::clients::Clients;
use super::copy::{View, copy};
use super::error::DomainError;
use super::members::{Members, json_string};
use super::records::{APPLICANTS, put_within_limit};
use super::room::Room;
use super::schemas::{COMPANY, COMPANY_INFO};
use crate::error::Error;
use crate::json;
use crate::store::Store;

/// The body of an update. Its members are those of [`COMPANY_FIELDS`](super::changes::COMPANY_FIELDS).
static BODY: BodySchema = BodySchema {
    members: &[
        ("companyName", ValueKind::Text),
        ("registrationNumber", ValueKind::Text),
        ("country", ValueKind::Country),
        ("legalAddress", ValueKind::Text),
        ("incorporatedOn", ValueKind::PastDate),
        ("type", ValueKind::Text),
        ("taxId", ValueKind::Text),
        ("email", ValueKind::Text),
        ("phone", ValueKind::Text),
        ("website", ValueKind::Text),
    ],
    clears: true,
};

/// Returns the extracted data of a company as JSON, for a caller who sees only the applicants of `clients`.
///
/// If `sees_personal_data` is false, the answer has no `email` and no `phone`. It then also lacks all members that this library
/// does not know, because they may name persons.
///
/// # Errors
/// Returns [`NotFound`](super::DomainErrorKind::NotFound) for an applicant that is unknown or not a company. Returns an error if
/// the store cannot be read.
pub(crate) fn company_info_in(
    store: &Store,
    applicant_id: &str,
    clients: Clients<'_>,
    sees_personal_data: bool,
    room: &mut Room<'_>,
) -> Result<String, DomainError> {
    let unknown = || DomainError::no_applicant(applicant_id);
    let records = store.records()?;
    if !clients.list(&records, applicant_id)? {
        return Err(unknown());
    }
    // The record, its members, and the answer are in memory at the same time.
    room.take(records.size(APPLICANTS, applicant_id)?.saturating_mul(3))?;
    let text = clients.get(&records, applicant_id)?.ok_or_else(unknown)?;
    let corrupt = |fault: Box<Error>| DomainError::from(store.corrupt_record(&fault.to_string()));
    let applicant = Members::read(&text).map_err(corrupt)?;
    if !is_company(&applicant) {
        return Err(DomainError::no_company(applicant_id));
    }
    let info = Members::read(object(&applicant, "info")).map_err(corrupt)?;
    shown(object(&info, COMPANY_INFO), sees_personal_data).map_err(corrupt)
}

/// Returns the data of a company for a caller. Leaves out known members that are not strings: an earlier version may have stored
/// them without checking them.
fn shown(company: &str, sees_personal_data: bool) -> json::Result<String> {
    let mut company = Members::read(company)?;
    for member in COMPANY.members {
        if company.get(member.name).is_some_and(|value| !value.starts_with('"')) {
            company.remove(member.name);
        }
    }
    let view = View { unknown: sees_personal_data, personal: sees_personal_data };
    copy(&company.to_json(), &COMPANY, view)
}

/// Changes the extracted data of a company, and returns it as JSON. The caller sees only the applicants of `clients`, and only the
/// members that [`company_info_in`] shows.
///
/// The body is an object with at least one known member. `null` clears a member. The change is on disk when the call returns.
/// The record stores `now` as the time of change of each changed member. An import replaces such a member only with later data.
///
/// # Errors
/// Returns [`Invalid`](super::DomainErrorKind::Invalid) for an applicant that is unknown or not a company, and for an invalid body.
/// Also returns this error if the stored `companyInfo` is not an object, or if the record would become too large. Returns an error
/// if the store cannot be read or written.
pub(crate) fn update_company_info_in(
    store: &Store,
    applicant_id: &str,
    (clients, sees_personal_data): (Clients<'_>, bool),
    (body, now): (&[u8], DateTime<Utc>),
    room: &mut Room<'_>,
) -> Result<String, DomainError> {
    let body = read_body(body, &BODY, now.date_naive())?;
    store.write_records(|records| {
        let invalid = |why: &str| DomainError::invalid_applicant(applicant_id, why);
        let text = clients.find(records, applicant_id)?.ok_or_else(|| invalid(""))?;
        // The record, its changed data, the new record, and the bytes of the new record are in memory at the same time.
        room.take(text.len().saturating_mul(4))?;
        let corrupt = |fault: Box<Error>| DomainError::from(store.corrupt_record(&fault.to_string()));
        let mut applicant = Members::read(&text).map_err(corrupt)?;
        if !is_company(&applicant) {
            return Err(invalid(": an individual, whose data this operation does not change"));
        }
        let mut info = Members::read(object(&applicant, "info")).map_err(corrupt)?;
        if info.get(COMPANY_INFO).is_some_and(|value| value != "null" && !value.starts_with('{')) {
            return Err(invalid(": its `companyInfo` is not an object; import the applicant again"));
        }
        let mut company = Members::read(object(&info, COMPANY_INFO)).map_err(corrupt)?;
        for (name, value) in body.changes() {
            match value {
                Some(value) => company.set(name, json_string(value)),
                None => company.remove(name),
            }
        }
        let company = company.to_json();
        let answer = shown(&company, sees_personal_data).map_err(corrupt)?;
        info.set(COMPANY_INFO, company);
        let info = info.to_json();
        applicant.set("info", info);
        let changed = body.changes().map(|(name, _)| name);
        mark_changed(&mut applicant, &OF_COMPANY, changed, now).map_err(corrupt)?;
        let applicant = applicant.to_json();
        put_within_limit(records, APPLICANTS, applicant_id, &applicant)?;
        Ok(answer)
    })
}

fn is_company(applicant: &Members<'_>) -> bool {
    applicant.string("type").as_deref() == Some("company")
}

/// Returns the text of a member that is an object. Returns an empty object if the member is absent or not an object.
fn object<'m>(of: &'m Members<'_>, name: &str) -> &'m str {
    of.get(name).filter(|value| value.starts_with('{')).unwrap_or("{}")
}
