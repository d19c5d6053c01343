//! Stops searches: at the timeout of the service, or when the client has disconnected.

use std::time::{Duration, Instant};

use crate::facet::FacetsRequest;
use crate::filter::SearchRequest;
use crate::stop::{CancelToken, Deadline};

/// The stop conditions of one search: a token that cancels it, and its deadline.
#[derive(Clone)]
pub(super) struct SearchStop {
    token: CancelToken,
    deadline: Option<Deadline>,
}

/// A guard that cancels a search when it is dropped. The future of the response owns it. Cancelling a search that has ended has no
/// effect.
pub(super) struct CancelOnDrop(CancelToken);

impl SearchStop {
    /// Starts the time limit of a search. Zero means no limit.
    pub(super) fn after(timeout: Duration) -> Self {
        let end = Instant::now().checked_add(timeout).filter(|_| !timeout.is_zero());
        let deadline = end.map(|end| Deadline::new(move || Instant::now() >= end));
        Self { token: CancelToken::new(), deadline }
    }

    /// Returns a guard. Dropping the guard stops the search, because its response is no longer wanted.
    pub(super) fn guard(&self) -> CancelOnDrop {
        CancelOnDrop(self.token.clone())
    }

    /// Returns the request with these stop conditions.
    pub(super) fn apply(self, request: SearchRequest) -> SearchRequest {
        request.with_cancel(self.token).with_deadline(self.deadline)
    }

    /// Returns the request for counts by value with these stop conditions.
    pub(super) fn apply_to_facets(self, request: FacetsRequest) -> FacetsRequest {
        request.with_cancel(self.token).with_deadline(self.deadline)
    }
}

impl CancelOnDrop {
    /// Cancels the search.
    pub(super) fn cancel(&self) {
        self.0.cancel();
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
