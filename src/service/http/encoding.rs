//! Chooses the coding of a response from the header `Accept-Encoding` (RFC 9110, section 12.5.3).

use axum::http::{HeaderMap, header};

/// A coding of response bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::service) enum Coding {
    Identity,
    Gzip,
    Zstd,
}

/// The codings that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::service) struct Accepted {
    /// The coding for responses that are worth compressing.
    pub(super) best: Coding,
    /// True if the client accepts responses without a coding.
    pub(in crate::service) identity: bool,
}

impl Coding {
    /// Returns the name in headers.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// Returns what a client accepts. Returns `None` if it accepts none of the codings. Elements that are not valid are ignored.
pub(super) fn accepted(headers: &HeaderMap) -> Option<Accepted> {
    let (mut gzip, mut zstd, mut identity, mut any) = (None, None, None, None);
    for value in headers.get_all(header::ACCEPT_ENCODING) {
        for element in value.as_bytes().split(|byte| *byte == b',') {
            let mut parts = element.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let name = parts.next().unwrap_or_default();
            let weight = match parts.next() {
                None => Some(1000),
                Some(weight) => weight_of(weight),
            };
            let Some(weight) = weight.filter(|_| parts.next().is_none()) else { continue };
            let place = match name {
                name if name.eq_ignore_ascii_case(b"gzip") || name.eq_ignore_ascii_case(b"x-gzip") => {
                    &mut gzip
                }
                name if name.eq_ignore_ascii_case(b"zstd") => &mut zstd,
                name if name.eq_ignore_ascii_case(b"identity") => &mut identity,
                b"*" => &mut any,
                _ => continue,
            };
            *place = Some(weight);
        }
    }
    let accepts_identity = identity.or(any).unwrap_or(1) > 0;
    // The element `*` stands for gzip and zstd only if the client does not accept `identity`.
    let of_identity = identity.or(any).unwrap_or(0);
    let named = |own: Option<u16>| own.or(any.filter(|_| !accepts_identity)).unwrap_or(0);
    let best = match (named(zstd), named(gzip)) {
        (zstd, gzip) if zstd > 0 && zstd >= gzip && zstd >= of_identity => Coding::Zstd,
        (_, gzip) if gzip > 0 && gzip >= of_identity => Coding::Gzip,
        _ if accepts_identity => Coding::Identity,
        _ => return None,
    };
    Some(Accepted { best, identity: accepts_identity })
}

/// Parses a weight, such as `q=0.5`, in thousandths. Returns `None` if it is not valid.
fn weight_of(text: &[u8]) -> Option<u16> {
    let (name, value) = text.split_at_checked(2)?;
    if !name.eq_ignore_ascii_case(b"q=") {
        return None;
    }
    let (whole, rest) = value.split_first()?;
    let digits = match rest {
        [] => &[],
        [b'.', digits @ ..] if digits.len() <= 3 && digits.iter().all(u8::is_ascii_digit) => digits,
        _ => return None,
    };
    let padded = digits.iter().chain(b"000").take(3);
    let thousandths =
        padded.fold(0_u16, |sum, digit| sum.wrapping_mul(10).wrapping_add(u16::from(digit & 0xf)));
    match whole {
        b'0' => Some(thousandths),
        b'1' if thousandths == 0 => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_coding_with_the_greatest_weight_is_chosen() {
        use Coding::{Gzip, Identity, Zstd};
        for (text, expected) in [
            ("", Some((Identity, true))),
            ("gzip", Some((Gzip, true))),
            ("X-GZip", Some((Gzip, true))),
            ("gzip, deflate, br, zstd", Some((Zstd, true))),
            ("gzip;q=1.0, zstd;q=0.9", Some((Gzip, true))),
            ("gzip;q=0.001", Some((Gzip, true))),
            ("gzip;q=0", Some((Identity, true))),
            ("gzip;q=0.5, identity", Some((Identity, true))),
            ("gzip;q=0.5, identity;q=0.5", Some((Gzip, true))),
            ("deflate, br", Some((Identity, true))),
            ("*", Some((Identity, true))),
            ("*, gzip", Some((Gzip, true))),
            ("identity;q=0", None),
            ("*;q=0", None),
            ("identity;q=0, *", Some((Zstd, false))),
            ("identity;q=0, gzip;q=0.2", Some((Gzip, false))),
            ("*;q=0, gzip", Some((Gzip, false))),
            ("*;q=0, identity;q=0.1", Some((Identity, true))),
            // Elements that are not valid.
            ("gzip;q=2", Some((Identity, true))),
            ("gzip;q=0.0001", Some((Identity, true))),
            ("gzip;q=", Some((Identity, true))),
            ("gzip;q=1;x=2", Some((Identity, true))),
            ("gzip;level=9", Some((Identity, true))),
            (",,;,q=1,\u{e9}", Some((Identity, true))),
            ("gzip ; q=1 , zstd;Q=0", None.or(Some((Gzip, true)))),
        ] {
            let mut headers = HeaderMap::new();
            if !text.is_empty() {
                headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_bytes(text.as_bytes()).unwrap());
            }
            let found = accepted(&headers).map(|own| (own.best, own.identity));
            assert_eq!(found, expected, "{text}");
        }
        let mut headers = HeaderMap::new();
        headers.append(header::ACCEPT_ENCODING, HeaderValue::from_static("br"));
        headers.append(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        assert_eq!(accepted(&headers).map(|own| own.best), Some(Gzip));
    }
}
