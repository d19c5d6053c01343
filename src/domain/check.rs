//! Checks an imported record against its schema. Lists the faults of the record, and creates the text to store.

use std::borrow::Cow;
use std::collections::HashSet;

use super::check_errors::{repeated, wrong, wrong_type};
use super::country::country;
use super::members::json_string;
use super::rewrite::{Edit, Edits, rewrite};
use super::schema::{Kind, Need, Schema};
use super::schemas::STEPS;
use super::time::{date, has_offset, in_utc, with_offset};
use crate::error::{Error, ErrorKind, nearest, quote};
use crate::json::{self, JsonType, Reader, paths_at};

/// The maximum nesting depth of a value that no schema describes.
const MAX_DEPTH: usize = 128;

/// The maximum length of an id, in bytes.
const MAX_ID_BYTES: usize = 1024;

/// The maximum number of faults that are listed for one record. Further faults are dropped.
const MAX_FAULTS: usize = 10;

/// A record that passed the check and can be stored.
#[derive(Debug)]
pub(super) struct Checked<'t> {
    /// The text to store. In this text, integer ids are strings, `D` is replaced by `DEU`, some times are converted to UTC, and
    /// invalid parts are left out.
    pub(super) text: Cow<'t, str>,
    /// The first ten faults, with their paths in the input. A strict import rejects a record that has any fault.
    pub(super) faults: Vec<Error>,
    /// The number of time values that have no UTC offset, although the interface document requires an offset.
    pub(super) without_zone: u64,
    /// The names of those verification steps of the record that the interface document does not list. Each name has an error that
    /// contains the path of the step.
    pub(super) unknown_steps: Vec<(String, Error)>,
}

/// Checks that a text is a valid record of a schema.
///
/// The smallest optional part that contains a fault is left out of the text to store. An optional part is an optional member, or an
/// element of an optional list.
///
/// Complexity: linear in the length of the text.
///
/// # Errors
/// Returns the first ten faults if the record cannot be stored even without its invalid parts. If an error ended the check early,
/// this error is added after them.
pub(super) fn check<'t>(text: &'t str, schema: &'static Schema) -> Result<Checked<'t>, Vec<Error>> {
    let mut walk = Check {
        reader: Reader::new(text),
        edits: Edits::new(),
        faults: Vec::new(),
        without_zone: 0,
        unknown_steps: Vec::new(),
    };
    let result = walk.record(schema).and_then(|is_whole| walk.reader.end().map(|()| is_whole));
    let Check { edits, mut faults, without_zone, unknown_steps, .. } = walk;
    let is_whole = result.unwrap_or_else(|error| {
        faults.push(*error);
        false
    });
    let faults: Vec<Error> = faults.into_iter().map(|error| place(text, error)).collect();
    if !is_whole {
        return Err(faults);
    }
    let mut rewritten = Cow::Borrowed(text);
    if !edits.is_empty() {
        let mut out = String::with_capacity(text.len());
        rewrite(&mut Reader::new(text), &edits, &mut out).map_err(|error| vec![*error])?;
        rewritten = Cow::Owned(out);
    }
    let unknown_steps = unknown_steps.into_iter().map(|(step, error)| (step, place(text, error))).collect();
    Ok(Checked { text: rewritten, faults, without_zone, unknown_steps })
}

/// Computes the path of an error from its offset, and adds the path to the error.
fn place(text: &str, error: Error) -> Error {
    let path = paths_at(text, &[error.offset]).pop().unwrap_or_default();
    error.at(path)
}

/// A walk over a record that collects faults and edits.
///
/// A method that finds an invalid value adds a fault and returns false. If a method returns an error, the walk ends.
struct Check<'t> {
    reader: Reader<'t>,
    edits: Edits,
    faults: Vec<Error>,
    without_zone: u64,
    unknown_steps: Vec<(String, Error)>,
}

impl<'t> Check<'t> {
    fn record(&mut self, schema: &'static Schema) -> json::Result<bool> {
        let found = self.reader.peek()?;
        let offset = self.reader.offset();
        if found != JsonType::Object {
            let expected = "a record, which is an object";
            return Err(Box::new(Error::new(ErrorKind::WrongType, offset, found.name(), expected)));
        }
        self.object(schema, offset)
    }

    /// Checks a value, and returns false if it is invalid. An invalid element makes its list or map invalid only if `is_needed` is
    /// true.
    fn value(&mut self, kind: &'static Kind, is_needed: bool) -> json::Result<bool> {
        let found = self.reader.peek()?;
        let offset = self.reader.offset();
        match (kind, found) {
            (Kind::Any, _) => self.any().map(|()| true),
            (_, JsonType::Null) => self.reader.null().map(|()| true),
            (Kind::Object(schema), JsonType::Object) => self.object(schema, offset),
            (Kind::Map(kind), JsonType::Object) => self.map(kind, is_needed),
            (Kind::List(kind), JsonType::Array) => self.list(kind, is_needed),
            _ => self.scalar(kind, found, offset),
        }
    }

    fn map(&mut self, kind: &'static Kind, is_needed: bool) -> json::Result<bool> {
        let mut is_whole = true;
        self.members(|own, _| {
            own.reader.peek()?;
            let start = own.reader.offset();
            if !own.value(kind, is_needed)? {
                is_whole &= !is_needed;
                own.edits.insert(start, Edit::Cut);
            }
            Ok(())
        })?;
        Ok(is_whole)
    }

    fn list(&mut self, kind: &'static Kind, is_needed: bool) -> json::Result<bool> {
        let mut is_whole = true;
        self.reader.open();
        let mut first = true;
        while self.reader.next_element(std::mem::take(&mut first))? {
            let found = self.reader.peek()?;
            let start = self.reader.offset();
            let is_good = match found {
                // A list must not contain `null`, because an element cannot be absent.
                JsonType::Null => {
                    self.reader.null()?;
                    self.fault(wrong_type(start, found.name(), kind))
                }
                _ => self.value(kind, is_needed)?,
            };
            if !is_good {
                is_whole &= !is_needed;
                self.edits.insert(start, Edit::Cut);
            }
        }
        Ok(is_whole)
    }

    fn scalar(&mut self, kind: &'static Kind, found: JsonType, offset: usize) -> json::Result<bool> {
        let fault = match (kind, found) {
            (Kind::Boolean, JsonType::Boolean) => {
                self.reader.boolean()?;
                None
            }
            (Kind::Number, JsonType::Number) => {
                self.reader.number()?;
                None
            }
            (Kind::Integer, JsonType::Number) => {
                let text = self.reader.number()?;
                let is_good = text.len() <= 18 && is_integer(text);
                (!is_good).then(|| wrong(ErrorKind::BadNumber, offset, quote(text), kind))
            }
            (Kind::Count, JsonType::Number) => {
                let text = self.reader.number()?;
                let is_good = text.parse::<u16>().is_ok_and(|count| count <= 1000);
                (!is_good).then(|| wrong(ErrorKind::BadNumber, offset, quote(text), kind))
            }
            (Kind::Id | Kind::LooseId, JsonType::Number) => {
                let text = self.reader.number()?;
                let is_good = text.len() <= MAX_ID_BYTES && is_integer(text);
                if is_good {
                    self.edits.insert(offset, Edit::Replace(json_string(text)));
                }
                (!is_good).then(|| wrong(ErrorKind::BadId, offset, quote(text), kind))
            }
            (
                Kind::Id
                | Kind::LooseId
                | Kind::Step
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
                self.string(kind, &text, offset)
            }
            _ => {
                self.reader.skip_value()?;
                Some(wrong_type(offset, found.name(), kind))
            }
        };
        Ok(fault.is_none_or(|error| self.fault(error)))
    }

    /// Adds a fault to the list, and returns false.
    fn fault(&mut self, error: Error) -> bool {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(error);
        }
        false
    }

    /// Checks a string. Returns the fault if the string is invalid for `kind`.
    fn string(&mut self, kind: &'static Kind, text: &str, offset: usize) -> Option<Error> {
        let mut becomes = |value: Option<Cow<'_, str>>| match value {
            Some(Cow::Owned(value)) => {
                self.edits.insert(offset, Edit::Replace(json_string(&value)));
                true
            }
            value => value.is_some(),
        };
        let (is_good, error_kind) = match kind {
            Kind::Id => (is_id(text), ErrorKind::BadId),
            Kind::Step => (is_id(text), ErrorKind::BadValue),
            Kind::OneOf(allowed) => (allowed.contains(&text), ErrorKind::BadValue),
            Kind::Country => {
                let code = country(text);
                let is_other = code.is_some_and(|code| code != text);
                let code =
                    code.map(|code| if is_other { Cow::Owned(code.to_owned()) } else { Cow::Borrowed(code) });
                (becomes(code), ErrorKind::BadValue)
            }
            Kind::Date => (date(text).is_some(), ErrorKind::BadTimestamp),
            Kind::DateOrYear => (
                date(text).is_some() || text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit()),
                ErrorKind::BadTimestamp,
            ),
            Kind::Moment => (becomes(in_utc(text)), ErrorKind::BadTimestamp),
            // The value is stored in the form of the input. Answers write it in the form of the interface document.
            Kind::ZonedMoment => (with_offset(text).is_some(), ErrorKind::BadTimestamp),
            _ => (true, ErrorKind::WrongType),
        };
        let nearest_of = |known: &[&'static str]| nearest(text, known.iter().copied()).map(quote);
        match kind {
            Kind::ZonedMoment if is_good && !has_offset(text) => {
                self.without_zone = self.without_zone.saturating_add(1);
            }
            Kind::Step if is_good && !STEPS.contains(&text) => {
                let expected = "a step that the interface document lists";
                let error = Error::new(error_kind, offset, quote(text), expected).suggest(nearest_of(STEPS));
                self.unknown_steps.push((text.to_owned(), error));
            }
            _ => {}
        }
        match kind {
            _ if is_good => None,
            Kind::OneOf(allowed) => {
                Some(wrong(error_kind, offset, quote(text), kind).suggest(nearest_of(allowed)))
            }
            _ => Some(wrong(error_kind, offset, quote(text), kind)),
        }
    }

    fn object(&mut self, schema: &'static Schema, offset: usize) -> json::Result<bool> {
        let required = schema.members.iter().filter(|member| member.need == Need::Required);
        let mut missing: Vec<&'static str> = required.map(|member| member.name).collect();
        let mut is_whole = true;
        self.members(|own, key| {
            let Some(member) = schema.member(&key) else { return own.any() };
            if own.reader.peek()? != JsonType::Null {
                missing.retain(|name| *name != key);
            }
            let start = own.reader.offset();
            let is_needed = member.need != Need::Optional;
            if !own.value(&member.kind, is_needed)? {
                is_whole &= !is_needed;
                own.edits.insert(start, Edit::Cut);
            }
            Ok(())
        })?;
        let Some(name) = missing.first() else { return Ok(is_whole) };
        let expected = format!("`{name}`, which is needed here");
        let error = Error::new(ErrorKind::MissingKey, offset, format!("no `{name}`"), expected);
        Ok(self.fault(error))
    }

    /// Reads the object at the current position, and passes each key to `take`. A repeated key is an error.
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

    /// Skips a value that no schema describes. A repeated key inside the value is an error.
    fn any(&mut self) -> json::Result<()> {
        // For each open bracket: the keys of the object that have been read (`None` for an array), and a flag. The flag is true
        // before the first member or element.
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

/// Returns true if a text is a valid id.
pub(super) fn is_id(text: &str) -> bool {
    (1..=MAX_ID_BYTES).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// Returns true if a JSON number has neither a fraction nor an exponent.
fn is_integer(number: &str) -> bool {
    number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}
