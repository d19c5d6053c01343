//! Parting a file that is there as a whole, which is far simpler: what the splitter is held against.

use super::{BYTE_ORDER_MARK, Error, ErrorKind, FileFault, Given, Piece, layout, trim, trim_start};
use crate::error::quote;
use crate::json::{JsonType, Reader, Result};

/// Parts a file in which nothing is longer than the limit.
pub(super) fn split(file: &[u8], limit: usize) -> Given {
    let file = file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(file);
    let bytes = trim_start(file);
    let first = line_of(file, file.len() - bytes.len());
    let line_end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let is_one_text = match bytes.first() {
        Some(b'[') => true,
        Some(b'{') => !layout::is_document(&bytes[..line_end], limit),
        _ => false,
    };
    let mut given = Given::default();
    let mut until = 0;
    if is_one_text {
        let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let mut reader = Reader::new(text);
        match objects_around(&mut reader) {
            Ok(Some(objects)) => {
                let outcome = elements(bytes, first, reader.offset(), objects, &mut given);
                return given.end(outcome);
            }
            Ok(None) => until = reader.offset(),
            Err(error) => until = error.offset,
        }
    }
    let next = bytes.len() - trim_start(&bytes[line_end..]).len();
    for (number, line) in (first..).zip(bytes.split(|byte| *byte == b'\n')) {
        let bytes = if number == first && until > next {
            let expected = "a whole document on each line, or an array of documents";
            Err(Error::new(ErrorKind::Syntax, trim(line).len(), "the end of the line", expected))
        } else {
            Ok(line)
        };
        if !trim(line).is_empty() {
            given.piece(Piece { line: number, bytes }).unwrap();
        }
    }
    given
}

fn line_of(bytes: &[u8], offset: usize) -> u64 {
    bytes[..offset.min(bytes.len())].iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}

/// Goes into the array of documents; how many objects it lies in.
fn objects_around(reader: &mut Reader<'_>) -> Result<Option<usize>> {
    if reader.peek()? == JsonType::Array {
        reader.open();
        return Ok(Some(0));
    }
    for name in ["list", "items"] {
        if reader.peek()? != JsonType::Object {
            return Ok(None);
        }
        reader.open();
        let mut first = true;
        loop {
            let Some((key, _)) = reader.next_key(std::mem::take(&mut first))? else { return Ok(None) };
            if key == name && (name == "list" || reader.peek()? == JsonType::Array) {
                break;
            }
            reader.skip_value()?;
        }
    }
    reader.open();
    Ok(Some(2))
}

/// The elements of the array that begins there, and what is wrong behind it.
fn elements(
    bytes: &[u8],
    first: u64,
    start: usize,
    objects: usize,
    given: &mut Given,
) -> std::result::Result<(), FileFault> {
    let line = |offset| first + line_of(bytes, offset) - 1;
    let mut at = start;
    loop {
        let end = element_end(bytes, at);
        let document = trim_start(&bytes[at..end]);
        let mark = bytes.get(end);
        if !(at == start && mark == Some(&b']') && document.is_empty()) {
            let bytes = match mark {
                Some(mark) if document.is_empty() => {
                    let found = quote(&char::from(*mark).to_string());
                    Err(Error::new(ErrorKind::Syntax, 0, found, "a JSON value"))
                }
                _ => Ok(document),
            };
            given.piece(Piece { line: line(end - document.len()), bytes }).unwrap();
        }
        at = end + 1;
        match mark {
            Some(b',') => {}
            Some(_) => break,
            None => {
                let error = Error::new(ErrorKind::Syntax, end, "the end of the text", "`]` behind the cases");
                return Err(FileFault { line: line(end), error });
            }
        }
    }
    let Ok(rest) = std::str::from_utf8(&bytes[at..]) else {
        let error = Error::new(ErrorKind::NotUtf8, at, "bytes that are not UTF-8", "UTF-8");
        return Err(FileFault { line: line(at), error });
    };
    let mut reader = Reader::new(rest);
    let mut read = || {
        for name in ["items", "list"].into_iter().take(objects) {
            while let Some((key, at)) = reader.next_key(false)? {
                if key == name {
                    let expected = "each key at most once";
                    return Err(Error::new(ErrorKind::DuplicateKey, at, quote(name), expected).into());
                }
                reader.skip_value()?;
            }
        }
        reader.end()
    };
    read().map_err(|mut error: Box<Error>| {
        error.offset += at;
        FileFault { line: line(error.offset), error: *error }
    })
}

/// Where the element that starts at `at` ends: at a comma or bracket outside of it, or the end of the text.
fn element_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b']' | b',' if depth == 0 => return at,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    at
}

/// Behind the string that starts at `at`; behind the line if it has no end there, as no string may span lines.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' | b'\n' => break,
            b'\\' => at += 1,
            _ => {}
        }
    }
    at.min(bytes.len())
}
