//! Operation 5 (update of extracted info): changes the data that was extracted from an applicant's documents.

use std::collections::HashSet;

use chrono::{DateTime, NaiveDate, Utc};

use super::changes::{FIELDS, TRANSLITERATED, mark_changed};
use super::clients::Clients;
use super::copy::without_nulls;
use super::country::is_iso_country;
use super::error::DomainError;
use super::members::{Members, json_string};
use super::records::APPLICANTS;
use super::room::Room;
use super::time::date;
use super::transliterate::{Evidence, to_latin};
use crate::error::{Error, ErrorKind, Errors, Found, nearest, quote};
use crate::filter::utf8;
use crate::json::{JsonType, Reader, paths_at};
use crate::limits::Limits;
use crate::store::Store;

/// The name of a member and its new value. `None` clears the member.
type Change = (&'static str, Option<String>);

/// Changes the extracted data of an applicant (its `info`), and returns the complete `info` as JSON.
///
/// The body is an object with at least one of `firstName`, `lastName`, `dob`, `placeOfBirth`, `countryOfBirth` and `stateOfBirth`.
/// `null` clears a member. A text is rejected if it is empty, too long, has only invisible characters, or contains control
/// characters. `dob` must be a date `yyyy-MM-dd` that is not after the date of `now`. `countryOfBirth` must be a code of
/// ISO 3166-1 alpha-3.
///
/// The change is on disk when the call returns, and the next read sees it. Concurrent changes are serialized. `firstNameEn`,
/// `lastNameEn` and `placeOfBirthEn` are transliterated again. If the original of a transliteration is cleared, the transliteration
/// is removed. The record stores `now` as the time of change of each changed member. An import replaces such a member only with
/// later data.
///
/// ```
/// use casefilter::domain::{RecordKind, import_records, update_info};
/// use casefilter::{Catalog, Store, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cases.db");
/// # let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
/// # let applicant = br#"{"id":"a1","type":"individual","info":{"lastName":"Jung"}}"#;
/// # import_records(&store, RecordKind::Applicants, |import| import.push(applicant))?;
/// let now = chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default();
/// let info = update_info(&store, "a1", r#"{"lastName":"Müller"}"#.as_bytes(), now)?;
/// assert_eq!(info, r#"{"lastName":"Müller","lastNameEn":"Mueller"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`Invalid`](super::DomainErrorKind::Invalid) for an applicant that is unknown or a company, with the id of the
/// applicant. Also returns it for an invalid body, with the position and message of each error. Returns an error if the store
/// cannot be read or written.
pub fn update_info(
    store: &Store,
    applicant_id: &str,
    body: &[u8],
    now: DateTime<Utc>,
) -> Result<String, DomainError> {
    update_info_in(store, applicant_id, Clients::All, (body, now), &mut Room::new(&mut |_| true))
}

/// Like [`update_info`], but for a caller who sees only the applicants of `clients`, and within the memory budget `room`. If the
/// budget is too small, changes nothing.
pub(crate) fn update_info_in(
    store: &Store,
    applicant_id: &str,
    clients: Clients<'_>,
    (body, now): (&[u8], DateTime<Utc>),
    room: &mut Room<'_>,
) -> Result<String, DomainError> {
    let changes = parse(body, now.date_naive())?;
    store.write_records(|records| {
        let invalid = |why: &str| DomainError::invalid_applicant(applicant_id, why);
        let text = clients.find(records, applicant_id)?.ok_or_else(|| invalid(""))?;
        let corrupt = |fault: Box<Error>| DomainError::from(store.corrupt_record(&fault.to_string()));
        let mut applicant = Members::read(&text).map_err(corrupt)?;
        if applicant.string("type").as_deref() == Some("company") {
            return Err(invalid(": a company, whose data this operation does not change"));
        }
        let info = applicant.get("info").filter(|info| *info != "null").unwrap_or("{}").to_owned();
        let mut info = Members::read(&info).map_err(corrupt)?;
        apply(&changes, &mut info);
        let info = info.to_json();
        applicant.set("info", info.clone());
        mark_changed(&mut applicant, changes.iter().map(|(name, _)| *name), now).map_err(corrupt)?;
        room.take(info.len())?;
        records.put(APPLICANTS, applicant_id, &applicant.to_json())?;
        without_nulls(&info).map_err(corrupt)
    })
}

fn apply(changes: &[Change], info: &mut Members<'_>) {
    for (name, value) in changes {
        match value {
            Some(value) => info.set(name, json_string(value)),
            None => {
                info.remove(name);
                TRANSLITERATED.iter().filter(|(of, _)| of == name).for_each(|(_, latin)| info.remove(latin));
            }
        }
    }
    let evidence = evidence(info);
    for (name, latin) in TRANSLITERATED {
        if let Some(text) = info.string(name) {
            info.set(latin, json_string(&to_latin(&text, &evidence)));
        }
    }
}

/// Collects the evidence about the language of the person's names.
///
/// The order of the countries is: the issuing countries of the documents, then `country`, then `countryOfBirth`.
fn evidence(info: &Members<'_>) -> Evidence {
    let documents: Option<Vec<serde_json::Value>> =
        info.get("idDocs").and_then(|documents| serde_json::from_str(documents).ok());
    let issuers = documents.into_iter().flatten();
    let issuers = issuers.filter_map(|document| document.get("country")?.as_str().map(str::to_owned));
    let own = ["country", "countryOfBirth"].into_iter().filter_map(|name| info.string(name));
    let texts = TRANSLITERATED.into_iter().filter_map(|(name, _)| info.string(name));
    Evidence { texts: texts.collect(), countries: issuers.chain(own).collect() }
}

/// Parses a body into a list of changes.
fn parse(body: &[u8], today: NaiveDate) -> Result<Vec<Change>, Errors> {
    let limits = Limits::default();
    if body.len() > limits.body_bytes {
        let found = format!("a body of {} bytes", body.len());
        return Err(Error::new(
            ErrorKind::BodyTooLarge,
            0,
            found,
            format!("at most {} bytes", limits.body_bytes),
        )
        .into());
    }
    let text = utf8(body)?;
    let mut changes = Vec::new();
    let mut errors = Vec::new();
    if let Err(error) = read_members(text, &limits, today, &mut changes, &mut errors) {
        errors.push(*error);
    }
    let offsets: Vec<usize> = errors.iter().map(|error| error.offset).collect();
    match Errors::in_order(errors) {
        None => Ok(changes),
        Some(errors) => Err(errors.zip_paths(paths_at(text, &offsets))),
    }
}

/// Adds the changes in a body to `changes`, and the errors of invalid changes to `errors`. Returns an error if the rest of the body
/// cannot be read.
fn read_members(
    text: &str,
    limits: &Limits,
    today: NaiveDate,
    changes: &mut Vec<Change>,
    errors: &mut Vec<Error>,
) -> crate::json::Result<()> {
    let mut reader = Reader::new(text);
    let found = reader.peek()?;
    let start = reader.offset();
    if found != JsonType::Object {
        let expected = format!("an object with any of {}", names());
        return Err(Box::new(Error::new(ErrorKind::WrongType, start, found.name(), expected)));
    }
    reader.open();
    let mut seen = HashSet::new();
    while let Some((key, at)) = reader.next_key(seen.is_empty())? {
        let kind = reader.peek()?;
        let offset = reader.offset();
        let field = FIELDS.into_iter().find(|name| *name == key);
        let is_first = seen.insert(key.clone());
        if !is_first || field.is_none() {
            reader.skip_value()?;
        }
        match field {
            _ if !is_first => {
                let found = format!("{} again", quote(&key));
                errors.push(Error::new(ErrorKind::DuplicateKey, at, found, "each key at most once"));
            }
            None => {
                let error = Error::new(ErrorKind::UnknownKey, at, quote(&key), format!("one of {}", names()));
                errors.push(error.suggest(nearest(&key, FIELDS.into_iter()).map(quote)));
            }
            Some(field) => match kind {
                JsonType::Null => {
                    reader.null()?;
                    changes.push((field, None));
                }
                JsonType::String => {
                    let value = reader.string()?;
                    match check(field, &value, limits, today) {
                        Ok(()) => changes.push((field, Some(value.into_owned()))),
                        Err((kind, found, expected)) => {
                            errors.push(Error::new(kind, offset, found, expected));
                        }
                    }
                }
                other => {
                    reader.skip_value()?;
                    errors.push(Error::new(ErrorKind::WrongType, offset, other.name(), "a string or null"));
                }
            },
        }
    }
    reader.end()?;
    if seen.is_empty() {
        let expected = format!("any of {}", names());
        errors.push(Error::new(ErrorKind::EmptyBody, start, "an empty object", expected));
    }
    Ok(())
}

fn names() -> String {
    FIELDS.map(|name| format!("`{name}`")).join(", ")
}

/// Checks the value of a member. The error consists of its kind, the text that was found, and a description of the allowed text.
fn check(
    field: &str,
    value: &str,
    limits: &Limits,
    today: NaiveDate,
) -> Result<(), (ErrorKind, Found, String)> {
    if value.len() > limits.string_bytes {
        let found = format!("a string of {} bytes", value.len());
        return Err((
            ErrorKind::StringTooLong,
            found.into(),
            format!("at most {} bytes", limits.string_bytes),
        ));
    }
    if let Some(found) = unreadable(value) {
        let expected = format!("readable text, or `null`, which clears `{field}`");
        return Err((ErrorKind::BadValue, found.into(), expected));
    }
    let bad = |kind, expected: &str| Err((kind, Found::text(value), expected.to_owned()));
    match field {
        "dob" => match date(value) {
            None => bad(ErrorKind::BadTimestamp, "a date `yyyy-MM-dd`"),
            Some(dob) if dob > today => bad(ErrorKind::BadTimestamp, "a date that is not in the future"),
            Some(_) => Ok(()),
        },
        "countryOfBirth" if !is_iso_country(value) => {
            bad(ErrorKind::BadValue, "an ISO 3166-1 alpha-3 code, such as `DEU`")
        }
        _ => Ok(()),
    }
}

/// Returns a description of the problem if a text is empty, has only invisible characters, or contains control characters.
/// Otherwise, returns `None`.
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
