//! A request from its beginning to its answer, which is counted and logged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::Response;
use hyper::body::Body as _;

use super::correlation::{CORRELATION_ID, Name};
use super::errors::Failure;
use super::log_rate::{Line, tell_left_out};
use crate::service::auth::tokens::AppToken;
use crate::service::metrics::counters::{GIVEN_UP, OTHER};
use crate::service::state::ServiceState;

/// One request on its way to an answer.
///
/// One that is given up before, since its connection failed or the service ends, is counted and logged with [`GIVEN_UP`].
pub(in crate::service) struct Exchange<'s> {
    shared: &'s ServiceState,
    name: Name,
    start: Instant,
    pub(in crate::service) caller: Caller,
    is_ended: bool,
}

/// Whose request it is, as far as that is known.
#[derive(Default)]
pub(in crate::service) struct Caller {
    pub(in crate::service) operation: Option<&'static str>,
    pub(in crate::service) token: Option<Arc<AppToken>>,
}

impl<'s> Exchange<'s> {
    /// A request that came at this time.
    pub(in crate::service) fn since(start: Instant, shared: &'s ServiceState) -> Self {
        Self { shared, name: shared.names.next(), start, caller: Caller::default(), is_ended: false }
    }

    /// The same request, which is one of an operation.
    pub(in crate::service) fn of(mut self, operation: &'static str) -> Self {
        self.caller.operation = Some(operation);
        self
    }

    /// True for an answer that an exchange [ended](Self::end) with.
    pub(super) fn is_ended(response: &Response) -> bool {
        response.headers().contains_key(CORRELATION_ID)
    }

    /// The answer under the request's name, counted and logged.
    pub(in crate::service) fn end(mut self, result: Result<Response, Failure>) -> Response {
        self.is_ended = true;
        let mut cause = None;
        let mut response = result.unwrap_or_else(|failure| {
            cause = failure.cause().map(str::to_owned);
            failure.respond(self.name.as_str().to_owned())
        });
        self.name.mark(&mut response);
        let (status, took) = (response.status().as_u16(), self.start.elapsed());
        let bytes = response.body().size_hint().lower();
        self.shared.metrics.count_answer(self.caller.operation, status, took, bytes);
        self.log(status, took, cause.as_deref());
        response
    }

    /// Writes a line about an answer, unless nobody wants it.
    fn log(&self, status: u16, took: Duration, cause: Option<&str>) {
        let operation = self.caller.operation.unwrap_or(OTHER);
        let token = self.caller.token.as_ref().map(|token| token.name.as_str());
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let name = self.name.as_str();
        // Faults of the service are all told, and what is told at level `debug` was asked for.
        if (400..500).contains(&status) || status == 503 {
            let address = self.caller.token.as_ref().map_or(0, |token| Arc::as_ptr(token).addr());
            match self.shared.log_rate.line(address, status, Instant::now()) {
                Line::LeaveOut => return,
                Line::Write { left_out: 0 } => {}
                Line::Write { left_out } => tell_left_out(status, left_out),
            }
        }
        macro_rules! event {
            ($level:ident) => {
                tracing::$level!(correlation_id = name, operation, token, status, took_us, cause, "answered")
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

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        // Of a panic others tell.
        if !self.is_ended && !std::thread::panicking() {
            let took = self.start.elapsed();
            self.shared.metrics.count_answer(self.caller.operation, GIVEN_UP, took, 0);
            self.log(GIVEN_UP, took, None);
        }
    }
}
