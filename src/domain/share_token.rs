//! The record of a share token: finds it, checks it, and marks it as used.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::clients::{Clients, client_of};
use super::error::DomainError;
use super::records::{APPLICANTS, CLIENT_SHARE_TOKENS, SHARE_TOKENS, read};
use crate::store::{RecordWriter, Store, StoreError};

/// The time for which a used share token counts towards the maximum number of share tokens, even if it has expired. The value is a
/// day, in milliseconds, counted from the creation of the share token. Without this time, an app token could make any number of
/// copies with short-lived share tokens.
const USED_COUNTS_MS: i64 = 24 * 3600 * 1000;

/// A function that takes two texts: the [`maker`](ShareToken::maker) of a share token, and a client. It returns true if the app
/// token that `maker` identifies may still share the applicants of the client. Share tokens that the app token has created are
/// valid only as long as the function returns true. The client is empty for an applicant without a client.
pub(crate) type MayShare<'f> = dyn Fn(&str, &str) -> bool + 'f;

/// The stored record of a share token. A client with the token can preview the profile of one applicant until the token expires or
/// is redeemed. The key of the record is the hash of the token.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShareToken {
    pub(super) applicant_id: String,
    /// The time at which the token expires, in milliseconds since the Unix epoch.
    pub(super) expires_at_ms: i64,
    pub(super) is_used: bool,
    /// The only client that may use the token. `None` if every client may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) for_client: Option<String>,
    /// A text that identifies the app token that created the share token. `None` if the host or an operator has created the share
    /// token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) maker: Option<String>,
    /// The client of the applicant when the token was created, or an empty text if the applicant had none. `None` in records of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) of_client: Option<String>,
    /// The time of creation, in milliseconds since the Unix epoch. `None` in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) made_at_ms: Option<i64>,
    /// The copy that was made with the token. `None` if the token was not used, or if the host used it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) copy: Option<MadeCopy>,
}

/// The copy of a profile that was made with a share token.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MadeCopy {
    pub(super) applicant_id: String,
    pub(super) client_id: String,
}

/// A share token that was found in a store.
pub(super) struct Found {
    pub(super) share: ShareToken,
    kind: &'static str,
    key: String,
}

/// Finds the record of a share token. `get` takes a record kind and a key, and reads the record.
///
/// # Errors
/// Returns [`Unauthorized`](super::DomainErrorKind::Unauthorized) for an unknown token. Returns an error if the store cannot be
/// read.
pub(super) fn find(
    store: &Store,
    token: &str,
    mut get: impl FnMut(&str, &str) -> Result<Option<String>, StoreError>,
) -> Result<Found, DomainError> {
    let key = hash(token);
    for kind in [CLIENT_SHARE_TOKENS, SHARE_TOKENS] {
        if let Some(text) = get(kind, &key)? {
            return Ok(Found { share: read(store, &text)?, kind, key });
        }
    }
    Err(DomainError::unauthorized())
}

impl ShareToken {
    pub(super) fn is_good(&self, now: DateTime<Utc>) -> bool {
        !self.is_used && now.timestamp_millis() < self.expires_at_ms
    }

    /// Returns true if the token counts for the limit of its maker. If false, the record of the token is no longer needed.
    pub(super) fn counts(&self, now: DateTime<Utc>) -> bool {
        let now = now.timestamp_millis();
        let counts_until = self.made_at_ms.filter(|_| self.is_used && self.maker.is_some());
        let counts_until = counts_until.map(|made| made.saturating_add(USED_COUNTS_MS));
        now < self.expires_at_ms || counts_until.is_some_and(|until| now < until)
    }

    /// Returns true if the token still gives access to the applicant with this record. The applicant must still belong to the
    /// client to which it belonged when the token was created. If an app token created the share token, this app token must still
    /// be allowed to share the applicant. Without these conditions, a client would keep access to an applicant that was moved to
    /// another client. The holder of a revoked app token would keep access, too.
    pub(super) fn gives_access_to(&self, applicant: &str, may_share: &MayShare<'_>) -> bool {
        let client = client_of(applicant).unwrap_or_default();
        self.of_client.as_deref().is_none_or(|own| own == client)
            && self.maker.as_deref().is_none_or(|maker| may_share(maker, &client))
    }

    /// Returns true if a caller who acts for `clients` may use the token.
    pub(super) fn is_for(&self, clients: Clients<'_>) -> bool {
        self.for_client.as_deref().is_none_or(|client| clients.has(client))
    }

    /// Returns true if the token may be used for this client.
    pub(super) fn is_for_client(&self, client: &str) -> bool {
        self.for_client.as_deref().is_none_or(|own| own == client)
    }
}

impl Found {
    /// Marks the token as used, and returns the id of its applicant.
    pub(super) fn use_up(
        self,
        store: &Store,
        records: &mut RecordWriter<'_>,
        copy: Option<MadeCopy>,
    ) -> Result<String, DomainError> {
        let share = ShareToken { is_used: true, copy, ..self.share };
        records.put(self.kind, &self.key, &write(store, &share)?)?;
        Ok(share.applicant_id)
    }
}

/// Returns true if the text is the record of a share token that names the applicant. Either the share token is for the profile of
/// the applicant, or the applicant is the copy that was made with the share token.
pub(super) fn is_share_token_of(text: &str, applicant_id: &str) -> bool {
    serde_json::from_str::<ShareToken>(text).is_ok_and(|own| {
        own.applicant_id == applicant_id || own.copy.is_some_and(|copy| copy.applicant_id == applicant_id)
    })
}

/// Returns the hash under which a token is stored. Tokens are random, so one round of SHA-256 without a salt is enough.
pub(super) fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn write(store: &Store, value: &impl Serialize) -> Result<String, DomainError> {
    serde_json::to_string(value).map_err(|fault| store.corrupt_record(&fault.to_string()).into())
}

/// Marks a share token as used, on disk, and returns the id of its applicant. The host program calls this when it copies the
/// profile.
///
/// A client of the [service](crate::service) can create a share token that only one client may use. Such a share token is invalid
/// here; see [`redeem_share_token_for_client`].
///
/// # Errors
/// Returns [`Unauthorized`](super::DomainErrorKind::Unauthorized) if the token is empty, unknown, expired, used or for one client.
/// Also returns this error if the applicant was moved to another client after the token was created. Returns an error if the store
/// cannot be read or written.
pub fn redeem_share_token(
    store: &Store,
    share_token: &str,
    now: DateTime<Utc>,
) -> Result<String, DomainError> {
    redeem(store, share_token, Clients::Only(&[]), now)
}

/// Like [`redeem_share_token`], for a caller who acts for a client: also accepts a share token that is for this client.
///
/// ```
/// use casefilter::domain::{RecordKind, create_share_token, import_records, preview_for_client, redeem_share_token_for_client};
/// use casefilter::{Catalog, Store, StoreOptions};
/// use chrono::{DateTime, TimeDelta};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cases.db");
/// # let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
/// # let applicant = br#"{"id":"a1","type":"individual"}"#;
/// # import_records(&store, RecordKind::Applicants, |import| import.push(applicant))?;
/// let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default();
/// let token = create_share_token(&store, "a1", TimeDelta::hours(1), now)?;
/// assert_eq!(preview_for_client(&store, &token, "acme", now)?, r#"{"id":"a1","type":"individual"}"#);
/// assert_eq!(redeem_share_token_for_client(&store, &token, "acme", now)?, "a1");
/// assert!(redeem_share_token_for_client(&store, &token, "acme", now).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`Unauthorized`](super::DomainErrorKind::Unauthorized) for a token that is for another client, and otherwise the errors
/// of [`redeem_share_token`].
pub fn redeem_share_token_for_client(
    store: &Store,
    share_token: &str,
    client_id: &str,
    now: DateTime<Utc>,
) -> Result<String, DomainError> {
    redeem(store, share_token, Clients::Only(&[client_id.to_owned()]), now)
}

fn redeem(
    store: &Store,
    share_token: &str,
    clients: Clients<'_>,
    now: DateTime<Utc>,
) -> Result<String, DomainError> {
    store.write_records(|records| {
        let found = find(store, share_token, |kind, key| records.get(kind, key))?;
        if !found.share.is_good(now) || !found.share.is_for(clients) {
            return Err(DomainError::unauthorized());
        }
        let applicant = records.get(APPLICANTS, &found.share.applicant_id)?;
        if applicant.is_some_and(|applicant| !found.share.gives_access_to(&applicant, &|_, _| true)) {
            return Err(DomainError::unauthorized());
        }
        found.use_up(store, records, None)
    })
}
