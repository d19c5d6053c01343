//! Reads the events of a token, and waits for them. While a request waits, it holds no thread and no transaction of the store.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::watch;
use tokio::time::Instant;

use super::hub::Look;
use crate::envelope::error_codes;
use crate::service::auth::permission::Permission;
use crate::service::auth::secret_mark::SecretMark;
use crate::service::auth::tokens::AppToken;
use crate::service::http::errors::Failure;
use crate::service::operations::case_source::CaseSource;
use crate::service::state::{ServiceState, now};
use crate::store::{OwnedEvents, StoreError};

/// The time after which a request that waits checks if its token is still in force. A token can expire without a change of the
/// file.
const CHECK: Duration = Duration::from_millis(500);

/// The reason why a request has stopped waiting. The token has no unread events up to the event number `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::service) enum Waited {
    /// There may be events of the token.
    Events,
    /// The request has waited until its time limit.
    Time { last: u64 },
    /// The token is not in force any more or has other restrictions, its secret is not valid any more, or the service drains.
    Ended { last: u64 },
}

/// The token of a request that reads events, and the secret with which the request was signed.
#[derive(Clone)]
pub(in crate::service) struct Signer {
    pub(in crate::service) token: Arc<AppToken>,
    pub(in crate::service) secret: SecretMark,
}

impl ServiceState {
    /// Checks that the service has standing filters.
    ///
    /// # Errors
    /// Returns an error with status 404 if the service searches PostgreSQL, or if its database has an earlier format.
    pub(in crate::service) fn check_standing(&self) -> Result<(), Failure> {
        let description = match &self.source {
            CaseSource::Store if self.store.has_standing() => return Ok(()),
            CaseSource::Store => {
                "the database of this service has an earlier format, which has no standing filters"
            }
            #[cfg(feature = "postgres")]
            CaseSource::Postgres(_) => {
                "this service searches PostgreSQL, and therefore has no standing filters and no events"
            }
        };
        Err(Failure::new(StatusCode::NOT_FOUND, description).coded(error_codes::NO_STANDING))
    }

    /// Returns true if a token is still in force with the restrictions that it had when the request began. The secret of the
    /// request must also still be valid.
    pub(in crate::service) fn is_in_force(&self, signer: &Signer) -> bool {
        let (token, now_s) = (&signer.token, now().timestamp());
        let current = self.tokens.in_force(&token.text, Permission::ManageFilters, now_s);
        current.is_some_and(|current| current.owner == token.owner && current.accepts(signer.secret, now_s))
    }

    /// Reads events of a token after an event, at most `most` of them.
    ///
    /// Events that were created under other restrictions of the token are never returned. The reading ends before them.
    ///
    /// # Errors
    /// Returns an error with status 410 if events are not kept any more, or if `after` has not happened yet. Also returns it if the
    /// next event was created under other restrictions, or marks a change of the restrictions. Returns an error with status 503 if
    /// filters of the token are still stored under other restrictions. Returns an error if the file cannot be read.
    pub(in crate::service) async fn read_events(
        self: &Arc<Self>,
        token: &Arc<AppToken>,
        after: u64,
        most: usize,
    ) -> Result<OwnedEvents, Failure> {
        let token = Arc::clone(token);
        let read = move |shared: &Self| {
            shared.check_restricted(&token)?;
            let found = shared.store.owned_events(token.owner.of_token(), after, most);
            let found = found.map_err(|error| of_events(error, shared.store.last_event()))?;
            present(found, &token, shared.store.last_event())
        };
        self.read_page_part(read).await
    }

    /// Returns the number of the last event. A client of the token can begin to read events after this event.
    ///
    /// # Errors
    /// Returns an error with status 503 if filters of the token are still stored under other restrictions. Returns an error if the
    /// file cannot be read.
    pub(in crate::service) async fn last_event(
        self: &Arc<Self>,
        token: &Arc<AppToken>,
    ) -> Result<u64, Failure> {
        let token = Arc::clone(token);
        let read = move |shared: &Self| {
            shared.check_restricted(&token)?;
            Ok(shared.store.last_event())
        };
        self.read_page_part(read).await
    }

    /// Checks that all filters of a token are stored under its restrictions.
    ///
    /// While some filters are stored under other restrictions, writes are still compared with these old filters. A client that read
    /// its cases now would have to read them again.
    fn check_restricted(&self, token: &AppToken) -> Result<(), Failure> {
        if self.store.is_sole_owner(token.owner.of_token(), token.owner.as_str())? {
            return Ok(());
        }
        let description = "the restrictions of the token have changed, and its standing filters do not have them yet; try again in a moment";
        Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, description))
    }

    /// Waits until there may be events of a token after the event `after`, but at most until `end`.
    pub(in crate::service) async fn wait_for_events(
        &self,
        signal: &mut watch::Receiver<u64>,
        signer: &Signer,
        mut after: u64,
        end: Instant,
    ) -> Waited {
        loop {
            signal.mark_unchanged();
            if self.is_draining() || !self.is_in_force(signer) {
                return Waited::Ended { last: after };
            }
            match self.events.look(signer.token.owner.of_token(), after) {
                Look::Read => return Waited::Events,
                // If no thread runs `follow`, new events are noticed here, but later.
                Look::Nothing { .. } if !self.events.is_followed() && self.store.last_event() > after => {
                    return Waited::Events;
                }
                Look::Nothing { last } => after = last,
            }
            let now = Instant::now();
            if now >= end {
                return Waited::Time { last: after };
            }
            let pause = end.saturating_duration_since(now).min(CHECK);
            // The sender lives as long as the service.
            let _ = tokio::time::timeout(pause, signal.changed()).await;
        }
    }
}

#[cfg(unix)]
impl ServiceState {
    /// Waits until there is an event of any owner after the event `after`, until the service drains, or until `end`.
    pub(in crate::service) async fn wait_for_any_event(&self, after: u64, end: Instant) {
        let mut signal = self.events.subscribe();
        while self.store.last_event() <= after && !self.is_draining() {
            let pause = end.saturating_duration_since(Instant::now()).min(CHECK);
            if pause.is_zero() {
                return;
            }
            // A service on PostgreSQL has no thread that signals events, so this also looks at the store.
            let _ = tokio::time::timeout(pause, signal.changed()).await;
        }
    }
}

/// Keeps only the events before the first one that was created under other restrictions, or that marks a change of restrictions.
/// Returns an error if no event comes before it.
fn present(mut found: OwnedEvents, token: &AppToken, last: u64) -> Result<OwnedEvents, Failure> {
    let is_other = |owner: Option<&str>| owner != Some(token.owner.as_str());
    let Some(at) = found.events.iter().position(|event| is_other(event.owner.as_deref())) else {
        return Ok(found);
    };
    let number = found.events.get(at).map_or(0, |event| event.number);
    if at == 0 {
        let what = format!("the restrictions of the token changed at or after the event {number}");
        return Err(gone(&what, last));
    }
    found.events.truncate(at);
    found.last = number.saturating_sub(1);
    found.is_all = false;
    Ok(found)
}

/// Converts an error of the store for a request that reads events.
fn of_events(error: StoreError, last: u64) -> Failure {
    match error.events_gone() {
        Some(missing) => gone(&missing.to_string(), last),
        None => Failure::from(error),
    }
}

/// Returns the error for events that cannot be returned.
fn gone(what: &str, last: u64) -> Failure {
    let description =
        format!("{what}; read the cases of the filters again, and go on after the event {last}");
    Failure::new(StatusCode::GONE, description).coded(error_codes::EVENTS_GONE)
}
