//! Telling what a file that begins with an object is: documents, or a search answer.

use crate::error::Error;
use crate::ingest::envelope::{first_member, member_with_cases};
use crate::json::{JsonType, Reader, Result, trim};

/// Where the elements of a file start.
pub(super) struct Start {
    /// Behind the bracket that opens them.
    pub(super) offset: usize,
    /// How many objects they lie in: two for a search answer.
    pub(super) objects: usize,
}

/// What an object is, by its start or all of it.
pub(super) enum Head {
    /// A search answer.
    Array(Start),
    /// Something else, which is sound JSON and ends there.
    Whole { end: usize },
    /// Something with a fault there.
    Faulty { at: usize },
    /// Either, as far as it was read.
    Open { at: usize },
}

/// No token that may turn out to be a fault in its middle, a pair of surrogates or a word, is longer.
pub(super) const LONGEST_TOKEN: usize = "\\ud83d\\ude00".len();

/// Tells a first line that is a document from one that is a search answer or only the beginning of an object; of a line over the
/// limit, which is no document, by its beginning.
pub(super) fn is_document(line: &[u8], limit: usize) -> bool {
    if line.len() > limit {
        return !line.get(..limit).and_then(str_of).is_some_and(is_answer);
    }
    let line = trim(line);
    let (text, _) = sound(line, true);
    let mut reader = Reader::new(text);
    match reader.skip_value().and_then(|()| reader.end()) {
        Err(error) if error.offset >= line.len() => false,
        // An answer with a fault in it is one all the same, so that the fault takes no more than its own case with it.
        _ => !is_answer(text),
    }
}

/// Looks for the array of documents in the start of an object.
///
/// What it tells, it also tells of any text that begins with this one.
pub(super) fn head(bytes: &[u8], at_end: bool) -> Head {
    let (text, goes_on) = sound(bytes, at_end);
    let mut reader = Reader::new(text);
    match answer_start(&mut reader) {
        Ok(Some(offset)) => Head::Array(Start { offset, objects: 2 }),
        Ok(None) => Head::Whole { end: reader.offset() },
        Err(error) if goes_on && may_go_on(&error, text) => Head::Open { at: error.offset },
        Err(error) => Head::Faulty { at: error.offset },
    }
}

/// What of these bytes, which are the last ones if so, is UTF-8, and whether more may come to that.
pub(super) fn sound(bytes: &[u8], at_end: bool) -> (&str, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text, !at_end),
        Err(fault) => {
            let text = bytes.get(..fault.valid_up_to()).and_then(|sound| std::str::from_utf8(sound).ok());
            (text.unwrap_or_default(), !at_end && fault.error_len().is_none())
        }
    }
}

/// Whether there may be no such error once the text goes on.
pub(super) fn may_go_on(error: &Error, text: &str) -> bool {
    text.len().saturating_sub(error.offset) < LONGEST_TOKEN
}

/// The text that these bytes begin with, which may end within a character; none if they are no text.
fn str_of(bytes: &[u8]) -> Option<&str> {
    let (text, goes_on) = sound(bytes, false);
    goes_on.then_some(text)
}

/// True for a search answer, or the beginning of one, rather than a case, which has an `id`.
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

/// Goes into an object; the offset behind the bracket of the `items` of its `list`, or `None` behind an object that has none.
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

/// Whether a document with an `id` begins so.
pub(super) fn has_id(bytes: &[u8]) -> bool {
    let (text, _) = sound(bytes, true);
    first_member(text, |key, _| (key == "id").then_some(())).is_some()
}

/// The member of the start of an object in which cases seem to lie.
pub(super) fn envelope(bytes: &[u8]) -> Option<&'static str> {
    let (text, _) = sound(bytes, true);
    member_with_cases(text)
}

/// Goes into the object of `list`; the offset behind the bracket of its `items`, or `None` behind an object that has none.
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
