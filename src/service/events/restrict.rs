//! Stores the standing filters of tokens anew when the restrictions of the tokens have changed.
//!
//! A filter is stored with the restrictions of its token. After a change, each filter of the token is compiled again from the body that
//! the client has given. This gives no events for cases, as when a client replaces a filter. If a body does not compile any more, for
//! example because it names a field that is hidden now, its filter selects no case until it compiles again.
//!
//! The exchange gives one event that marks its place among the events. Events before it were found by the old filters, and the cases
//! that the new filters select already will never enter them. So a client that has not read beyond the mark gets 410, and begins again.
//! Until the exchange, requests for the events of the token get 503.

use std::sync::Arc;
use std::time::Duration;

use crate::filter::Filter;
use crate::service::auth::tokens::AppToken;
use crate::service::http::errors::Failure;
use crate::service::operations::case_source::CaseSource;
use crate::service::state::ServiceState;
use crate::standing::StandingFilter;
use crate::store::{Exchange, NewOwnedFilter};

/// The time between two attempts, if the file cannot be written.
const PAUSE: Duration = Duration::from_secs(1);

impl ServiceState {
    /// Stores the filters of tokens whose restrictions have changed, now and after each change of the tokens. Runs until the future is
    /// dropped.
    pub(in crate::service) async fn restrict_filters(self: &Arc<Self>) {
        let mut replaced = self.tokens.subscribe();
        if !matches!(self.source, CaseSource::Store) {
            return std::future::pending().await;
        }
        let mut fails = false;
        loop {
            replaced.mark_unchanged();
            let failure = self.own_write(restrict_all).await.err();
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
}

/// Stores the filters of all tokens that are stored under other restrictions. Goes on after a failure, and returns the first one.
fn restrict_all(shared: &ServiceState) -> Result<(), Failure> {
    let tokens = shared.tokens.load();
    tokens.iter().map(|token| restrict(shared, token)).fold(Ok(()), Result::and)
}

/// Stores the filters of a token that are stored under other restrictions.
fn restrict(shared: &ServiceState, token: &AppToken) -> Result<(), Failure> {
    let stored = shared.store.owned_filters(token.owner.of_token(), |_| true).map_err(Failure::from)?;
    let outdated: Vec<_> = stored.into_iter().filter(|filter| filter.owner != token.owner.as_str()).collect();
    if outdated.is_empty() {
        return Ok(());
    }
    let catalog = token.cache.catalog();
    let anew = outdated.iter().map(|old| {
        let body = old.body.clone().unwrap_or_default();
        let is_visible = old.fields.iter().all(|field| catalog.is_visible(*field));
        let compiled = token.cache.compile(body.as_bytes()).ok().filter(|_| is_visible);
        let filter = compiled.unwrap_or_else(|| Filter::none(catalog));
        let filter = StandingFilter::owned(token.owner.as_str(), &old.name, &filter);
        NewOwnedFilter { filter: filter.with_fields(old.fields.iter().copied()), body }
    });
    let inserted: Vec<NewOwnedFilter> = anew.collect();
    let (count, changed) = (inserted.len(), Some(token.owner.of_token()));
    shared.store.exchange_owned(Exchange { removed: &outdated, inserted, changed }).map_err(Failure::from)?;
    let name = token.name.as_str();
    tracing::info!(
        token = name,
        filters = count,
        "the restrictions of a token have changed, and those of its standing filters"
    );
    Ok(())
}
