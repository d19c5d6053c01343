//! Whether a request was signed, a moment ago, by a token that the service knows.

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

/// What the head of a request says of who signed it.
pub(in crate::service) struct Signed<'t> {
    token: Option<&'t Arc<AppToken>>,
    /// Of all but the body.
    mac: Hmac<Sha256>,
    signature: Option<Signature>,
    timestamp_s: Option<i64>,
    window: Duration,
}

impl<'t> Signed<'t> {
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

    fn is_of(&self, now_s: i64) -> bool {
        self.timestamp_s.is_some_and(|then| now_s.abs_diff(then) <= self.window.as_secs())
    }

    /// Whether there may be a body with which the signature is right.
    pub(in crate::service) fn may_be_right(&self, now_s: i64) -> bool {
        self.token.is_some() && self.signature.is_some() && self.is_of(now_s)
    }

    /// The address in memory of the token that the request names; 0 when it is not known.
    pub(in crate::service) fn token_address(&self) -> usize {
        self.token.map_or(0, |token| Arc::as_ptr(token).addr())
    }

    /// Takes bytes of the body, as they come.
    pub(in crate::service) fn pass(&mut self, bytes: &[u8]) {
        self.mac.update(bytes);
    }

    /// Refuses a request whose body was [passed](Self::pass), after the same work as for others: by now it may be of this minute.
    pub(in crate::service) fn refuse(self) -> Failure {
        let _ = self.mac.verify_slice(&self.signature.unwrap_or_default());
        Failure::unauthorized()
    }

    /// The token that signed the request, whose body was [passed](Self::pass) as it came over the wire, and its signature.
    ///
    /// The signature is checked in constant time, and whatever is wrong, the answer is the same.
    pub(in crate::service) fn verify(self, now_s: i64) -> Result<(&'t Arc<AppToken>, Signature), Failure> {
        let is_now = self.is_of(now_s);
        let Self { token, mac, signature, .. } = self;
        let is_right = mac.verify_slice(&signature.unwrap_or_default()).is_ok();
        match (token, signature) {
            (Some(token), Some(signature)) if is_right && is_now => Ok((token, signature)),
            _ => Err(Failure::unauthorized()),
        }
    }
}

/// The header's value, if there is one header of that name and it is text.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Seconds since the Unix epoch, decimal digits alone.
fn seconds(text: &str) -> Option<i64> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| text.parse().ok()).flatten()
}

/// Reads lower-case hex.
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
