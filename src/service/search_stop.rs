//! Stops searches: at the timeout of the service, and when the client has disconnected.

use std::time::{Duration, Instant};

use crate::filter::SearchRequest;
use crate::stop::{CancelToken, Deadline};

/// The end of one search, from the request to the start of its response.
#[derive(Clone)]
pub(super) struct SearchStop {
    token: CancelToken,
    deadline: Option<Deadline>,
}

/// Cancels a search, at the latest when it is dropped. The future of the response owns it. Cancelling a search that has ended does nothing.
pub(super) struct CancelOnDrop(CancelToken);

impl SearchStop {
    /// Starts the time of a search. Zero is no limit.
    pub(super) fn after(timeout: Duration) -> Self {
        let end = Instant::now().checked_add(timeout).filter(|_| !timeout.is_zero());
        let deadline = end.map(|end| Deadline::new(move || Instant::now() >= end));
        Self { token: CancelToken::new(), deadline }
    }

    /// Returns the guard that stops the search if the response is no longer wanted.
    pub(super) fn guard(&self) -> CancelOnDrop {
        CancelOnDrop(self.token.clone())
    }

    /// Returns the request with the end of the search.
    pub(super) fn apply(self, request: SearchRequest) -> SearchRequest {
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
