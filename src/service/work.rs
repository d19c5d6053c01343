//! Runs blocking work on blocking threads, within the concurrency limits of the service and of each token. A request over a limit
//! gets 503.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::auth::tokens::AppToken;
use super::http::errors::Failure;
use super::state::{MOST_CHANGES, ServiceState};

impl ServiceState {
    /// Returns the number of requests that currently run on blocking threads.
    pub(super) fn at_work(&self) -> usize {
        self.options.concurrency.saturating_sub(self.workers.available_permits())
    }

    /// Returns a permit from the share of one token. A request holds it while it runs or waits.
    ///
    /// # Errors
    /// Returns an error with status 503 if the share of the token is used up.
    pub(super) fn acquire_share(&self, token: &AppToken) -> Result<OwnedSemaphorePermit, Failure> {
        let share = token.share.get_or_init(|| Arc::new(Semaphore::new(self.token_share())));
        Arc::clone(share).try_acquire_owned().map_err(|_| Failure::overloaded())
    }

    /// Runs the work of a request on a blocking thread.
    ///
    /// # Errors
    /// Returns the error of `work`. The status is 503 if the token or the service has reached its limit, and 500 if `work` panics.
    pub(super) async fn run_on_worker<T: Send + 'static>(
        self: &Arc<Self>,
        token: &AppToken,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let share = self.acquire_share(token)?;
        let permit = Arc::clone(&self.workers).try_acquire_owned().map_err(|_| Failure::overloaded())?;
        self.spawn_blocking(work, (share, permit)).await
    }

    /// Reads a part of a large page on a blocking thread. All pages share one queue: the parts start in the order in which they
    /// arrive.
    ///
    /// # Errors
    /// Returns the error of `work`, or an error with status 500 if `work` panics.
    pub(super) async fn read_page_part<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let permit = Arc::clone(&self.page_reads).acquire_owned().await;
        self.spawn_blocking(work, permit).await
    }

    /// Runs an update on a blocking thread, while no other write runs.
    ///
    /// # Errors
    /// Returns the errors of [`run_on_worker`](Self::run_on_worker). The status is 503 if the update waits longer than
    /// [`write_queue_timeout`](crate::service::ServiceOptions::write_queue_timeout).
    pub(super) async fn write<T: Send + 'static>(
        self: &Arc<Self>,
        token: &AppToken,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let share = self.acquire_share(token)?;
        // While it waits, an update must not hold a `workers` permit, because an import of records may keep the write lock for a
        // long time.
        let _place = self.waiting_updates.try_acquire().map_err(|_| Failure::overloaded())?;
        let turn = Arc::clone(&self.write_lock).acquire_owned();
        let turn = tokio::time::timeout(self.options.write_queue_timeout, turn).await;
        let turn = turn.map_err(|_| Failure::no_turn())?;
        let permit = Arc::clone(&self.workers).try_acquire_owned().map_err(|_| Failure::overloaded())?;
        self.spawn_blocking(|shared| shared.track_write(work), (share, turn, permit)).await
    }

    /// Runs a write of the service itself or of an operator, while no other write runs. Waits for other writes without a timeout.
    ///
    /// # Errors
    /// Returns the error of `work`, or an error with status 500 if `work` panics.
    pub(super) async fn own_write<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let turn = Arc::clone(&self.write_lock).acquire_owned().await;
        self.spawn_blocking(|shared| shared.track_write(work), turn).await
    }

    /// Runs work of the service itself, while no other write runs. Waits for other writes without a timeout. The work
    /// [tracks](Self::track_write) its writes itself.
    ///
    /// # Errors
    /// Returns the error of `work`, or an error with status 500 if `work` panics.
    pub(super) async fn own_turn<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let turn = Arc::clone(&self.write_lock).acquire_owned().await;
        self.spawn_blocking(work, turn).await
    }

    /// Runs an import of cases for the admin socket, while no other import of cases runs. Waits for another import without a
    /// timeout. `work` [takes the write lock](Self::wait_for_write_lock) itself, for its commit.
    ///
    /// # Errors
    /// Returns the error of `work`, or an error with status 500 if `work` panics.
    #[cfg(unix)]
    pub(super) async fn admin_import<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let permit = Arc::clone(&self.import_lock).acquire_owned().await;
        self.spawn_blocking(work, permit).await
    }

    /// Runs an erasure for the admin socket, while no write, no import of cases, no backup and no copy runs. Waits for this other
    /// work without a timeout.
    ///
    /// # Errors
    /// Returns the error of `work`, or an error with status 500 if `work` panics.
    #[cfg(unix)]
    pub(super) async fn admin_erase<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        // An import takes these locks in this order, too.
        let copies = Arc::clone(&self.copies).write_owned().await;
        let import = Arc::clone(&self.import_lock).acquire_owned().await;
        let turn = Arc::clone(&self.write_lock).acquire_owned().await;
        self.spawn_blocking(|shared| shared.track_write(work), (import, copies, turn)).await
    }

    /// Runs a backup or a copy for the admin socket, while no erasure runs. Waits for an erasure without a timeout.
    ///
    /// # Errors
    /// Returns the error of `work`, or an error with status 500 if `work` panics.
    #[cfg(unix)]
    pub(super) async fn admin_copy<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let turn = self.copy_turn().await;
        self.spawn_blocking(work, turn).await
    }

    /// Waits until no erasure runs. No erasure begins before the returned guard is dropped.
    #[cfg(unix)]
    pub(super) async fn copy_turn(&self) -> impl Sized + Send + use<> {
        Arc::clone(&self.copies).read_owned().await
    }

    /// Takes the write lock. Blocks the thread until the lock is free, so it must be called on a blocking thread. Dropping the
    /// returned guard releases the lock.
    #[cfg(unix)]
    pub(super) fn wait_for_write_lock(&self) -> impl Sized {
        tokio::runtime::Handle::current().block_on(Arc::clone(&self.write_lock).acquire_owned())
    }

    /// Runs a read for the admin socket on a blocking thread. The limits for clients do not apply to it.
    ///
    /// # Errors
    /// Returns the error of `work`, or an error with status 500 if `work` panics.
    #[cfg(unix)]
    pub(super) async fn admin_read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.spawn_blocking(work, ()).await
    }

    /// Runs `work` on a blocking thread. Keeps `permits` until `work` ends, even if the client has disconnected.
    async fn spawn_blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
        permits: impl Send + 'static,
    ) -> Result<T, Failure> {
        let shared = Arc::clone(self);
        let run = move || {
            let _permits = permits;
            shared.run(work)
        };
        tokio::task::spawn_blocking(run)
            .await
            .unwrap_or_else(|error| Err(Failure::internal(error.to_string())))
    }

    /// Runs a write. Sets `writes_fail` if the write failed because of the file, and clears it if the write succeeded.
    pub(super) fn track_write<T>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let result = self.run(work);
        match &result {
            Ok(_) => {
                if self.writes_fail.swap(false, Ordering::Relaxed) {
                    tracing::info!("the file can be written again; updates are accepted");
                }
            }
            Err(failure) if failure.is_write_failure() => {
                self.writes_fail.store(true, Ordering::Relaxed);
            }
            // The input was rejected before anything was written, so the flag does not change.
            Err(_) => {}
        }
        result
    }

    /// While writes fail, tries once per second to reopen the file. Runs until the future is dropped.
    pub(super) async fn recover(self: &Arc<Self>) {
        const PAUSE: Duration = Duration::from_secs(1);
        loop {
            tokio::time::sleep(PAUSE).await;
            if !self.writes_fail() {
                continue;
            }
            let Ok(turn) = Arc::clone(&self.write_lock).acquire_owned().await else { return };
            let recover = |shared: &Self| {
                shared.track_write(|shared| shared.store.recover().map_err(|error| Failure::of_store(&error)))
            };
            if let Err(failure) = self.spawn_blocking(recover, turn).await {
                let cause = failure.description();
                tracing::debug!(cause, "the file cannot be written yet");
            }
        }
    }

    /// Runs `work` on this thread. If `work` panics, returns an error with status 500.
    pub(super) fn run<T>(&self, work: impl FnOnce(&Self) -> Result<T, Failure>) -> Result<T, Failure> {
        catch_unwind(AssertUnwindSafe(|| work(self))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Err(Failure::internal(format!("panic: {}", text.unwrap_or_default())))
        })
    }

    /// Waits until all blocking work has ended, and all changes are recorded.
    pub(super) async fn wait_until_idle(&self) {
        let all = |count| u32::try_from(count).unwrap_or(u32::MAX);
        let _ = self.workers.acquire_many(all(self.options.concurrency)).await;
        let _ = self.page_reads.acquire_many(all(self.max_page_reads)).await;
        #[cfg(unix)]
        let _ = self.import_lock.acquire().await;
        let _ = self.write_lock.acquire().await;
        // A change is recorded after its work, even if its client has disconnected.
        let _ = self.changes.acquire_many(MOST_CHANGES).await;
    }

    /// Blocks the thread until no request that changes data is at work, but at most for `timeout`. It must be called on a blocking
    /// thread. If there is no audit log, returns at once.
    pub(super) fn wait_for_records(&self, timeout: Duration) {
        if self.audit.is_some() {
            let ended =
                async { tokio::time::timeout(timeout, self.changes.acquire_many(MOST_CHANGES)).await };
            drop(tokio::runtime::Handle::current().block_on(ended));
        }
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

    #[cfg(unix)]
    #[test]
    fn an_erasure_waits_for_copies_and_imports_and_they_wait_for_it() {
        let folder = tempfile::TempDir::new().unwrap();
        let shared = Arc::new(state(folder.path(), 1, 1));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let soon = Duration::from_millis(50);
        runtime.block_on(async {
            // An import has this turn while its body is received.
            let receiving = shared.copy_turn().await;
            let erase = || shared.admin_erase(|_| Ok(()));
            assert!(tokio::time::timeout(soon, erase()).await.is_err());
            drop(receiving);
            erase().await.unwrap();
            let import = Arc::clone(&shared.import_lock).acquire_owned().await;
            assert!(tokio::time::timeout(soon, erase()).await.is_err());
            drop(import);
            let write = Arc::clone(&shared.write_lock).acquire_owned().await;
            // The erasure has the other locks now, and waits for the write.
            let mut waiting = std::pin::pin!(erase());
            assert!(tokio::time::timeout(soon, &mut waiting).await.is_err());
            assert!(tokio::time::timeout(soon, shared.copy_turn()).await.is_err());
            assert!(tokio::time::timeout(soon, shared.admin_copy(|_| Ok(()))).await.is_err());
            assert!(tokio::time::timeout(soon, shared.admin_import(|_| Ok(()))).await.is_err());
            drop(write);
            waiting.await.unwrap();
            shared.admin_copy(|_| Ok(())).await.unwrap();
        });
    }

    #[test]
    fn an_update_that_comes_too_late_says_nothing_about_the_file() {
        let folder = tempfile::TempDir::new().unwrap();
        let shared = state(folder.path(), 1, 1);
        for failure in [Failure::no_turn(), Failure::unauthorized()] {
            shared.track_write(|_| Err::<(), _>(failure)).unwrap_err();
            assert!(!shared.writes_fail());
        }
        shared.track_write(|_| Err::<(), _>(Failure::internal("full"))).unwrap_err();
        assert!(shared.writes_fail());
    }

    #[test]
    fn a_token_gets_at_most_half_of_the_concurrency_unless_it_is_the_only_token() {
        for (tokens, concurrency, expected) in [(2, 8, 4), (2, 3, 2), (2, 1, 1), (3, 0, 0), (1, 8, 8)] {
            let folder = tempfile::TempDir::new().unwrap();
            let shared = state(folder.path(), tokens, concurrency);
            let token = |name: &str| Arc::clone(shared.tokens.load().find(name).0.unwrap());
            let mut permits = Vec::new();
            while let Ok(permit) = shared.acquire_share(&token("t0")) {
                permits.push(permit);
            }
            assert_eq!(permits.len(), expected, "{tokens} tokens, {concurrency} requests");
            let failure = shared.acquire_share(&token("t0")).map(drop).unwrap_err();
            assert_eq!(failure.status().as_u16(), 503);
            if tokens > 1 && concurrency > 0 {
                assert!(shared.acquire_share(&token("t1")).is_ok(), "another token has a share of its own");
            }
            permits.pop();
            assert_eq!(
                shared.acquire_share(&token("t0")).is_ok(),
                concurrency > 0,
                "a released permit can be acquired again"
            );
        }
    }
}
