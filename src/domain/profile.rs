//! Operation 3 (preview by share token): creates and redeems share tokens, and returns the preview of a profile.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::copy::{View, copy};
use super::error::DomainError;
use super::members::Members;
use super::records::{APPLICANTS, Applicant, ApplicantKind, LEVELS, Level, SHARE_TOKENS, read};
use super::room::Room;
use super::schemas;
use crate::store::Store;

/// The stored record of a share token. A client with the token can preview the profile of one applicant until the token expires or
/// is redeemed. The key of the record is the hash of the token.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShareToken {
    applicant_id: String,
    /// The time at which the token expires, in milliseconds since the Unix epoch.
    expires_at_ms: i64,
    is_used: bool,
}

impl ShareToken {
    fn is_good(&self, now: DateTime<Utc>) -> bool {
        !self.is_used && now.timestamp_millis() < self.expires_at_ms
    }
}

/// Returns true for the record of a share token for the profile of this applicant.
pub(super) fn is_share_token_of(text: &str, applicant_id: &str) -> bool {
    serde_json::from_str::<ShareToken>(text).is_ok_and(|own| own.applicant_id == applicant_id)
}

/// Returns the hash under which a token is stored. Tokens are random, so one round of SHA-256 without a salt is enough.
fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Creates a share token for the profile of an applicant. The token is 256 random bits, in hexadecimal. It can be redeemed once,
/// within `lifetime`.
///
/// The store contains only the hash of the token. This call also removes expired tokens from the store.
///
/// ```
/// use casefilter::domain::{RecordKind, import_records, create_share_token, preview, redeem_share_token};
/// use casefilter::{Catalog, Store, StoreOptions};
/// use chrono::{DateTime, TimeDelta};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cases.db");
/// # let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
/// # let applicant = br#"{"id":"a1","type":"individual","info":{"lastName":"Jung"}}"#;
/// # import_records(&store, RecordKind::Applicants, |import| import.push(applicant))?;
/// let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default();
/// let token = create_share_token(&store, "a1", TimeDelta::hours(1), now)?;
/// assert_eq!(preview(&store, &token, now)?, r#"{"id":"a1","type":"individual","info":{"lastName":"Jung"}}"#);
/// assert_eq!(redeem_share_token(&store, &token, now)?, "a1");
/// assert!(preview(&store, &token, now).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`NotFound`](super::DomainErrorKind::NotFound) for an unknown applicant. Returns
/// [`Invalid`](super::DomainErrorKind::Invalid) if `lifetime` is not positive or too long. Returns an error if the store cannot be
/// read or written, or if the system cannot provide random numbers.
pub fn create_share_token(
    store: &Store,
    applicant_id: &str,
    lifetime: TimeDelta,
    now: DateTime<Utc>,
) -> Result<String, DomainError> {
    let expires = (lifetime > TimeDelta::zero()).then(|| now.checked_add_signed(lifetime)).flatten();
    let Some(expires) = expires else {
        return Err(DomainError::invalid("the lifetime of a share token ends in the past or never"));
    };
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|_| DomainError::no_random_numbers())?;
    let token = hex(&random);
    store.write_records(|records| {
        if records.get(APPLICANTS, applicant_id)?.is_none() {
            return Err(DomainError::no_applicant(applicant_id));
        }
        for (key, text) in records.with_prefix(SHARE_TOKENS, "")? {
            if read::<ShareToken>(store, &text)?.expires_at_ms <= now.timestamp_millis() {
                records.remove(SHARE_TOKENS, &key)?;
            }
        }
        let share = ShareToken {
            applicant_id: applicant_id.to_owned(),
            expires_at_ms: expires.timestamp_millis(),
            is_used: false,
        };
        records.put(SHARE_TOKENS, &hash(&token), &write(store, &share)?)?;
        Ok(())
    })?;
    Ok(token)
}

/// Marks a share token as used, on disk, and returns the id of its applicant. The host program calls this when it copies the
/// profile.
///
/// # Errors
/// Returns [`Unauthorized`](super::DomainErrorKind::Unauthorized) if the token is empty, unknown, expired or used. Returns an error
/// if the store cannot be read or written.
pub fn redeem_share_token(
    store: &Store,
    share_token: &str,
    now: DateTime<Utc>,
) -> Result<String, DomainError> {
    let key = hash(share_token);
    store.write_records(|records| {
        let text = records.get(SHARE_TOKENS, &key)?.ok_or_else(DomainError::unauthorized)?;
        let share: ShareToken = read(store, &text)?;
        if !share.is_good(now) {
            return Err(DomainError::unauthorized());
        }
        let share = ShareToken { is_used: true, ..share };
        records.put(SHARE_TOKENS, &key, &write(store, &share)?)?;
        Ok(share.applicant_id)
    })
}

fn write(store: &Store, value: &impl Serialize) -> Result<String, DomainError> {
    serde_json::to_string(value).map_err(|fault| store.corrupt_record(&fault.to_string()).into())
}

/// Returns the profile that belongs to a share token, as JSON: status and review data, without images. The token can still be used
/// afterwards.
///
/// The answer has only members that the interface document lists. If the record of the applicant has no `requiredIdDocs`, the
/// answer has the steps of its level for this type of applicant.
///
/// # Errors
/// Returns [`Unauthorized`](super::DomainErrorKind::Unauthorized) if the token is empty, unknown, expired or used. Returns an error
/// if the store cannot be read.
pub fn preview(store: &Store, share_token: &str, now: DateTime<Utc>) -> Result<String, DomainError> {
    preview_in(store, share_token, now, &|_| {}, &mut Room::new(&mut |_| true))
}

/// Like [`preview`], but within the memory budget `room`. Calls `note` with the id of the applicant of a valid token.
pub(crate) fn preview_in(
    store: &Store,
    share_token: &str,
    now: DateTime<Utc>,
    note: &dyn Fn(&str),
    room: &mut Room<'_>,
) -> Result<String, DomainError> {
    let records = store.records()?;
    let text = records.get(SHARE_TOKENS, &hash(share_token))?.ok_or_else(DomainError::unauthorized)?;
    let share: ShareToken = read(store, &text)?;
    if !share.is_good(now) {
        return Err(DomainError::unauthorized());
    }
    note(&share.applicant_id);
    // Three texts are in memory at the same time: the record, its visible members, and the answer.
    room.take(records.size(APPLICANTS, &share.applicant_id)?.saturating_mul(3))?;
    let text = records.get(APPLICANTS, &share.applicant_id)?.ok_or_else(DomainError::unauthorized)?;
    let corrupt =
        |fault: Box<crate::error::Error>| DomainError::from(store.corrupt_record(&fault.to_string()));
    let view = View { unknown: false, personal: true };
    let shown = copy(&text, &schemas::PREVIEW, view).map_err(corrupt)?;
    let mut shown = Members::read(&shown).map_err(corrupt)?;
    if shown.get("requiredIdDocs").is_none() {
        let applicant: Applicant = read(store, &text)?;
        let name = applicant.level_name();
        let size = name.map_or(Ok(0), |name| records.size(LEVELS, name))?;
        room.take(size.saturating_mul(3))?;
        if let Some(name) = name
            && let Some(level) = records.get(LEVELS, name)?
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
    write(store, &Required { doc_sets: steps.collect() })
}
