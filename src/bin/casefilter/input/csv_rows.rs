//! Splits CSV (RFC 4180) into records, each with the line at which it begins. The header line shows the separator.

use std::io::{self, Read};

use casefilter::internal::check_text;
use casefilter::{Error, ErrorKind};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// The maximum number of cells of a record, as in spreadsheets.
const MOST_CELLS: usize = 1 << 14;

/// The size of a read, in bytes.
const CHUNK_BYTES: usize = 1 << 16;

/// The number of bytes at the start of a file that are checked.
const START_BYTES: usize = 4;

/// A reader of records. It keeps one record in memory.
pub(super) struct CsvRows<R> {
    source: R,
    parser: Reader,
    chunk: Vec<u8>,
    /// The part of the chunk that has not been parsed.
    rest: std::ops::Range<usize>,
    is_at_end: bool,
    /// The line of the next byte.
    line: u64,
    /// The maximum length of a record, in bytes.
    most_bytes: usize,
    record: Record,
}

/// The cells of one CSV record, which is one row of the file.
#[derive(Default)]
pub(super) struct Record {
    text: Vec<u8>,
    /// The end of each cell in `text`.
    ends: Vec<usize>,
    /// The number of valid elements of `ends`.
    len: usize,
    /// The line at which the record begins, counted from 1.
    pub(super) line: u64,
    /// True if the file ends within a quoted cell of this record.
    pub(super) is_open: bool,
}

/// The error after which the rest of a file cannot be read.
pub(super) enum Fault {
    Io(io::Error),
    /// The contents at a line are not CSV. The line is 0 if the complete file is affected.
    Contents(u64, Error),
}

impl Record {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the cells.
    pub(super) fn cells(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.ends.iter().take(self.len).copied();
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(ends).map(|(start, end)| self.text.get(start..end).unwrap_or_default())
    }
}

impl<R: Read> CsvRows<R> {
    /// Reads the start of a file. The header line determines the character between two cells: a comma, or, if the line has no
    /// comma, a semicolon or a tab.
    pub(super) fn new(mut source: R, most_bytes: usize) -> Result<Self, Fault> {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        source.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut chunk).map_err(Fault::Io)?;
        check_start(&chunk).map_err(|error| Fault::Contents(0, error))?;
        let mark = if chunk.starts_with("\u{feff}".as_bytes()) { "\u{feff}".len() } else { 0 };
        let header = chunk.get(mark..).unwrap_or_default().trim_ascii_start();
        let header = header.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
        let delimiter = [b',', b';', b'\t'].into_iter().find(|delimiter| header.contains(delimiter));
        let rest = mark..chunk.len();
        Ok(Self {
            source,
            parser: ReaderBuilder::new().delimiter(delimiter.unwrap_or(b',')).build(),
            chunk,
            rest,
            is_at_end: false,
            line: 1,
            most_bytes,
            record: Record::default(),
        })
    }

    /// Returns the next record. Empty lines are skipped.
    pub(super) fn next(&mut self) -> Result<Option<&Record>, Fault> {
        let record = &mut self.record;
        let (mut written, mut cells) = (0_usize, 0_usize);
        // True until a byte has been read that is not a line end.
        let mut is_before = true;
        let mut has_odd_quotes = false;
        record.line = self.line;
        loop {
            if self.rest.is_empty() && !self.is_at_end {
                self.chunk.resize(CHUNK_BYTES, 0);
                let len = loop {
                    match self.source.read(&mut self.chunk) {
                        Ok(len) => break len,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(Fault::Io(error)),
                    }
                };
                self.rest = 0..len;
                self.is_at_end = len == 0;
            }
            let input = self.chunk.get(self.rest.clone()).unwrap_or_default();
            let text = record.text.get_mut(written..).unwrap_or_default();
            let ends = record.ends.get_mut(cells..).unwrap_or_default();
            let (result, read, wrote, ended) = self.parser.read_record(input, text, ends);
            for byte in input.get(..read).unwrap_or_default() {
                is_before &= matches!(byte, b'\n' | b'\r');
                has_odd_quotes ^= *byte == b'"';
                if *byte == b'\n' {
                    self.line = self.line.saturating_add(1);
                    if is_before {
                        record.line = self.line;
                    }
                }
            }
            self.rest.start = self.rest.start.saturating_add(read);
            written = written.saturating_add(wrote);
            cells = cells.saturating_add(ended);
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if written > self.most_bytes => {
                    let found = format!("a row of more than {} bytes", self.most_bytes);
                    return Err(too_long(record.line, found));
                }
                ReadRecordResult::OutputFull => {
                    record.text.resize(record.text.len().saturating_mul(2).max(1024), 0);
                }
                ReadRecordResult::OutputEndsFull if cells >= MOST_CELLS => {
                    return Err(too_long(record.line, format!("a row of more than {MOST_CELLS} cells")));
                }
                ReadRecordResult::OutputEndsFull => {
                    record.ends.resize(record.ends.len().saturating_mul(2).max(64), 0);
                }
                ReadRecordResult::Record => {
                    record.len = cells;
                    record.is_open = has_odd_quotes && input.is_empty();
                    return Ok(Some(&self.record));
                }
                ReadRecordResult::End => return Ok(None),
            }
        }
    }
}

fn too_long(line: u64, found: String) -> Fault {
    let expected = "shorter rows; a quotation mark that is not closed makes one row of the rest of the file";
    Fault::Contents(line, Error::new(ErrorKind::BadFile, 0, found, expected))
}

/// Returns an error if the first bytes show a ZIP file, a compressed file, or another encoding than UTF-8.
fn check_start(bytes: &[u8]) -> Result<(), Error> {
    let start = bytes.get(..START_BYTES).unwrap_or(bytes);
    let fault = |found: &str, from: &str| {
        let expected = format!("CSV in UTF-8; convert it with `iconv -f {from} -t UTF-8`");
        Err(Error::new(ErrorKind::BadFile, 0, found, expected))
    };
    let is_text = |byte: u8| byte.is_ascii_graphic();
    match start {
        b"PK\x03\x04" => {
            let expected = "CSV in UTF-8; save the spreadsheet as CSV";
            return Err(Error::new(ErrorKind::BadFile, 0, "a spreadsheet, or another ZIP file", expected));
        }
        [first, 0, second, 0] if is_text(*first) && is_text(*second) => {
            return fault("text in UTF-16 without a byte-order mark", "UTF-16LE");
        }
        [0, first, 0, second] if is_text(*first) && is_text(*second) => {
            return fault("text in UTF-16 without a byte-order mark", "UTF-16BE");
        }
        _ => {}
    }
    check_text(start).map_err(|mut error| {
        error.expected = error.expected.replace("JSON in UTF-8", "CSV in UTF-8");
        error
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns a few bytes at a time.
    struct Slowly<'t>(&'t [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(self.0.len()).min(out.len());
            let (now, later) = self.0.split_at(len);
            out[..len].copy_from_slice(now);
            self.0 = later;
            Ok(len)
        }
    }

    fn read(text: &str, at_once: usize) -> Vec<(u64, Vec<String>)> {
        let Ok(mut rows) = CsvRows::new(Slowly(text.as_bytes(), at_once), 1000) else { panic!("{text}") };
        let mut found = Vec::new();
        while let Ok(Some(record)) = rows.next() {
            let cells = record.cells().map(|cell| String::from_utf8(cell.to_vec()).unwrap());
            found.push((record.line, cells.collect()));
        }
        found
    }

    #[test]
    fn records_begin_at_their_lines_with_any_line_ends() {
        for at_once in [1, 3, 1 << 16] {
            for end in ["\n", "\r\n"] {
                let text = format!("\u{feff}id,b{end}a,1{end}{end}{end}b,\"x{end}\"\"y\"{end}c,,{end}d");
                let row = |line, cells: &[&str]| (line, cells.iter().map(|&cell| cell.to_owned()).collect());
                let expected = [
                    row(1, &["id", "b"]),
                    row(2, &["a", "1"]),
                    row(5, &["b", &format!("x{end}\"y")]),
                    row(7, &["c", "", ""]),
                    row(8, &["d"]),
                ];
                assert_eq!(read(&text, at_once), expected, "{end:?} {at_once}");
            }
        }
        assert_eq!(read("a;b\n1;\"2,5\"\n", 9)[1].1, ["1", "2,5"]);
        assert_eq!(read("a\tb\n1\t2\n", 9)[1].1, ["1", "2"]);
        assert!(read("", 9).is_empty());
    }

    #[test]
    fn long_rows_and_other_encodings_are_errors() {
        for long in [format!("id\n\"{}", "x\n".repeat(5000)), format!("id\n{}", ",".repeat(70_000))] {
            let Ok(mut rows) = CsvRows::new(long.as_bytes(), 1000) else { panic!() };
            assert!(rows.next().is_ok());
            let Err(Fault::Contents(2, error)) = rows.next() else { panic!() };
            assert!(error.to_string().contains("found a row of more than "), "{error}");
        }
        for (text, from) in
            [("i\0d\0", "UTF-16LE"), ("\0i\0d", "UTF-16BE"), ("PK\u{3}\u{4}", "save the spreadsheet as CSV")]
        {
            let Err(Fault::Contents(0, error)) = CsvRows::new(text.as_bytes(), 1000) else { panic!() };
            assert!(error.to_string().contains(from), "{error}");
        }
        let Err(Fault::Contents(0, error)) = CsvRows::new(&b"\xff\xfei\0"[..], 1000) else { panic!() };
        assert!(
            error.to_string().ends_with("expected CSV in UTF-8; convert it with `iconv -f UTF-16 -t UTF-8`")
        );
    }
}
