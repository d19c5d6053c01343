//! Reads the body of an operation on an applicant: an object with known members, each a text, a number or a boolean (`read_body`).

use std::collections::HashSet;

use chrono::NaiveDate;

use super::check::is_id;
use super::country::is_iso_country;
use super::time::date;
use crate::error::{Error, ErrorKind, Errors, Found, nearest, quote};
use crate::filter::utf8;
use crate::json::{JsonType, Reader, paths_at};
use crate::limits::Limits;

/// The members that a body may have, and the meaning of `null`.
pub(super) struct BodySchema {
    pub(super) members: &'static [(&'static str, ValueKind)],
    /// True if `null` clears a member. In this case, the body must have at least one member. If false, `null` is treated as absent,
    /// and the body may be empty.
    pub(super) clears: bool,
}

/// The values that a member may have.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueKind {
    /// A text that is not blank and has no control characters.
    Text,
    /// A text like [`Text`](Self::Text) of at most [`NAME_BYTES`].
    Name,
    /// A date `yyyy-MM-dd` that is not in the future.
    PastDate,
    /// A code of ISO 3166-1 alpha-3.
    Country,
    /// A string of 1 to 1,024 bytes without control characters.
    Id,
    /// Any string. The operation itself checks it.
    Secret,
    OneOf(&'static [&'static str]),
    Boolean,
    /// An integer within these bounds.
    Integer(u64, u64),
}

/// The maximum length of the name of a person, in bytes.
const NAME_BYTES: usize = 256;

/// The value of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BodyValue {
    Text(String),
    Boolean(bool),
    Integer(u64),
}

/// The members of a body, in their order. `None` is a member that is cleared.
#[derive(Debug, Default)]
pub(super) struct Body(Vec<(&'static str, Option<BodyValue>)>);

impl Body {
    /// Returns the text of a member.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            BodyValue::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn boolean(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            BodyValue::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn integer(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            BodyValue::Integer(value) => Some(*value),
            _ => None,
        }
    }

    fn get(&self, name: &str) -> Option<&BodyValue> {
        self.0.iter().find(|(own, _)| *own == name)?.1.as_ref()
    }

    /// Returns the names of the members, each with its text. The text of a cleared member is `None`.
    pub(super) fn changes(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        self.0.iter().map(|(name, _)| (*name, self.text(name)))
    }
}

/// The maximum number of errors that are kept. An error response has no more than ten.
const MAX_ERRORS: usize = 10;

/// Reads a body. `today` is the last date that is not in the future.
///
/// # Errors
/// Returns the first ten errors of the body, with their paths.
pub(super) fn read_body(body: &[u8], schema: &BodySchema, today: NaiveDate) -> Result<Body, Errors> {
    let limits = Limits::default();
    if body.len() > limits.body_bytes {
        let found = format!("a body of {} bytes", body.len());
        let expected = format!("at most {} bytes", limits.body_bytes);
        return Err(Error::new(ErrorKind::BodyTooLarge, 0, found, expected).into());
    }
    let text = utf8(body)?;
    let mut read = BodyReader { schema, limits, today, members: Vec::new(), errors: Vec::new() };
    if let Err(error) = read.members(text) {
        read.errors.push(*error);
    }
    let offsets: Vec<usize> = read.errors.iter().map(|error| error.offset).collect();
    match Errors::in_order(read.errors) {
        None => Ok(Body(read.members)),
        Some(errors) => Err(errors.zip_paths(paths_at(text, &offsets))),
    }
}

/// Returns the error of a body that lacks a member.
pub(super) fn missing(name: &str, expected: impl Into<String>) -> Errors {
    Error::new(ErrorKind::MissingKey, 0, format!("no `{name}`"), expected).into()
}

struct BodyReader<'s> {
    schema: &'s BodySchema,
    limits: Limits,
    today: NaiveDate,
    members: Vec<(&'static str, Option<BodyValue>)>,
    errors: Vec<Error>,
}

impl BodyReader<'_> {
    /// Reads all members. Returns an error if the rest of the body cannot be read.
    fn members(&mut self, text: &str) -> crate::json::Result<()> {
        let mut reader = Reader::new(text);
        let found = reader.peek()?;
        let start = reader.offset();
        if found != JsonType::Object {
            let expected = format!("an object with any of {}", self.names());
            return Err(Box::new(Error::new(ErrorKind::WrongType, start, found.name(), expected)));
        }
        reader.open();
        let mut seen = HashSet::new();
        while let Some((key, at)) = reader.next_key(seen.is_empty())? {
            reader.peek()?;
            let known = self.schema.members.iter().find(|(name, _)| *name == key);
            let is_first = seen.insert(key.clone());
            match known {
                Some((name, kind)) if is_first => self.member(&mut reader, name, *kind)?,
                _ => {
                    reader.skip_value()?;
                    self.fault(|own| own.stray(&key, at, !is_first));
                }
            }
        }
        reader.end()?;
        if seen.is_empty() && self.schema.clears {
            let expected = format!("any of {}", self.names());
            self.fault(|_| Error::new(ErrorKind::EmptyBody, start, "an empty object", expected));
        }
        Ok(())
    }

    /// Reads the value of a member.
    fn member(
        &mut self,
        reader: &mut Reader<'_>,
        name: &'static str,
        kind: ValueKind,
    ) -> crate::json::Result<()> {
        let found = reader.peek()?;
        let offset = reader.offset();
        let value = match (kind, found) {
            (_, JsonType::Null) => {
                reader.null()?;
                if self.schema.clears {
                    self.members.push((name, None));
                }
                return Ok(());
            }
            (ValueKind::Boolean, JsonType::Boolean) => Ok(BodyValue::Boolean(reader.boolean()?)),
            (ValueKind::Integer(least, most), JsonType::Number) => {
                let text = reader.number()?;
                let value = text.parse().ok().filter(|value| (least..=most).contains(value));
                let expected = || format!("an integer from {least} to {most}");
                value
                    .map(BodyValue::Integer)
                    .ok_or_else(|| Error::new(ErrorKind::BadInteger, offset, Found::text(text), expected()))
            }
            (ValueKind::Boolean | ValueKind::Integer(..), _)
            | (_, JsonType::Number | JsonType::Boolean)
            | (_, JsonType::Object | JsonType::Array) => {
                reader.skip_value()?;
                let expected = match kind {
                    ValueKind::Boolean => "`true` or `false`",
                    ValueKind::Integer(..) => "an integer",
                    _ if self.schema.clears => "a string or null",
                    _ => "a string",
                };
                Err(Error::new(ErrorKind::WrongType, offset, found.name(), expected))
            }
            (_, JsonType::String) => {
                let text = reader.string()?;
                self.check(name, kind, &text, offset).map(|()| BodyValue::Text(text.into_owned()))
            }
        };
        match value {
            Ok(value) => self.members.push((name, Some(value))),
            Err(error) => self.fault(|_| error),
        }
        Ok(())
    }

    fn fault(&mut self, error: impl FnOnce(&Self) -> Error) {
        if self.errors.len() < MAX_ERRORS {
            let error = error(self);
            self.errors.push(error);
        }
    }

    /// Returns the error of a key that is repeated or unknown.
    fn stray(&self, key: &str, at: usize, is_repeated: bool) -> Error {
        if is_repeated {
            let found = format!("{} again", quote(key));
            return Error::new(ErrorKind::DuplicateKey, at, found, "each key at most once");
        }
        let error = Error::new(ErrorKind::UnknownKey, at, quote(key), format!("one of {}", self.names()));
        error.suggest(nearest(key, self.schema.members.iter().map(|(name, _)| *name)).map(quote))
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.schema.members.iter().map(|(name, _)| format!("`{name}`")).collect();
        names.join(", ")
    }

    /// Checks the text of a member.
    fn check(&self, name: &str, kind: ValueKind, value: &str, offset: usize) -> Result<(), Error> {
        let most = match kind {
            ValueKind::Name => NAME_BYTES.min(self.limits.string_bytes),
            _ => self.limits.string_bytes,
        };
        if value.len() > most {
            let found = format!("a string of {} bytes", value.len());
            let expected = format!("at most {most} bytes");
            return Err(Error::new(ErrorKind::StringTooLong, offset, found, expected));
        }
        if !matches!(kind, ValueKind::Id | ValueKind::Secret | ValueKind::OneOf(_))
            && let Some(found) = unreadable(value)
        {
            let clearing = if self.schema.clears {
                format!(", or `null`, which clears `{name}`")
            } else {
                String::new()
            };
            return Err(Error::new(ErrorKind::BadValue, offset, found, format!("readable text{clearing}")));
        }
        let bad = |kind, expected: &str| Err(Error::new(kind, offset, Found::text(value), expected));
        match kind {
            ValueKind::PastDate => match date(value) {
                None => bad(ErrorKind::BadTimestamp, "a date `yyyy-MM-dd`"),
                Some(date) if date > self.today => {
                    bad(ErrorKind::BadTimestamp, "a date that is not in the future")
                }
                Some(_) => Ok(()),
            },
            ValueKind::Country if !is_iso_country(value) => {
                bad(ErrorKind::BadValue, "an ISO 3166-1 alpha-3 code, such as `DEU`")
            }
            ValueKind::Id if !is_id(value) => {
                bad(ErrorKind::BadValue, "an id: 1 to 1024 bytes without control characters")
            }
            ValueKind::OneOf(allowed) if !allowed.contains(&value) => {
                let expected =
                    allowed.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
                let error =
                    Error::new(ErrorKind::BadValue, offset, Found::text(value), format!("one of {expected}"));
                Err(error.suggest(nearest(value, allowed.iter().copied()).map(quote)))
            }
            _ => Ok(()),
        }
    }
}

/// Returns a description of the problem if a text is empty, has only invisible characters, or contains control characters. Returns
/// `None` for any other text.
fn unreadable(value: &str) -> Option<String> {
    if value.is_empty() {
        return Some("an empty string".to_owned());
    }
    if value.chars().all(is_blank) {
        return Some(format!("a blank string, {}", quote(value)));
    }
    let is_control = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let control = value.chars().find(|c| is_control(*c))?;
    Some(format!("the control character U+{:04X} in {}", u32::from(control), quote(value)))
}

/// Returns true if a character is invisible: white space, fillers, and characters that only modify other characters.
fn is_blank(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
        )
        || matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
}
