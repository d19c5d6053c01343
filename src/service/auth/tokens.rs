//! App tokens: reads their file, and compiles their permissions, visible fields and filters.

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

/// A token file: `{"tokens":[…]}`. The docs of [`service`](crate::service#tokens) list the members of an entry.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokenFile {
    tokens: Vec<TokenEntry>,
}

/// A shared secret. `Debug` output and errors do not show it.
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
        // An error message of serde would contain the value.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        serde_json::from_str(text.get()).map(Self).map_err(|_| D::Error::custom("a secret is a string"))
    }
}

/// The minimum length of a secret in bytes. It makes guessing a secret infeasible.
const LEAST_SECRET_BYTES: usize = 16;

impl TokenEntry {
    /// Creates a token with a random text (128 bits) and a random secret (256 bits), both in hexadecimal.
    ///
    /// The token has no name, and may see all fields of all cases.
    ///
    /// ```
    /// use casefilter::service::{Permission, TokenEntry};
    /// let token = TokenEntry::generate([Permission::ViewCases])?
    ///     .with_name("acme")
    ///     .with_fields(["caseReview.status", "createdAt"])
    ///     .with_filter("clientId = acme");
    /// assert_eq!((token.token().len(), token.secret().len()), (32, 64));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the system's random number generator fails.
    pub fn generate(permissions: impl IntoIterator<Item = Permission>) -> io::Result<Self> {
        let mut random = [0; 48];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let hex = random.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (token, secret) = hex.split_at_checked(32).unwrap_or_default();
        Ok(Self {
            token: token.to_owned(),
            secret: Secret(secret.to_owned()),
            permissions: permissions.into_iter().collect(),
            name: None,
            fields: None,
            filter: None,
        })
    }

    /// Sets the name that logs show for the token.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Sets the fields of cases that the token may see, in addition to `id`.
    #[must_use]
    pub fn with_fields<F: Into<String>>(self, fields: impl IntoIterator<Item = F>) -> Self {
        Self { fields: Some(fields.into_iter().map(Into::into).collect()), ..self }
    }

    /// Sets a filter, in the text syntax. The token may see only the cases that the filter selects.
    #[must_use]
    pub fn with_filter(self, filter: impl Into<String>) -> Self {
        Self { filter: Some(filter.into()), ..self }
    }

    /// Returns the text that clients send as `X-App-Token`.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the secret with which clients sign requests. Show it only once, when the token is created.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret.0
    }

    /// Returns warnings for the operator. Each warning describes a way in which the token allows more than its `fields` and
    /// `filter` suggest.
    ///
    /// ```
    /// use casefilter::service::{Permission, TokenEntry};
    /// let searches = TokenEntry::generate([Permission::ViewCases])?.with_filter("clientId = acme");
    /// assert!(searches.warnings().is_empty());
    /// let changes = TokenEntry::generate([Permission::ChangePersonalData])?.with_filter("clientId = acme");
    /// assert!(changes.warnings()[0].contains("changePersonalData applies to all applicants"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
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
            warnings.push(format!(
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
                warnings.push(format!(
                    "{CREATED_BY} is hidden, but the presence of {} reveals it",
                    revealing.join(" or ")
                ));
            }
        }
        warnings
    }

    /// Returns the token's name for messages. If it has no name, returns its position in the file.
    fn label(&self, number: usize) -> String {
        self.name
            .as_deref()
            .map_or_else(|| format!("token {number}"), |name| format!("token {}", quote(name)))
    }
}

/// The field that contains how a case was created.
const CREATED_BY: &str = "createdByType";

/// Returns true if the field occurs only in cases with a certain value of [`CREATED_BY`].
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

    /// Returns the names of the tokens as they appear in logs. A token without a name is named by its position in the file.
    pub fn names(&self) -> impl Iterator<Item = String> {
        (1..)
            .zip(&self.tokens)
            .map(|(number, entry): (usize, _)| entry.name.clone().unwrap_or_else(|| number.to_string()))
    }

    /// Returns the [warnings](TokenEntry::warnings) of all tokens. Each warning begins with the name of its token, or with its
    /// position in the file.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        (1..).zip(&self.tokens).flat_map(|(number, entry)| {
            let name = entry.label(number);
            entry.warnings().into_iter().map(move |warning| format!("{name}: {warning}"))
        })
    }

    /// Adds a token.
    pub fn push(&mut self, entry: TokenEntry) {
        self.tokens.push(entry);
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Serialising strings and lists cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// An error in a token file: a token that the service cannot accept. It never contains a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenError {
    number: Option<usize>,
    message: String,
}

impl TokenError {
    /// Returns the position of the invalid token in the file, counted from 1. Returns `None` if the error is not about a token.
    #[must_use]
    pub fn number(&self) -> Option<usize> {
        self.number
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(number) = self.number {
            write!(f, "token {number}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for TokenError {}

/// The tokens that a service accepts, checked and compiled.
pub struct Tokens {
    by_token: HashMap<String, Arc<AppToken>>,
    /// The HMAC key for requests with an unknown token. It makes the check of such a request take the same time as that of a known
    /// token.
    unknown: Hmac<Sha256>,
}

/// A token that the service accepts.
pub(in crate::service) struct AppToken {
    /// The name that logs show.
    pub(in crate::service) name: String,
    pub(in crate::service) mac: Hmac<Sha256>,
    permissions: Vec<Permission>,
    /// The cache of compiled filters. It also applies the token's visible fields and its filter.
    pub(in crate::service) cache: Arc<FilterCache>,
    /// The visible members of case documents. `None` if the token has no `fields`.
    pub(in crate::service) projection: Option<Projection>,
    /// The recently used signatures. Set only if the service rejects replays.
    pub(in crate::service) replays: OnceLock<ReplayCache>,
    /// The permits for the concurrent requests of the token.
    pub(in crate::service) share: OnceLock<Arc<Semaphore>>,
}

impl AppToken {
    pub(in crate::service) fn may(&self, permission: Permission) -> bool {
        self.permissions.contains(&permission)
    }
}

/// The size in bytes of the filter cache that all tokens without `fields` and `filter` share.
const CACHE_BYTES: usize = 32 << 20;
/// The size in bytes of the filter cache of each token that has `fields` or `filter`.
const OWN_CACHE_BYTES: usize = 4 << 20;

impl Tokens {
    /// Checks the tokens of a file against the catalogue of the cases, and compiles them.
    ///
    /// # Errors
    /// Returns the error in the first invalid token.
    pub fn new(file: TokenFile, catalog: &Catalog, limits: &Limits) -> Result<Self, TokenError> {
        let shared =
            Arc::new(FilterCache::new(FilterBuilder::new(catalog).with_limits(limits.clone()), CACHE_BYTES));
        let mut by_token = HashMap::new();
        for (number, entry) in (1..).zip(file.tokens) {
            let wrong = |message: String| TokenError { number: Some(number), message };
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
                    let filter = FilterBuilder::new(catalog).with_limits(limits.clone()).text(text);
                    Some(filter.map_err(|errors| wrong(format!("`filter`: {errors}")))?)
                }
            };
            let narrow = match &entry.fields {
                None => None,
                Some(fields) => {
                    // The id is always visible, because clients need it to select cases and to distinguish them.
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
                let cache = FilterCache::new(
                    FilterBuilder::new(&catalog).with_limits(limits.clone()),
                    OWN_CACHE_BYTES,
                );
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
        let unknown = Hmac::new_from_slice(&[0; 32]);
        let unknown = unknown
            .map_err(|_| TokenError { number: None, message: "cannot create signatures".to_owned() })?;
        Ok(Self { by_token, unknown })
    }

    /// Returns the number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_token.len()
    }

    /// Returns true if there are no tokens. The service then rejects every signed request.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_token.is_empty()
    }

    /// Returns the token with this text, if the token is known. Also returns the key with which the signature must be checked.
    pub(in crate::service) fn find(&self, text: &str) -> (Option<&Arc<AppToken>>, &Hmac<Sha256>) {
        let token = self.by_token.get(text);
        (token, token.map_or(&self.unknown, |token| &token.mac))
    }

    /// Returns the filter caches of all tokens. A cache that tokens share is returned once.
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
