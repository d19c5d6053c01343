//! Verifies the signature and the timestamp of a request.

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::replays::Signature;
use super::tokens::{AppToken, Tokens};
use crate::error::quote;
use crate::service::http::errors::Failure;

const TOKEN: HeaderName = HeaderName::from_static("x-app-token");
const SIGNATURE: HeaderName = HeaderName::from_static("x-app-access-sig");
const TIMESTAMP: HeaderName = HeaderName::from_static("x-app-access-ts");

/// A running check of a signature: the credentials from the request head, and the HMAC of the bytes so far.
pub(in crate::service) struct SignatureCheck<'t> {
    token: Option<&'t Arc<AppToken>>,
    has_token_header: bool,
    /// The HMAC of the timestamp, the method, the target, and the bytes of the body so far.
    mac: Hmac<Sha256>,
    /// The same HMAC with a second key, and true if that key belongs to the previous secret of the token. See
    /// [`Tokens::second_key`].
    second: Option<(Hmac<Sha256>, bool)>,
    signature: Option<Signature>,
    timestamp_s: Option<i64>,
    window: Duration,
}

/// A request whose signature is valid.
pub(in crate::service) struct Verified<'t> {
    pub(in crate::service) token: &'t Arc<AppToken>,
    pub(in crate::service) signature: Signature,
    /// True if it was signed with the previous secret of the token.
    pub(in crate::service) is_previous: bool,
}

impl<'t> SignatureCheck<'t> {
    pub(in crate::service) fn new(tokens: &'t Tokens, head: &Parts, window: Duration, now_s: i64) -> Self {
        let name = only(&head.headers, TOKEN);
        let timestamp = only(&head.headers, TIMESTAMP).unwrap_or_default();
        let signature = only(&head.headers, SIGNATURE).and_then(from_hex);
        let (token, mac) = tokens.find(name.unwrap_or_default());
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
        let mut check = Self {
            token,
            has_token_header: name.is_some(),
            mac: mac.clone(),
            second: tokens
                .second_key(token, now_s)
                .map(|(key, is_of_a_secret)| (key.clone(), is_of_a_secret)),
            signature,
            timestamp_s: seconds(timestamp),
            window,
        };
        for part in [timestamp, head.method.as_str(), target] {
            check.update(part.as_bytes());
        }
        check
    }

    /// Returns true if the head names a known token, has a signature, and has a time within the window. If the result is false, the
    /// request will be rejected.
    pub(in crate::service) fn can_be_valid(&self, now_s: i64) -> bool {
        self.fault(now_s).is_none()
    }

    /// Returns a number that identifies the token that the request names. Returns 0 if the token is unknown.
    pub(in crate::service) fn token_address(&self) -> usize {
        self.token.map_or(0, |token| token.address())
    }

    /// Adds bytes of the body to the HMAC.
    pub(in crate::service) fn update(&mut self, bytes: &[u8]) {
        self.mac.update(bytes);
        if let Some((mac, _)) = &mut self.second {
            mac.update(bytes);
        }
    }

    /// Returns the 401 error after the same work as [`verify`](Self::verify), so that both take the same time.
    ///
    /// Calling `verify` instead is not safe. A request with a timestamp in the future may have become valid while its body was
    /// read.
    pub(in crate::service) fn reject(self, now_s: i64) -> Failure {
        let fault = self.fault(now_s);
        let token = self.token;
        let _ = self.verify_macs();
        refused(fault.unwrap_or(Fault::WrongSignature), token)
    }

    /// Verifies the signature in constant time. The whole body must have been added before.
    ///
    /// # Errors
    /// Returns the same 401 error for an unknown or expired token, a wrong signature, and a timestamp outside the window. Only the
    /// log shows the cause.
    pub(in crate::service) fn verify(self, now_s: i64) -> Result<Verified<'t>, Failure> {
        let fault = self.fault(now_s);
        let Self { token, signature, .. } = self;
        let (is_present, is_previous) = self.verify_macs();
        match (token, signature, fault) {
            (Some(token), Some(signature), None) if is_present | is_previous => {
                Ok(Verified { token, signature, is_previous: !is_present })
            }
            (_, _, fault) => Err(refused(fault.unwrap_or(Fault::WrongSignature), token)),
        }
    }

    /// Returns two flags. The first is true if the signature was made with the present secret, the second if it was made with the
    /// previous secret.
    fn verify_macs(self) -> (bool, bool) {
        let signature = self.signature.unwrap_or_default();
        let is_present = self.mac.verify_slice(&signature).is_ok();
        let is_second = self
            .second
            .is_some_and(|(mac, is_of_a_secret)| mac.verify_slice(&signature).is_ok() & is_of_a_secret);
        (is_present, is_second)
    }

    /// Returns the first reason, other than a wrong signature, for which the request must be rejected.
    fn fault(&self, now_s: i64) -> Option<Fault> {
        let Some(token) = self.token else {
            return Some(if self.has_token_header { Fault::UnknownToken } else { Fault::NoToken });
        };
        if !token.is_live(now_s) {
            return Some(Fault::Expired);
        }
        if self.signature.is_none() {
            return Some(Fault::NoSignature);
        }
        let Some(then_s) = self.timestamp_s else { return Some(Fault::NoTimestamp) };
        (now_s.abs_diff(then_s) > self.window.as_secs()).then(|| Fault::Clock(then_s.saturating_sub(now_s)))
    }
}

/// The cause of a 401 error. It is logged, but not sent to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    NoToken,
    UnknownToken,
    Expired,
    NoSignature,
    NoTimestamp,
    /// The timestamp is outside the window. The number is the seconds by which the timestamp is ahead of the clock of the service.
    /// It is negative if the timestamp is behind.
    Clock(i64),
    WrongSignature,
}

/// Returns the 401 error for a cause.
fn refused(fault: Fault, token: Option<&Arc<AppToken>>) -> Failure {
    let mut cause = match fault {
        Fault::NoToken => "X-App-Token is missing, occurs twice, or is not visible ASCII".to_owned(),
        Fault::UnknownToken => "the token is unknown".to_owned(),
        Fault::Expired => "the token has expired".to_owned(),
        Fault::NoSignature => "X-App-Access-Sig is not one header with 64 hexadecimal digits".to_owned(),
        Fault::NoTimestamp => "X-App-Access-Ts is not one header with decimal digits".to_owned(),
        Fault::Clock(ahead_s) => {
            let side = if ahead_s < 0 { "behind" } else { "ahead of" };
            format!("the timestamp is {} s {side} the clock of the service", ahead_s.unsigned_abs())
        }
        Fault::WrongSignature => "the signature is wrong: compare with `casefilter sign`".to_owned(),
    };
    if let Some(token) = token {
        cause = format!("token {}: {cause}", quote(&token.name));
    }
    Failure::unauthorized().because(cause)
}

/// Returns the signature of a request, in lower-case hexadecimal: the value of `X-App-Access-Sig`.
///
/// `timestamp_s` is the value of `X-App-Access-Ts`, and `target` is the path with the query, as they are sent. The signed bytes are
/// the timestamp, the method, the target and the body, one after the other.
///
/// ```
/// use casefilter::service::sign;
/// let signature = sign("0123456789abcdef", 1_700_000_000, "GET", "/resources/applicants/-/info?x=1", b"");
/// assert_eq!(signature, "1d23b8af6ec547f77f136238507722c9611372795e3d35a9449dacc2224bc444");
/// ```
#[must_use]
pub fn sign(secret: &str, timestamp_s: i64, method: &str, target: &str, body: &[u8]) -> String {
    // An HMAC takes a key of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    for part in [timestamp_s.to_string().as_bytes(), method.as_bytes(), target.as_bytes(), body] {
        mac.update(part);
    }
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
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

/// Parses a signature. It must have 64 hexadecimal digits, in lower or upper case.
fn from_hex(text: &str) -> Option<Signature> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(byte.wrapping_sub(b'a').wrapping_add(10)),
        b'A'..=b'F' => Some(byte.wrapping_sub(b'A').wrapping_add(10)),
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
    fn a_signature_is_64_hexadecimal_digits() {
        for text in ["0f", "0F"] {
            assert_eq!(from_hex(&text.repeat(32)), Some([15; 32]));
        }
        for text in ["", "0f", &"0f".repeat(33), &"0g".repeat(32), &"é".repeat(32)] {
            assert_eq!(from_hex(text), None, "{text}");
        }
    }
}
