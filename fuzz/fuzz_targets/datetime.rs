//! Parses any text as a timestamp. Printing and parsing the timestamp again must give the same instant. The crate `chrono`,
//! restricted to the same text form, must parse the text to the same instant.

#![no_main]

use casefilter::Timestamp;
use chrono::{NaiveDateTime, NaiveTime, TimeDelta};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let parsed = Timestamp::parse(text);
    assert_eq!(parsed.ok().map(Timestamp::as_millis), by_chrono(text), "{text}");
    if let Ok(timestamp) = parsed {
        let printed = timestamp.to_string();
        assert_eq!(Timestamp::parse(&printed), Ok(timestamp), "{text}");
        assert!(printed.len() <= text.len().max("0000-01-01 00:00:00+1800".len()));
    }
    if let Some(timestamp) = Timestamp::parse_millis(text) {
        assert_eq!(text.parse(), Ok(timestamp.as_millis()));
        assert!(!timestamp.to_string().is_empty());
    }
});

fn by_chrono(text: &str) -> Option<i64> {
    let (local, offset) = text.split_at_checked(19)?;
    let has_shape = |text: &str, shape: &str| {
        text.len() == shape.len()
            && text
                .bytes()
                .zip(shape.bytes())
                .all(|(b, s)| if s == b'0' { b.is_ascii_digit() } else { b == s })
    };
    // `chrono` accepts leap seconds, but the text form does not allow them.
    if !has_shape(local, "0000-00-00 00:00:00") || local.ends_with("60") {
        return None;
    }
    let local = NaiveDateTime::parse_from_str(local, "%Y-%m-%d %H:%M:%S").ok()?;
    let ahead = match offset.split_at_checked(1) {
        None if offset.is_empty() => TimeDelta::zero(),
        None => return None,
        Some((sign, size)) => {
            let has_colon = has_shape(size, "00:00");
            if !(has_colon || has_shape(size, "0000")) || !["+", "-"].contains(&sign) {
                return None;
            }
            let format = if has_colon { "%H:%M" } else { "%H%M" };
            let size = NaiveTime::parse_from_str(size, format).ok()?.signed_duration_since(NaiveTime::MIN);
            if size > TimeDelta::hours(18) {
                return None;
            }
            if sign == "-" { -size } else { size }
        }
    };
    Some((local.and_utc() - ahead).timestamp_millis())
}
