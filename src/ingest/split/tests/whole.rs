//! A simple splitter that gets the complete file at once, for comparison with the real splitter.

use super::start::BYTE_ORDER_MARK;
use super::{Error, ErrorKind, FileFault, Output, Piece, detect_layout, start, trim, trim_start};
use crate::error::{Found, quote};
use crate::json::{JsonType, Reader, Result};

/// Splits a file in which every document is at most `limit` bytes long.
pub(super) fn split(file: &[u8], limit: usize) -> Output {
    let mut output = Output::default();
    if let Err(error) = start::check(&file[..file.len().min(4)]) {
        return output.end(Err(FileFault { line: 1, error }));
    }
    let file = file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(file);
    let bytes = trim_start(file);
    let first = line_of(file, file.len() - bytes.len());
    let line_end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let is_one_text = match bytes.first() {
        Some(b'[') => true,
        Some(b'{') => !detect_layout::is_document(&bytes[..line_end], limit, "id"),
        _ => false,
    };
    let next = bytes.len() - trim_start(&bytes[line_end..]).len();
    let mut is_broken_off = false;
    if is_one_text {
        let mut reader = Reader::new(utf8_prefix(bytes));
        match objects_around(&mut reader) {
            Ok(Some(objects)) => {
                let outcome = texts(bytes, first, reader.offset(), objects, &mut output);
                return output.end(outcome);
            }
            Ok(None) if reader.offset() > next => return documents(bytes, first),
            Err(error) if error.offset > next && bytes[next] != b'{' => return documents(bytes, first),
            Err(error) => is_broken_off = error.offset > next,
            Ok(None) => {}
        }
    }
    for (number, line) in (first..).zip(bytes.split(|byte| *byte == b'\n')) {
        let bytes = if number == first && is_broken_off {
            let expected = "the rest of the document";
            Err(Error::new(ErrorKind::Syntax, trim(line).len(), "the end of the line", expected))
        } else {
            Ok(line)
        };
        if !trim(line).is_empty() {
            output.piece(Piece { line: number, bytes }).unwrap();
        }
    }
    output
}

fn utf8_prefix(bytes: &[u8]) -> &str {
    bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

/// Splits objects and arrays that follow one another, and the text between them.
fn documents(bytes: &[u8], first: u64) -> Output {
    let mut output = Output::default();
    let mut at = 0;
    loop {
        at = bytes.len() - trim_start(&bytes[at..]).len();
        if at == bytes.len() {
            return output;
        }
        let is_opening = |byte: u8| byte == b'{' || byte == b'[';
        let end = if is_opening(bytes[at]) {
            closing(bytes, at, 0)
        } else {
            let end = bytes[at..].iter().position(|byte| is_opening(*byte) || *byte == b'\n');
            end.map_or(bytes.len(), |end| at + end)
        };
        let line = first + line_of(bytes, at) - 1;
        output.piece(Piece { line, bytes: Ok(&bytes[at..end]) }).unwrap();
        at = end;
    }
}

/// Returns the offset after the bracket that closes the outermost object or array, or the length of `bytes` if there is no such
/// bracket. `open` is the number of objects and arrays that are open before `at`. If it is 0, the outermost one starts at `at`.
fn closing(bytes: &[u8], mut at: usize, mut open: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => open += 1,
            b'}' | b']' => {
                open -= 1;
                if open == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Splits arrays and search answers that follow one another. The elements of the first array start at `start`.
fn texts(
    bytes: &[u8],
    first: u64,
    mut start: usize,
    mut objects: usize,
    output: &mut Output,
) -> std::result::Result<(), FileFault> {
    let line = |offset| first + line_of(bytes, offset) - 1;
    loop {
        let end = elements(bytes, first, start, objects, output)?;
        let next = bytes.len() - trim_start(&bytes[end..]).len();
        let fault = |found: Found| {
            let expected = "another array, another search answer or the end of the file";
            FileFault { line: line(next), error: Error::new(ErrorKind::Syntax, next, found, expected) }
        };
        match bytes.get(next) {
            None => return Ok(()),
            Some(b'{' | b'[') => {}
            Some(byte) if byte.is_ascii_graphic() => {
                return Err(fault(Found::text(char::from(*byte))));
            }
            Some(byte) => return Err(fault(format!("the byte 0x{byte:02X}").into())),
        }
        let mut reader = Reader::new(utf8_prefix(&bytes[next..]));
        match objects_around(&mut reader) {
            Ok(Some(more)) => objects = more,
            _ => return Err(fault("an object that is not a search answer".into())),
        }
        start = next + reader.offset();
    }
}

fn line_of(bytes: &[u8], offset: usize) -> u64 {
    bytes[..offset.min(bytes.len())].iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}

/// Enters the array of documents. Returns the number of objects around the array. Returns `None` if the object has no such array;
/// it has then been read completely.
fn objects_around(reader: &mut Reader<'_>) -> Result<Option<usize>> {
    if reader.peek()? == JsonType::Array {
        reader.open();
        return Ok(Some(0));
    }
    reader.open();
    let (mut first, mut list) = (true, None);
    while let Some((key, _)) = reader.next_key(std::mem::take(&mut first))? {
        if key != "list" || list.is_some() {
            reader.skip_value()?;
            continue;
        }
        list = Some(reader.peek()?);
        if list != Some(JsonType::Object) {
            reader.skip_value()?;
            continue;
        }
        reader.open();
        let mut first = true;
        while let Some((key, _)) = reader.next_key(std::mem::take(&mut first))? {
            if key == "items" && reader.peek()? == JsonType::Array {
                reader.open();
                return Ok(Some(2));
            }
            reader.skip_value()?;
        }
    }
    Ok(None)
}

/// Splits the array whose elements start at `start`, and checks the text after the array. Returns the end of that text.
fn elements(
    bytes: &[u8],
    first: u64,
    start: usize,
    objects: usize,
    output: &mut Output,
) -> std::result::Result<usize, FileFault> {
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
            output.piece(Piece { line: line(end - document.len()), bytes }).unwrap();
        }
        at = end + 1;
        match mark {
            Some(b',') => {}
            Some(_) => break,
            None => {
                let error =
                    Error::new(ErrorKind::Syntax, end, "the end of the text", "`]` after the documents");
                return Err(FileFault { line: line(end), error });
            }
        }
    }
    if objects == 0 {
        return Ok(at);
    }
    let end = closing(bytes, at, objects);
    let Ok(rest) = std::str::from_utf8(&bytes[at..end]) else {
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
    })?;
    Ok(end)
}

/// Returns the offset of the comma or `]` that ends the element of an array, or the length of `bytes` if there is none. The element
/// starts at `at`.
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

/// Returns the offset after the string that starts at `at`. A string without a closing quote ends at the end of its line.
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
