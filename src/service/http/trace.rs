//! The ids of a trace that a client or a proxy has begun, for the log.

use axum::http::{HeaderMap, HeaderName};

/// The header of the W3C recommendation "Trace Context".
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The length of the header in version 0. Later versions may add further parts after a `-`.
const BYTES: usize = 55;

/// The ids in the header `traceparent` of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::service) struct TraceParent {
    /// The id of the trace: 32 hexadecimal digits.
    pub(in crate::service) trace_id: String,
    /// The id of the caller's part of the trace: 16 hexadecimal digits.
    pub(in crate::service) parent_id: String,
}

impl TraceParent {
    /// Reads the header. Returns `None` if it is absent, occurs twice, or does not have the form of the recommendation.
    pub(in crate::service) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let value = values.next()?.to_str().ok().filter(|_| values.next().is_none())?;
        let (head, rest) = value.split_at_checked(BYTES)?;
        let [version, trace_id, parent_id, flags] = head.split('-').collect::<Vec<_>>().try_into().ok()?;
        let is_hex = |text: &str, len: usize| {
            text.len() == len && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_id = |text: &str, len| is_hex(text, len) && text.bytes().any(|byte| byte != b'0');
        let is_whole = rest.is_empty() || (version != "00" && rest.starts_with('-'));
        let has_form = is_hex(version, 2) && version != "ff" && is_hex(flags, 2) && is_whole;
        (has_form && is_id(trace_id, 32) && is_id(parent_id, 16))
            .then(|| Self { trace_id: trace_id.to_owned(), parent_id: parent_id.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_a_header_of_the_right_form_is_taken_over() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(TRACEPARENT, HeaderValue::from_str(value).unwrap());
            }
            TraceParent::of(&headers).map(|trace| (trace.trace_id, trace.parent_id))
        };
        let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let good = format!("00-{trace}-{parent}-01");
        let expected = Some((trace.to_owned(), parent.to_owned()));
        assert_eq!(read(&[&good]), expected);
        assert_eq!(read(&[&format!("cc-{trace}-{parent}-01-what-the-future-will-be")]), expected);
        for wrong in [
            String::new(),
            good.to_uppercase(),
            format!("{good}-"),
            format!("{good}0"),
            format!("ff-{trace}-{parent}-01"),
            format!("cc-{trace}-{parent}-01."),
            format!("00-{}-{parent}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{trace}\"-{}-01", &parent[1..]),
            good.replace('-', "_"),
        ] {
            assert_eq!(read(&[&wrong]), None, "{wrong}");
        }
        assert_eq!(read(&[&good, &good]), None);
        assert_eq!(read(&[]), None);
    }
}
