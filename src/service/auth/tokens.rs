//! App tokens that a service accepts: checks the entries of a token file, and compiles their permissions, visible fields and filters.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use hmac::{Hmac, KeyInit};
use sha2::Sha256;
use tokio::sync::Semaphore;

use super::permission::Permission;
use super::projection::Projection;
use super::replays::ReplayCache;
use super::token_file::{LEAST_SECRET_BYTES, Secret, TokenFile};
use crate::catalog::{Catalog, FieldId};
use crate::error::quote;
use crate::filter::{FilterBuilder, FilterCache};
use crate::limits::Limits;

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
    /// The key of the previous secret, and the second from which it is no longer valid.
    previous: Option<(Hmac<Sha256>, i64)>,
    /// The second from which the token is no longer valid.
    expires_s: Option<i64>,
    permissions: Vec<Permission>,
    /// The members `fields` and `filter` of the entry, from which the cache was compiled.
    restrictions: (Option<Vec<String>>, Option<String>),
    /// The cache of compiled filters. It also applies the token's visible fields and its filter.
    pub(in crate::service) cache: Arc<FilterCache>,
    /// The visible members of case documents. `None` if the token has no `fields`.
    pub(in crate::service) projection: Option<Projection>,
    /// The record of what the service has seen of the token. It is kept when the token file changes.
    pub(in crate::service) state: Arc<TokenState>,
    /// The permits for the concurrent requests of the token.
    pub(in crate::service) share: Arc<OnceLock<Arc<Semaphore>>>,
}

/// The record of what the service has seen of a token.
#[derive(Default)]
pub(in crate::service) struct TokenState {
    /// The recently used signatures. Set only if the service rejects replays.
    pub(in crate::service) replays: OnceLock<ReplayCache>,
    /// The time of the last request with a valid signature, in seconds since the Unix epoch. 0 before the first such request.
    last_use_s: AtomicI64,
}

impl AppToken {
    pub(in crate::service) fn may(&self, permission: Permission) -> bool {
        self.permissions.contains(&permission)
    }

    /// Returns true if the token may see all fields of all cases.
    fn is_unrestricted(&self) -> bool {
        self.restrictions == (None, None)
    }

    /// Returns a number that identifies the token in this process, also after the token file has changed.
    pub(in crate::service) fn address(&self) -> usize {
        Arc::as_ptr(&self.state).addr()
    }

    /// Returns true if the token has not expired.
    pub(in crate::service) fn is_live(&self, now_s: i64) -> bool {
        self.expires_s.is_none_or(|expires_s| now_s < expires_s)
    }

    /// Returns the key of the previous secret, if that secret is still valid.
    pub(in crate::service) fn previous(&self, now_s: i64) -> Option<&Hmac<Sha256>> {
        self.previous.as_ref().filter(|(_, until_s)| now_s < *until_s).map(|(mac, _)| mac)
    }

    /// Records a request with a valid signature.
    pub(in crate::service) fn note_use(&self, now_s: i64) {
        self.state.last_use_s.store(now_s, Ordering::Relaxed);
    }

    /// Returns the time of the last request with a valid signature, in seconds since the Unix epoch.
    pub(in crate::service) fn last_use_s(&self) -> Option<i64> {
        Some(self.state.last_use_s.load(Ordering::Relaxed)).filter(|seconds| *seconds != 0)
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
            let mac = key(&entry.secret).map_err(|fault| wrong(format!("`secret` {fault}")))?;
            let previous = match &entry.previous {
                None => None,
                Some(previous) => {
                    let mac =
                        key(&previous.secret).map_err(|fault| wrong(format!("`previous.secret` {fault}")))?;
                    Some((mac, previous.until.0.timestamp()))
                }
            };
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
                previous,
                expires_s: entry.expires.map(|expires| expires.0.timestamp()),
                permissions: entry.permissions,
                restrictions: (entry.fields, entry.filter),
                cache,
                projection,
                state: Arc::default(),
                share: Arc::default(),
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

    /// Keeps what the service has seen of tokens that are also in `before`: their used signatures, their compiled filters and the
    /// permits of their running requests. Both must have been checked with the same catalogue and limits.
    fn keeping(mut self, before: &Self) -> Self {
        // A token that is alone gets more permits.
        let is_share_equal = (self.len() > 1) == (before.len() > 1);
        let unrestricted =
            before.by_token.values().find(|token| token.is_unrestricted()).map(|token| &token.cache);
        for (text, token) in &mut self.by_token {
            // No other reference exists yet, so this is always `Some`.
            let Some(token) = Arc::get_mut(token) else { continue };
            if let Some(cache) = unrestricted.filter(|_| token.is_unrestricted()) {
                token.cache = Arc::clone(cache);
            }
            let Some(own) = before.by_token.get(text) else { continue };
            token.state = Arc::clone(&own.state);
            if is_share_equal {
                token.share = Arc::clone(&own.share);
            }
            if token.restrictions == own.restrictions {
                token.cache = Arc::clone(&own.cache);
            }
        }
        self
    }

    /// Returns the tokens, sorted by name.
    pub(in crate::service) fn by_name(&self) -> Vec<&AppToken> {
        let mut tokens: Vec<&AppToken> = self.by_token.values().map(|token| &**token).collect();
        tokens.sort_by(|a, b| a.name.cmp(&b.name));
        tokens
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

/// Replaces the tokens of a [service](super::super::Service) while it runs.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use casefilter::service::{Service, ServiceOptions, TokenFile, Tokens};
/// # use casefilter::{Catalog, Limits, Store, StoreOptions};
/// # let store = Store::open("cases.db", Catalog::cases(), StoreOptions::default())?;
/// # let tokens = Tokens::new(TokenFile::default(), store.catalog(), &Limits::default())?;
/// let service = Service::new(store, tokens, ServiceOptions::default());
/// let updater = service.token_updater();
/// // On another thread, when the file has changed:
/// updater.replace(TokenFile::read("tokens.json".as_ref())?)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TokenUpdater {
    pub(in crate::service) tokens: Arc<ArcSwap<Tokens>>,
    pub(in crate::service) catalog: Catalog,
    pub(in crate::service) limits: Limits,
}

impl TokenUpdater {
    /// Replaces all tokens. Requests that have begun end with the tokens with which they began. Returns the number of tokens.
    ///
    /// # Errors
    /// Returns the error in the first invalid token. Then the service keeps its tokens.
    pub fn replace(&self, file: TokenFile) -> Result<usize, TokenError> {
        let tokens = Tokens::new(file, &self.catalog, &self.limits)?;
        let tokens = tokens.keeping(&self.tokens.load());
        let count = tokens.len();
        self.tokens.store(Arc::new(tokens));
        Ok(count)
    }
}

impl fmt::Debug for TokenUpdater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenUpdater").field("tokens", &self.tokens.load()).finish_non_exhaustive()
    }
}

/// Returns the HMAC key for a secret. The error is a sentence without its subject.
fn key(secret: &Secret) -> Result<Hmac<Sha256>, String> {
    if secret.0.len() < LEAST_SECRET_BYTES {
        return Err(format!("needs at least {LEAST_SECRET_BYTES} bytes"));
    }
    Hmac::new_from_slice(secret.0.as_bytes()).map_err(|_| "cannot be used".to_owned())
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("len", &self.len()).finish_non_exhaustive()
    }
}
