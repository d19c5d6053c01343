//! Copies a profile: a client with a share token copies the profile of an applicant to a new applicant, which belongs to this
//! client.

use chrono::{DateTime, Utc};

use super::body::{Body, BodySchema, ValueKind, missing, read_body};
use super::clients::{Clients, index_applicant};
use super::error::DomainError;
use super::hits::{hits_of, list, without_reviewers};
use super::members::{Members, json_string};
use super::profile::profile;
use super::records::{
    AML_CASES, APPLICANTS, DOCUMENTS, LEVELS, PAGE_BYTES, PAGE_RECORDS, applicant_key, put_within_limit,
};
use super::room::Room;
use super::schemas::COPIED_FROM;
use super::share_token::{MadeCopy, MayShare, find, hex};
use crate::error::{Error, ErrorKind, Errors, Found};
use crate::json;
use crate::store::{RecordWriter, Store};

/// The body of a copy. All members are optional.
static BODY: BodySchema =
    BodySchema { members: &[("clientId", ValueKind::Id), ("shareToken", ValueKind::Secret)], clears: false };

/// The number of random bytes in the id of a copy.
const ID_BYTES: usize = 12;

/// The maximum total size of the records of a profile that can be copied, in bytes. All of these records are copied in one
/// transaction, for which other writes wait.
const MOST_BYTES: usize = 64 << 20;
/// The maximum number of records of a profile that can be copied.
const MOST_RECORDS: usize = 10_000;

/// A request for a copy.
pub(crate) struct CopyRequest<'r> {
    /// The share tokens in the query: a valid request has at most one.
    pub(crate) query_tokens: Vec<String>,
    pub(crate) body: &'r [u8],
    /// The clients that the app token is bound to.
    pub(crate) clients: Clients<'r>,
    pub(crate) may_share: &'r MayShare<'r>,
    pub(crate) now: DateTime<Utc>,
}

/// The ids of a copy, for the audit log.
pub(crate) struct CopyIds<'c> {
    pub(crate) applicant_id: &'c str,
    pub(crate) copy_id: &'c str,
    pub(crate) client_id: &'c str,
}

/// Copies the profile that belongs to a share token, and uses the token up. Returns the profile of the copy as JSON, in the form of
/// the preview. Calls `note` with three ids: the ids of the applicant, of the copy, and of the client that the copy belongs to.
///
/// The copy is an applicant with a new id. It belongs to the client that the body names, or to the only client of the caller. Its
/// record lists its origins, which no answer shows. The documents and AML cases are copied, without the names of those who reviewed
/// hits. The decisions on hits are copied without their `version`. So they do not count as reviews by a client, and an import can
/// replace them. One transaction stores the copy and marks the token as used. The transaction is on disk when the call returns. If
/// several concurrent calls use the same token, only one of them succeeds. The record of the used token has the ids of the copy and
/// of its client. If a client has not received the answer, the operator of the service can find the copy by this record.
/// # Errors
/// Returns [`Unauthorized`](super::DomainErrorKind::Unauthorized) if the share token is missing, unknown, expired, used, or for
/// another client. Also returns this error if the applicant was moved to another client after the share token was created. The same
/// error is returned if the app token that created the share token may no longer share the applicant. Returns
/// [`Invalid`](super::DomainErrorKind::Invalid) for an invalid body, and for a body without a client, unless the caller has only
/// one client. Also returns this error if the profile has more than [`MOST_RECORDS`] records, or if its records have more than
/// [`MOST_BYTES`] bytes in total. Returns an error if the store cannot be read or written, or if the system cannot provide random
/// numbers.
pub(crate) fn copy_profile_in(
    store: &Store,
    request: CopyRequest<'_>,
    note: &dyn Fn(&CopyIds<'_>),
    room: &mut Room<'_>,
) -> Result<String, DomainError> {
    let body = match request.body {
        b"" => Body::default(),
        body => read_body(body, &BODY, request.now.date_naive())?,
    };
    let client_id = client_of(&body, request.clients)?.to_owned();
    let share_token = share_token_of(&body, &request.query_tokens)?;
    let mut random = [0; ID_BYTES];
    getrandom::fill(&mut random).map_err(|_| DomainError::no_random_numbers())?;
    let copy_id = hex(&random);
    store.write_records(|records| {
        let found = find(store, share_token, |kind, key| records.get(kind, key))?;
        let share = &found.share;
        if !share.is_good(request.now) || !share.is_for_client(&client_id) {
            return Err(DomainError::unauthorized());
        }
        // The record, its copy, the bytes of the copy, and the answer are in memory at the same time.
        let applicant_bytes = records.size(APPLICANTS, &share.applicant_id)?;
        room.take(applicant_bytes.saturating_mul(4))?;
        let stored = records.get(APPLICANTS, &share.applicant_id)?.ok_or_else(DomainError::unauthorized)?;
        if !share.gives_access_to(&stored, request.may_share) {
            return Err(DomainError::unauthorized());
        }
        check_size(records, &share.applicant_id, applicant_bytes)?;
        let made = MadeCopy { applicant_id: copy_id.clone(), client_id: client_id.clone() };
        let applicant_id = found.use_up(store, records, Some(made))?;
        note(&CopyIds { applicant_id: &applicant_id, copy_id: &copy_id, client_id: &client_id });
        if records.get(APPLICANTS, &copy_id)?.is_some() {
            return Err(DomainError::no_random_numbers());
        }
        let corrupt = |fault: Box<Error>| DomainError::from(store.corrupt_record(&fault.to_string()));
        let mut applicant = Members::read(&stored).map_err(corrupt)?;
        applicant.set("id", json_string(&copy_id));
        applicant.set("clientId", json_string(&client_id));
        let origins = with_origin(&applicant, &applicant_id, request.now).map_err(corrupt)?;
        applicant.set(COPIED_FROM, origins);
        let applicant = applicant.to_json();
        put_within_limit(records, APPLICANTS, &copy_id, &applicant)?;
        index_applicant(records, &copy_id, None, &applicant)?;
        drop(stored);
        // Only the copied record of the applicant stays in memory, so the rest of the reserved memory can be used again.
        let reserved = applicant_bytes.saturating_mul(3);
        let mut copy =
            CopyOfRecords { store, applicant_id: &applicant_id, copy_id: &copy_id, records, reserved };
        copy.run(DOCUMENTS, "applicantId", room)?;
        copy.run(AML_CASES, "targetEntityId", room)?;
        profile(store, &applicant, |name| {
            let level = records.get(LEVELS, name)?;
            room.take(level.as_ref().map_or(0, String::len).saturating_mul(3))?;
            Ok(level)
        })
    })
}

/// Returns an error if a profile has too many records for a copy, or if its records are too large in total.
fn check_size(
    records: &mut RecordWriter<'_>,
    applicant_id: &str,
    applicant: usize,
) -> Result<(), DomainError> {
    let prefix = applicant_key(applicant_id, "");
    let (mut bytes, mut count) = (applicant, 1_usize);
    for kind in [DOCUMENTS, AML_CASES] {
        let sizes = records.sizes(kind, &prefix)?;
        bytes = bytes.saturating_add(sizes.all);
        count = count.saturating_add(sizes.count);
    }
    if bytes > MOST_BYTES || count > MOST_RECORDS {
        return Err(DomainError::invalid(format!(
            "the profile has {count} records with {bytes} bytes in total, and a copy may have at most {MOST_RECORDS} records with {MOST_BYTES} bytes; ask the operator for an export"
        )));
    }
    Ok(())
}

/// Returns the client for which the copy is made.
fn client_of<'b>(body: &'b Body, clients: Clients<'b>) -> Result<&'b str, Errors> {
    let expected = "the client that gets the copy";
    match (body.text("clientId"), clients) {
        (Some(client), clients) if clients.has(client) => Ok(client),
        (Some(client), _) => {
            let error = Error::new(ErrorKind::BadValue, 0, Found::text(client), "a client of the app token");
            Err(error.at("clientId").into())
        }
        (None, Clients::Only([client])) => Ok(client),
        (None, Clients::Only(_)) => {
            Err(missing("clientId", format!("{expected}: the app token is bound to several clients")))
        }
        (None, Clients::All) => {
            Err(missing("clientId", format!("{expected}: the app token is not bound to a client")))
        }
    }
}

/// Returns the share token, which is in the query or in the body.
fn share_token_of<'r>(body: &'r Body, query: &'r [String]) -> Result<&'r str, DomainError> {
    match (body.text("shareToken"), query) {
        (Some(token), []) => Ok(token),
        (None, [token]) => Ok(token),
        (Some(_), [_, ..]) => {
            let found = "a share token in the body and in the query";
            let error = Error::new(ErrorKind::DuplicateKey, 0, found, "one of them");
            Err(Errors::from(error.at("shareToken")).into())
        }
        (None, _) => Err(DomainError::unauthorized()),
    }
}

/// Returns the text of the list of origins of a copy: those of the profile, and the profile itself.
fn with_origin(applicant: &Members<'_>, applicant_id: &str, now: DateTime<Utc>) -> json::Result<String> {
    let mut origin = Members::default();
    origin.set("applicantId", json_string(applicant_id));
    origin.set("at", json_string(&now.format("%Y-%m-%d %H:%M:%S+0000").to_string()));
    let origin = origin.to_json();
    let before = applicant.get(COPIED_FROM).filter(|before| before.starts_with('['));
    let before = hits_of(before.unwrap_or("[]"))?;
    Ok(list(before.iter().map(|own| own.get()).chain([&*origin])))
}

/// Copies the records that belong to an applicant.
struct CopyOfRecords<'c, 'w> {
    store: &'c Store,
    applicant_id: &'c str,
    copy_id: &'c str,
    records: &'c mut RecordWriter<'w>,
    /// The number of reserved bytes that are not in use.
    reserved: usize,
}

impl CopyOfRecords<'_, '_> {
    /// Copies the records of a kind. `owner` is the member with the id of the applicant.
    fn run(&mut self, kind: &str, owner: &'static str, room: &mut Room<'_>) -> Result<(), DomainError> {
        let store = self.store;
        let corrupt = |fault: Box<Error>| DomainError::from(store.corrupt_record(&fault.to_string()));
        let prefix = applicant_key(self.applicant_id, "");
        let mut last = prefix.clone();
        loop {
            let page = self.records.page_within(kind, Some(&last), PAGE_RECORDS, PAGE_BYTES)?;
            let own = page.into_iter().take_while(|(key, _)| key.starts_with(&prefix)).collect::<Vec<_>>();
            let Some((key, _)) = own.last() else { return Ok(()) };
            last.clone_from(key);
            let bytes: usize = own.iter().map(|(_, text)| text.len()).fold(0, usize::saturating_add);
            // The page, the hits of one record, the new record, and the bytes of the new record are in memory at the same time. The
            // memory is used again for the next page.
            let needed = bytes.saturating_mul(4);
            room.take(needed.saturating_sub(self.reserved))?;
            self.reserved = self.reserved.max(needed);
            for (key, text) in &own {
                let Some(id) = key.strip_prefix(&prefix) else { continue };
                let mut record = Members::read(text).map_err(corrupt)?;
                record.set(owner, json_string(self.copy_id));
                if kind == AML_CASES
                    && let Some(hits) = record.get("hits")
                {
                    let hits = without_reviewers(hits).map_err(corrupt)?;
                    record.set("hits", hits);
                }
                let key = applicant_key(self.copy_id, id);
                put_within_limit(self.records, kind, &key, &record.to_json())?;
            }
        }
    }
}
