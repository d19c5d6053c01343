//! Verifies the signature and the timestamp of a request.

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::replays::Signature;
use super::tokens::{AppToken, Tokens};
use crate::service::http::errors::Failure;

const TOKEN: HeaderName = HeaderName::from_static("x-app-token");
const SIGNATURE: HeaderName = HeaderName::from_static("x-app-access-sig");
const TIMESTAMP: HeaderName = HeaderName::from_static("x-app-access-ts");

/// A running check of a signature: the credentials from the request head, and the HMAC of the bytes so far.
pub(in crate::service) struct SignatureCheck<'t> {
    token: Option<&'t Arc<AppToken>>,
    /// The HMAC of the timestamp, the method, the target, and the bytes of the body so far.
    mac: Hmac<Sha256>,
    signature: Option<Signature>,
    timestamp_s: Option<i64>,
    window: Duration,
}

impl<'t> SignatureCheck<'t> {
    pub(in crate::service) fn new(tokens: &'t Tokens, head: &Parts, window: Duration) -> Self {
        let name = only(&head.headers, TOKEN).unwrap_or_default();
        let timestamp = only(&head.headers, TIMESTAMP).unwrap_or_default();
        let signature = only(&head.headers, SIGNATURE).and_then(from_hex);
        let (token, mac) = tokens.find(name);
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
        let mut mac = mac.clone();
        for part in [timestamp, head.method.as_str(), target] {
            mac.update(part.as_bytes());
        }
        Self { token, mac, signature, timestamp_s: seconds(timestamp), window }
    }

    fn is_in_window(&self, now_s: i64) -> bool {
        self.timestamp_s.is_some_and(|then| now_s.abs_diff(then) <= self.window.as_secs())
    }

    /// Returns true if the head names a known token, has a signature, and has a time within the window. Otherwise the request will
    /// be rejected.
    pub(in crate::service) fn can_be_valid(&self, now_s: i64) -> bool {
        self.token.is_some() && self.signature.is_some() && self.is_in_window(now_s)
    }

    /// Returns the memory address of the token that the request names. Returns 0 if the token is unknown.
    pub(in crate::service) fn token_address(&self) -> usize {
        self.token.map_or(0, |token| Arc::as_ptr(token).addr())
    }

    /// Adds bytes of the body to the HMAC.
    pub(in crate::service) fn update(&mut self, bytes: &[u8]) {
        self.mac.update(bytes);
    }

    /// Returns the 401 error after the same work as [`verify`](Self::verify), so that both take the same time.
    ///
    /// Calling `verify` instead is not safe. A request with a timestamp in the future may have become valid while its body was
    /// read.
    pub(in crate::service) fn reject(self) -> Failure {
        let _ = self.mac.verify_slice(&self.signature.unwrap_or_default());
        Failure::unauthorized()
    }

    /// Verifies the signature in constant time. The whole body must have been added before. Returns the token and the signature.
    ///
    /// # Errors
    /// Returns the same 401 error for an unknown token, a wrong signature, and a timestamp outside the window.
    pub(in crate::service) fn verify(self, now_s: i64) -> Result<(&'t Arc<AppToken>, Signature), Failure> {
        let is_in_window = self.is_in_window(now_s);
        let Self { token, mac, signature, .. } = self;
        let is_valid = mac.verify_slice(&signature.unwrap_or_default()).is_ok();
        match (token, signature) {
            (Some(token), Some(signature)) if is_valid && is_in_window => Ok((token, signature)),
            _ => Err(Failure::unauthorized()),
        }
    }
}

/// Returns the value of a header. Returns `None` unless the header occurs exactly once and its value is visible ASCII.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Parses seconds since the Unix epoch. Only decimal digits are allowed.
fn seconds(text: &str) -> Option<i64> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| text.parse().ok()).flatten()
}

/// Parses a signature. It must have 64 lower-case hexadecimal digits.
fn from_hex(text: &str) -> Option<Signature> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(byte.wrapping_sub(b'a').wrapping_add(10)),
        _ => None,
    };
    let mut bytes = Signature::default();
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != bytes.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_64_lower_case_digits() {
        assert_eq!(from_hex(&"0f".repeat(32)), Some([15; 32]));
        for text in ["", "0f", &"0F".repeat(32), &"0f".repeat(33), &"0g".repeat(32), &"é".repeat(32)] {
            assert_eq!(from_hex(text), None, "{text}");
        }
    }
}
