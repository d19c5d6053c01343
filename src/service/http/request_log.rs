//! Ends each request: turns a failure into a response, writes the audit record, adds the headers that every response has, logs the
//! request, and passes its status, time and response size to `metrics/counters.rs`.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{Extensions, HeaderMap};
use axum::response::Response;
use hyper::body::Body as _;

use super::correlation::{CORRELATION_ID, CorrelationId};
use super::errors::Failure;
use super::log_limit::{Decision, log_suppressed};
use super::peers::ClientAddress;
use super::trace::TraceParent;
use crate::service::audit::record::{Answered, By, Note};
use crate::service::auth::in_flight::RequestBytes;
use crate::service::auth::tokens::AppToken;
use crate::service::metrics::counters::{ABORTED, OTHER};
use crate::service::state::ServiceState;

/// The log and metrics entry of one request. [`end`](Self::end) writes it.
///
/// If the entry is dropped before that, the request is counted and logged with the status [`ABORTED`]. This happens if the
/// connection failed, or if the grace period of a shutdown ended.
pub(in crate::service) struct RequestLog<'s> {
    shared: &'s ServiceState,
    id: CorrelationId,
    start: Instant,
    origin: Origin,
    pub(in crate::service) caller: Caller,
    is_ended: bool,
}

/// The known origin of a request: the address of the client, and the trace that the request belongs to.
#[derive(Clone, Debug, Default)]
pub(in crate::service) struct Origin {
    address: Option<IpAddr>,
    trace: Option<TraceParent>,
}

impl Origin {
    /// Reads the headers and the extensions of a request.
    pub(in crate::service) fn of(headers: &HeaderMap, extensions: &Extensions) -> Self {
        let address = extensions.get::<ClientAddress>().map(|client| client.0);
        Self { address, trace: TraceParent::of(headers) }
    }
}

/// The operation and the token of a request, if they are known.
#[derive(Default)]
pub(in crate::service) struct Caller {
    pub(in crate::service) operation: Option<&'static str>,
    pub(in crate::service) token: Option<Arc<AppToken>>,
    /// The bytes of the request that are in flight, if its signature is verified.
    pub(in crate::service) in_flight: Option<Arc<RequestBytes>>,
    /// The note for the audit log. `None` if the service has no audit log.
    pub(in crate::service) note: Option<Arc<Note>>,
}

impl<'s> RequestLog<'s> {
    /// Creates the entry of a request that arrived at `start`, and assigns a correlation id to it.
    pub(in crate::service) fn since(start: Instant, shared: &'s ServiceState) -> Self {
        let id = shared.correlation_ids.next();
        Self { shared, id, start, origin: Origin::default(), caller: Caller::default(), is_ended: false }
    }

    /// Sets the origin of the request.
    pub(in crate::service) fn from(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Returns the correlation id.
    pub(in crate::service) fn id(&self) -> CorrelationId {
        self.id
    }

    /// Sets the name of the operation.
    pub(in crate::service) fn of(mut self, operation: &'static str) -> Self {
        self.caller.operation = Some(operation);
        self
    }

    /// Returns true if [`end`](Self::end) returned this response.
    pub(super) fn is_ended(response: &Response) -> bool {
        response.headers().contains_key(CORRELATION_ID)
    }

    /// Writes the audit record of the request. Then counts and logs the request, and returns its response with the correlation id.
    /// If the record cannot be written, the response is a 503 error.
    pub(in crate::service) async fn end(mut self, result: Result<Response, Failure>) -> Response {
        let mut cause = None;
        let mut response = result.unwrap_or_else(|failure| {
            // The description names the limit that was reached.
            let is_limit = matches!(failure.status().as_u16(), 429 | 503);
            cause = failure.cause().or(is_limit.then(|| failure.description())).map(str::to_owned);
            failure.respond(self.id.as_str().to_owned())
        });
        if !self.record(response.status().as_u16()).await {
            let failure = Failure::unrecorded().closing();
            cause = Some(failure.description().to_owned());
            response = failure.respond(self.id.as_str().to_owned());
        }
        self.is_ended = true;
        self.id.add_to(&mut response);
        let (status, took) = (response.status().as_u16(), self.start.elapsed());
        let bytes = response.body().size_hint().lower();
        self.shared.metrics.count_response(self.caller.operation, status, took, bytes);
        self.log(status, took, cause.as_deref());
        response
    }

    /// Records the request in the audit log, if it is a request for an operation. Returns false if it must not be answered.
    async fn record(&self, status: u16) -> bool {
        let (Some(audit), Some(operation)) = (&self.shared.audit, self.caller.operation) else { return true };
        let token = self.caller.token.as_ref().map(|token| token.name.as_str());
        let by = By::Client { operation, token };
        let (correlation_id, note) = (self.id.as_str(), self.caller.note.as_deref());
        audit.record(Answered { correlation_id, by, status, note }.members()).await
    }

    /// Logs the request, unless the log limit suppresses the line.
    fn log(&self, status: u16, took: Duration, cause: Option<&str>) {
        let operation = self.caller.operation.unwrap_or(OTHER);
        let token = self.caller.token.as_ref().map(|token| token.name.as_str());
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let id = self.id.as_str();
        let peer = self.origin.address.map(tracing::field::display);
        let trace_id = self.origin.trace.as_ref().map(|trace| trace.trace_id.as_str());
        let parent_id = self.origin.trace.as_ref().map(|trace| trace.parent_id.as_str());
        // Only lines that clients can cause at will are limited. All errors of the service are logged.
        if (400..500).contains(&status) || status == 503 {
            let address = self.caller.token.as_ref().map_or(0, |token| token.address());
            match self.shared.log_limiter.decide(address, status, Instant::now()) {
                Decision::Suppress => return,
                Decision::Write { suppressed: 0 } => {}
                Decision::Write { suppressed } => log_suppressed(status, suppressed),
            }
        }
        macro_rules! event {
            ($level:ident) => {
                tracing::$level!(
                    correlation_id = id,
                    operation,
                    token,
                    status,
                    took_us,
                    peer,
                    trace_id,
                    parent_id,
                    cause,
                    "answered"
                )
            };
        }
        match status {
            503 => event!(warn),
            500.. => event!(error),
            400.. => event!(info),
            _ => event!(debug),
        }
    }
}

impl Drop for RequestLog<'_> {
    fn drop(&mut self) {
        // A panic is logged where it is caught, so it is not logged here.
        if !self.is_ended && !std::thread::panicking() {
            let took = self.start.elapsed();
            self.shared.metrics.count_response(self.caller.operation, ABORTED, took, 0);
            self.log(ABORTED, took, None);
        }
    }
}
