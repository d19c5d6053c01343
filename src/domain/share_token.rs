//! Share tokens: creates them, for the host and for clients, and redeems them.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::body::{Body, BodySchema, ValueKind, read_body};
use super::clients::{Clients, client_of};
use super::error::DomainError;
use super::records::{APPLICANTS, PAGE_BYTES, PAGE_RECORDS, SHARE_TOKENS, read};
use crate::store::{RecordWrite, Store};

/// The default lifetime of a share token that a client creates, in seconds.
const DEFAULT_LIFETIME_S: u64 = 3600;

/// The maximum lifetime of such a token: 7 days.
const MOST_LIFETIME_S: u64 = 7 * 24 * 3600;

/// The time after its creation for which a used share token counts for [`MOST_TOKENS`], even if it has expired: a day, in
/// milliseconds. Without this time, an app token could make any number of copies with short-lived share tokens.
const USED_COUNTS_MS: i64 = 24 * 3600 * 1000;

/// The maximum number of share tokens that one app token has created and that count: those that have not expired, and those that were
/// used and created within a day. Each creation reads the records of all share tokens.
const MOST_TOKENS: usize = 1000;

/// The body with which a client creates a share token. All members are optional.
static BODY: BodySchema = BodySchema {
    members: &[("forClientId", ValueKind::Id), ("ttlInSecs", ValueKind::Integer(1, MOST_LIFETIME_S))],
    clears: false,
};

/// The stored record of a share token. A client with the token can preview the profile of one applicant until the token expires or
/// is redeemed. The key of the record is the hash of the token.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShareToken {
    pub(super) applicant_id: String,
    /// The time at which the token expires, in milliseconds since the Unix epoch.
    expires_at_ms: i64,
    is_used: bool,
    /// The only client that may use the token. `None` if every client may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    for_client: Option<String>,
    /// The text that identifies the app token that created the share token. `None` if the host or an operator has created the share
    /// token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    maker: Option<String>,
    /// The client of the applicant when the token was created, or an empty text if the applicant had none. `None` in records of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of_client: Option<String>,
    /// The time of creation, in milliseconds since the Unix epoch. `None` in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_at_ms: Option<i64>,
}

impl ShareToken {
    pub(super) fn is_good(&self, now: DateTime<Utc>) -> bool {
        !self.is_used && now.timestamp_millis() < self.expires_at_ms
    }

    /// Returns true if the token counts for the limit of its maker. Otherwise, its record is no longer needed.
    fn counts(&self, now: DateTime<Utc>) -> bool {
        let now = now.timestamp_millis();
        let counts_until = self.made_at_ms.filter(|_| self.is_used && self.maker.is_some());
        let counts_until = counts_until.map(|made| made.saturating_add(USED_COUNTS_MS));
        now < self.expires_at_ms || counts_until.is_some_and(|until| now < until)
    }

    /// Returns true if the applicant with this record still belongs to the client to which it belonged when the token was created. A
    /// client whose applicant was moved to another client must not keep access to it.
    pub(super) fn is_of_client_of(&self, applicant: &str) -> bool {
        self.of_client.as_deref().is_none_or(|own| client_of(applicant).unwrap_or_default() == own)
    }

    /// Returns true if a caller who acts for `clients` may use the token.
    pub(super) fn is_for(&self, clients: Clients<'_>) -> bool {
        self.for_client.as_deref().is_none_or(|client| clients.has(client))
    }

    /// Marks the token as used, and returns the id of its applicant. `key` is the key of its record.
    pub(super) fn use_up(
        self,
        store: &Store,
        records: &mut RecordWrite<'_>,
        key: &str,
    ) -> Result<String, DomainError> {
        let share = Self { is_used: true, ..self };
        records.put(SHARE_TOKENS, key, &write(store, &share)?)?;
        Ok(share.applicant_id)
    }

    /// Returns true if the token may be used for this client.
    pub(super) fn is_for_client(&self, client: &str) -> bool {
        self.for_client.as_deref().is_none_or(|own| own == client)
    }
}

/// Returns true for the record of a share token for the profile of this applicant.
pub(super) fn is_share_token_of(text: &str, applicant_id: &str) -> bool {
    serde_json::from_str::<ShareToken>(text).is_ok_and(|own| own.applicant_id == applicant_id)
}

/// Returns the hash under which a token is stored. Tokens are random, so one round of SHA-256 without a salt is enough.
pub(super) fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

pub(super) fn hex(bytes: &[u8]) -> String {
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
    store_new(store, applicant_id, Clients::All, (now, expires), (None, None))
}

/// Stores a new share token, and returns it. `for_client` and `maker` are the members of its record.
fn store_new(
    store: &Store,
    applicant_id: &str,
    clients: Clients<'_>,
    (now, expires): (DateTime<Utc>, DateTime<Utc>),
    (for_client, maker): (Option<&str>, Option<&str>),
) -> Result<String, DomainError> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|_| DomainError::no_random_numbers())?;
    let token = hex(&random);
    store.write_records(|records| {
        let applicant = clients.find(records, applicant_id)?;
        let applicant = applicant.ok_or_else(|| DomainError::no_applicant(applicant_id))?;
        let live_of_maker = remove_expired(store, records, now, maker)?;
        if maker.is_some() && live_of_maker >= MOST_TOKENS {
            return Err(DomainError::too_many_share_tokens(MOST_TOKENS));
        }
        let share = ShareToken {
            applicant_id: applicant_id.to_owned(),
            expires_at_ms: expires.timestamp_millis(),
            is_used: false,
            for_client: for_client.map(str::to_owned),
            maker: maker.map(str::to_owned),
            of_client: Some(client_of(&applicant).unwrap_or_default()),
            made_at_ms: Some(now.timestamp_millis()),
        };
        records.put(SHARE_TOKENS, &hash(&token), &write(store, &share)?)?;
        Ok(())
    })?;
    Ok(token)
}

/// Removes the records of share tokens that no longer count. Returns the number of the other ones that `maker` has created.
fn remove_expired(
    store: &Store,
    records: &mut RecordWrite<'_>,
    now: DateTime<Utc>,
    maker: Option<&str>,
) -> Result<usize, DomainError> {
    let (mut last, mut live): (Option<String>, usize) = (None, 0);
    loop {
        let page = records.page_within(SHARE_TOKENS, last.as_deref(), PAGE_RECORDS, PAGE_BYTES)?;
        for (key, text) in &page {
            let share: ShareToken = read(store, text)?;
            if !share.counts(now) {
                records.remove(SHARE_TOKENS, key)?;
            } else if share.maker.as_deref() == maker {
                live = live.saturating_add(1);
            }
        }
        match page.into_iter().next_back() {
            Some((key, _)) => last = Some(key),
            None => return Ok(live),
        }
    }
}

/// Creates a share token for a client of the service, who sees only the applicants of `clients`. Returns the response as JSON: the
/// token, the client that it is for, and the time at which it expires. `maker` identifies the app token. If the body names a client
/// that the token is for, calls `note` with this client.
///
/// # Errors
/// Returns [`NotFound`](super::DomainErrorKind::NotFound) for an unknown applicant and for one of another client. Returns
/// [`Invalid`](super::DomainErrorKind::Invalid) for an invalid body. Returns [`TooMany`](super::DomainErrorKind::TooMany) if
/// `maker` has too many share tokens that [count](MOST_TOKENS). Returns an error if the store cannot be read or written, or if the
/// system cannot provide random numbers.
pub(crate) fn share_profile_in(
    store: &Store,
    applicant_id: &str,
    (clients, maker): (Clients<'_>, &str),
    (body, now): (&[u8], DateTime<Utc>),
    note: &dyn Fn(&str),
) -> Result<String, DomainError> {
    let body = match body {
        b"" => Body::default(),
        body => read_body(body, &BODY, now.date_naive())?,
    };
    let for_client = body.text("forClientId");
    for_client.into_iter().for_each(note);
    let lifetime_s = body.integer("ttlInSecs").unwrap_or(DEFAULT_LIFETIME_S);
    let expires = i64::try_from(lifetime_s).ok().and_then(TimeDelta::try_seconds);
    let expires = expires.and_then(|lifetime| now.checked_add_signed(lifetime));
    let expires = expires.ok_or_else(|| DomainError::invalid("the token would never expire"))?;
    let token = store_new(store, applicant_id, clients, (now, expires), (for_client, Some(maker)))?;
    let made = MadeToken {
        token: &token,
        for_client_id: for_client,
        expires_at: expires.format("%Y-%m-%d %H:%M:%S+0000").to_string(),
    };
    write(store, &made)
}

/// The response to a client that has created a share token.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MadeToken<'t> {
    token: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    for_client_id: Option<&'t str>,
    expires_at: String,
}

/// Marks a share token as used, on disk, and returns the id of its applicant. The host program calls this when it copies the
/// profile.
///
/// # Errors
/// Returns [`Unauthorized`](super::DomainErrorKind::Unauthorized) if the token is empty, unknown, expired or used, or if the
/// applicant was moved to another client since. Returns an error if the store cannot be read or written.
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
        let applicant = records.get(APPLICANTS, &share.applicant_id)?;
        if applicant.is_some_and(|applicant| !share.is_of_client_of(&applicant)) {
            return Err(DomainError::unauthorized());
        }
        share.use_up(store, records, &key)
    })
}

fn write(store: &Store, value: &impl Serialize) -> Result<String, DomainError> {
    serde_json::to_string(value).map_err(|fault| store.corrupt_record(&fault.to_string()).into())
}
