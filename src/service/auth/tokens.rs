//! App tokens: their file, their permissions, and the cases and fields that they may see.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use hmac::{Hmac, KeyInit};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use sha2::Sha256;
use tokio::sync::Semaphore;

use super::permission::Permission;
use super::projection::Projection;
use super::replays::ReplayCache;
use crate::catalog::{Catalog, FieldId};
use crate::error::{Error, quote};
use crate::filter::{FilterBuilder, FilterCache};
use crate::ingest::check_text;
use crate::limits::Limits;

/// An entry of a token file.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    token: String,
    secret: Secret,
    permissions: Vec<Permission>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fields: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filter: Option<String>,
}

/// A token file: `{"tokens":[…]}`. The members of an entry are listed in the docs of [`service`](crate::service#tokens).
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokenFile {
    tokens: Vec<TokenEntry>,
}

/// A shared secret, hidden in `Debug` output and in errors.
#[derive(Clone)]
struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // An error of serde would contain the value.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        serde_json::from_str(text.get()).map(Self).map_err(|_| D::Error::custom("a secret is a string"))
    }
}

/// The minimum length of a secret in bytes, against guessing.
const LEAST_SECRET_BYTES: usize = 16;

impl TokenEntry {
    /// Creates a token with a random text (128 bits) and a random secret (256 bits), both in hex.
    ///
    /// # Errors
    /// Returns an error if the system's random number generator fails.
    pub fn mint(
        permissions: Vec<Permission>,
        name: Option<String>,
        fields: Option<Vec<String>>,
        filter: Option<String>,
    ) -> io::Result<Self> {
        let mut random = [0; 48];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let hex = random.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (token, secret) = hex.split_at_checked(32).unwrap_or_default();
        Ok(Self {
            token: token.to_owned(),
            secret: Secret(secret.to_owned()),
            permissions,
            name,
            fields,
            filter,
        })
    }

    /// Returns the text that clients send as `X-App-Token`.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the secret that clients sign with. Show it once, when the token is created.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret.0
    }

    /// Returns warnings for the operator: ways in which the token allows more than its `fields` and `filter` suggest.
    ///
    /// ```
    /// use casefilter::service::{Permission, TokenEntry};
    /// let filter = Some("clientId = acme".to_owned());
    /// let searches = TokenEntry::mint(vec![Permission::ViewCases], None, None, filter.clone())?;
    /// assert!(searches.cautions().is_empty());
    /// let changes = TokenEntry::mint(vec![Permission::ChangePersonalData], None, None, filter)?;
    /// assert!(changes.cautions()[0].contains("changePersonalData applies to all applicants"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn cautions(&self) -> Vec<String> {
        let mut cautions = Vec::new();
        let restrictions: Vec<&str> =
            [("--filter", self.filter.is_some()), ("--fields", self.fields.is_some())]
                .into_iter()
                .filter_map(|(flag, is_set)| is_set.then_some(flag))
                .collect();
        let unrestricted: Vec<&str> = self
            .permissions
            .iter()
            .filter(|permission| permission.is_for_applicants())
            .map(|permission| permission.name())
            .collect();
        if !restrictions.is_empty() && !unrestricted.is_empty() {
            let restrict = if restrictions.len() == 1 { "restricts" } else { "restrict" };
            let (apply, them) = if unrestricted.len() == 1 { ("applies", "it") } else { ("apply", "them") };
            cautions.push(format!(
                "{} {restrict} searches of cases only: {} {apply} to all applicants, including those of other clients; remove {them} if that is not intended",
                restrictions.join(" and "),
                unrestricted.join(", "),
            ));
        }
        let fields = self.fields.as_deref().unwrap_or_default();
        if self.fields.is_some() && !fields.iter().any(|field| field == CREATED_BY) {
            let revealing: Vec<&str> =
                fields.iter().map(String::as_str).filter(|field| reveals_created_by(field)).collect();
            if !revealing.is_empty() {
                cautions.push(format!(
                    "{CREATED_BY} is hidden, but the presence of {} reveals it",
                    revealing.join(" or ")
                ));
            }
        }
        cautions
    }

    /// Returns the token's name for messages, or its number in the file.
    fn label(&self, number: usize) -> String {
        self.name
            .as_deref()
            .map_or_else(|| format!("token {number}"), |name| format!("token {}", quote(name)))
    }
}

/// The field that says how a case was created.
const CREATED_BY: &str = "createdByType";

/// Returns true if only cases with one value of [`CREATED_BY`] have the field.
fn reveals_created_by(field: &str) -> bool {
    field == "createdByOfficer"
        || field.starts_with("createdByRule.")
        || field.starts_with("createdByWorkflowRef.")
}

impl TokenFile {
    /// Reads a token file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not a token file. The message never contains a secret.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = std::fs::read(path)?;
        let invalid = |error: Error| io::Error::new(io::ErrorKind::InvalidData, error.message());
        check_text(&text).map_err(invalid)?;
        serde_json::from_slice(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Returns the names of the tokens, as they appear in logs. The name of an unnamed token is its number in the file.
    pub fn names(&self) -> impl Iterator<Item = String> {
        (1..)
            .zip(&self.tokens)
            .map(|(number, entry): (usize, _)| entry.name.clone().unwrap_or_else(|| number.to_string()))
    }

    /// Returns the [cautions](TokenEntry::cautions) of all tokens, each prefixed with the token's name or number.
    pub fn cautions(&self) -> impl Iterator<Item = String> {
        (1..).zip(&self.tokens).flat_map(|(number, entry)| {
            let name = entry.label(number);
            entry.cautions().into_iter().map(move |caution| format!("{name}: {caution}"))
        })
    }

    /// Adds a token.
    pub fn push(&mut self, entry: TokenEntry) {
        self.tokens.push(entry);
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings and lists always serialize.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// The tokens that a service accepts.
pub struct Tokens {
    by_token: HashMap<String, Arc<AppToken>>,
    /// The key for checking signatures of unknown tokens, so that the check takes the same time as for known tokens.
    unknown: Hmac<Sha256>,
}

/// A token that the service accepts.
pub(in crate::service) struct AppToken {
    /// The name in logs.
    pub(in crate::service) name: String,
    pub(in crate::service) mac: Hmac<Sha256>,
    permissions: Vec<Permission>,
    /// The cache of compiled filters, with the token's visible fields and its filter.
    pub(in crate::service) cache: Arc<FilterCache>,
    /// The visible members of case documents, if the token has `fields`.
    pub(in crate::service) projection: Option<Projection>,
    /// The recently used signatures, if replays are rejected.
    pub(in crate::service) replays: OnceLock<ReplayCache>,
    /// The token's share of the concurrent requests.
    pub(in crate::service) share: OnceLock<Arc<Semaphore>>,
}

impl AppToken {
    pub(in crate::service) fn may(&self, permission: Permission) -> bool {
        self.permissions.contains(&permission)
    }
}

/// The size of the filter cache that all tokens without `fields` and `filter` share, in bytes.
const CACHE_BYTES: usize = 32 << 20;
/// The size in bytes of the filter cache of a token with its own `fields` or `filter`.
const OWN_CACHE_BYTES: usize = 4 << 20;

impl Tokens {
    /// Checks the tokens of a file against the catalogue of the cases.
    ///
    /// # Errors
    /// Returns a message about the first invalid token, with its number in the file. The message never contains a secret.
    pub fn new(file: TokenFile, catalog: &Catalog, limits: &Limits) -> Result<Self, String> {
        let shared =
            Arc::new(FilterCache::new(FilterBuilder::new(catalog).limits(limits.clone()), CACHE_BYTES));
        let mut by_token = HashMap::new();
        for (number, entry) in (1..).zip(file.tokens) {
            let wrong = |message: String| format!("token {number}: {message}");
            let is_text = |byte: u8| byte.is_ascii_graphic();
            if entry.token.is_empty() || !entry.token.bytes().all(is_text) {
                return Err(wrong("`token` must be visible ASCII characters without spaces".to_owned()));
            }
            if entry.secret.0.len() < LEAST_SECRET_BYTES {
                return Err(wrong(format!("`secret` needs at least {LEAST_SECRET_BYTES} bytes")));
            }
            let mac = Hmac::new_from_slice(entry.secret.0.as_bytes());
            let mac = mac.map_err(|_| wrong("`secret` cannot be used".to_owned()))?;
            let bound = match &entry.filter {
                None => None,
                Some(text) => {
                    let filter = FilterBuilder::new(catalog).limits(limits.clone()).text(text);
                    Some(filter.map_err(|errors| wrong(format!("`filter`: {errors}")))?)
                }
            };
            let narrow = match &entry.fields {
                None => None,
                Some(fields) => {
                    // The id is always visible: clients need it to select and to distinguish cases.
                    let id = catalog.field(FieldId::ID).name();
                    let names = fields.iter().map(String::as_str).chain([id]);
                    Some(catalog.allow(names).map_err(|error| wrong(format!("`fields`: {error}")))?)
                }
            };
            let projection = narrow.as_ref().map(Projection::new);
            let cache = if narrow.is_none() && bound.is_none() {
                Arc::clone(&shared)
            } else {
                let catalog = narrow.unwrap_or_else(|| catalog.clone());
                let cache =
                    FilterCache::new(FilterBuilder::new(&catalog).limits(limits.clone()), OWN_CACHE_BYTES);
                Arc::new(match &bound {
                    Some(bound) => cache.within(bound).map_err(|error| wrong(error.to_string()))?,
                    None => cache,
                })
            };
            let name = entry.name.unwrap_or_else(|| number.to_string());
            let token = AppToken {
                name,
                mac,
                permissions: entry.permissions,
                cache,
                projection,
                replays: OnceLock::new(),
                share: OnceLock::new(),
            };
            let name = quote(&entry.token);
            if by_token.insert(entry.token, Arc::new(token)).is_some() {
                return Err(wrong(format!("{name} is a duplicate")));
            }
        }
        let unknown = Hmac::new_from_slice(&[0; 32]).map_err(|_| "cannot create signatures".to_owned())?;
        Ok(Self { by_token, unknown })
    }

    /// Returns the number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_token.len()
    }

    /// Returns true if there are no tokens. Then the service rejects every signed request.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_token.is_empty()
    }

    /// Returns the token with this text, if it is known, and the key to check its signature with.
    pub(in crate::service) fn find(&self, text: &str) -> (Option<&Arc<AppToken>>, &Hmac<Sha256>) {
        let token = self.by_token.get(text);
        (token, token.map_or(&self.unknown, |token| &token.mac))
    }

    /// Returns the distinct filter caches of all tokens.
    pub(in crate::service) fn caches(&self) -> Vec<&FilterCache> {
        let mut caches: Vec<&Arc<FilterCache>> = self.by_token.values().map(|token| &token.cache).collect();
        caches.sort_by_key(|cache| Arc::as_ptr(cache).addr());
        caches.dedup_by(|a, b| Arc::ptr_eq(a, b));
        caches.into_iter().map(|cache| &**cache).collect()
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("len", &self.len()).finish_non_exhaustive()
    }
}
