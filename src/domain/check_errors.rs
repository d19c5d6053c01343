//! The errors that the check of an imported record reports.

use super::schema::Kind;
use super::schemas::STEPS;
use crate::error::{Error, ErrorKind, Found, quote};

pub(super) fn repeated(key: &str, offset: usize) -> Box<Error> {
    let found = format!("{} again", quote(key));
    Box::new(Error::new(ErrorKind::DuplicateKey, offset, found, "each key at most once"))
}

pub(super) fn wrong_type(offset: usize, found: &str, kind: &Kind) -> Error {
    wrong(ErrorKind::WrongType, offset, found, kind)
}

pub(super) fn wrong(error_kind: ErrorKind, offset: usize, found: impl Into<Found>, kind: &Kind) -> Error {
    Error::new(error_kind, offset, found, expected(kind))
}

/// Returns a description of the values that a kind accepts.
fn expected(kind: &Kind) -> String {
    let one_of = |allowed: &[&str]| {
        let allowed: Vec<String> = allowed.iter().map(|name| format!("`{name}`")).collect();
        format!("one of {}", allowed.join(", "))
    };
    match kind {
        Kind::Id => "a string of 1 to 1024 bytes without control characters, or an integer".to_owned(),
        Kind::LooseId => "a string or an integer".to_owned(),
        Kind::Step => one_of(STEPS),
        Kind::Text => "a string".to_owned(),
        Kind::OneOf(allowed) => one_of(allowed),
        Kind::Country => {
            "an ISO 3166-1 alpha-3 code, such as `DEU`, or one of ICAO Doc 9303, such as `XXA`".to_owned()
        }
        Kind::Date => "a date `yyyy-MM-dd`".to_owned(),
        Kind::DateOrYear => "a date `yyyy-MM-dd` or a year `yyyy`".to_owned(),
        Kind::Moment | Kind::ZonedMoment => {
            "a time `yyyy-MM-dd HH:mm:ss`, then nothing (UTC) or an offset such as `+0000`".to_owned()
        }
        Kind::Boolean => "a boolean".to_owned(),
        Kind::Integer => "an integer of at most 18 characters".to_owned(),
        Kind::Count => "an integer from 0 to 1000".to_owned(),
        Kind::Number => "a number".to_owned(),
        Kind::Object(_) | Kind::Map(_) => "an object".to_owned(),
        Kind::List(kind) => format!("an array, each element {}", expected(kind)),
        Kind::Any => "any value".to_owned(),
    }
}
