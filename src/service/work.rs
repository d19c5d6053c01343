//! Work that may take long or wait for the file: on threads of its own, so many pieces at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::auth::tokens::AppToken;
use super::http::errors::Failure;
use super::state::ServiceState;

impl ServiceState {
    /// How many requests are worked on away from the threads of connections.
    pub(super) fn at_work(&self) -> usize {
        self.options.concurrency.saturating_sub(self.working.available_permits())
    }

    /// One of the requests that a token may have at work or waiting at a time.
    pub(super) fn share_of(&self, token: &AppToken) -> Result<OwnedSemaphorePermit, Failure> {
        let share = token.share.get_or_init(|| Arc::new(Semaphore::new(self.share)));
        Arc::clone(share).try_acquire_owned().map_err(|_| Failure::overloaded())
    }

    /// Runs what may block on a thread of its own.
    ///
    /// # Errors
    /// Those of `work`; 503 when too much is under way, of this token or of all; 500 when it panics.
    pub(super) async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        token: &AppToken,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let share = self.share_of(token)?;
        let permit = Arc::clone(&self.working).try_acquire_owned().map_err(|_| Failure::overloaded())?;
        self.blocking(work, (share, permit)).await
    }

    /// Reads a part of a large page on a thread of its own, when those who came before have read a part of theirs.
    ///
    /// # Errors
    /// Those of `work`; 500 when it panics.
    pub(super) async fn bulk<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let permit = Arc::clone(&self.reading).acquire_owned().await;
        self.blocking(work, permit).await
    }

    /// As [`work`](Self::work), one after the other; 503 also when the turn does not come soon.
    pub(super) async fn write<T: Send + 'static>(
        self: &Arc<Self>,
        token: &AppToken,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let share = self.share_of(token)?;
        // Those that wait take no permit of those that could work: an import may hold the turn for a while.
        let _place = self.queue.try_acquire().map_err(|_| Failure::overloaded())?;
        let turn = Arc::clone(&self.writing).acquire_owned();
        let turn = tokio::time::timeout(self.options.turn_timeout, turn).await;
        let turn = turn.map_err(|_| Failure::no_turn())?;
        let permit = Arc::clone(&self.working).try_acquire_owned().map_err(|_| Failure::overloaded())?;
        self.blocking(|shared| shared.watched(work), (share, turn, permit)).await
    }

    /// Writes for an operator, whose turn comes when it comes.
    ///
    /// # Errors
    /// Those of `work`; 500 when it panics.
    #[cfg(unix)]
    pub(super) async fn in_turn<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let turn = Arc::clone(&self.writing).acquire_owned().await;
        self.blocking(|shared| shared.watched(work), turn).await
    }

    /// Prepares an import of cases for an operator, when those before have ended. `work` takes its [turn](Self::wait_for_turn) to write
    /// itself.
    ///
    /// # Errors
    /// Those of `work`; 500 when it panics.
    #[cfg(unix)]
    pub(super) async fn import<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let place = Arc::clone(&self.importing).acquire_owned().await;
        self.blocking(work, place).await
    }

    /// Waits for the turn to write, on a thread that may wait. The turn ends when the permit is dropped.
    #[cfg(unix)]
    pub(super) fn wait_for_turn(&self) -> impl Sized {
        tokio::runtime::Handle::current().block_on(Arc::clone(&self.writing).acquire_owned())
    }

    /// Reads for an operator, beside all else.
    ///
    /// # Errors
    /// Those of `work`; 500 when it panics.
    #[cfg(unix)]
    pub(super) async fn beside<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.blocking(work, ()).await
    }

    /// Runs something on a thread of its own, and keeps to its end, even if the client goes away, what it holds.
    async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
        held: impl Send + 'static,
    ) -> Result<T, Failure> {
        let shared = Arc::clone(self);
        let run = move || {
            let _held = held;
            shared.run(work)
        };
        tokio::task::spawn_blocking(run)
            .await
            .unwrap_or_else(|error| Err(Failure::internal(error.to_string())))
    }

    /// Writes, and notes whether that fails for a reason of the file.
    pub(super) fn watched<T>(&self, work: impl FnOnce(&Self) -> Result<T, Failure>) -> Result<T, Failure> {
        let result = self.run(work);
        match &result {
            Ok(_) => self.writes_fail.store(false, Ordering::Relaxed),
            Err(failure) if failure.status().is_server_error() => {
                self.writes_fail.store(true, Ordering::Relaxed);
            }
            // Refused before anything was written.
            Err(_) => {}
        }
        result
    }

    /// Tries after a write that failed whether writes succeed again, for as long as it is polled.
    pub(super) async fn recover(self: &Arc<Self>) {
        const PAUSE: Duration = Duration::from_secs(1);
        loop {
            tokio::time::sleep(PAUSE).await;
            if !self.writes_fail() {
                continue;
            }
            let Ok(turn) = Arc::clone(&self.writing).acquire_owned().await else { return };
            let recover = |shared: &Self| {
                shared.watched(|shared| shared.store.recover().map_err(|error| Failure::of_store(&error)))
            };
            match self.blocking(recover, turn).await {
                Ok(()) => tracing::info!("the file can be written again; updates go on"),
                Err(failure) => {
                    let cause = failure.description();
                    tracing::debug!(cause, "the file cannot be written yet");
                }
            }
        }
    }

    /// Runs something here and now; a panic of it is a failure like others.
    pub(super) fn run<T>(&self, work: impl FnOnce(&Self) -> Result<T, Failure>) -> Result<T, Failure> {
        catch_unwind(AssertUnwindSafe(|| work(self))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Err(Failure::internal(format!("panic: {}", text.unwrap_or_default())))
        })
    }

    /// Waits until nothing is worked on any more.
    pub(super) async fn finished(&self) {
        let all = |count| u32::try_from(count).unwrap_or(u32::MAX);
        let _ = self.working.acquire_many(all(self.options.concurrency)).await;
        let _ = self.reading.acquire_many(all(self.readers)).await;
        #[cfg(unix)]
        let _ = self.importing.acquire().await;
        let _ = self.writing.acquire().await;
    }
}

#[cfg(test)]
mod tests {
    use super::super::auth::tokens::Tokens;
    use super::super::options::ServiceOptions;
    use super::*;
    use crate::catalog::Catalog;
    use crate::limits::Limits;
    use crate::store::{Store, StoreOptions};

    fn state(folder: &std::path::Path, tokens: usize, concurrency: usize) -> ServiceState {
        let store = Store::create(folder.join("c.db"), Catalog::cases(), StoreOptions::default()).unwrap();
        let entry = |number| serde_json::json!({"token": format!("t{number}"), "secret": "0123456789abcdef", "permissions": []});
        let file = serde_json::json!({ "tokens": (0..tokens).map(entry).collect::<Vec<_>>() });
        let file = serde_json::from_value(file).unwrap();
        let tokens = Tokens::new(file, store.catalog(), &Limits::default()).unwrap();
        let options = ServiceOptions { concurrency, ..ServiceOptions::default() };
        ServiceState::new(store, tokens, options, std::iter::empty())
    }

    #[test]
    fn a_token_has_at_most_half_of_the_requests_at_work_unless_it_is_the_only_one() {
        for (tokens, concurrency, expected) in [(2, 8, 4), (2, 3, 2), (2, 1, 1), (3, 0, 0), (1, 8, 8)] {
            let folder = tempfile::TempDir::new().unwrap();
            let shared = state(folder.path(), tokens, concurrency);
            let token = |name: &str| Arc::clone(shared.tokens.find(name).0.unwrap());
            let mut held = Vec::new();
            while let Ok(permit) = shared.share_of(&token("t0")) {
                held.push(permit);
            }
            assert_eq!(held.len(), expected, "{tokens} tokens, {concurrency} requests");
            let refused = shared.share_of(&token("t0")).map(drop).unwrap_err();
            assert_eq!(refused.status().as_u16(), 503);
            if tokens > 1 && concurrency > 0 {
                assert!(shared.share_of(&token("t1")).is_ok(), "another token has a share of its own");
            }
            held.pop();
            assert_eq!(
                shared.share_of(&token("t0")).is_ok(),
                concurrency > 0,
                "what is given back can be taken"
            );
        }
    }
}
