//! Parting a file into its documents, whichever of the three layouts it has.

use super::read::case_limit;
use crate::error::{Error, ErrorKind, quote};
use crate::json::{JsonType, Reader, trim, trim_start};
use crate::limits::Limits;

/// The bytes of one document, or of what stands in its place.
pub(crate) struct Piece<'a> {
    /// The line where it starts, counted from 1.
    pub(crate) line: u64,
    /// The document, with space around it.
    pub(crate) bytes: Result<&'a [u8], Error>,
}

/// A fault of the file rather than of one document in it.
#[derive(Debug)]
pub(crate) struct FileFault {
    pub(crate) line: u64,
    pub(crate) error: Error,
}

/// Parts a file that arrives in chunks of any size.
///
/// NDJSON is handed on line by line, as it arrives. A JSON array or a search answer is read to its
/// end first. Which of the three a file is, its first line tells; of a line that is too long for a case, its beginning;
/// and where that line is only the beginning of an object, the whole file.
pub(crate) struct Splitter {
    layout: Layout,
    /// What arrived and was not handed on: the start of a line, or the whole file so far.
    held: Vec<u8>,
    /// The number of the line that `held` starts with, or what is still to come.
    line: u64,
    /// The longest line that is handed on.
    limit: usize,
    /// The rest of a line that is too long is passed over.
    overlong: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Nothing but space was seen.
    Unknown,
    /// An object was seen to begin, in a line that did not end yet.
    Begun,
    /// A document a line.
    Lines,
    /// One JSON text, or lines: decided at the end.
    Whole,
}

/// What takes the pieces; its error ends the splitting.
pub(crate) trait Sink<E>: FnMut(Piece<'_>) -> Result<(), E> {}
impl<E, F: FnMut(Piece<'_>) -> Result<(), E>> Sink<E> for F {}

impl Splitter {
    pub(crate) fn new(limits: &Limits) -> Self {
        // A line may have some space around its document.
        let limit = case_limit(limits).saturating_add(4096);
        Self { layout: Layout::Unknown, held: Vec::new(), line: 1, limit, overlong: false }
    }

    /// Takes the next bytes of the file.
    pub(crate) fn push<E>(&mut self, mut bytes: &[u8], sink: &mut impl Sink<E>) -> Result<(), E> {
        match self.layout {
            Layout::Unknown => {
                let rest = trim_start(bytes);
                let (space, rest) = bytes.split_at(bytes.len().saturating_sub(rest.len()));
                self.line = self.line.saturating_add(memchr::memchr_iter(b'\n', space).count() as u64);
                bytes = rest;
                self.layout = detect(bytes, self.limit, false);
            }
            Layout::Begun => {
                let has_ended = memchr::memchr(b'\n', bytes).is_some();
                self.held.extend_from_slice(std::mem::take(&mut bytes));
                // However small the pieces are that a file comes in, what is held is looked at but once.
                if has_ended || self.held.len() > self.limit {
                    self.layout = detect(&self.held, self.limit, false);
                }
                if self.layout == Layout::Lines {
                    let held = std::mem::take(&mut self.held);
                    return self.lines(&held, sink);
                }
            }
            Layout::Lines | Layout::Whole => {}
        }
        if self.layout == Layout::Lines {
            return self.lines(bytes, sink);
        }
        // However long it is: what it may hold of one case is told of its elements.
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    /// Hands on every line that ends in `bytes`, and holds the rest.
    fn lines<E>(&mut self, mut bytes: &[u8], sink: &mut impl Sink<E>) -> Result<(), E> {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            if self.held.is_empty() && !self.overlong {
                self.hand_on(line, sink)?;
            } else {
                self.hold(line);
                let held = std::mem::take(&mut self.held);
                self.hand_on(&held, sink)?;
            }
        }
        self.hold(bytes);
        Ok(())
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.held.len().saturating_add(bytes.len()) > self.limit {
            self.overlong = true;
            self.held.clear();
        } else if !self.overlong {
            self.held.extend_from_slice(bytes);
        }
    }

    fn hand_on<E>(&mut self, line: &[u8], sink: &mut impl Sink<E>) -> Result<(), E> {
        let number = self.line;
        self.line = self.line.saturating_add(1);
        if std::mem::take(&mut self.overlong) || line.len() > self.limit {
            let limit = self.limit.saturating_sub(4096);
            let error = Error::new(
                ErrorKind::CaseTooLarge,
                0,
                "a longer line",
                format!("a case of at most {limit} bytes"),
            );
            return sink(Piece { line: number, bytes: Err(error) });
        }
        if trim(line).is_empty() {
            return Ok(());
        }
        sink(Piece { line: number, bytes: Ok(line) })
    }

    /// The file ends here.
    pub(crate) fn finish<E: From<FileFault>>(mut self, sink: &mut impl Sink<E>) -> Result<(), E> {
        if let Layout::Unknown | Layout::Begun = self.layout {
            self.layout = detect(&self.held, self.limit, true);
        }
        let held = std::mem::take(&mut self.held);
        if self.layout == Layout::Whole
            && let Some(start) = elements_start(&held)
        {
            return elements(&held, self.line, start, sink);
        }
        self.lines(&held, sink)?;
        let held = std::mem::take(&mut self.held);
        self.hand_on(&held, sink)
    }
}

/// The layout of a file that starts so, without space, as far as that tells.
fn detect(bytes: &[u8], limit: usize, at_end: bool) -> Layout {
    match bytes.first() {
        None => Layout::Unknown,
        Some(b'[') => Layout::Whole,
        Some(b'{') => {
            let line = match memchr::memchr(b'\n', bytes) {
                Some(end) => bytes.get(..end).unwrap_or_default(),
                None if at_end || bytes.len() > limit => bytes,
                None => return Layout::Begun,
            };
            if line.len() > limit {
                let is_answer = line.get(..limit).and_then(str_of).is_some_and(is_answer);
                return if is_answer { Layout::Whole } else { Layout::Lines };
            }
            let Ok(line) = std::str::from_utf8(trim(line)) else { return Layout::Lines };
            let mut reader = Reader::new(line);
            match reader.skip_value().and_then(|()| reader.end()) {
                Ok(()) if is_answer(line) => Layout::Whole,
                // An object that the line only begins: a text laid out over several lines, or a broken line.
                Err(error) if error.offset >= line.len() => Layout::Whole,
                _ => Layout::Lines,
            }
        }
        Some(_) => Layout::Lines,
    }
}

/// The text that these bytes begin with, which may end within a character; none if they are no text.
fn str_of(bytes: &[u8]) -> Option<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(fault) if fault.error_len().is_some() => None,
        Err(fault) => std::str::from_utf8(bytes.get(..fault.valid_up_to())?).ok(),
    }
}

/// True for a search answer, or the beginning of one, rather than a case, which has an `id`.
fn is_answer(text: &str) -> bool {
    let mut reader = Reader::new(text);
    let mut has_items = false;
    let mut scan = || -> Result<bool, Error> {
        reader.peek()?;
        reader.open();
        let mut first = true;
        while let Some((key, _)) = reader.next_key(std::mem::take(&mut first))? {
            match &*key {
                "id" => return Ok(false),
                "list" => {
                    let mut inner = reader.clone();
                    has_items = items_start(&mut inner)?.is_some();
                    reader.skip_value()?;
                }
                _ => reader.skip_value()?,
            }
        }
        Ok(has_items)
    };
    scan().unwrap_or(has_items)
}

/// Goes into the value of `list`; the offset behind the bracket of its `items`.
fn items_start(reader: &mut Reader<'_>) -> Result<Option<usize>, Error> {
    if reader.peek()? != JsonType::Object {
        return Ok(None);
    }
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

/// Where the elements of a file start.
struct Start {
    /// Behind the bracket that opens them.
    offset: usize,
    /// How many objects they lie in: two for a search answer.
    objects: usize,
}

/// Finds the array of documents in an array or a search answer.
fn elements_start(bytes: &[u8]) -> Option<Start> {
    let sound = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(fault) => std::str::from_utf8(bytes.get(..fault.valid_up_to())?).ok()?,
    };
    let mut reader = Reader::new(sound);
    match reader.peek().ok()? {
        JsonType::Array => {
            reader.open();
            Some(Start { offset: reader.offset(), objects: 0 })
        }
        JsonType::Object => {
            reader.open();
            let mut first = true;
            while let Some((key, _)) = reader.next_key(std::mem::take(&mut first)).ok()? {
                if key == "list" {
                    let offset = items_start(&mut reader).ok()??;
                    return Some(Start { offset, objects: 2 });
                }
                reader.skip_value().ok()?;
            }
            None
        }
        _ => None,
    }
}

/// Hands on the elements of the array, and checks what follows it.
///
/// An element ends at the comma or bracket that its own brackets and strings do not hold, so that
/// one malformed document does not take the next ones with it.
/// The bytes start with the line of this number.
fn elements<E: From<FileFault>>(
    bytes: &[u8],
    line: u64,
    start: Start,
    sink: &mut impl Sink<E>,
) -> Result<(), E> {
    let mut at = start.offset;
    let mut lines = LineCounter::new(bytes, line);
    let mut first = true;
    loop {
        let end = element_end(bytes, at);
        let piece = bytes.get(at..end).unwrap_or_default();
        let closes = bytes.get(end) == Some(&b']');
        let document = trim_start(piece);
        if !(first && closes && document.is_empty()) {
            let space = piece.len().saturating_sub(document.len());
            let line = lines.line_of(at.saturating_add(space));
            sink(Piece { line, bytes: Ok(piece) })?;
        }
        first = false;
        at = end.saturating_add(1);
        match bytes.get(end) {
            Some(b',') => {}
            Some(_) => break,
            None => {
                let error = Error::new(ErrorKind::Syntax, end, "the end of the text", "`]` behind the cases");
                return Err(FileFault { line: lines.line_of(end), error }.into());
            }
        }
    }
    let fault =
        |lines: &mut LineCounter<'_>, error: Error| FileFault { line: lines.line_of(error.offset), error };
    let text = match std::str::from_utf8(bytes.get(at..).unwrap_or_default()) {
        Ok(_) => String::from_utf8_lossy(bytes),
        Err(_) => {
            let error = Error::new(ErrorKind::NotUtf8, at, "bytes that are not UTF-8", "UTF-8");
            return Err(fault(&mut lines, error).into());
        }
    };
    // Replacement characters before the end of the array may have moved it.
    let offset = text.len().saturating_sub(bytes.len().saturating_sub(at));
    let mut reader = Reader::starting_at(&text, offset);
    let mut rest = || {
        // Cases of a second array would be lost.
        for name in ["items", "list"].into_iter().take(start.objects) {
            while let Some((key, at)) = reader.next_key(false)? {
                if key == name {
                    return Err(Error::new(
                        ErrorKind::DuplicateKey,
                        at,
                        quote(name),
                        "each key at most once",
                    )
                    .into());
                }
                reader.skip_value()?;
            }
        }
        reader.end()
    };
    rest().map_err(|error: Box<Error>| {
        let mut error = *error;
        error.offset = error.offset.saturating_sub(offset).saturating_add(at);
        fault(&mut lines, error).into()
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
            b'{' | b'[' => depth = depth.saturating_add(1),
            b']' | b',' if depth == 0 => return at,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at = at.saturating_add(1);
    }
    at
}

/// Behind the string that starts at `at`; behind the line if it has no end there, as no string may span lines.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at.saturating_add(1);
    while let Some(byte) = bytes.get(at) {
        at = at.saturating_add(1);
        match byte {
            b'"' | b'\n' => break,
            b'\\' => at = at.saturating_add(1),
            _ => {}
        }
    }
    at
}

/// Counts lines up to ascending offsets, each byte once.
struct LineCounter<'a> {
    bytes: &'a [u8],
    offset: usize,
    line: u64,
}

impl<'a> LineCounter<'a> {
    fn new(bytes: &'a [u8], line: u64) -> Self {
        Self { bytes, offset: 0, line }
    }

    fn line_of(&mut self, offset: usize) -> u64 {
        let passed = self.bytes.get(self.offset..offset.min(self.bytes.len())).unwrap_or_default();
        self.line = self.line.saturating_add(memchr::memchr_iter(b'\n', passed).count() as u64);
        self.offset = self.offset.max(offset);
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a file pushed in chunks of this size: line and text, or the kind of the fault.
    fn split(text: &str, chunk: usize) -> (Vec<(u64, String)>, Option<u64>) {
        let mut pieces = Vec::new();
        let mut splitter = Splitter::new(&Limits::default());
        let mut sink = |piece: Piece<'_>| -> Result<(), FileFault> {
            let text = match piece.bytes {
                Ok(bytes) => String::from_utf8_lossy(trim(bytes)).into_owned(),
                Err(error) => error.kind.code().to_owned(),
            };
            pieces.push((piece.line, text));
            Ok(())
        };
        for bytes in text.as_bytes().chunks(chunk) {
            splitter.push(bytes, &mut sink).unwrap();
        }
        let fault = splitter.finish(&mut sink).err().map(|fault: FileFault| fault.line);
        (pieces, fault)
    }

    fn check(text: &str, expected: &[(u64, &str)], fault: Option<u64>) {
        for chunk in [1, 2, 7, text.len().max(1)] {
            let (pieces, found) = split(text, chunk);
            let pieces: Vec<(u64, &str)> = pieces.iter().map(|(line, text)| (*line, text.as_str())).collect();
            assert_eq!((pieces.as_slice(), found), (expected, fault), "{text:?} in chunks of {chunk}");
        }
    }

    #[test]
    fn lines_are_documents() {
        check(
            "{\"id\":\"a\"}\n\n {\"id\":\"b\"} \r\n{\"id\":\"c\"}",
            &[(1, "{\"id\":\"a\"}"), (3, "{\"id\":\"b\"}"), (4, "{\"id\":\"c\"}")],
            None,
        );
        check("", &[], None);
        check(" \n\n", &[], None);
        check(
            "\n\n{\"list\":{\"items\":[]},\"id\":\"a\"}",
            &[(3, "{\"list\":{\"items\":[]},\"id\":\"a\"}")],
            None,
        );
        check("{\"id\":\"a\"\n{\"id\":\"b\"}", &[(1, "{\"id\":\"a\""), (2, "{\"id\":\"b\"}")], None);
        check("oops\n{\"id\":\"b\"}", &[(1, "oops"), (2, "{\"id\":\"b\"}")], None);
        check("\n \n[{\"id\":\"a\"},\n2]", &[(3, "{\"id\":\"a\"}"), (4, "2")], None);
    }

    #[test]
    fn arrays_and_answers_give_their_elements() {
        check(
            "[\n{\"id\":\"a,]\"} ,\n\n{\"b\":[1,{}]}]\n",
            &[(2, "{\"id\":\"a,]\"}"), (4, "{\"b\":[1,{}]}")],
            None,
        );
        check("[]", &[], None);
        check(" [ ] ", &[], None);
        check(
            "{\"list\":{\"items\":[{\"id\":\"a\"}],\"pageInfo\":{\"limit\":1}}}",
            &[(1, "{\"id\":\"a\"}")],
            None,
        );
        check(
            "{\n \"code\": 1,\n \"list\": {\n  \"totalItems\": 1,\n  \"items\": [\n   {\"id\":\"a\"}\n  ]\n }\n}\n",
            &[(6, "{\"id\":\"a\"}")],
            None,
        );
    }

    #[test]
    fn a_malformed_element_spares_the_others() {
        check("[{\"id\":oops},{\"id\":\"b\"}]", &[(1, "{\"id\":oops}"), (1, "{\"id\":\"b\"}")], None);
        check("[\n{\"id\":\"a},\n{\"id\":\"b\"}]", &[(2, "{\"id\":\"a},\n{\"id\":\"b\"}]")], Some(3));
        check("[1,]", &[(1, "1"), (1, "")], None);
    }

    #[test]
    fn what_is_wrong_with_the_whole_file_is_its_fault() {
        check("[{\"id\":\"a\"}", &[(1, "{\"id\":\"a\"}")], Some(1));
        check("[{\"id\":\"a\"}]\nx", &[(1, "{\"id\":\"a\"}")], Some(2));
        check("{\"list\":{\"items\":[{\"id\":\"a\"}]}", &[(1, "{\"id\":\"a\"}")], Some(1));
    }

    #[test]
    fn a_second_array_of_an_answer_is_a_fault() {
        check("{\"list\":{\"items\":[1],\"total\":1,\n\"items\":[2]}}", &[(1, "1")], Some(2));
        check("{\"list\":{\"items\":[1],\"list\":3},\n\"list\":{\"items\":[2]}}", &[(1, "1")], Some(2));
        check("{\"list\":{\"items\":[1],\"list\":3},\"items\":[2]}", &[(1, "1")], None);
    }

    #[test]
    fn only_the_space_of_json_is_space() {
        check("\u{c}{}\n\u{c}\n{}", &[(1, "\u{c}{}"), (2, "\u{c}"), (3, "{}")], None);
        check("[\u{c}1,\u{c}]", &[(1, "\u{c}1"), (1, "\u{c}")], None);
        check("[\u{c}]", &[(1, "\u{c}")], None);
    }

    #[test]
    fn arrays_and_answers_may_be_longer_than_any_case() {
        let cases = vec![r#"{"id":"a","name":"é"}"#; 1000].join(",");
        let (long, too_long) = ("x".repeat(99), Err(ErrorKind::CaseTooLarge));
        let texts = [
            (format!("[{cases}]"), Ok(1000)),
            (format!("[\n {cases}\n]\n"), Ok(1000)),
            (format!("{{\"list\":{{\"items\":[{cases}]}}}}"), Ok(1000)),
            (format!("{{\"list\":{{\"items\":[{cases}]}},\"id\":\"b\"}}\n"), Ok(1000)),
            (format!("{{\"code\":1,\n\"list\":{{\n\"items\":[{cases}]}}}}"), Ok(1000)),
            (format!("[{cases},{{\"id\":\"{long}\"}}]"), Ok(1001)),
            (format!("{}{{\"id\":\"a\"}}\n", " \n".repeat(5000)), Ok(1)),
            (format!("{}[{{\"id\":\"a\"}}]\n", " \n".repeat(5000)), Ok(1)),
            // Lines that are too long.
            (format!("{{\"id\":\"b\",\"list\":{{\"items\":[{cases}]}}}}"), too_long),
            (format!("{{\"list\":[{cases}]}}"), too_long),
            (format!("{{\"code\":\"{cases}\"}}"), too_long),
            (format!("\n{{\"id\":\"{}\"}}\n{{\"id\":\"b\"}}\n", "x".repeat(5000)), too_long),
        ];
        for case_bytes in 30..53 {
            for (text, expected) in &texts {
                let limits = Limits { case_bytes, ..Limits::default() };
                let outcomes = [1, 1000, 1 << 20].map(|chunk| {
                    let (mut lines, mut fault) = (Vec::new(), None);
                    let mut splitter = Splitter::new(&limits);
                    let mut sink = |piece: Piece<'_>| -> Result<(), FileFault> {
                        lines.push(piece.line);
                        fault = fault.take().or(piece.bytes.err().map(|error| error.kind));
                        Ok(())
                    };
                    for bytes in text.as_bytes().chunks(chunk) {
                        splitter.push(bytes, &mut sink).unwrap();
                    }
                    splitter.finish(&mut sink).unwrap();
                    (lines, fault)
                });
                let start = text.split_at(10).0;
                let (lines, fault) = &outcomes[0];
                assert_eq!(fault.map_or(Ok(lines.len()), Err), *expected, "{start}");
                assert_eq!(outcomes[1], outcomes[0], "{start}");
                assert_eq!(outcomes[2], outcomes[0], "{start}");
            }
        }
    }

    #[test]
    fn single_bytes_take_linear_time() {
        // To look at what is held for each of them would take minutes.
        let start = std::time::Instant::now();
        for byte in [b' ', b'{', b'['] {
            let text = format!("{}{}", char::from(byte), " ".repeat(1 << 21));
            let (pieces, _) = split(&text, 1);
            assert_eq!(pieces.len(), usize::from(byte != b' '));
        }
        assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
    }

    #[test]
    fn an_overlong_line_is_passed_over_without_holding_it() {
        let limits = Limits { case_bytes: 10, ..Limits::default() };
        let mut splitter = Splitter::new(&limits);
        let mut kinds = Vec::new();
        let mut sink = |piece: Piece<'_>| -> Result<(), FileFault> {
            kinds.push((piece.line, piece.bytes.err().map(|error| error.kind)));
            Ok(())
        };
        splitter.push(b"{}\n", &mut sink).unwrap();
        for _ in 0..100 {
            splitter.push(&[b'x'; 1000], &mut sink).unwrap();
            assert!(splitter.held.len() <= splitter.limit);
        }
        splitter.push(b"\n{}\n", &mut sink).unwrap();
        splitter.finish(&mut sink).unwrap();
        assert_eq!(kinds, [(1, None), (2, Some(ErrorKind::CaseTooLarge)), (3, None)]);
    }
}
