//! Detects whether an object at the start of a file is a document or a search answer.

use crate::error::Error;
use crate::ingest::envelope::{first_member, member_with_cases};
use crate::json::{JsonType, Reader, Result, trim};

/// The position at which the elements of an array start.
pub(super) struct Start {
    /// The offset after the opening bracket.
    pub(super) offset: usize,
    /// The number of objects around the array: two for a search answer.
    pub(super) objects: usize,
}

/// The kind of an object, detected from its start or from its complete text.
pub(super) enum Head {
    /// A search answer, with the start of its array.
    Array(Start),
    /// A well-formed object that is not a search answer.
    Whole { end: usize },
    /// A malformed object.
    Faulty { at: usize },
    /// An object whose text so far is not enough to determine its kind.
    Open { at: usize },
}

/// The length of the longest token whose start can look like an error. It is a pair of surrogate escapes.
pub(super) const LONGEST_TOKEN: usize = "\\ud83d\\ude00".len();

/// Returns true if a first line is a document. Returns false if it is a search answer, or only the start of an object. If the line
/// is longer than `limit`, only its start is tested.
pub(super) fn is_document(line: &[u8], limit: usize, id: &str) -> bool {
    if line.len() > limit {
        return !line.get(..limit).and_then(str_of).is_some_and(|start| is_answer(start, id));
    }
    let line = trim(line);
    let (text, _) = utf8_prefix(line, true);
    let mut reader = Reader::new(text);
    match reader.skip_value().and_then(|()| reader.end()) {
        Err(error) if error.offset >= line.len() => false,
        // A search answer with a fault is still read as a search answer, so that the fault affects only the case that contains it.
        _ => !is_answer(text, id),
    }
}

/// Looks for the array of documents in the start of an object.
///
/// If the result is not `Open`, it is the same for every text that starts with `bytes`.
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

/// Returns the longest prefix that is valid UTF-8. The second value is true if `bytes` can be the start of a longer text in valid
/// UTF-8. `at_end` is true if `bytes` are the last bytes of the file.
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

/// Returns true if more input could remove the error. If the error is close to the end, its token may be incomplete.
pub(super) fn may_go_on(error: &Error, text: &str) -> bool {
    text.len().saturating_sub(error.offset) < LONGEST_TOKEN
}

/// Converts bytes to text. The last character may be incomplete. Returns `None` if the bytes are not UTF-8.
fn str_of(bytes: &[u8]) -> Option<&str> {
    let (text, goes_on) = utf8_prefix(bytes, false);
    goes_on.then_some(text)
}

/// Returns true for a search answer or the start of a search answer. A document has a member with the name `id`, and a search
/// answer does not.
fn is_answer(text: &str, id: &str) -> bool {
    let mut reader = Reader::new(text);
    let mut has_items = false;
    let mut scan = || -> Result<bool> {
        reader.peek()?;
        reader.open();
        let mut first = true;
        while let Some((key, _)) = reader.next_key(std::mem::take(&mut first))? {
            match &*key {
                key if key == id => return Ok(false),
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

/// Enters an object. Returns the offset after the opening bracket of `list.items`. Returns `None` if the object has no such array.
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

/// Returns true if the bytes are the start of an object that has a member with the name `id`.
pub(super) fn has_id(bytes: &[u8], id: &str) -> bool {
    let (text, _) = utf8_prefix(bytes, true);
    first_member(text, |key, _| (key == id).then_some(())).is_some()
}

/// Returns the name of the member that contains cases, if the bytes look like the start of an envelope.
pub(super) fn envelope(bytes: &[u8]) -> Option<&'static str> {
    let (text, _) = utf8_prefix(bytes, true);
    member_with_cases(text)
}

/// Enters the object of `list`. Returns the offset after the opening bracket of its `items`, or `None` if there is no such array.
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
