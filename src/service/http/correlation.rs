//! Generates the correlation ids of requests, which responses and logs contain.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use sha2::{Digest, Sha256};

pub(super) const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");

/// A generator of correlation ids.
///
/// An id is a keyed hash of a request counter. So a client cannot count the requests of other clients.
pub(in crate::service) struct CorrelationIds {
    key: [u8; 32],
    next: AtomicU64,
}

/// A correlation id, as 32 hexadecimal digits.
#[derive(Clone, Copy)]
pub(in crate::service) struct CorrelationId([u8; 32]);

impl CorrelationIds {
    pub(in crate::service) fn new() -> Self {
        let mut key = [0; 32];
        // Without random numbers, the ids are still unique within this process.
        let _ = getrandom::fill(&mut key);
        Self { key, next: AtomicU64::new(0) }
    }

    pub(in crate::service) fn next(&self) -> CorrelationId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // The key and the counter have 40 bytes together, which fit into one block of SHA-256. So a hash takes about 100 ns.
        let hash = Sha256::new_with_prefix(self.key).chain_update(number.to_be_bytes()).finalize();
        let mut digits = [0; 32];
        // `zip` ends after the first 16 of the 32 bytes of the hash.
        for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(hash) {
            *pair = [byte >> 4, byte & 0xf]
                .map(|digit| digit.wrapping_add(if digit < 10 { b'0' } else { b'a' - 10 }));
        }
        CorrelationId(digits)
    }
}

impl CorrelationId {
    pub(in crate::service) fn as_str(&self) -> &str {
        // Hex digits are valid UTF-8.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Adds the header `X-Correlation-Id` to a response.
    pub(in crate::service) fn add_to(&self, response: &mut Response) {
        if let Ok(value) = HeaderValue::from_bytes(&self.0) {
            response.headers_mut().insert(CORRELATION_ID, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_look_random() {
        let ids = CorrelationIds::new();
        let made: Vec<u128> =
            (0..10_000).map(|_| u128::from_str_radix(ids.next().as_str(), 16).unwrap()).collect();
        let mut unique = made.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), made.len());
        // About half of the bits change from one id to the next. Neither half of an id stays the same or only increases.
        let changed: u32 = made.windows(2).map(|pair| (pair[0] ^ pair[1]).count_ones()).sum();
        let mean = f64::from(changed) / (made.len() - 1) as f64;
        assert!((60.0..68.0).contains(&mean), "{mean} of 128 bits change");
        for shift in [0, 64] {
            let ascents =
                made.windows(2).filter(|pair| (pair[0] >> shift) as u64 <= (pair[1] >> shift) as u64);
            assert!((4_500..5_500).contains(&ascents.count()), "the word at {shift} is not random");
        }
        // Another generator returns different ids.
        assert_ne!(CorrelationIds::new().next().as_str(), CorrelationIds::new().next().as_str());
    }

    #[test]
    fn an_id_is_the_first_half_of_a_keyed_hash_of_its_number() {
        let ids = CorrelationIds { key: [7; 32], next: AtomicU64::new(0xff) };
        let mut input = vec![7_u8; 32];
        input.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0xff]);
        let hash: String = Sha256::digest(&input).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(ids.next().as_str(), &hash[..32]);
    }
}
