//! Reads the end of a certificate's validity from its encoding (X.509 in DER).

use chrono::{NaiveDate, NaiveDateTime};

/// The tags of the elements that are read.
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Returns the time at which a certificate ends (`notAfter`), in seconds since the Unix epoch. Returns `None` if it cannot be read.
pub(super) fn not_after_s(certificate: &[u8]) -> Option<i64> {
    let (certificate, _) = inside(certificate)?;
    let (mut fields, _) = inside(certificate)?;
    let (tag, _, rest) = element(fields)?;
    if tag == VERSION {
        fields = rest;
    }
    // The serial number, the algorithm of the signature, and the issuer.
    for _ in 0..3 {
        (_, _, fields) = element(fields)?;
    }
    let (validity, _) = inside(fields)?;
    let (_, _, rest) = element(validity)?;
    let (tag, end, _) = element(rest)?;
    time(tag, std::str::from_utf8(end).ok()?)
}

/// Returns the contents of the sequence at the start of `bytes`, and the bytes after it.
fn inside(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (tag, contents, rest) = element(bytes)?;
    (tag == SEQUENCE).then_some((contents, rest))
}

/// Returns the tag and the contents of the element at the start of `bytes`, and the bytes after it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match *first {
        short @ 0..0x80 => (usize::from(short), rest),
        long => {
            let count = usize::from(long & 0x7f);
            if !(1..=4).contains(&count) {
                return None;
            }
            let (digits, rest) = rest.split_at_checked(count)?;
            let length = digits.iter().fold(0_u32, |length, digit| length << 8 | u32::from(*digit));
            (usize::try_from(length).ok()?, rest)
        }
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((*tag, contents, rest))
}

/// Parses a time such as `491231235959Z` or, with a year of four digits, `20501231235959Z`.
fn time(tag: u8, text: &str) -> Option<i64> {
    let century = match tag {
        // RFC 5280, section 4.1.2.5.1.
        UTC_TIME if text.get(..2)?.parse::<u8>().ok()? < 50 => "20",
        UTC_TIME => "19",
        GENERALIZED_TIME => "",
        _ => return None,
    };
    let text = format!("{century}{text}");
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let digits = text.strip_suffix('Z').filter(|digits| digits.len() == 14 && is_digits(digits))?;
    let number = |from: usize, to: usize| digits.get(from..to)?.parse::<u32>().ok();
    let year = i32::try_from(number(0, 4)?).ok()?;
    let day = NaiveDate::from_ymd_opt(year, number(4, 6)?, number(6, 8)?)?;
    let time: NaiveDateTime = day.and_hms_opt(number(8, 10)?, number(10, 12)?, number(12, 14)?)?;
    Some(time.and_utc().timestamp())
}

#[cfg(test)]
mod tests {
    use tokio_rustls::rustls::pki_types::CertificateDer;
    use tokio_rustls::rustls::pki_types::pem::PemObject;

    use super::*;

    fn certificate() -> CertificateDer<'static> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tls/cert.pem");
        CertificateDer::from_pem_file(path).unwrap()
    }

    #[test]
    fn the_end_of_a_certificate_is_read() {
        let end = not_after_s(&certificate()).unwrap();
        assert!(end > 1_700_000_000, "{end}");
    }

    #[test]
    fn times_have_two_forms() {
        assert_eq!(time(UTC_TIME, "700101000000Z"), Some(0));
        assert_eq!(time(UTC_TIME, "491231235959Z"), Some(2_524_607_999));
        assert_eq!(time(UTC_TIME, "500101000000Z"), Some(-631_152_000));
        assert_eq!(time(GENERALIZED_TIME, "20500101000000Z"), Some(2_524_608_000));
        assert_eq!(time(GENERALIZED_TIME, "99991231235959Z"), Some(253_402_300_799));
        for text in ["", "Z", "20500101000000", "20501301000000Z", "2050010100000+Z", "20500101000000ZZ", "ü"]
        {
            assert_eq!(time(GENERALIZED_TIME, text), None, "{text}");
            assert_eq!(time(UTC_TIME, text), None, "{text}");
        }
    }

    #[test]
    fn damaged_certificates_have_no_end() {
        let whole = certificate();
        for length in 0..whole.len() {
            let _ = not_after_s(&whole[..length]);
        }
        for at in 0..whole.len() {
            for value in [0, 0x7f, 0x80, 0x84, 0xff] {
                let mut bytes = whole.to_vec();
                bytes[at] = value;
                let _ = not_after_s(&bytes);
            }
        }
        assert_eq!(not_after_s(b""), None);
        assert_eq!(not_after_s(b"\x30\x84\xff\xff\xff\xff"), None);
    }
}
