//! Operation 3 (preview by share token): returns the preview of a profile.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::clients::Clients;
use super::copy::{View, copy};
use super::error::DomainError;
use super::members::Members;
use super::records::{APPLICANTS, Applicant, ApplicantKind, LEVELS, Level, read};
use super::room::Room;
use super::schemas;
use super::share_token::{MayShare, find};
use crate::store::Store;

/// Returns the profile that belongs to a share token, as JSON: status and review data, without images. The token can still be used
/// afterwards.
///
/// The answer has only members that the interface document lists. If the record of the applicant has no `requiredIdDocs`, the
/// answer has the steps of its level for this type of applicant.
///
/// A client of the [service](crate::service) can create a share token that only one client may use. Such a share token is invalid
/// here; see [`preview_for_client`].
///
/// # Errors
/// Returns [`Unauthorized`](super::DomainErrorKind::Unauthorized) if the token is empty, unknown, expired, used or for one client.
/// Also returns this error if the applicant was moved to another client after the token was created. Returns an error if the store
/// cannot be read.
pub fn preview(store: &Store, share_token: &str, now: DateTime<Utc>) -> Result<String, DomainError> {
    preview_as(store, share_token, Clients::Only(&[]), now)
}

/// Like [`preview`], for a caller who acts for a client: also accepts a share token that is for this client. See the example of
/// [`redeem_share_token_for_client`](super::redeem_share_token_for_client).
///
/// # Errors
/// Returns [`Unauthorized`](super::DomainErrorKind::Unauthorized) for a token that is for another client, and otherwise the errors
/// of [`preview`].
pub fn preview_for_client(
    store: &Store,
    share_token: &str,
    client_id: &str,
    now: DateTime<Utc>,
) -> Result<String, DomainError> {
    preview_as(store, share_token, Clients::Only(&[client_id.to_owned()]), now)
}

fn preview_as(
    store: &Store,
    share_token: &str,
    clients: Clients<'_>,
    now: DateTime<Utc>,
) -> Result<String, DomainError> {
    preview_in(store, share_token, (clients, &|_, _| true), now, &|_| {}, &mut Room::new(&mut |_| true))
}

/// Like [`preview`], but for a caller who acts for `clients`, and within the memory budget `room`. Calls `note` with the id of the
/// applicant of a valid token.
pub(crate) fn preview_in(
    store: &Store,
    share_token: &str,
    (clients, may_share): (Clients<'_>, &MayShare<'_>),
    now: DateTime<Utc>,
    note: &dyn Fn(&str),
    room: &mut Room<'_>,
) -> Result<String, DomainError> {
    let records = store.records()?;
    let share = find(store, share_token, |kind, key| records.get(kind, key))?.share;
    if !share.is_good(now) || !share.is_for(clients) {
        return Err(DomainError::unauthorized());
    }
    // Three texts are in memory at the same time: the record, its visible members, and the answer.
    room.take(records.size(APPLICANTS, &share.applicant_id)?.saturating_mul(3))?;
    let text = records.get(APPLICANTS, &share.applicant_id)?.ok_or_else(DomainError::unauthorized)?;
    if !share.gives_access_to(&text, may_share) {
        return Err(DomainError::unauthorized());
    }
    note(&share.applicant_id);
    profile(store, &text, |name| {
        room.take(records.size(LEVELS, name)?.saturating_mul(3))?;
        Ok(records.get(LEVELS, name)?)
    })
}

/// Returns the profile of the applicant whose record is `text`, as JSON. The function `level` returns the record of a level.
pub(super) fn profile(
    store: &Store,
    text: &str,
    level: impl FnOnce(&str) -> Result<Option<String>, DomainError>,
) -> Result<String, DomainError> {
    let corrupt =
        |fault: Box<crate::error::Error>| DomainError::from(store.corrupt_record(&fault.to_string()));
    let view = View { unknown: false, personal: true };
    let shown = copy(text, &schemas::PREVIEW, view).map_err(corrupt)?;
    let mut shown = Members::read(&shown).map_err(corrupt)?;
    if shown.get("requiredIdDocs").is_none() {
        let applicant: Applicant = read(store, text)?;
        if let Some(name) = applicant.level_name()
            && let Some(level) = level(name)?
        {
            let required = required_id_docs(store, &level, applicant.kind)?;
            shown.set("requiredIdDocs", copy(&required, &schemas::REQUIRED_ID_DOCS, view).map_err(corrupt)?);
        }
    }
    Ok(shown.to_json())
}

/// Returns the steps of a level that apply to applicants of a type. The text of each step is copied unchanged from the record of
/// the level.
fn required_id_docs(store: &Store, text: &str, kind: ApplicantKind) -> Result<String, DomainError> {
    #[derive(Deserialize)]
    struct Written<'t> {
        #[serde(rename = "docSets", borrow)]
        doc_sets: Vec<&'t RawValue>,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Required<'t> {
        doc_sets: Vec<&'t RawValue>,
    }
    let level: Level = read(store, text)?;
    let written: Written<'_> = read(store, text)?;
    let steps = level.steps().zip(written.doc_sets);
    let steps = steps.filter(|(step, _)| level.has_step_for(&step.name, kind)).map(|(_, text)| text);
    let required = Required { doc_sets: steps.collect() };
    serde_json::to_string(&required).map_err(|fault| store.corrupt_record(&fault.to_string()).into())
}
