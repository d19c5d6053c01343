//! Creates share tokens, for the host and for clients, and removes expired share tokens.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::body::{Body, BodySchema, ValueKind, read_body};
use super::clients::{Clients, client_of};
use super::error::DomainError;
use super::records::{CLIENT_SHARE_TOKENS, PAGE_BYTES, SHARE_TOKENS, SHARE_TOKENS_BY_MAKER};
use super::share_token::{ShareToken, hash, hex, write};
use crate::store::{RecordWriter, Store};

/// The default lifetime of a share token that a client creates, in seconds.
const DEFAULT_LIFETIME_S: u64 = 3600;

/// The maximum lifetime of a share token that a client creates: 7 days, in seconds.
const MOST_LIFETIME_S: u64 = 7 * 24 * 3600;

/// The maximum number of share tokens that one app token can have at a time. A share token counts until it expires. A used share
/// token also counts for 24 hours after its creation, even if it has expired.
const MOST_TOKENS: usize = 1000;

/// The number of stored share tokens that are checked in each record kind when a new share token is created. Expired share tokens
/// are removed. The check includes the share tokens of all app tokens.
const SWEPT: usize = 64;

/// The body with which a client creates a share token. All members are optional.
static BODY: BodySchema = BodySchema {
    members: &[("forClientId", ValueKind::Id), ("ttlInSecs", ValueKind::Integer(1, MOST_LIFETIME_S))],
    clears: false,
};

/// Creates a share token for the profile of an applicant. The token is 256 random bits, in hexadecimal. It can be redeemed once,
/// within `lifetime`.
///
/// The store contains only the hash of the token. This call also removes expired tokens from the store, if it finds some.
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
/// [`Invalid`](super::DomainErrorKind::Invalid) if `lifetime` is not positive, or is too long. Returns an error if the store cannot
/// be read or written, or if the system cannot provide random numbers.
pub fn create_share_token(
    store: &Store,
    applicant_id: &str,
    lifetime: TimeDelta,
    now: DateTime<Utc>,
) -> Result<String, DomainError> {
    let expires = (lifetime > TimeDelta::zero()).then(|| now.checked_add_signed(lifetime)).flatten();
    let Some(expires) = expires else {
        return Err(DomainError::invalid("the lifetime of the share token is not positive, or is too long"));
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
    let key = hash(&token);
    store.write_records(|records| {
        let applicant = clients.find(records, applicant_id)?;
        let applicant = applicant.ok_or_else(|| DomainError::no_applicant(applicant_id))?;
        if let Some(maker) = maker
            && count_of(records, maker, now)? >= MOST_TOKENS
        {
            return Err(DomainError::too_many_share_tokens(MOST_TOKENS));
        }
        for kind in [SHARE_TOKENS, CLIENT_SHARE_TOKENS] {
            remove_expired(records, kind, &key, now)?;
        }
        let share = ShareToken {
            applicant_id: applicant_id.to_owned(),
            expires_at_ms: expires.timestamp_millis(),
            is_used: false,
            for_client: for_client.map(str::to_owned),
            maker: maker.map(str::to_owned),
            of_client: Some(client_of(&applicant).unwrap_or_default()),
            made_at_ms: Some(now.timestamp_millis()),
            copy: None,
        };
        let text = write(store, &share)?;
        match maker {
            None => records.put(SHARE_TOKENS, &key, &text)?,
            Some(maker) => {
                records.put(CLIENT_SHARE_TOKENS, &key, &text)?;
                records.put(SHARE_TOKENS_BY_MAKER, &entry_key(maker, &key), applicant_id)?
            }
        };
        Ok(())
    })?;
    Ok(token)
}

/// Returns the key of the index entry of a share token. `maker` identifies an app token. Each `maker` ends with `:` and contains no
/// other `:`. So each key begins with the `maker` of exactly one app token.
fn entry_key(maker: &str, key: &str) -> String {
    format!("{maker}{key}")
}

/// Returns the number of share tokens that count for the limit of an app token. A result below [`MOST_TOKENS`] may include share
/// tokens that no longer count. If the limit seems to be reached, removes the share tokens that no longer count. Reads no share
/// token of another app token.
fn count_of(records: &mut RecordWriter<'_>, maker: &str, now: DateTime<Utc>) -> Result<usize, DomainError> {
    let count = records.sizes(SHARE_TOKENS_BY_MAKER, maker)?.count;
    if count < MOST_TOKENS {
        return Ok(count);
    }
    let mut counting = 0_usize;
    for (entry, _) in records.with_prefix(SHARE_TOKENS_BY_MAKER, maker)? {
        let key = entry.get(maker.len()..).unwrap_or_default();
        match records.get(CLIENT_SHARE_TOKENS, key)? {
            Some(text) if !is_expired(&text, now) => counting = counting.saturating_add(1),
            Some(_) => remove(records, CLIENT_SHARE_TOKENS, key, Some(maker))?,
            None => drop(records.remove(SHARE_TOKENS_BY_MAKER, &entry)?),
        }
    }
    Ok(counting)
}

/// Removes the share tokens of one record kind that no longer [count](ShareToken::counts). Checks only [`SWEPT`] share tokens,
/// beginning after a random key. After the last share token of the kind, continues with the first. So repeated calls remove all
/// share tokens that no longer count.
fn remove_expired(
    records: &mut RecordWriter<'_>,
    kind: &str,
    random_key: &str,
    now: DateTime<Utc>,
) -> Result<(), DomainError> {
    let mut page = records.page_within(kind, Some(random_key), SWEPT, PAGE_BYTES)?;
    if page.len() < SWEPT {
        let most = SWEPT.saturating_sub(page.len());
        let first = records.page_within(kind, None, most, PAGE_BYTES)?;
        page.extend(first.into_iter().filter(|(key, _)| key.as_str() < random_key));
    }
    for (key, text) in page {
        if is_expired(&text, now) {
            let share = serde_json::from_str::<ShareToken>(&text).ok();
            remove(records, kind, &key, share.and_then(|share| share.maker).as_deref())?;
        }
    }
    Ok(())
}

/// Returns true if the text is the record of a share token that no longer [counts](ShareToken::counts). Returns false for a damaged
/// record, so that it is kept.
fn is_expired(text: &str, now: DateTime<Utc>) -> bool {
    serde_json::from_str::<ShareToken>(text).is_ok_and(|share| !share.counts(now))
}

/// Removes the record of a share token, and its index entry.
fn remove(
    records: &mut RecordWriter<'_>,
    kind: &str,
    key: &str,
    maker: Option<&str>,
) -> Result<(), DomainError> {
    records.remove(kind, key)?;
    if let Some(maker) = maker {
        records.remove(SHARE_TOKENS_BY_MAKER, &entry_key(maker, key))?;
    }
    Ok(())
}

/// Creates a share token for a client of the service, who sees only the applicants of `clients`. Returns the response as JSON: the
/// token, the client that it is for, and the time at which it expires. `maker` identifies the app token. If the body names a client
/// that the token is for, calls `note` with this client.
///
/// # Errors
/// Returns [`NotFound`](super::DomainErrorKind::NotFound) for an unknown applicant and for one of another client. Returns
/// [`Invalid`](super::DomainErrorKind::Invalid) for an invalid body, and [`TooMany`](super::DomainErrorKind::TooMany) if `maker`
/// has too many share tokens. Share tokens count if they have not expired, or if they were used and were created in the last 24
/// hours. Returns an error if the store cannot be read or written, or if the system cannot provide random numbers.
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
