//! Names of requests, by which clients and logs speak of them.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use sha2::{Digest, Sha256};

pub(super) const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");

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
