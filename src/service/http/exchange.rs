//! A request from its name to its answer, which is counted and logged.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use hyper::body::Body as _;
use sha2::{Digest, Sha256};

use super::errors::Failure;
use super::log_rate::Line;
use crate::service::auth::tokens::AppToken;
use crate::service::operations::endpoint::Operation;
use crate::service::state::Shared;

pub(in crate::service) const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");

/// Names for requests: the number of each under a keyed one-way function, so that clients cannot count the requests of others.
pub(in crate::service) struct Names {
    key: [u8; 32],
    next: AtomicU64,
}

/// What names a request: 32 digits of hex.
#[derive(Clone, Copy)]
pub(in crate::service) struct Name([u8; 32]);

impl Names {
    pub(in crate::service) fn new() -> Self {
        let mut key = [0; 32];
        // A name that is not random is still a name.
        let _ = getrandom::fill(&mut key);
        Self { key, next: AtomicU64::new(0) }
    }

    pub(in crate::service) fn next(&self) -> Name {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // Key and number are 40 bytes, one block of the hash, which takes some 100 ns.
        let hash = Sha256::new_with_prefix(self.key).chain_update(number.to_be_bytes()).finalize();
        let mut digits = [0; 32];
        // The first 16 of 32 bytes.
        for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(hash) {
            *pair = [byte >> 4, byte & 0xf]
                .map(|digit| digit.wrapping_add(if digit < 10 { b'0' } else { b'a' - 10 }));
        }
        Name(digits)
    }
}

impl Name {
    pub(in crate::service) fn as_str(&self) -> &str {
        // Digits are text.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Writes the name into the head of an answer.
    pub(in crate::service) fn mark(&self, response: &mut Response) {
        if let Ok(value) = HeaderValue::from_bytes(&self.0) {
            response.headers_mut().insert(CORRELATION_ID, value);
        }
    }
}

/// One request on its way to an answer.
///
/// One that is given up before, since its connection failed or the service ends, is counted and logged with [`GIVEN_UP`].
pub(in crate::service) struct Exchange<'s> {
    shared: &'s Shared,
    name: Name,
    start: Instant,
    pub(in crate::service) caller: Caller,
    is_ended: bool,
}

/// The status of a request that nobody waits for any more, as nginx has it; it is in logs and metrics alone.
pub(in crate::service) const GIVEN_UP: u16 = 499;

/// Whose request it is, as far as that is known.
#[derive(Default)]
pub(in crate::service) struct Caller {
    pub(in crate::service) operation: Option<Operation>,
    pub(in crate::service) token: Option<Arc<AppToken>>,
}

impl<'s> Exchange<'s> {
    /// A request that came at this time.
    pub(in crate::service) fn since(start: Instant, shared: &'s Shared) -> Self {
        Self { shared, name: shared.names.next(), start, caller: Caller::default(), is_ended: false }
    }

    /// The same request, which is one of an operation.
    pub(in crate::service) fn of(mut self, operation: Operation) -> Self {
        self.caller.operation = Some(operation);
        self
    }

    /// True for an answer that an exchange [ended](Self::end) with.
    pub(in crate::service) fn is_ended(response: &Response) -> bool {
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
        let operation = self.caller.operation.map_or("other", Operation::name);
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

/// Writes a line about lines that were left out.
pub(in crate::service) fn tell_left_out(status: u16, lines: u64) {
    tracing::warn!(status, lines, "lines about requests with this status were left out");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_different_and_do_not_number_the_requests() {
        let names = Names::new();
        let made: Vec<u128> =
            (0..10_000).map(|_| u128::from_str_radix(names.next().as_str(), 16).unwrap()).collect();
        let mut unique = made.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), made.len());
        // Half of the bits change from one to the next, and no word of a name stays or grows.
        let changed: u32 = made.windows(2).map(|pair| (pair[0] ^ pair[1]).count_ones()).sum();
        let mean = f64::from(changed) / (made.len() - 1) as f64;
        assert!((60.0..68.0).contains(&mean), "{mean} of 128 bits change");
        for shift in [0, 64] {
            let ascents =
                made.windows(2).filter(|pair| (pair[0] >> shift) as u64 <= (pair[1] >> shift) as u64);
            assert!((4_500..5_500).contains(&ascents.count()), "the word at {shift} is not random");
        }
        // Another service has other names.
        assert_ne!(Names::new().next().as_str(), Names::new().next().as_str());
    }

    #[test]
    fn a_name_is_the_beginning_of_a_keyed_hash_of_its_number() {
        let names = Names { key: [7; 32], next: AtomicU64::new(0xff) };
        let mut input = vec![7_u8; 32];
        input.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0xff]);
        let hash: String = Sha256::digest(&input).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(names.next().as_str(), &hash[..32]);
    }
}
