//! Detects whether a file that starts with an object contains documents or a search answer.

use crate::error::Error;
use crate::ingest::envelope::{first_member, member_with_cases};
use crate::json::{JsonType, Reader, Result, trim};

/// The start of the elements of a search answer.
pub(super) struct Start {
    /// The offset after the opening bracket.
    pub(super) offset: usize,
    /// The number of objects that contain the array: two for a search answer.
    pub(super) objects: usize,
}

/// The kind of an object, by its start or its whole text.
pub(super) enum Head {
    /// A search answer.
    Array(Start),
    /// Another object, well-formed up to its end.
    Whole { end: usize },
    /// A malformed object.
    Faulty { at: usize },
    /// An object whose text does not decide yet.
    Open { at: usize },
}

/// The length of the longest token whose start can look like an error: a pair of surrogates.
pub(super) const LONGEST_TOKEN: usize = "\\ud83d\\ude00".len();

/// Returns true if a first line is a document; false if it is a search answer or only the start of an object. A line longer than
/// the limit is judged by its start.
pub(super) fn is_document(line: &[u8], limit: usize) -> bool {
    if line.len() > limit {
        return !line.get(..limit).and_then(str_of).is_some_and(is_answer);
    }
    let line = trim(line);
    let (text, _) = utf8_prefix(line, true);
    let mut reader = Reader::new(text);
    match reader.skip_value().and_then(|()| reader.end()) {
        Err(error) if error.offset >= line.len() => false,
        // An answer with a fault is still an answer, so that the fault affects only its own case.
        _ => !is_answer(text),
    }
}

/// Finds the array of documents in the start of an object.
///
/// If the result is not `Open`, it is the same for every text that starts with these bytes.
pub(super) fn head(bytes: &[u8], at_end: bool) -> Head {
    let (text, goes_on) = utf8_prefix(bytes, at_end);
    let mut reader = Reader::new(text);
    match answer_start(&mut reader) {
        Ok(Some(offset)) => Head::Array(Start { offset, objects: 2 }),
        Ok(None) => Head::Whole { end: reader.offset() },
        Err(error) if goes_on && may_go_on(&error, text) => Head::Open { at: error.offset },
        Err(error) => Head::Faulty { at: error.offset },
    }
}

/// Returns the longest prefix that is UTF-8, and true if more bytes may complete it. `at_end` is true if these are the last bytes.
pub(super) fn utf8_prefix(bytes: &[u8], at_end: bool) -> (&str, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text, !at_end),
        Err(fault) => {
            let text = bytes
                .get(..fault.valid_up_to())
                .and_then(|utf8_prefix| std::str::from_utf8(utf8_prefix).ok());
            (text.unwrap_or_default(), !at_end && fault.error_len().is_none())
        }
    }
}

/// Returns true if more input could remove the error.
pub(super) fn may_go_on(error: &Error, text: &str) -> bool {
    text.len().saturating_sub(error.offset) < LONGEST_TOKEN
}

/// Returns the bytes as text, which may end inside a character; `None` if they are not UTF-8.
fn str_of(bytes: &[u8]) -> Option<&str> {
    let (text, goes_on) = utf8_prefix(bytes, false);
    goes_on.then_some(text)
}

/// Returns true for a search answer or its start. A case has an `id`; an answer does not.
fn is_answer(text: &str) -> bool {
    let mut reader = Reader::new(text);
    let mut has_items = false;
    let mut scan = || -> Result<bool> {
        reader.peek()?;
        reader.open();
        let mut first = true;
        while let Some((key, _)) = reader.next_key(std::mem::take(&mut first))? {
            match &*key {
                "id" => return Ok(false),
                "list" => {
                    let mut inner = reader.clone();
                    has_items = inner.peek()? == JsonType::Object && items_start(&mut inner)?.is_some();
                    reader.skip_value()?;
                }
                _ => reader.skip_value()?,
            }
        }
        Ok(has_items)
    };
    scan().unwrap_or(has_items)
}

/// Enters an object. Returns the offset after the opening bracket of `list.items`, or `None` if the object has none.
fn answer_start(reader: &mut Reader<'_>) -> Result<Option<usize>> {
    reader.peek()?;
    reader.open();
    let (mut first, mut is_first_list) = (true, true);
    while let Some((key, _)) = reader.next_key(std::mem::take(&mut first))? {
        let is_list = key == "list" && std::mem::take(&mut is_first_list);
        if is_list && reader.peek()? == JsonType::Object {
            if let Some(offset) = items_start(reader)? {
                return Ok(Some(offset));
            }
        } else {
            reader.skip_value()?;
        }
    }
    Ok(None)
}

/// Returns true if the bytes start a document with an `id`.
pub(super) fn has_id(bytes: &[u8]) -> bool {
    let (text, _) = utf8_prefix(bytes, true);
    first_member(text, |key, _| (key == "id").then_some(())).is_some()
}

/// Returns the member that contains cases, if the start of an object looks like an envelope.
pub(super) fn envelope(bytes: &[u8]) -> Option<&'static str> {
    let (text, _) = utf8_prefix(bytes, true);
    member_with_cases(text)
}

/// Enters the object of `list`. Returns the offset after the opening bracket of its `items`, or `None` if it has none.
fn items_start(reader: &mut Reader<'_>) -> Result<Option<usize>> {
    reader.open();
    let mut first = true;
    while let Some((key, _)) = reader.next_key(std::mem::take(&mut first))? {
        if key == "items" && reader.peek()? == JsonType::Array {
            reader.open();
            return Ok(Some(reader.offset()));
        }
        reader.skip_value()?;
    }
    Ok(None)
}
