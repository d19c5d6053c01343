//! Reads a file of standing filters, one per line.

use std::path::Path;

use casefilter::{
    Catalog, Error, ErrorKind, Errors, FieldId, Filter, FilterBuilder, FilterSet, StandingFilter,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::input::request_lines::Lines;
use crate::output::diagnostics::{Fault, Source};
use crate::output::escape::quote;
use crate::output::failure::Failure;

/// The form of a line, for messages.
const FORM: &str = "a standing filter such as `{\"name\": \"urgent\", \"where\": \"priority = high\"}`, or with a JSON `body` \
                    instead of `where`";

/// The members of a line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Members<'l> {
    #[serde(borrow)]
    name: &'l RawValue,
    #[serde(borrow)]
    body: Option<&'l RawValue>,
    #[serde(borrow, rename = "where")]
    text: Option<&'l RawValue>,
    /// The names of the fields whose changes the filter reports.
    #[serde(borrow)]
    fields: Option<&'l RawValue>,
}

/// Reads the filters of a file into a set.
pub(crate) fn read_filters(
    path: &Path,
    catalog: &Catalog,
    builder: &FilterBuilder,
) -> Result<FilterSet, Failure> {
    let mut lines = Lines::open(path)?;
    let name = lines.name().to_owned();
    let set = FilterSet::new(catalog);
    loop {
        let Some(line) = lines.next()? else { return Ok(set) };
        let line = line.to_vec();
        if let Err(errors) = insert(&line, &set, builder) {
            // The excerpt counts lines from the start of its text. So the text begins with empty lines, one for each earlier line
            // of the file.
            let before = usize::try_from(lines.number().saturating_sub(1)).unwrap_or_default();
            let errors = moved(errors, before);
            let source = Source::file(&name, [vec![b'\n'; before], line].concat());
            let sources = errors.as_slice().iter().map(|_| source.clone()).collect();
            return Err(Failure::BadFilter(Fault { errors, sources }.render()));
        }
    }
}

/// Adds a number to the offset of each error.
fn moved(errors: Errors, by: usize) -> Errors {
    placed(errors, |offset| offset.saturating_add(by))
}

fn placed(errors: Errors, place: impl Fn(usize) -> usize) -> Errors {
    let moved = errors.as_slice().iter().cloned().map(|mut error| {
        error.offset = place(error.offset);
        Errors::from(error)
    });
    moved.reduce(Errors::followed_by).unwrap_or(errors)
}

/// Inserts the filter of a line. The offsets of errors are those in the line.
fn insert(line: &[u8], set: &FilterSet, builder: &FilterBuilder) -> Result<(), Errors> {
    let line = std::str::from_utf8(line).map_err(|error| {
        Error::new(ErrorKind::NotUtf8, error.valid_up_to(), "bytes that are not UTF-8", "UTF-8")
    })?;
    let members: Members<'_> = serde_json::from_str(line).map_err(|error| {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or(&message).to_owned();
        let (kind, message) = match message.split(' ').next() {
            _ if !error.is_data() => (ErrorKind::Syntax, format!("text that is not JSON ({message})")),
            Some("unknown") => (ErrorKind::UnknownKey, message),
            Some("duplicate") => (ErrorKind::DuplicateKey, message),
            Some("missing") => (ErrorKind::MissingKey, message),
            _ => (ErrorKind::WrongType, message),
        };
        Error::new(kind, error.column().saturating_sub(1), message, FORM)
    })?;
    let offset = |value: &RawValue| value.get().as_ptr().addr().saturating_sub(line.as_ptr().addr());
    let text_of = |value: &RawValue| {
        serde_json::from_str::<String>(value.get()).map_err(|_| {
            Error::new(ErrorKind::WrongType, offset(value), quote(value.get()), "a string of Unicode text")
        })
    };
    let name = text_of(members.name).map_err(|error| error.at("name"))?;
    let (filter, place): (Filter, Box<dyn Fn(usize) -> usize>) = match (members.body, members.text) {
        (Some(body), None) if body.get().starts_with('"') => {
            let place = |at| offset(body).saturating_add(written_offset(body.get(), at));
            (
                builder.json(text_of(body)?.as_bytes()).map_err(|errors| placed(errors, place))?,
                Box::new(place),
            )
        }
        (Some(body), None) => {
            let place = |at| offset(body).saturating_add(at);
            (builder.json(body.get().as_bytes()).map_err(|errors| placed(errors, place))?, Box::new(place))
        }
        (None, Some(text)) => {
            let place = |at| offset(text).saturating_add(written_offset(text.get(), at));
            (builder.text(&text_of(text)?).map_err(|errors| placed(errors, place))?, Box::new(place))
        }
        (Some(_), Some(text)) => {
            return Err(Error::new(ErrorKind::BadValue, offset(text), "`where` beside `body`", FORM).into());
        }
        (None, None) => {
            return Err(Error::new(ErrorKind::MissingKey, 0, "neither `body` nor `where`", FORM).into());
        }
    };
    if set.contains(&name) {
        let found = format!("{} again", quote(&name));
        let error = Error::new(ErrorKind::DuplicateKey, offset(members.name), found, "each name once");
        return Err(error.at("name").into());
    }
    let fields = match members.fields {
        Some(fields) => fields_of(fields, offset(fields), set.catalog())?,
        None => Vec::new(),
    };
    set.insert(StandingFilter::new(&name, &filter).with_fields(fields)).map_err(|mut error| {
        error.offset = if error.path == "name" { offset(members.name) } else { place(error.offset) };
        error
    })?;
    Ok(())
}

/// Returns the fields with the names in a JSON array.
fn fields_of(names: &RawValue, offset: usize, catalog: &Catalog) -> Result<Vec<FieldId>, Error> {
    let wrong =
        |kind, found: String, expected: &str| Err(Error::new(kind, offset, found, expected).at("fields"));
    let Ok(names) = serde_json::from_str::<Vec<String>>(names.get()) else {
        return wrong(ErrorKind::WrongType, quote(names.get()).to_string(), "an array with names of fields");
    };
    let mut fields = Vec::new();
    for name in names {
        match catalog.find(&name) {
            Some(field) => fields.push(field),
            None => {
                return wrong(ErrorKind::UnknownField, quote(&name).to_string(), "a field of the catalogue");
            }
        }
    }
    Ok(fields)
}

/// Converts an offset in the content of a JSON string to an offset in its JSON text.
fn written_offset(json: &str, content: usize) -> usize {
    let bytes = json.as_bytes();
    let (mut at, mut decoded) = (1_usize, 0_usize);
    while decoded < content && at.saturating_add(1) < bytes.len() {
        let (written, own) = match (bytes.get(at), bytes.get(at.saturating_add(1))) {
            (Some(b'\\'), Some(b'u')) => {
                let digits = json.get(at.saturating_add(2)..at.saturating_add(6)).unwrap_or_default();
                match u32::from_str_radix(digits, 16).unwrap_or_default() {
                    // The first half of a surrogate pair. The second half comes next.
                    0xd800..=0xdbff => (12, 4),
                    code => (6, char::from_u32(code).map_or(3, char::len_utf8)),
                }
            }
            (Some(b'\\'), _) => (2, 1),
            _ => (1, 1),
        };
        at = at.saturating_add(written);
        decoded = decoded.saturating_add(own);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::written_offset;

    #[test]
    fn offsets_are_found_in_the_written_string() {
        let json = r#""a\"\u00e9\ud83d\ude00é=""#;
        let content: String = serde_json::from_str(json).unwrap();
        for (wanted, written) in [("a", 1), ("\"", 2), ("é", 4), ("😀", 10), ("é=", 22), ("=", 24)] {
            let at =
                if wanted == "é=" { content.rfind("é").unwrap() } else { content.find(wanted).unwrap() };
            assert_eq!(written_offset(json, at), written, "{wanted}");
        }
    }
}
