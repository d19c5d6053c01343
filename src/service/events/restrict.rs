//! Stores the standing filters of tokens anew when the restrictions of the tokens have changed.
//!
//! A filter is stored with the restrictions of its token. After a change, each filter of the token is compiled again from the body that
//! the client has given. This gives no events for cases, as when a client replaces a filter. If a body does not compile any more, for
//! example because it names a field that is hidden now, its filter selects no case until it compiles again. At the start, each body is
//! compiled, because the service may have other options than before, such as `--extended`.
//!
//! The exchange gives one event that marks its place among the events. Events before it were found by the old filters, and the cases
//! that the new filters select already will never enter them. So a client that has not read beyond the mark gets 410, and begins again.
//! Until the exchange, requests for the events of the token get 503.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::filter::Filter;
use crate::service::auth::tokens::AppToken;
use crate::service::http::errors::Failure;
use crate::service::state::ServiceState;
use crate::standing::StandingFilter;
use crate::store::{Exchange, NewOwnedFilter, OwnedFilter, Store};

/// The time between two attempts, if the file cannot be read or written.
const PAUSE: Duration = Duration::from_secs(1);

impl ServiceState {
    /// Stores the filters of tokens whose restrictions have changed, now and after each change of the tokens. Runs until the future is
    /// dropped.
    pub(in crate::service) async fn restrict_filters(self: &Arc<Self>) {
        let mut replaced = self.tokens.subscribe();
        if self.check_standing().is_err() {
            return std::future::pending().await;
        }
        // Other options of the service may also make another filter of a body. They change only by a restart.
        let mut unchecked: HashSet<String> =
            self.tokens.load().iter().map(|token| token.text.clone()).collect();
        let mut fails = false;
        loop {
            replaced.mark_unchanged();
            let mut failure = None;
            for token in self.tokens.load().iter() {
                let checks_bodies = unchecked.contains(&token.text);
                match self.restrict(Arc::clone(token), checks_bodies).await {
                    Ok(()) => drop(unchecked.remove(&token.text)),
                    // The filters of the other tokens do not wait for those of this one.
                    Err(error) => drop(failure.get_or_insert(error)),
                }
            }
            if let (Some(failure), false) = (&failure, fails) {
                let cause = failure.cause().unwrap_or(failure.description());
                tracing::error!(
                    cause,
                    "the standing filters of tokens cannot be stored with their new restrictions"
                );
            }
            fails = failure.is_some();
            // Streams of tokens that have changed end.
            self.events.wake();
            if fails {
                tokio::time::sleep(PAUSE).await;
            } else if replaced.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Stores the filters of a token that are outdated. If there are none, other writes do not wait.
    async fn restrict(self: &Arc<Self>, token: Arc<AppToken>, checks_bodies: bool) -> Result<(), Failure> {
        let own = Arc::clone(&token);
        let is_outdated = move |shared: &Self| {
            let owner = &own.owner;
            let is_sole = shared.store.is_sole_owner(owner.of_token(), owner.as_str())?;
            Ok(!is_sole || checks_bodies && !outdated(&shared.store, &own)?.is_empty())
        };
        if !self.read_page_part(is_outdated).await? {
            return Ok(());
        }
        self.own_turn(move |shared| restrict(shared, &token)).await
    }
}

/// Returns the filters of a token that are outdated, and what is to be stored instead: those that are stored under other restrictions,
/// and those whose body now makes another filter.
fn outdated(store: &Store, token: &AppToken) -> Result<Vec<(OwnedFilter, NewOwnedFilter)>, Failure> {
    let catalog = token.cache.catalog();
    let mut found = Vec::new();
    for mut old in store.owned_filters(token.owner.of_token(), |_| true)? {
        let body = old.body.take().unwrap_or_default();
        let is_visible = old.fields.iter().all(|field| catalog.is_visible(*field));
        let compiled = token.cache.compile(body.as_bytes()).ok().filter(|_| is_visible);
        let filter = compiled.unwrap_or_else(|| Filter::none(catalog));
        let filter = StandingFilter::owned(token.owner.as_str(), &old.name, &filter);
        let filter = filter.with_fields(old.fields.iter().copied());
        if old.owner != token.owner.as_str() || !store.has_owned(&filter) {
            found.push((old, NewOwnedFilter { filter, body }));
        }
    }
    Ok(found)
}

/// Stores the filters of a token that are outdated. The caller has the write lock.
fn restrict(shared: &ServiceState, token: &AppToken) -> Result<(), Failure> {
    let present = shared.tokens.load();
    if present.find(&token.text).0.is_none_or(|present| present.owner != token.owner) {
        // The token has changed again while this write waited. It is next.
        return Ok(());
    }
    let (removed, inserted): (Vec<_>, Vec<_>) = outdated(&shared.store, token)?.into_iter().unzip();
    if removed.is_empty() {
        return Ok(());
    }
    let (count, changed) = (inserted.len(), Some(token.owner.of_token()));
    let exchange = Exchange { removed: &removed, inserted, changed };
    shared.track_write(|shared| shared.store.exchange_owned(exchange).map_err(Failure::from))?;
    let name = token.name.as_str();
    tracing::info!(
        token = name,
        filters = count,
        "the restrictions of a token have changed, and those of its standing filters"
    );
    Ok(())
}
