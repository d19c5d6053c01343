//! App tokens: who may call, what for, and which cases they see.

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
use super::replays::Seen;
use crate::catalog::{Catalog, FieldId};
use crate::error::{Error, quote};
use crate::filter::{Filter, FilterCache};
use crate::ingest::check_text;
use crate::limits::Limits;

/// A token as it stands in a file.
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

/// A file of tokens: `{"tokens":[…]}`; the [module](crate::service) says of what.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokenFile {
    tokens: Vec<TokenEntry>,
}

/// A shared secret, which neither `Debug` nor errors show.
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
        // Errors of serde would show what stands there.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        serde_json::from_str(text.get()).map(Self).map_err(|_| D::Error::custom("a secret is a string"))
    }
}

/// Shorter secrets could be found by trying.
const LEAST_SECRET_BYTES: usize = 16;

impl TokenEntry {
    /// A new token: 128 random bits with a secret of 256, both in hex.
    ///
    /// # Errors
    /// When the system gives no random numbers.
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

    /// What clients send as `X-App-Token`.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// What clients sign with. It is to be shown once, to whoever asked for the token.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret.0
    }

    /// What the token lets its holder see or change although its fields and its filter seem to forbid it: a sentence each, for the
    /// operator.
    ///
    /// ```
    /// use casefilter::service::{Permission, TokenEntry};
    /// let filter = Some("clientId = acme".to_owned());
    /// let searches = TokenEntry::mint(vec![Permission::ViewCases], None, None, filter.clone())?;
    /// assert!(searches.cautions().is_empty());
    /// let changes = TokenEntry::mint(vec![Permission::ChangePersonalData], None, None, filter)?;
    /// assert!(changes.cautions()[0].contains("changePersonalData is for all applicants"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn cautions(&self) -> Vec<String> {
        let mut cautions = Vec::new();
        let held: Vec<&str> = [("--filter", self.filter.is_some()), ("--fields", self.fields.is_some())]
            .into_iter()
            .filter_map(|(flag, is_set)| is_set.then_some(flag))
            .collect();
        let beyond: Vec<&str> = self
            .permissions
            .iter()
            .filter(|permission| permission.is_for_applicants())
            .map(|permission| permission.name())
            .collect();
        if !held.is_empty() && !beyond.is_empty() {
            let apply = if held.len() == 1 { "applies" } else { "apply" };
            let (are, mean) = if beyond.len() == 1 { ("is", "it does") } else { ("are", "they do") };
            cautions.push(format!(
                "{} {apply} to searches of cases only: {} {are} for all applicants, those of other clients too; leave {} out unless {mean} no harm",
                held.join(" and "),
                beyond.join(", "),
                if beyond.len() == 1 { "it" } else { "them" },
            ));
        }
        let fields = self.fields.as_deref().unwrap_or_default();
        if self.fields.is_some() && !fields.iter().any(|field| field == CREATED_BY) {
            let telling: Vec<&str> =
                fields.iter().map(String::as_str).filter(|field| tells_created_by(field)).collect();
            if !telling.is_empty() {
                cautions.push(format!(
                    "{CREATED_BY} is hidden, but a case that has {} tells it",
                    telling.join(" or ")
                ));
            }
        }
        cautions
    }

    /// What messages call the token: its name, or the number that it has in the file.
    fn called(&self, number: usize) -> String {
        self.name
            .as_deref()
            .map_or_else(|| format!("token {number}"), |name| format!("token {}", quote(name)))
    }
}

/// The field that says who made a case.
const CREATED_BY: &str = "createdByType";

/// Whether only cases of one sort by [`CREATED_BY`] have the field.
fn tells_created_by(field: &str) -> bool {
    field == "createdByOfficer"
        || field.starts_with("createdByRule.")
        || field.starts_with("createdByWorkflowRef.")
}

impl TokenFile {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or is no such file, with a message that shows no secret.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = std::fs::read(path)?;
        let invalid = |error: Error| io::Error::new(io::ErrorKind::InvalidData, error.message());
        check_text(&text).map_err(invalid)?;
        serde_json::from_slice(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// The names of the tokens, as logs have them: the number in the file of one without a name.
    pub fn names(&self) -> impl Iterator<Item = String> {
        (1..)
            .zip(&self.tokens)
            .map(|(number, entry): (usize, _)| entry.name.clone().unwrap_or_else(|| number.to_string()))
    }

    /// The [cautions](TokenEntry::cautions) of all tokens, each with the name of its token, or its number in the file.
    pub fn cautions(&self) -> impl Iterator<Item = String> {
        (1..).zip(&self.tokens).flat_map(|(number, entry)| {
            let name = entry.called(number);
            entry.cautions().into_iter().map(move |caution| format!("{name}: {caution}"))
        })
    }

    /// Adds a token.
    pub fn push(&mut self, entry: TokenEntry) {
        self.tokens.push(entry);
    }

    /// The file's text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings and lists have a JSON form.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// The tokens that a service knows.
pub struct Tokens {
    by_token: HashMap<String, Arc<AppToken>>,
    /// What signatures under unknown tokens are checked with, so that they take as long as others.
    unknown: Hmac<Sha256>,
}

/// A token that the service knows.
pub(in crate::service) struct AppToken {
    /// What logs call it.
    pub(in crate::service) name: String,
    pub(in crate::service) mac: Hmac<Sha256>,
    permissions: Vec<Permission>,
    /// What its searches are compiled against and with, and held to.
    pub(in crate::service) cache: Arc<FilterCache>,
    /// What is left of every case.
    pub(in crate::service) projection: Option<Projection>,
    /// Its signatures of late, where none is taken twice.
    pub(in crate::service) seen: OnceLock<Seen>,
    /// Its share of the requests that are worked on at a time.
    pub(in crate::service) share: OnceLock<Arc<Semaphore>>,
}

impl AppToken {
    pub(in crate::service) fn may(&self, permission: Permission) -> bool {
        self.permissions.contains(&permission)
    }
}

/// Memory for compiled filters of all tokens that see every case whole, and of each that does not.
const CACHE_BYTES: usize = 32 << 20;
const OWN_CACHE_BYTES: usize = 4 << 20;

impl Tokens {
    /// The tokens of a file, for cases of a catalogue.
    ///
    /// # Errors
    /// A sentence about the first token that is wrong, by its number in the file, without its secret.
    pub fn new(file: TokenFile, catalog: &Catalog, limits: &Limits) -> Result<Self, String> {
        let shared = Arc::new(FilterCache::new(catalog.clone(), limits.clone(), CACHE_BYTES));
        let mut by_token = HashMap::new();
        for (number, entry) in (1..).zip(file.tokens) {
            let wrong = |what: String| format!("token {number}: {what}");
            let is_text = |byte: u8| byte.is_ascii_graphic();
            if entry.token.is_empty() || !entry.token.bytes().all(is_text) {
                return Err(wrong("`token` has to be visible ASCII characters without spaces".to_owned()));
            }
            if entry.secret.0.len() < LEAST_SECRET_BYTES {
                return Err(wrong(format!("`secret` needs at least {LEAST_SECRET_BYTES} bytes")));
            }
            let mac = Hmac::new_from_slice(entry.secret.0.as_bytes());
            let mac = mac.map_err(|_| wrong("`secret` is of no use".to_owned()))?;
            let bound = match &entry.filter {
                None => None,
                Some(text) => {
                    let filter = Filter::compile_text_with(catalog, limits, text);
                    Some(filter.map_err(|errors| wrong(format!("`filter`: {errors}")))?)
                }
            };
            let narrow = match &entry.fields {
                None => None,
                Some(fields) => {
                    // Every search can select by id and every case is told apart by it.
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
                let cache = FilterCache::new(catalog, limits.clone(), OWN_CACHE_BYTES);
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
                seen: OnceLock::new(),
                share: OnceLock::new(),
            };
            let name = quote(&entry.token);
            if by_token.insert(entry.token, Arc::new(token)).is_some() {
                return Err(wrong(format!("{name} stands there before")));
            }
        }
        let unknown = Hmac::new_from_slice(&[0; 32]).map_err(|_| "no signatures can be made".to_owned())?;
        Ok(Self { by_token, unknown })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_token.len()
    }

    /// True when there is none, so that no request can be signed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_token.is_empty()
    }

    /// The token of that name, and what its signatures are checked with, whether it is known or not.
    pub(in crate::service) fn find(&self, name: &str) -> (Option<&Arc<AppToken>>, &Hmac<Sha256>) {
        let token = self.by_token.get(name);
        (token, token.map_or(&self.unknown, |token| &token.mac))
    }

    /// The caches of all tokens, each once.
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
