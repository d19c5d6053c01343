//! What records look like: checked when they come in, and copied by when they go out.
//!
//! A shape names the members that this library knows, with their types. Members that it does not know are
//! kept and served as they came. Nothing recurses deeper than the shapes do, which are constants.

use std::borrow::Cow;
use std::collections::HashSet;

use chrono::{NaiveDate, NaiveDateTime};

use crate::error::{Error, ErrorKind, nearest, quote};
use crate::json::{self, JsonType, Reader, paths_at};
use crate::value::Timestamp;

/// The members of an object.
pub(super) struct Shape {
    pub(super) members: &'static [Member],
}

/// A member of an object.
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
    pub(super) sight: Sight,
}

/// Who gets to see a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    Everyone,
    /// Those who may view personal data.
    Personal,
    /// Nobody: it is for this library alone.
    Internal,
}

/// What a value may be. `null` counts as absent.
pub(super) enum Kind {
    /// A string of 1 to 1,024 bytes without control characters.
    Id,
    Text,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// An ISO 3166-1 alpha-3 code.
    Country,
    /// `yyyy-MM-dd`.
    Date,
    /// `yyyy-MM-dd` or `yyyy`.
    DateOrYear,
    /// `yyyy-MM-dd HH:mm:ss`, in UTC.
    Moment,
    /// `yyyy-MM-dd HH:mm:ss` and an offset.
    ZonedMoment,
    Boolean,
    /// A number without fraction or exponent, of at most eighteen characters.
    Integer,
    /// An integer from 0 to 1,000.
    Count,
    Number,
    Object(&'static Shape),
    List(&'static Kind),
    /// Any keys, with values of one kind.
    Map(&'static Kind),
    Any,
}

impl Member {
    pub(super) const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, is_required: false, sight: Sight::Everyone }
    }

    pub(super) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    pub(super) const fn seen_by(self, sight: Sight) -> Self {
        Self { sight, ..self }
    }
}

impl Shape {
    pub(super) fn member(&self, name: &str) -> Option<&'static Member> {
        self.members.iter().find(|member| member.name == name)
    }
}

/// The deepest nesting of a value that no shape describes.
const MAX_DEPTH: usize = 128;
/// The longest id, in bytes.
const MAX_ID_BYTES: usize = 1024;

/// Whether a text is an ISO 3166-1 alpha-3 code.
pub(super) fn is_country(text: &str) -> bool {
    let is_upper = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase());
    is_upper && rust_iso3166::from_alpha3(text).is_some()
}

/// Reads `yyyy-MM-dd`, exactly these digits.
pub(super) fn date(text: &str) -> Option<NaiveDate> {
    let is_shaped = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if is_shaped { NaiveDate::parse_from_str(text, "%Y-%m-%d").ok() } else { None }
}

/// Checks that a text is a record of a shape.
///
/// # Errors
/// The first thing wrong with it, with its path. Linear in the length of the text.
pub(super) fn check(text: &str, shape: &'static Shape) -> Result<(), Error> {
    let mut walk = Check { reader: Reader::new(text) };
    let result = walk.record(shape).and_then(|()| walk.reader.end());
    result.map_err(|error| place(text, *error))
}

/// An error with the path of its offset.
pub(super) fn place(text: &str, error: Error) -> Error {
    let path = paths_at(text, &[error.offset]).pop().unwrap_or_default();
    error.at(path)
}

struct Check<'t> {
    reader: Reader<'t>,
}

impl<'t> Check<'t> {
    fn record(&mut self, shape: &'static Shape) -> json::Result<()> {
        let found = self.reader.peek()?;
        let offset = self.reader.offset();
        if found != JsonType::Object {
            let expected = "a record, which is an object";
            return Err(Box::new(Error::new(ErrorKind::WrongType, offset, found.name(), expected)));
        }
        self.object(shape, offset)
    }

    fn value(&mut self, kind: &'static Kind) -> json::Result<()> {
        let found = self.reader.peek()?;
        let offset = self.reader.offset();
        match (kind, found) {
            (Kind::Object(_) | Kind::List(_) | Kind::Map(_), JsonType::Null) | (Kind::Any, _) => self.any(),
            (_, JsonType::Null) => self.reader.null(),
            (Kind::Object(shape), JsonType::Object) => self.object(shape, offset),
            (Kind::Map(kind), JsonType::Object) => self.members(|own, _| own.value(kind)),
            (Kind::List(kind), JsonType::Array) => {
                self.reader.open();
                let mut first = true;
                while self.reader.next_element(std::mem::take(&mut first))? {
                    // An element that is absent has no meaning.
                    if self.reader.peek()? == JsonType::Null {
                        return Err(wrong_type(self.reader.offset(), "null", kind));
                    }
                    self.value(kind)?;
                }
                Ok(())
            }
            (Kind::Boolean, JsonType::Boolean) => self.reader.boolean().map(drop),
            (Kind::Number, JsonType::Number) => self.reader.number().map(drop),
            (Kind::Integer, JsonType::Number) => {
                let text = self.reader.number()?;
                let is_integer =
                    text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
                if is_integer { Ok(()) } else { Err(wrong(ErrorKind::BadNumber, offset, quote(text), kind)) }
            }
            (Kind::Count, JsonType::Number) => {
                let text = self.reader.number()?;
                let is_count = text.parse::<u16>().is_ok_and(|count| count <= 1000);
                if is_count { Ok(()) } else { Err(wrong(ErrorKind::BadNumber, offset, quote(text), kind)) }
            }
            (
                Kind::Id
                | Kind::Text
                | Kind::OneOf(_)
                | Kind::Country
                | Kind::Date
                | Kind::DateOrYear
                | Kind::Moment
                | Kind::ZonedMoment,
                JsonType::String,
            ) => {
                let text = self.reader.string()?;
                string(kind, &text, offset)
            }
            _ => Err(wrong_type(offset, found.name(), kind)),
        }
    }

    fn object(&mut self, shape: &'static Shape, offset: usize) -> json::Result<()> {
        let mut missing: Vec<&'static str> =
            shape.members.iter().filter(|member| member.is_required).map(|member| member.name).collect();
        self.members(|own, key| {
            let Some(member) = shape.member(&key) else { return own.any() };
            if own.reader.peek()? != JsonType::Null {
                missing.retain(|name| *name != key);
            }
            own.value(&member.kind)
        })?;
        match missing.first() {
            None => Ok(()),
            Some(name) => Err(Box::new(Error::new(
                ErrorKind::MissingKey,
                offset,
                format!("no `{name}`"),
                format!("`{name}`, which is needed here"),
            ))),
        }
    }

    /// Goes through an object that stands next; each key may be there once.
    fn members(
        &mut self,
        mut take: impl FnMut(&mut Self, Cow<'t, str>) -> json::Result<()>,
    ) -> json::Result<()> {
        self.reader.open();
        let mut seen = HashSet::new();
        let mut first = true;
        while let Some((key, at)) = self.reader.next_key(std::mem::take(&mut first))? {
            if !seen.insert(key.clone()) {
                return Err(repeated(&key, at));
            }
            take(self, key)?;
        }
        Ok(())
    }

    /// Reads over a value whose meaning is not known here; its objects have no repeated keys either.
    fn any(&mut self) -> json::Result<()> {
        // The keys of each open object; none for an array.
        let mut open: Vec<(Option<HashSet<Cow<'t, str>>>, bool)> = Vec::new();
        loop {
            match self.reader.peek()? {
                kind @ (JsonType::Object | JsonType::Array) => {
                    if open.len() >= MAX_DEPTH {
                        return Err(Box::new(Error::new(
                            ErrorKind::TooDeep,
                            self.reader.offset(),
                            format!("nesting deeper than {MAX_DEPTH}"),
                            format!("at most {MAX_DEPTH} levels"),
                        )));
                    }
                    self.reader.open();
                    open.push(((kind == JsonType::Object).then(HashSet::new), true));
                }
                _ => self.reader.skip_scalar()?,
            }
            loop {
                let Some((keys, first)) = open.last_mut() else { return Ok(()) };
                let first = std::mem::take(first);
                let has_next = match keys {
                    None => self.reader.next_element(first)?,
                    Some(keys) => match self.reader.next_key(first)? {
                        None => false,
                        Some((key, at)) if keys.contains(&key) => return Err(repeated(&key, at)),
                        Some((key, _)) => keys.insert(key),
                    },
                };
                if has_next {
                    break;
                }
                open.pop();
            }
        }
    }
}

fn string(kind: &'static Kind, text: &str, offset: usize) -> json::Result<()> {
    let (is_good, error_kind) = match kind {
        Kind::Id => (
            (1..=MAX_ID_BYTES).contains(&text.len()) && !text.chars().any(char::is_control),
            ErrorKind::BadId,
        ),
        Kind::OneOf(allowed) => (allowed.contains(&text), ErrorKind::BadValue),
        Kind::Country => (is_country(text), ErrorKind::BadValue),
        Kind::Date => (date(text).is_some(), ErrorKind::BadTimestamp),
        Kind::DateOrYear => (
            date(text).is_some() || text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit()),
            ErrorKind::BadTimestamp,
        ),
        Kind::Moment => (is_moment(text), ErrorKind::BadTimestamp),
        Kind::ZonedMoment => (Timestamp::parse(text).is_ok(), ErrorKind::BadTimestamp),
        _ => (true, ErrorKind::WrongType),
    };
    if is_good {
        return Ok(());
    }
    let mut error = wrong(error_kind, offset, quote(text), kind);
    if let Kind::OneOf(allowed) = kind {
        *error = error.suggest(nearest(text, allowed.iter().copied()).map(quote));
    }
    Err(error)
}

/// Whether a text is `yyyy-MM-dd HH:mm:ss`, which orders as the moments do.
fn is_moment(text: &str) -> bool {
    text.len() == 19
        && Timestamp::parse(text).is_ok()
        && NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").is_ok()
}

fn repeated(key: &str, offset: usize) -> Box<Error> {
    let found = format!("{} again", quote(key));
    Box::new(Error::new(ErrorKind::DuplicateKey, offset, found, "each key at most once"))
}

fn wrong_type(offset: usize, found: &str, kind: &Kind) -> Box<Error> {
    wrong(ErrorKind::WrongType, offset, found.to_owned(), kind)
}

fn wrong(error_kind: ErrorKind, offset: usize, found: String, kind: &Kind) -> Box<Error> {
    Box::new(Error::new(error_kind, offset, found, expected(kind)))
}

/// What a kind allows, in words.
fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Id => "a string of 1 to 1024 bytes without control characters".to_owned(),
        Kind::Text => "a string".to_owned(),
        Kind::OneOf(allowed) => {
            let allowed: Vec<String> = allowed.iter().map(|name| format!("`{name}`")).collect();
            format!("one of {}", allowed.join(", "))
        }
        Kind::Country => "an ISO 3166-1 alpha-3 code, such as `DEU`".to_owned(),
        Kind::Date => "a date `yyyy-MM-dd`".to_owned(),
        Kind::DateOrYear => "a date `yyyy-MM-dd` or a year `yyyy`".to_owned(),
        Kind::Moment => "a time `yyyy-MM-dd HH:mm:ss` in UTC, without an offset".to_owned(),
        Kind::ZonedMoment => "a time `yyyy-MM-dd HH:mm:ss` with an offset such as `+0000`".to_owned(),
        Kind::Boolean => "a boolean".to_owned(),
        Kind::Integer => "an integer of at most 18 characters".to_owned(),
        Kind::Count => "an integer from 0 to 1000".to_owned(),
        Kind::Number => "a number".to_owned(),
        Kind::Object(_) | Kind::Map(_) => "an object".to_owned(),
        Kind::List(kind) => format!("an array, each element {}", expected(kind)),
        Kind::Any => "any value".to_owned(),
    }
}

/// What a copy of a record keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// Members that their shape does not name.
    pub(super) unknown: bool,
    /// Members that are personal data.
    pub(super) personal: bool,
}

/// Copies a record, with the members that a view keeps, in their order and as they are written.
///
/// # Errors
/// When the text is not JSON, which a checked record always is.
pub(super) fn copy(text: &str, shape: &'static Shape, view: View) -> json::Result<String> {
    let mut out = String::with_capacity(text.len());
    copy_object(&mut Reader::new(text), shape, view, &mut out)?;
    Ok(out)
}

fn copy_value(
    reader: &mut Reader<'_>,
    kind: &'static Kind,
    view: View,
    out: &mut String,
) -> json::Result<()> {
    match (kind, reader.peek()?) {
        (Kind::Object(shape), JsonType::Object) => copy_object(reader, shape, view, out),
        (Kind::List(kind), JsonType::Array) => {
            reader.open();
            out.push('[');
            let mut first = true;
            while reader.next_element(first)? {
                if !std::mem::take(&mut first) {
                    out.push(',');
                }
                copy_value(reader, kind, view, out)?;
            }
            out.push(']');
            Ok(())
        }
        _ => {
            let start = reader.offset();
            reader.skip_value()?;
            out.push_str(reader.between(start, reader.offset()));
            Ok(())
        }
    }
}

fn copy_object(
    reader: &mut Reader<'_>,
    shape: &'static Shape,
    view: View,
    out: &mut String,
) -> json::Result<()> {
    reader.peek()?;
    reader.open();
    out.push('{');
    let (mut first, mut is_empty) = (true, true);
    while let Some((key, _)) = reader.next_key(std::mem::take(&mut first))? {
        let member = shape.member(&key);
        let is_kept = match member.map(|member| member.sight) {
            None => view.unknown,
            Some(Sight::Everyone) => true,
            Some(Sight::Personal) => view.personal,
            Some(Sight::Internal) => false,
        };
        reader.peek()?;
        if !is_kept {
            reader.skip_value()?;
            continue;
        }
        if !std::mem::take(&mut is_empty) {
            out.push(',');
        }
        push_string(&key, out);
        out.push(':');
        copy_value(reader, member.map_or(&Kind::Any, |member| &member.kind), view, out)?;
    }
    out.push('}');
    Ok(())
}

/// Writes a JSON string.
pub(super) fn push_string(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

/// The members of an object as they are written, in order.
#[derive(Debug, Default)]
pub(super) struct Members<'t>(Vec<(Cow<'t, str>, Cow<'t, str>)>);

impl<'t> Members<'t> {
    /// Reads an object.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn read(text: &'t str) -> json::Result<Self> {
        let mut reader = Reader::new(text);
        let mut members = Vec::new();
        reader.peek()?;
        reader.open();
        let mut first = true;
        while let Some((key, _)) = reader.next_key(std::mem::take(&mut first))? {
            reader.peek()?;
            let start = reader.offset();
            reader.skip_value()?;
            members.push((key, Cow::Borrowed(reader.between(start, reader.offset()))));
        }
        Ok(Self(members))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// The value of a member that is a string.
    pub(super) fn string(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// Gives a member a value, which is JSON; a new one comes last.
    pub(super) fn set(&mut self, name: &'t str, value: String) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, own)) => *own = Cow::Owned(value),
            None => self.0.push((Cow::Borrowed(name), Cow::Owned(value))),
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| key != name);
    }

    pub(super) fn to_json(&self) -> String {
        let mut out = String::from("{");
        for (at, (key, value)) in self.0.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            push_string(key, &mut out);
            out.push(':');
            out.push_str(value);
        }
        out.push('}');
        out
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::super::shapes;
    use super::*;

    static EMPTY: Shape = Shape { members: &[] };
    const ALL: View = View { unknown: true, personal: true };

    /// Objects with members that shapes know and others.
    fn object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            prop_oneof!["a", "DEU", "applicant", "GREEN", "2026-01-01", "2026-01-01 00:00:00", "\\PC{0,4}"]
                .prop_map(Value::from),
        ];
        let name = prop_oneof![
            "id",
            "createdAt",
            "targetEntityType",
            "targetEntityId",
            "hits",
            "review",
            "active",
            "reviewerName",
            "vendorInfo",
            "attributes",
            "reviewAnswer",
            "\\PC{0,3}",
        ];
        let inner = leaf.prop_recursive(4, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(name.clone(), inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        });
        inner.prop_filter("an object", Value::is_object)
    }

    proptest! {
        #[test]
        fn what_is_let_in_comes_out_whole(mut value in object()) {
            let text = value.to_string();
            prop_assert_eq!(check(&text, &EMPTY), Ok(()));
            prop_assert_eq!(copy(&text, &EMPTY, ALL), Ok(text.clone()));
            prop_assert_eq!(Members::read(&text).unwrap().to_json(), text);
            // With the members that a record needs, more of them are let in.
            for (name, own) in [
                ("id", "x"), ("targetEntityId", "x"), ("targetEntityType", "applicant"),
                ("createdAt", "2026-01-01 00:00:00"),
            ] {
                value[name] = own.into();
            }
            let text = value.to_string();
            if check(&text, &shapes::AML_CASE).is_ok() {
                let served = copy(&text, &shapes::AML_CASE, ALL).unwrap();
                value.as_object_mut().unwrap().remove("active");
                prop_assert_eq!(serde_json::from_str::<Value>(&served).unwrap(), value);
                let redacted = copy(&text, &shapes::AML_CASE, View { personal: false, ..ALL }).unwrap();
                prop_assert!(redacted.len() <= served.len());
                prop_assert_eq!(check(&redacted, &shapes::AML_CASE), Ok(()));
            }
        }

        #[test]
        fn no_text_panics(text in "[\\[\\]{}\",:0-9aeE.\\\\+ -]{0,60}") {
            for shape in [&EMPTY, &shapes::APPLICANT, &shapes::LEVEL, &shapes::DOCUMENT, &shapes::AML_CASE] {
                let _ = check(&text, shape);
            }
            let _ = copy(&text, &shapes::PREVIEW, ALL);
            let _ = Members::read(&text);
        }
    }

    #[test]
    fn many_keys_and_long_strings_take_linear_time() {
        let keys: Vec<String> = (0..200_000).map(|key| format!("\"k{key}\":0")).collect();
        let text = format!("{{{},\"x\":\"{}\"}}", keys.join(","), "y".repeat(1 << 20));
        assert_eq!(check(&text, &EMPTY), Ok(()));
        assert_eq!(copy(&text, &EMPTY, ALL).unwrap(), text);
    }
}
