//! What all requests share, and the way of each from its bytes to an answer.

use std::net::Ipv4Addr;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use chrono::{DateTime, Utc};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::service::auth::signature::{Seen, Signed};
use crate::service::auth::tokens::{AppToken, Tokens};
use crate::service::http::body;
use crate::service::http::budget::{Account, Budget, Hold};
use crate::service::http::errors::{Failure, json};
use crate::service::http::exchange::{Exchange, Names, tell_left_out};
use crate::service::http::log_rate::LogRate;
use crate::service::http::peers::Peer;
use crate::service::http::transport::Due;
use crate::service::metrics::text::Metrics;
use crate::service::operations::endpoint::Operation;
use crate::service::operations::pace::Pace;
use crate::service::operations::source::Source;
use crate::service::operations::{applicants, parameters, search};
use crate::service::options::ServiceOptions;
use crate::store::Store;

/// What all requests share.
pub(super) struct Shared {
    pub(super) store: Store,
    pub(super) source: Source,
    pub(super) tokens: Tokens,
    pub(super) options: ServiceOptions,
    pub(super) names: Names,
    pub(super) metrics: Metrics,
    pub(super) pace: Pace,
    pub(super) log_rate: LogRate,
    /// Requests that wait for the file, or are searches that may take long.
    working: Arc<Semaphore>,
    /// How many of these requests one token may have.
    share: usize,
    /// Reads of parts of large pages, which wait in one queue so that small requests find the processors free.
    reading: Arc<Semaphore>,
    /// How many of them go on at a time.
    readers: usize,
    /// Writes come one after the other, so that those that wait for their turn keep no thread.
    writing: Arc<Semaphore>,
    /// Updates that wait for their turn.
    queue: Semaphore,
    /// Bytes of bodies on their way in, beyond what every body may have.
    bodies: Arc<Budget>,
    /// The bytes that every body may have.
    body_allowance: usize,
    /// Bytes of answers on their way out, beyond what every answer may have.
    outgoing: Arc<Budget>,
    is_draining: AtomicBool,
    /// The grace period of a shutdown is over.
    is_cut_off: AtomicBool,
    /// When the source was last asked whether it is there, and whether it was.
    source_was_there: tokio::sync::Mutex<Option<(Instant, bool)>>,
    /// A write failed for a reason of the file, and none succeeded since.
    writes_fail: AtomicBool,
}

/// The bytes that every answer may have: about what the system buffers for a connection.
const ANSWER_ALLOWANCE: usize = 32 << 10;

/// Anybody may ask whether the service is ready: the source is asked once in so long.
const SOURCE_CHECK_AGE: Duration = Duration::from_secs(1);

/// The applicant in the path, empty where the path has none; or what is written there, if that is no text.
pub(super) type PathId = Result<String, String>;

/// A request that was signed by a token which may make it.
pub(super) struct Call {
    pub(super) token: Arc<AppToken>,
    /// The applicant in the path; empty where the path has none.
    pub(super) applicant_id: String,
    pub(super) query: Option<String>,
    pub(super) body: Bytes,
    /// When the answer has to be written, if it is sent in pieces.
    pub(super) due: Due,
}

/// An answer in memory, for which its token has room.
struct Held {
    bytes: Vec<u8>,
    _hold: Hold,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Shared {
    pub(super) fn new(store: Store, tokens: Tokens, options: ServiceOptions) -> Self {
        let permits = |count: usize| count.min(Semaphore::MAX_PERMITS);
        let half = options.buffered_bytes / 2;
        let readers = std::thread::available_parallelism().map_or(1, NonZero::get).max(2);
        // A token alone needs to leave nothing to others.
        let spared = if tokens.len() > 1 { options.concurrency / 2 } else { 0 };
        Self {
            share: permits(options.concurrency.saturating_sub(spared)),
            reading: Arc::new(Semaphore::new(readers)),
            readers,
            outgoing: Budget::new(options.outgoing_bytes),
            store,
            source: Source::Store,
            tokens,
            names: Names::new(),
            metrics: Metrics::default(),
            pace: Pace::new(),
            log_rate: LogRate::default(),
            working: Arc::new(Semaphore::new(permits(options.concurrency))),
            writing: Arc::new(Semaphore::new(1)),
            queue: Semaphore::new(permits(options.concurrency)),
            bodies: Budget::new(half),
            body_allowance: half.checked_div(options.connections).unwrap_or(half),
            is_draining: AtomicBool::new(false),
            is_cut_off: AtomicBool::new(false),
            source_was_there: tokio::sync::Mutex::new(None),
            writes_fail: AtomicBool::new(false),
            options,
        }
    }

    /// Answers a request for an operation.
    pub(super) async fn answer(
        self: Arc<Self>,
        operation: Operation,
        applicant: PathId,
        request: Request,
    ) -> Response {
        if operation != Operation::UpdateInfo {
            return self.exchange(operation, applicant, request).await;
        }
        // What changes something goes on to its end, and is logged, even if its connection fails.
        let (start, shared) = (Instant::now(), Arc::clone(&self));
        let exchange = async move { shared.exchange(operation, applicant, request).await };
        tokio::spawn(exchange).await.unwrap_or_else(|error| {
            Exchange::since(start, &self).of(operation).end(Err(Failure::internal(error.to_string())))
        })
    }

    async fn exchange(
        self: &Arc<Self>,
        operation: Operation,
        applicant: PathId,
        request: Request,
    ) -> Response {
        let mut exchange = Exchange::since(Instant::now(), self).of(operation);
        let result = self.call(operation, applicant, request, &mut exchange.caller.token).await;
        exchange.end(result.map(json))
    }

    async fn call(
        self: &Arc<Self>,
        operation: Operation,
        applicant: PathId,
        request: Request,
        client: &mut Option<Arc<AppToken>>,
    ) -> Result<Body, Failure> {
        let (head, body) = request.into_parts();
        let mut signed = Signed::new(&self.tokens, &head, self.options.clock_window);
        let is_kept = signed.may_be_right(now().timestamp());
        let peer = head.extensions.get::<Peer>().copied().unwrap_or(Peer::of(Ipv4Addr::UNSPECIFIED.into()));
        let hold = self.bodies.hold(Account { token: signed.token_address(), peer: Some(peer) });
        let room = body::Room { is_kept, allowance: self.body_allowance, hold };
        let body = body::read(body, &head.headers, &self.options, room, &mut signed).await?;
        if !is_kept {
            // Whoever sends what is refused in any case is not to take the room of others, nor to learn of it any sooner.
            return Err(signed.refuse());
        }
        // Once more, since the body may have taken a while.
        let (token, signature) = signed.verify(now().timestamp())?;
        *client = Some(Arc::clone(token));
        if self.options.refuses_replays {
            let new = || Seen::new(self.options.clock_window, self.options.remembered_signatures);
            token.seen.get_or_init(new).note(signature, Instant::now())?;
        }
        if !token.may(operation.permission()) {
            return Err(Failure::forbidden(operation.permission()));
        }
        let applicant_id = applicant.map_err(|written| Failure::bad_path_id(operation, &written))?;
        if operation != Operation::Search {
            // A search tells these beside the errors of its body.
            parameters::check(operation, head.uri.query())?;
        }
        let call = Call {
            token: Arc::clone(token),
            applicant_id,
            query: head.uri.query().map(str::to_owned),
            body: body.bytes.clone(),
            due: head.extensions.get().cloned().unwrap_or_else(|| Due::new(self.options.write_timeout)),
        };
        let answer = match operation {
            Operation::Search => return search::search(self, call).await,
            Operation::Filters => Ok(search::filters(&call)),
            Operation::UpdateInfo => {
                self.write(token, move |shared| applicants::update_info(shared, &call)).await
            }
            Operation::StepStatus => {
                self.work(token, move |shared| applicants::step_status(shared, &call)).await
            }
            Operation::Preview => self.work(token, move |shared| applicants::preview(shared, &call)).await,
            Operation::AmlCase => self.work(token, move |shared| applicants::aml_case(shared, &call)).await,
        };
        self.whole(self.outgoing(token), answer?)
    }

    /// The bytes of answers to a token: none yet.
    pub(super) fn outgoing(&self, token: &Arc<AppToken>) -> Hold {
        self.outgoing.hold(Account { token: Arc::as_ptr(token).addr(), peer: None })
    }

    /// How many bytes are held for answers on their way out.
    pub(super) fn outgoing_bytes(&self) -> usize {
        self.outgoing.held_bytes()
    }

    /// Makes the body of an answer that is in memory.
    ///
    /// # Errors
    /// 503 when the token has no room for more answers at a time.
    pub(super) fn whole(&self, mut hold: Hold, bytes: Vec<u8>) -> Result<Body, Failure> {
        if !Self::has_room(&mut hold, bytes.len()) {
            return Err(Failure::overloaded());
        }
        if bytes.len() <= ANSWER_ALLOWANCE {
            return Ok(Body::from(bytes));
        }
        Ok(Body::from(Bytes::from_owner(Held { bytes, _hold: hold })))
    }

    /// Takes room for an answer in memory of so many bytes; false when there is none.
    pub(super) fn has_room(hold: &mut Hold, bytes: usize) -> bool {
        hold.reach(bytes.saturating_sub(ANSWER_ALLOWANCE))
    }

    /// One of the requests that a token may have at work or waiting at a time.
    fn share_of(&self, token: &AppToken) -> Result<OwnedSemaphorePermit, Failure> {
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
    async fn write(
        self: &Arc<Self>,
        token: &AppToken,
        work: impl FnOnce(&Self) -> Result<Vec<u8>, Failure> + Send + 'static,
    ) -> Result<Vec<u8>, Failure> {
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
    fn watched<T>(&self, work: impl FnOnce(&Self) -> Result<T, Failure>) -> Result<T, Failure> {
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

    /// Writes lines about the lines that were left out of the log.
    pub(super) fn tell_left_out(&self) {
        for (status, lines) in self.log_rate.take_left_out(Instant::now()) {
            tell_left_out(status, lines);
        }
    }

    /// As [`tell_left_out`](Self::tell_left_out), when no more requests come.
    pub(super) fn tell_all_left_out(&self) {
        for (status, lines) in self.log_rate.take_all_left_out() {
            tell_left_out(status, lines);
        }
    }

    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Whether searches can be answered, as it was found in the last second.
    pub(super) async fn source_answers(&self) -> bool {
        let mut last = self.source_was_there.lock().await;
        if let Some((when, answered)) = *last
            && when.elapsed() < SOURCE_CHECK_AGE
        {
            return answered;
        }
        let fault = self.source.fault().await;
        if let Some(cause) = &fault {
            tracing::warn!(cause, "the source of cases does not answer");
        }
        *last = Some((Instant::now(), fault.is_none()));
        fault.is_none()
    }

    /// Whether the last write failed for a reason of the file.
    pub(super) fn writes_fail(&self) -> bool {
        self.writes_fail.load(Ordering::Relaxed)
    }

    pub(super) fn begin_draining(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    /// Whether whatever is still at work is to give up.
    #[cfg(unix)]
    pub(super) fn is_cut_off(&self) -> bool {
        self.is_cut_off.load(Ordering::Relaxed)
    }

    /// Asks whatever is still at work to give up.
    pub(super) fn cut_off(&self) {
        self.is_cut_off.store(true, Ordering::Relaxed);
    }

    /// How many requests are worked on away from the threads of connections.
    pub(super) fn at_work(&self) -> usize {
        self.options.concurrency.saturating_sub(self.working.available_permits())
    }

    /// Waits until all connections are closed, for so long at most.
    pub(super) async fn last_call(&self, patience: Duration) {
        const STEP: Duration = Duration::from_millis(2);
        let closed = async {
            while self.metrics.connections.load(Ordering::Relaxed) > 0 {
                tokio::time::sleep(STEP).await;
            }
        };
        let _ = tokio::time::timeout(patience, closed).await;
    }

    /// Waits until nothing is worked on any more.
    pub(super) async fn finished(&self) {
        let all = |count| u32::try_from(count).unwrap_or(u32::MAX);
        let _ = self.working.acquire_many(all(self.options.concurrency)).await;
        let _ = self.reading.acquire_many(all(self.readers)).await;
        let _ = self.writing.acquire().await;
    }
}

pub(super) fn now() -> DateTime<Utc> {
    SystemTime::now().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use crate::limits::Limits;
    use crate::store::StoreOptions;

    fn shared(folder: &std::path::Path, tokens: usize, concurrency: usize) -> Shared {
        let store = Store::create(folder.join("c.db"), Catalog::cases(), StoreOptions::default()).unwrap();
        let entry = |number| serde_json::json!({"token": format!("t{number}"), "secret": "0123456789abcdef", "permissions": []});
        let file = serde_json::json!({ "tokens": (0..tokens).map(entry).collect::<Vec<_>>() });
        let file = serde_json::from_value(file).unwrap();
        let tokens = Tokens::new(file, store.catalog(), &Limits::default()).unwrap();
        Shared::new(store, tokens, ServiceOptions { concurrency, ..ServiceOptions::default() })
    }

    #[test]
    fn a_token_has_at_most_half_of_the_requests_at_work_unless_it_is_the_only_one() {
        for (tokens, concurrency, expected) in [(2, 8, 4), (2, 3, 2), (2, 1, 1), (3, 0, 0), (1, 8, 8)] {
            let folder = tempfile::TempDir::new().unwrap();
            let shared = shared(folder.path(), tokens, concurrency);
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
