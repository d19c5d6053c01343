//! Lists the share tokens of a store, with the copies that were made with them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::error::DomainError;
use super::records::{CLIENT_SHARE_TOKENS, PAGE_BYTES, PAGE_RECORDS, SHARE_TOKENS, read};
use super::share_token::ShareToken;
use crate::store::Store;

/// A share token of a store, without its text: the store has only its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListedShareToken {
    /// The SHA-256 hash of the token, in hexadecimal.
    pub hash: String,
    /// The id of the applicant whose profile the token shows.
    pub applicant_id: String,
    /// The time of creation. `None` for a token that an earlier version of this library has created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// The time at which the token expires, as `yyyy-MM-dd HH:mm:ss+0000`.
    pub expires_at: String,
    /// True if the token was used for a copy.
    pub used: bool,
    /// The only client that may use the token. `None` if every client may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_client_id: Option<String>,
    /// True if a client of the service has created the token. False if the host or an operator has.
    pub by_client: bool,
    /// The id of the copy that was made with the token. `None` if there is no copy, or if the host has made
    /// the copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_id: Option<String>,
    /// The client to which the copy belongs. `None` if `copy_id` is `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_client_id: Option<String>,
}

/// Returns the share tokens of a store, in the order of their hashes. If a client has copied a profile, but has not received the
/// answer, the operator of the service can find the copy in this list.
///
/// Expired tokens are listed until they are removed, which happens when new ones are created. Used tokens that clients have created
/// are listed for at least a day.
///
/// ```
/// use casefilter::domain::{RecordKind, create_share_token, import_records, share_tokens};
/// use casefilter::{Catalog, Store, StoreOptions};
/// use chrono::{DateTime, TimeDelta};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cases.db");
/// # let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
/// # let applicant = br#"{"id":"a1","type":"individual"}"#;
/// # import_records(&store, RecordKind::Applicants, |import| import.push(applicant))?;
/// let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default();
/// create_share_token(&store, "a1", TimeDelta::hours(1), now)?;
/// let listed = share_tokens(&store)?;
/// assert_eq!((listed[0].applicant_id.as_str(), listed[0].used), ("a1", false));
/// assert_eq!(listed[0].expires_at, "2027-01-15 09:00:00+0000");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if the store cannot be read, or if the record of a token is damaged.
pub fn share_tokens(store: &Store) -> Result<Vec<ListedShareToken>, DomainError> {
    let records = store.records()?;
    let mut found = Vec::new();
    for kind in [CLIENT_SHARE_TOKENS, SHARE_TOKENS] {
        let mut last: Option<String> = None;
        loop {
            let page = records.page_within(kind, last.as_deref(), PAGE_RECORDS, PAGE_BYTES)?;
            for (key, text) in &page {
                found.push(listed(key, read(store, text)?));
            }
            match page.into_iter().next_back() {
                Some((key, _)) => last = Some(key),
                None => break,
            }
        }
    }
    found.sort_by(|one, next| one.hash.cmp(&next.hash));
    Ok(found)
}

fn listed(hash: &str, share: ShareToken) -> ListedShareToken {
    let (copy_id, copy_client_id) = share.copy.map(|copy| (copy.applicant_id, copy.client_id)).unzip();
    ListedShareToken {
        hash: hash.to_owned(),
        applicant_id: share.applicant_id,
        created_at: share.made_at_ms.map(text_of),
        expires_at: text_of(share.expires_at_ms),
        used: share.is_used,
        for_client_id: share.for_client,
        by_client: share.maker.is_some(),
        copy_id,
        copy_client_id,
    }
}

fn text_of(time_ms: i64) -> String {
    let time = DateTime::<Utc>::from_timestamp_millis(time_ms).unwrap_or(DateTime::<Utc>::MAX_UTC);
    time.format("%Y-%m-%d %H:%M:%S+0000").to_string()
}
