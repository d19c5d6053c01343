//! Stores the standing filters of tokens anew when the restrictions of the tokens have changed.
//!
//! A filter is stored with the restrictions of its token. After a change, each filter of the token is compiled again from the body
//! that the client has given. Like a replacement by the client, this creates no events about cases. A body may no longer compile,
//! for example because it names a field that is hidden now. Its filter then selects no case until the body compiles again. At the
//! start, each body is compiled, because the service may have other options than before, such as `--extended`.
//!
//! Each transaction that replaces filters also creates one event, the mark of the change. Events before the mark were created by
//! the old filters. The new filters create no events for the cases that they select already. So a client that has not read beyond
//! the mark gets 410, and begins again. Until the filters have been replaced, requests for the events of the token get 503.

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

/// The maximum number of filters that one transaction replaces.
const EXCHANGED_AT_ONCE: usize = 64;

impl ServiceState {
    /// Updates the stored filters of each token whose restrictions have changed. Does so at once, and again after each change of
    /// the tokens. Runs until the future is dropped.
    pub(in crate::service) async fn restrict_filters(self: &Arc<Self>) {
        let mut replaced = self.tokens.subscribe();
        if self.check_standing().is_err() {
            return std::future::pending().await;
        }
        // Under other options of the service, a body may compile to another filter. Options change only by a restart, so each body
        // is checked once.
        let mut checked: HashSet<String> = HashSet::new();
        let mut fails = false;
        loop {
            replaced.mark_unchanged();
            let mut failure = None;
            for token in self.tokens.load().iter() {
                let checks_bodies = !checked.contains(&token.text);
                match self.restrict(Arc::clone(token), checks_bodies).await {
                    Ok(true) => drop(checked.insert(token.text.clone())),
                    // The token has changed again.
                    Ok(false) => {}
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
            // Ends the streams of tokens that have changed.
            self.events.wake();
            if fails {
                tokio::time::sleep(PAUSE).await;
            } else if replaced.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Compiles the outdated filters of a token again, and replaces them by the results. Waits for its turn to write only if there
    /// are such filters. Returns false if the token has changed in the meantime. In that case, no filter was replaced.
    async fn restrict(self: &Arc<Self>, token: Arc<AppToken>, checks_bodies: bool) -> Result<bool, Failure> {
        let own = Arc::clone(&token);
        let is_outdated = move |shared: &Self| {
            let owner = &own.owner;
            let is_sole = shared.store.is_sole_owner(owner.of_token(), owner.as_str())?;
            Ok(!is_sole || checks_bodies && !outdated(&shared.store, &own)?.is_empty())
        };
        if !self.read_page_part(is_outdated).await? {
            return Ok(true);
        }
        self.own_turn(move |shared| restrict(shared, &token)).await
    }
}

/// Returns the outdated filters of a token, each with its replacement. A filter is outdated if it is stored under other
/// restrictions, or if its body now compiles to another filter.
fn outdated(store: &Store, token: &AppToken) -> Result<Vec<(OwnedFilter, NewOwnedFilter)>, Failure> {
    let catalog = token.cache.catalog();
    let mut found = Vec::new();
    for mut old in store.owned_filters(token.owner.of_token(), |_| true)? {
        let body = old.body.take().unwrap_or_default();
        let is_visible = old.fields.iter().all(|field| catalog.is_visible(*field));
        let compiled = token.cache.compile(body.as_bytes()).ok().filter(|_| is_visible);
        let filter = compiled.unwrap_or_else(|| Filter::none(catalog));
        let standing = |filter: &Filter| {
            let filter = StandingFilter::owned(token.owner.as_str(), &old.name, filter);
            filter.with_fields(old.fields.iter().copied())
        };
        // The effort of the optimiser is limited. So a long filter may get a shorter normal form when its stored text is compiled
        // again.
        let is_stored = |filter: &Filter| {
            let reread = || Filter::of_stored_text(catalog, &filter.to_text()).ok();
            store.has_owned(&standing(filter))
                || reread().is_some_and(|filter| store.has_owned(&standing(&filter)))
        };
        if old.owner != token.owner.as_str() || !is_stored(&filter) {
            let filter = standing(&filter);
            found.push((old, NewOwnedFilter { filter, body }));
        }
    }
    Ok(found)
}

/// Compiles the outdated filters of a token again, and replaces them by the results. The caller has the write lock. Returns false
/// if the token has changed again.
fn restrict(shared: &ServiceState, token: &AppToken) -> Result<bool, Failure> {
    let present = shared.tokens.load();
    if present.find(&token.text).0.is_none_or(|present| present.owner != token.owner) {
        // The token has changed again while this write waited. The next pass handles it.
        return Ok(false);
    }
    let mut outdated = outdated(&shared.store, token)?;
    if outdated.is_empty() {
        return Ok(true);
    }
    let count = outdated.len();
    // Each filter contains the restrictions of the token, which may be long. So there may not be enough memory to replace all
    // filters at once.
    while !outdated.is_empty() {
        let part = outdated.split_off(outdated.len().saturating_sub(EXCHANGED_AT_ONCE));
        let (removed, inserted): (Vec<_>, Vec<_>) = part.into_iter().unzip();
        let exchange = Exchange { removed: &removed, inserted, changed: Some(token.owner.of_token()) };
        shared.track_write(|shared| shared.store.exchange_owned(exchange).map_err(Failure::from))?;
    }
    let (name, owner, last_event) = (token.name.as_str(), token.owner.as_str(), shared.store.last_event());
    tracing::info!(
        token = name,
        owner,
        filters = count,
        last_event,
        "the standing filters of a token were stored with its new restrictions"
    );
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::catalog::Catalog;
    use crate::limits::Limits;
    use crate::service::auth::tokens::Tokens;
    use crate::service::options::ServiceOptions;
    use crate::store::{Durability, StoreOptions};

    #[test]
    fn writes_between_a_change_of_a_token_and_that_of_its_filters_are_never_missed() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("c.db");
        let store = Store::create(path, Catalog::cases(), StoreOptions::default()).unwrap();
        let secret = "0123456789abcdef";
        let entry = serde_json::json!({"token": "t", "secret": secret, "permissions": ["manageFilters"], "clients": ["b"]});
        let file = serde_json::from_value(serde_json::json!({ "tokens": [entry] })).unwrap();
        let tokens = Tokens::new(file, store.catalog(), &Limits::default()).unwrap();
        let shared =
            Arc::new(ServiceState::new(store, tokens, ServiceOptions::default(), std::iter::empty()));
        let token = Arc::clone(shared.tokens.load().find("t").0.unwrap());
        // The filter is stored under earlier restrictions: the client `a`.
        let (owner, body) = (
            format!("{}before", token.owner.of_token()),
            r#"{"criteria":[{"field":"id","op":"<>","values":["0"]}]}"#,
        );
        let bound = Filter::compile_text(shared.store.catalog(), "clientId = a and id <> '0'").unwrap();
        let new =
            NewOwnedFilter { filter: StandingFilter::owned(&owner, "n", &bound), body: body.to_owned() };
        let exchange = Exchange { removed: &[], inserted: vec![new], changed: None };
        shared.store.exchange_owned(exchange).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let status = |after| {
            let read = runtime.block_on(shared.read_events(&token, after, 10));
            read.map(|found| found.events.len()).map_err(|failure| failure.status().as_u16())
        };
        let write = |id: &str, client: &str| {
            let case = serde_json::json!({"id": id, "clientId": client}).to_string();
            shared.store.upsert(case.as_bytes(), Durability::Synced).unwrap();
        };
        // A case of the client `b` creates no event, because the old filter selects only cases of `a`. For now, requests for events
        // or for the last event number get 503.
        write("1", "b");
        assert_eq!(shared.store.last_event(), 0);
        assert_eq!(status(0), Err(503));
        assert_eq!(runtime.block_on(shared.last_event(&token)).unwrap_err().status().as_u16(), 503);
        runtime.block_on(shared.restrict(Arc::clone(&token), false)).unwrap();
        // A client that had read all events learns that it must read its cases again.
        assert_eq!(status(0), Err(410));
        assert_eq!(runtime.block_on(shared.last_event(&token)).unwrap(), 1);
        write("2", "b");
        write("3", "a");
        assert_eq!((status(0), status(1), status(2)), (Err(410), Ok(1), Ok(0)));
        // Nothing is left to store, so the file is not written, and `writes_fail` does not change.
        shared.writes_fail.store(true, Ordering::Relaxed);
        for checks_bodies in [false, true] {
            runtime.block_on(shared.restrict(Arc::clone(&token), checks_bodies)).unwrap();
        }
        assert!(shared.writes_fail() && shared.store.last_event() == 2);
        // This filter is stored under the present restrictions, but its body compiles to another filter.
        let none = StandingFilter::owned(token.owner.as_str(), "n", &Filter::none(shared.store.catalog()));
        let new = NewOwnedFilter { filter: none, body: body.to_owned() };
        shared.store.exchange_owned(Exchange { removed: &[], inserted: vec![new], changed: None }).unwrap();
        runtime.block_on(shared.restrict(Arc::clone(&token), false)).unwrap();
        assert_eq!(status(2), Ok(0));
        runtime.block_on(shared.restrict(Arc::clone(&token), true)).unwrap();
        assert_eq!((status(2), status(3)), (Err(410), Ok(0)));
        write("4", "b");
        assert_eq!(status(3), Ok(1));
    }
}
