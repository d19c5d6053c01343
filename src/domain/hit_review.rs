//! The review of a hit of an AML case: a client sets its status, and the record says who has set it, and when.
//!
//! A review by a client has the members `reviewedBy` and `version`. The version is higher after each change of the review. An
//! import keeps a review by a client, unless the imported review is later; see [`merge_reviews`].

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;

use super::body::{BodySchema, ValueKind, missing, read_body};
use super::clients::Clients;
use super::copy::{View, copy};
use super::error::DomainError;
use super::hits::{hits_of, list};
use super::members::{Members, json_string};
use super::records::{AML_CASES, AmlHead, applicant_key, put_within_limit, read};
use super::room::Room;
use super::schemas::{HIT_REVIEW, MATCH_STATUSES, REVIEW_VERSION};
use crate::error::Error;
use crate::json;
use crate::store::Store;

/// The body of a review.
static BODY: BodySchema = BodySchema {
    members: &[
        ("amlCaseId", ValueKind::Id),
        ("hitId", ValueKind::Id),
        ("matchStatus", ValueKind::OneOf(MATCH_STATUSES)),
        ("whitelisted", ValueKind::Boolean),
        ("reviewerName", ValueKind::Name),
        ("ifVersion", ValueKind::Integer(0, MOST_VERSION)),
    ],
    clears: false,
};

/// The maximum version in a body. Programs that convert JSON numbers to 64-bit floating-point numbers represent all integers up to
/// this one exactly.
const MOST_VERSION: u64 = (1 << 53) - 1;

/// A request for a review.
pub(crate) struct ReviewRequest<'r> {
    pub(crate) applicant_id: &'r str,
    /// The clients that the app token is bound to.
    pub(crate) clients: Clients<'r>,
    pub(crate) body: &'r [u8],
    /// The name of the app token.
    pub(crate) token_name: &'r str,
    /// True if the app token may see who has reviewed a hit.
    pub(crate) sees_personal_data: bool,
    pub(crate) now: DateTime<Utc>,
}

/// Sets the review of a hit, and returns it as JSON, with the ids of the AML case and of the hit. Calls `note` with these ids.
///
/// The body has `amlCaseId` and `hitId`, and at least one of `matchStatus` and `whitelisted`. If the body lacks one of the last
/// two, the review keeps the value of this member. `modifiedAt` of the review becomes `now`. `reviewedBy` becomes the name of the
/// app token. `reviewerName` becomes the name of the reviewer in the body, or the name of the app token if the body has no
/// `reviewerName`. Concurrent reviews are serialized. If the body has `ifVersion`, the review must still have this version. A hit
/// without a review, or with a review without a version, has the version 0. The change is on disk when the call returns.
///
/// # Errors
/// Returns [`NotFound`](super::DomainErrorKind::NotFound) if the applicant, the active AML case or the hit is unknown. Returns
/// [`Invalid`](super::DomainErrorKind::Invalid) for an invalid body, and if the record would become too large;
/// [`Conflict`](super::DomainErrorKind::Conflict) if the review has another version. Returns an error if the store cannot be read
/// or written.
pub(crate) fn review_hit_in(
    store: &Store,
    request: &ReviewRequest<'_>,
    note: &dyn Fn(&str, &str),
    room: &mut Room<'_>,
) -> Result<String, DomainError> {
    let body = read_body(request.body, &BODY, request.now.date_naive())?;
    let case_id = body.text("amlCaseId").ok_or_else(|| missing("amlCaseId", "the `id` of the AML case"))?;
    let hit_id = body.text("hitId").ok_or_else(|| missing("hitId", "the `id` of a hit of the AML case"))?;
    let (status, whitelisted) = (body.text("matchStatus"), body.boolean("whitelisted"));
    if status.is_none() && whitelisted.is_none() {
        return Err(missing("matchStatus", "`matchStatus`, `whitelisted`, or both").into());
    }
    note(case_id, hit_id);
    store.write_records(|records| {
        request.clients.find(records, request.applicant_id)?.ok_or_else(DomainError::no_aml_case)?;
        let key = applicant_key(request.applicant_id, case_id);
        // The record, its new hits, the new record, and the bytes of the new record are in memory at the same time.
        room.take(records.size(AML_CASES, &key)?.saturating_mul(4))?;
        let text = records.get(AML_CASES, &key)?.ok_or_else(DomainError::no_aml_case)?;
        let head: AmlHead = read(store, &text)?;
        if head.active == Some(false) {
            return Err(DomainError::no_aml_case());
        }
        let corrupt = |fault: Box<Error>| DomainError::from(store.corrupt_record(&fault.to_string()));
        let mut case = Members::read(&text).map_err(corrupt)?;
        let hits = hits_of(case.get("hits").unwrap_or("null")).map_err(corrupt)?;
        let mut found = None;
        for (at, hit) in hits.iter().enumerate() {
            let hit = Members::read(hit.get()).map_err(corrupt)?;
            if hit.string("id").as_deref() == Some(hit_id) {
                found = Some((at, hit));
                break;
            }
        }
        let (at, mut hit) = found.ok_or_else(|| DomainError::no_hit(hit_id))?;
        let review = review_of(&hit).unwrap_or("{}").to_owned();
        let mut review = Members::read(&review).map_err(corrupt)?;
        let version = version_of(&review).unwrap_or_default();
        if let Some(expected) = body.integer("ifVersion").filter(|expected| *expected != version) {
            return Err(DomainError::other_version(hit_id, expected, version));
        }
        if let Some(status) = status {
            review.set("matchStatus", json_string(status));
        }
        if let Some(whitelisted) = whitelisted {
            review.set("whitelisted", whitelisted.to_string());
        }
        review.set("modifiedAt", json_string(&request.now.format("%Y-%m-%d %H:%M:%S").to_string()));
        let reviewer = body.text("reviewerName").unwrap_or(request.token_name);
        review.set("reviewerName", json_string(reviewer));
        review.set("reviewedBy", json_string(request.token_name));
        review.set(REVIEW_VERSION, version.saturating_add(1).min(MOST_VERSION).to_string());
        let review = review.to_json();
        hit.set("review", review.clone());
        let hit = hit.to_json();
        let texts = hits.iter().enumerate().map(|(own, text)| if own == at { &*hit } else { text.get() });
        let hits = list(texts);
        case.set("hits", hits);
        put_within_limit(records, AML_CASES, &key, &case.to_json())?;
        let view = View { unknown: true, personal: request.sees_personal_data };
        let mut answer = Members::default();
        answer.set("amlCaseId", json_string(case_id));
        answer.set("hitId", json_string(hit_id));
        answer.set("review", copy(&review, &HIT_REVIEW, view).map_err(corrupt)?);
        Ok(answer.to_json())
    })
}

/// Returns the text of the review of a hit. Returns `None` if the hit has none.
fn review_of<'h>(hit: &'h Members<'_>) -> Option<&'h str> {
    hit.get("review").filter(|review| review.starts_with('{'))
}

/// Returns the version of a review. Returns `None` if it has none.
fn version_of(review: &Members<'_>) -> Option<u64> {
    review.get(REVIEW_VERSION)?.parse().ok()
}

/// The result of merging an imported AML case with the reviews of clients.
#[derive(Default)]
pub(super) struct MergedReviews {
    /// The merged record, as text to store.
    pub(super) text: String,
    /// The ids of the hits that keep the review of a client, although the import has another review.
    pub(super) kept: Vec<String>,
    /// The ids of the hits that get the review of the import, because it is later.
    pub(super) replaced: Vec<String>,
    /// The ids of the hits that a client had reviewed, and that were removed, because the import lacks them.
    pub(super) removed: Vec<String>,
}

/// A stored review that has a version.
struct Stored {
    text: String,
    version: u64,
    /// True if a client has made the review. False if the review is from an import. An imported review has a `version` if it
    /// replaced a review by a client. It also has one if the imported data has a member `version`.
    is_of_client: bool,
}

/// Merges an imported AML case with the reviews that clients have made of the hits of the stored AML case. Returns `None` if no
/// stored review has a version.
///
/// A review of a client is replaced only by a review with a later `modifiedAt`. A hit that remains keeps its version, or gets a
/// higher one if its review changes. So a client that has read the earlier review gets an error for its `ifVersion`. Hits that the
/// import lacks are removed with their reviews.
///
/// # Errors
/// Returns an error if one of the records is not an object.
pub(super) fn merge_reviews(stored: &str, incoming: &str) -> json::Result<Option<MergedReviews>> {
    // Most AML cases were never reviewed here, and need not be parsed. The key may be written with escapes.
    if !stored.contains(REVIEW_VERSION) && !stored.contains("\\u") {
        return Ok(None);
    }
    let before = Members::read(stored)?;
    let mut reviews = HashMap::new();
    for hit in hits_of(before.get("hits").unwrap_or("null"))? {
        let hit = Members::read(hit.get())?;
        let (Some(id), Some(text)) = (hit.string("id"), review_of(&hit)) else { continue };
        let review = Members::read(text)?;
        if let Some(version) = version_of(&review) {
            let is_of_client = review.string("reviewedBy").is_some();
            reviews.entry(id).or_insert_with(|| Stored { text: text.to_owned(), version, is_of_client });
        }
    }
    if reviews.is_empty() {
        return Ok(None);
    }
    let mut after = Members::read(incoming)?;
    let hits = after.get("hits").unwrap_or("null").to_owned();
    let mut merged = MergedReviews::default();
    let mut texts = Vec::new();
    for text in hits_of(&hits)? {
        texts.push(merge_hit(text, &mut reviews, &mut merged)?);
    }
    if !texts.is_empty() {
        after.set("hits", list(texts.iter().map(String::as_str)));
    }
    merged.text = after.to_json();
    let removed = reviews.into_iter().filter(|(_, review)| review.is_of_client);
    merged.removed = removed.map(|(id, _)| id).collect();
    merged.removed.sort_unstable();
    Ok(Some(merged))
}

/// Returns the text of an imported hit. It has the stored review by a client, unless the imported review is later. The version of
/// its review is never lower than the stored version.
fn merge_hit(
    text: &RawValue,
    reviews: &mut HashMap<String, Stored>,
    merged: &mut MergedReviews,
) -> json::Result<String> {
    let mut hit = Members::read(text.get())?;
    let Some(id) = hit.string("id") else { return Ok(text.get().to_owned()) };
    let Some(own) = reviews.remove(&id) else { return Ok(text.get().to_owned()) };
    let incoming = review_of(&hit).unwrap_or("{}").to_owned();
    if own.text == incoming {
        return Ok(text.get().to_owned());
    }
    let mut before = Members::read(&own.text)?;
    let mut review = Members::read(&incoming)?;
    // Times are stored in UTC, in a form in which the order of the texts is the order of the times.
    if own.is_of_client && review.string("modifiedAt") <= before.string("modifiedAt") {
        merged.kept.push(id);
        hit.set("review", own.text);
        return Ok(hit.to_json());
    }
    let version = version_of(&review);
    before.remove(REVIEW_VERSION);
    review.remove(REVIEW_VERSION);
    // If the import has the same review again, the version does not increase, unless the import has a higher version.
    let least = match before.to_json() == review.to_json() {
        true => own.version,
        false => own.version.saturating_add(1).min(MOST_VERSION),
    };
    review.set(REVIEW_VERSION, version.unwrap_or_default().max(least).to_string());
    if own.is_of_client {
        merged.replaced.push(id);
    }
    hit.set("review", review.to_json());
    Ok(hit.to_json())
}
