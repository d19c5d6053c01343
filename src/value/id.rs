//! The canonical text of ids: the form in which ids are stored, compared and shown.

use std::borrow::Cow;

use super::id_type::IdType;
use super::integer::parse_integer;

/// The prefix of a UUID that is written as a URN.
const URN: &str = "urn:uuid:";

/// The positions of `-` in a UUID.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// The length of the text of a UUID, in bytes.
const UUID_BYTES: usize = 36;

/// Returns the canonical text of an id. Returns `None` if the text is not an id of this type. Every string is a string id.
pub(crate) fn canonical_id(id_type: IdType, text: &str) -> Option<Cow<'_, str>> {
    match id_type {
        IdType::String => Some(Cow::Borrowed(text)),
        IdType::Integer => parse_integer(text).map(|integer| match integer {
            // `-0` is valid JSON. It is the same integer as `0`.
            0 => Cow::Borrowed("0"),
            _ => Cow::Borrowed(text),
        }),
        IdType::Uuid => canonical_uuid(text),
    }
}

/// Returns the text that a pattern searches for in canonical ids. For UUIDs, converts the text to lower case.
pub(crate) fn part_of_id(id_type: IdType, text: &str) -> Cow<'_, str> {
    match id_type {
        IdType::Uuid if text.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            Cow::Owned(text.to_ascii_lowercase())
        }
        _ => Cow::Borrowed(text),
    }
}

fn canonical_uuid(text: &str) -> Option<Cow<'_, str>> {
    let digits = match text.split_at_checked(URN.len()) {
        Some((urn, rest)) if urn.eq_ignore_ascii_case(URN) => rest,
        _ => text,
    };
    let is_part = |(at, byte): (usize, u8)| match HYPHENS.contains(&at) {
        true => byte == b'-',
        false => byte.is_ascii_hexdigit(),
    };
    (digits.len() == UUID_BYTES && digits.bytes().enumerate().all(is_part)).then_some(())?;
    Some(part_of_id(IdType::Uuid, digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_one_canonical_text() {
        const PLAIN: &str = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
        let upper = PLAIN.to_uppercase();
        for (id_type, text, expected) in [
            (IdType::String, "Ab", Some("Ab")),
            (IdType::Integer, "-9223372036854775808", Some("-9223372036854775808")),
            (IdType::Integer, "9223372036854775807", Some("9223372036854775807")),
            (IdType::Integer, "9223372036854775808", None),
            (IdType::Integer, "-0", Some("0")),
            (IdType::Integer, "007", None),
            (IdType::Integer, "+7", None),
            (IdType::Integer, "7.0", None),
            (IdType::Integer, "", None),
            (IdType::Uuid, PLAIN, Some(PLAIN)),
            (IdType::Uuid, &upper, Some(PLAIN)),
            (IdType::Uuid, &format!("urn:uuid:{upper}"), Some(PLAIN)),
            (IdType::Uuid, &format!("URN:UUID:{PLAIN}"), Some(PLAIN)),
            (IdType::Uuid, &format!("{{{PLAIN}}}"), None),
            (IdType::Uuid, &PLAIN.replace('-', ""), None),
            (IdType::Uuid, &PLAIN.replace('f', "g"), None),
            (IdType::Uuid, &PLAIN.replace('f', "é"), None),
            (IdType::Uuid, "urn:uuid:", None),
            (IdType::Uuid, "", None),
        ] {
            assert_eq!(canonical_id(id_type, text).as_deref(), expected, "{text}");
            if let Some(id) = expected {
                assert_eq!(canonical_id(id_type, id).as_deref(), Some(id), "twice");
            }
        }
    }
}
