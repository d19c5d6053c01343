//! App tokens that a service accepts: checks the entries of a token file, and compiles their permissions, visible fields and
//! filters.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use hmac::{Hmac, KeyInit};
use sha2::Sha256;
use tokio::sync::{Semaphore, watch};

use super::in_flight::InFlight;
use super::permission::Permission;
use super::projection::Projection;
use super::rate::Rate;
use super::replays::ReplayCache;
use super::secret_mark::SecretMark;
use super::standing_owner::StandingOwner;
use super::token_file::{LEAST_SECRET_BYTES, Secret, TokenFile};
use crate::catalog::{Catalog, Field, FieldId, FieldType};
use crate::domain::{Clients, is_client_id};
use crate::error::quote;
use crate::filter::{Filter, FilterBuilder, FilterCache};
use crate::limits::Limits;
use crate::operator::Operator;

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
    /// The text of each token. The key is the part of its [`StandingOwner`] that identifies the token.
    by_owner: HashMap<String, String>,
    /// The HMAC key for requests with an unknown token. It makes the check of such a request take the same time as that of a known
    /// token.
    unknown: Hmac<Sha256>,
    /// The Unix time in seconds from which no token has a valid previous secret. `i64::MIN` if no token has a previous secret.
    rotates_until_s: i64,
}

/// A token that the service accepts.
pub(in crate::service) struct AppToken {
    /// The text that clients send. It identifies the token, even after the token file has changed.
    pub(in crate::service) text: String,
    /// The owner of the token's standing filters.
    pub(in crate::service) owner: StandingOwner,
    /// The name that logs show.
    pub(in crate::service) name: String,
    pub(in crate::service) mac: Hmac<Sha256>,
    /// The marks of the secret, and of the previous secret if there is one.
    marks: (SecretMark, Option<SecretMark>),
    /// The key of the previous secret, and the Unix time in seconds from which it is no longer valid.
    previous: Option<(Hmac<Sha256>, i64)>,
    /// The Unix time in seconds from which the token is no longer valid.
    expires_s: Option<i64>,
    permissions: Vec<Permission>,
    /// The restrictions in the entry of the token, which `cache` applies.
    restrictions: Restrictions,
    /// The cache of compiled filters. It also applies the token's visible fields and its filter.
    pub(in crate::service) cache: Arc<FilterCache>,
    /// The visible members of case documents. `None` if the token has no `fields`.
    pub(in crate::service) projection: Option<Projection>,
    /// The record of what the service has seen of the token. It is kept when the token file changes.
    pub(in crate::service) state: Arc<TokenState>,
    /// The permits for the concurrent requests of the token.
    pub(in crate::service) share: Arc<OnceLock<Arc<Semaphore>>>,
}

/// The members of an entry that restrict what its token sees.
#[derive(Debug, Default, PartialEq, Eq)]
struct Restrictions {
    fields: Option<Vec<String>>,
    filter: Option<String>,
    /// The clients of the token, in order, each once. `None` if the token is not bound to clients.
    clients: Option<Vec<String>>,
}

/// The record of what the service has seen of a token.
#[derive(Default)]
pub(in crate::service) struct TokenState {
    /// The recently used signatures. Set only if the service rejects replays.
    pub(in crate::service) replays: OnceLock<ReplayCache>,
    /// The time of the last request with a valid signature, in seconds since the Unix epoch. 0 before the first such request.
    last_use_s: AtomicI64,
    /// The rate of its requests.
    pub(in crate::service) rate: Rate,
    /// The bytes of its requests and responses in flight.
    pub(in crate::service) in_flight: Arc<InFlight>,
    /// The permits for requests that read events.
    pub(in crate::service) listeners: OnceLock<Arc<Semaphore>>,
    /// The permit for a search as of an earlier moment.
    pub(in crate::service) moments: OnceLock<Arc<Semaphore>>,
}

impl AppToken {
    pub(in crate::service) fn may(&self, permission: Permission) -> bool {
        self.permissions.contains(&permission)
    }

    /// Returns the clients whose applicants the token sees.
    pub(in crate::service) fn clients(&self) -> Clients<'_> {
        self.restrictions.clients.as_deref().map_or(Clients::All, Clients::Only)
    }

    /// Returns true if the token may see all fields of all cases.
    fn is_unrestricted(&self) -> bool {
        self.restrictions == Restrictions::default()
    }

    /// Returns a number that identifies the token in this process, even after the token file has changed.
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

    /// Returns the mark of the secret, or of the previous secret.
    pub(in crate::service) fn secret(&self, is_previous: bool) -> SecretMark {
        let (own, previous) = self.marks;
        previous.filter(|_| is_previous).unwrap_or(own)
    }

    /// Returns true if the secret with this mark is valid: the present secret, or the previous one if it has not ended yet.
    pub(in crate::service) fn accepts(&self, secret: SecretMark, now_s: i64) -> bool {
        let (own, previous) = self.marks;
        own == secret || previous == Some(secret) && self.previous(now_s).is_some()
    }

    /// Records a request with a valid signature.
    pub(in crate::service) fn note_use(&self, now_s: i64) {
        self.state.last_use_s.store(now_s, Ordering::Relaxed);
    }

    /// Returns the time of the last request with a valid signature, in seconds since the Unix epoch. Returns `None` before the
    /// first such request.
    pub(in crate::service) fn last_use_s(&self) -> Option<i64> {
        Some(self.state.last_use_s.load(Ordering::Relaxed)).filter(|seconds| *seconds != 0)
    }
}

/// The size in bytes of the filter cache that all tokens without restrictions share.
const CACHE_BYTES: usize = 32 << 20;
/// The size in bytes of the filter cache of each token that has `fields`, `filter` or `clients`.
const OWN_CACHE_BYTES: usize = 4 << 20;

/// The maximum number of clients of a token. An operation on an applicant looks up one client after the other, until one of them
/// matches.
const MOST_CLIENTS: usize = 1000;

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
            let (clients, bound) = match entry.clients {
                None => (None, bound),
                Some(clients) => {
                    let wrong = |fault: String| wrong(format!("`clients`: {fault}"));
                    let clients = checked_clients(clients).map_err(wrong)?;
                    let own = cases_of(&clients, catalog).map_err(wrong)?;
                    let bound = bound.map_or_else(|| Ok(own.clone()), |bound| bound.and(&own));
                    (Some(clients), Some(bound.map_err(|error| wrong(error.to_string()))?))
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
            let owner = StandingOwner::new(&entry.token, bound.as_ref(), narrow.as_ref());
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
            let previous_mark = previous.as_ref().map(|(mac, _)| SecretMark::of(mac));
            let token = AppToken {
                marks: (SecretMark::of(&mac), previous_mark),
                text: entry.token.clone(),
                owner,
                name,
                mac,
                previous,
                expires_s: entry.expires.map(|expires| expires.0.timestamp()),
                permissions: entry.permissions,
                restrictions: Restrictions { fields: entry.fields, filter: entry.filter, clients },
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
        let until =
            by_token.values().filter_map(|token| token.previous.as_ref()).map(|(_, until_s)| *until_s);
        let rotates_until_s = until.max().unwrap_or(i64::MIN);
        let of_owner =
            |(text, token): (&String, &Arc<AppToken>)| (token.owner.of_token().to_owned(), text.clone());
        let by_owner = by_token.iter().map(of_owner).collect();
        Ok(Self { by_token, by_owner, unknown, rotates_until_s })
    }

    /// For each token that is also in `before`, keeps its state: used signatures, last use, rate, bytes in flight, and permits for
    /// events and earlier moments. Keeps the compiled filters of a token if its restrictions (`fields`, `filter` and `clients`) are
    /// the same. Keeps the permits of running requests if both `self` and `before` have several tokens, or if neither has.
    ///
    /// Tokens without restrictions share one filter cache. If `before` has such tokens, their cache is kept. `self` and `before`
    /// must have been checked with the same catalogue and limits.
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

    /// Returns the tokens, in any order.
    pub(in crate::service) fn iter(&self) -> impl Iterator<Item = &Arc<AppToken>> {
        self.by_token.values()
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

    /// Returns the token that a standing owner identifies. `owner` is the part of it that [`of_token`](StandingOwner::of_token)
    /// returns.
    pub(in crate::service) fn of_owner(&self, owner: &str) -> Option<&Arc<AppToken>> {
        self.by_token.get(self.by_owner.get(owner)?)
    }

    /// Returns the key for a second check of each signature, and true if the key belongs to a secret. Returns `None` if no token
    /// has a previous secret that is valid.
    ///
    /// While any token has two secrets, each request is checked with two keys. So the time does not show which token has two
    /// secrets. The key that belongs to no secret is public. So the caller must reject a signature that matches it.
    pub(in crate::service) fn second_key<'t>(
        &'t self,
        token: Option<&'t Arc<AppToken>>,
        now_s: i64,
    ) -> Option<(&'t Hmac<Sha256>, bool)> {
        if now_s >= self.rotates_until_s {
            return None;
        }
        let own = token.and_then(|token| token.previous(now_s));
        Some(own.map_or((&self.unknown, false), |key| (key, true)))
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
    pub(in crate::service) shared: Arc<SharedTokens>,
    pub(in crate::service) catalog: Catalog,
    pub(in crate::service) limits: Limits,
}

/// The tokens that are in force in a service, and the state of their last replacement.
pub(in crate::service) struct SharedTokens {
    current: ArcSwap<Tokens>,
    /// The lock that is held during a replacement, so that the last replacement wins.
    replacing: Mutex<()>,
    /// True if the last replacement failed.
    fails: AtomicBool,
    /// The number of replacements.
    replaced: watch::Sender<u64>,
}

impl SharedTokens {
    pub(in crate::service) fn new(tokens: Tokens) -> Self {
        Self {
            current: ArcSwap::from_pointee(tokens),
            replacing: Mutex::new(()),
            fails: AtomicBool::new(false),
            replaced: watch::Sender::new(0),
        }
    }

    /// Returns a receiver that is notified of each replacement.
    pub(in crate::service) fn subscribe(&self) -> watch::Receiver<u64> {
        self.replaced.subscribe()
    }

    /// Returns the token with this text, if it is in force and has the permission.
    pub(in crate::service) fn in_force(
        &self,
        text: &str,
        permission: Permission,
        now_s: i64,
    ) -> Option<Arc<AppToken>> {
        let tokens = self.load();
        let token = tokens.find(text).0.filter(|token| token.is_live(now_s) && token.may(permission));
        token.cloned()
    }

    /// Returns the tokens that are in force.
    pub(in crate::service) fn load(&self) -> Arc<Tokens> {
        self.current.load_full()
    }

    /// Returns true if the last replacement failed.
    pub(in crate::service) fn fails(&self) -> bool {
        self.fails.load(Ordering::Relaxed)
    }
}

impl TokenUpdater {
    /// Replaces all tokens. Requests that have already begun still use the earlier tokens. Returns the number of tokens in `file`.
    ///
    /// # Errors
    /// Returns the error in the first invalid token. In that case, the service keeps its tokens.
    pub fn replace(&self, file: TokenFile) -> Result<usize, TokenError> {
        let _replacing = self.shared.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        let tokens = Tokens::new(file, &self.catalog, &self.limits);
        self.shared.fails.store(tokens.is_err(), Ordering::Relaxed);
        let tokens = tokens?.keeping(&self.shared.load());
        let count = tokens.len();
        self.shared.current.store(Arc::new(tokens));
        self.shared.replaced.send_modify(|count| *count = count.saturating_add(1));
        Ok(count)
    }

    /// Notes that changed tokens could not be read, for the metric `casefilter_token_file_failing`. The service keeps its tokens.
    /// The next successful [`replace`](Self::replace) ends this state.
    pub fn note_failure(&self) {
        self.shared.fails.store(true, Ordering::Relaxed);
    }
}

impl fmt::Debug for TokenUpdater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenUpdater").field("tokens", &self.shared.load()).finish_non_exhaustive()
    }
}

/// Returns the HMAC key for a secret. The error is a sentence without its subject.
fn key(secret: &Secret) -> Result<Hmac<Sha256>, String> {
    if secret.0.len() < LEAST_SECRET_BYTES {
        return Err(format!("needs at least {LEAST_SECRET_BYTES} bytes"));
    }
    Hmac::new_from_slice(secret.0.as_bytes()).map_err(|_| "cannot be used".to_owned())
}

/// Sorts the clients of a token, and removes duplicates. The error is a sentence without its subject.
fn checked_clients(mut clients: Vec<String>) -> Result<Vec<String>, String> {
    clients.sort_unstable();
    clients.dedup();
    if clients.is_empty() || clients.len() > MOST_CLIENTS {
        return Err(format!("found {} clients, expected 1 to {MOST_CLIENTS}", clients.len()));
    }
    if let Some(wrong) = clients.iter().find(|client| !is_client_id(client)) {
        return Err(format!(
            "found {}, expected a client: 1 to 1024 bytes without control characters",
            quote(wrong)
        ));
    }
    Ok(clients)
}

/// Returns the filter that selects the cases of clients.
fn cases_of(clients: &[String], catalog: &Catalog) -> Result<Filter, String> {
    // The field must have a single value. Otherwise, a case with several clients would be visible to each of them.
    let is_client = |field: &Field| field.field_type() == FieldType::String && !field.is_many();
    let field = catalog.find(CLIENT).and_then(|id| catalog.get(id)).filter(|field| is_client(field));
    if field.is_none() {
        return Err(format!("the catalogue has no field `{CLIENT}` that is one string"));
    }
    let clients = clients.iter().map(String::as_str);
    Filter::test(catalog, CLIENT, Operator::Contains, clients).map_err(|errors| errors.to_string())
}

/// The field of cases that contains the client.
const CLIENT: &str = "clientId";

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::service::auth::token_file::TokenEntry;

    fn entry(text: &str, more: serde_json::Value) -> TokenEntry {
        let mut entry =
            serde_json::json!({"token": text, "secret": "0123456789abcdef", "permissions": ["viewCases"]});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(entry).unwrap()
    }

    fn file(entries: impl IntoIterator<Item = TokenEntry>) -> TokenFile {
        let mut file = TokenFile::default();
        entries.into_iter().for_each(|entry| file.push(entry));
        file
    }

    fn tokens(entries: impl IntoIterator<Item = TokenEntry>) -> Tokens {
        Tokens::new(file(entries), &Catalog::cases(), &Limits::default()).unwrap()
    }

    #[test]
    fn a_replacement_keeps_what_was_seen_of_a_token_and_applies_its_new_restrictions() {
        let none = || serde_json::json!({});
        let filter = |text: &str| serde_json::json!({ "filter": text });
        let shared = Arc::new(SharedTokens::new(tokens([
            entry("a", none()),
            entry("b", filter("clientId = acme")),
            entry("c", filter("clientId = acme")),
        ])));
        let updater = TokenUpdater {
            shared: Arc::clone(&shared),
            catalog: Catalog::cases(),
            limits: Limits::default(),
        };
        let before = shared.load();
        let own = |tokens: &Tokens, text: &str| Arc::clone(tokens.find(text).0.unwrap());
        let replays = |token: &AppToken| {
            let new = || ReplayCache::new(Duration::from_secs(60), 10);
            token.state.replays.get_or_init(new).insert([7; 32], Instant::now())
        };
        assert!(replays(&own(&before, "a")).is_ok());
        let replaced = updater.replace(file([
            entry("a", serde_json::json!({"name": "renamed", "filter": "clientId = acme"})),
            entry("b", filter("clientId = acme")),
            entry("c", filter("clientId = other")),
            entry("d", none()),
        ]));
        assert_eq!(replaced, Ok(4));
        let after = shared.load();
        // The signature that was used before is still known.
        assert!(replays(&own(&after, "a")).is_err());
        let is_cache_kept = |text| Arc::ptr_eq(&own(&before, text).cache, &own(&after, text).cache);
        assert_eq!(["a", "b", "c"].map(is_cache_kept), [false, true, false]);
        assert!(
            Arc::ptr_eq(&own(&before, "a").cache, &own(&after, "d").cache),
            "unrestricted tokens share one"
        );
        assert!(Arc::ptr_eq(&own(&before, "b").share, &own(&after, "b").share));
        // A token that remains alone gets a larger share.
        updater.replace(file([entry("b", none())])).unwrap();
        assert!(!Arc::ptr_eq(&own(&before, "b").share, &own(&shared.load(), "b").share));
        // An invalid file changes nothing.
        assert!(updater.replace(file([entry("b", filter("x = "))])).is_err());
        assert!(shared.fails() && shared.load().find("b").0.is_some());
        updater.replace(TokenFile::default()).unwrap();
        assert!(!shared.fails() && shared.load().is_empty());
    }

    #[test]
    fn a_secret_is_accepted_until_it_is_rotated_out() {
        let previous = |until: &str| serde_json::json!({"secret": "0123456789abcdef", "until": until});
        let of = |more| Arc::clone(tokens([entry("a", more)]).find("a").0.unwrap());
        let new = "fedcba9876543210";
        let before = of(serde_json::json!({}));
        let rotated = of(serde_json::json!({ "secret": new }));
        let overlapping =
            of(serde_json::json!({"secret": new, "previous": previous("1970-01-01T00:01:00Z")}));
        let accepts = |token: &AppToken, now_s| {
            [before.secret(false), rotated.secret(false)].map(|secret| token.accepts(secret, now_s))
        };
        assert_eq!(accepts(&before, 0), [true, false]);
        assert_eq!(accepts(&rotated, 0), [false, true]);
        assert_eq!([59, 60].map(|now_s| accepts(&overlapping, now_s)), [[true, true], [false, true]]);
        assert!(
            overlapping.secret(true) == before.secret(false) && rotated.secret(true) == rotated.secret(false)
        );
    }

    #[test]
    fn the_second_key_of_a_token_without_a_second_secret_belongs_to_no_secret() {
        let until = serde_json::json!({"secret": "fedcba9876543210", "until": "1970-01-01T00:01:00Z"});
        let tokens =
            tokens([entry("a", serde_json::json!({ "previous": until })), entry("b", serde_json::json!({}))]);
        let second = |text: &str, now_s| {
            tokens.second_key(tokens.find(text).0, now_s).map(|(_, is_of_a_secret)| is_of_a_secret)
        };
        assert_eq!(
            ["a", "b", "unknown"].map(|text| second(text, 59)),
            [Some(true), Some(false), Some(false)]
        );
        assert_eq!(["a", "b", "unknown"].map(|text| second(text, 60)), [None; 3]);
    }
}
