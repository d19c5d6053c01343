//! Reads the lines of a file of requests or of standing filters.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use casefilter::Error;
use casefilter::internal::check_text;

use crate::input::request::MOST_LINE_BYTES;
use crate::output::dash::is_stdin;
use crate::output::escape::escape;
use crate::output::failure::Failure;

/// The lines of a file of requests or of standing filters. Each line is read when it is needed.
pub(crate) struct Lines {
    name: String,
    reader: BufReader<Box<dyn Read>>,
    line: Vec<u8>,
    /// The number of lines that have been read.
    number: u64,
    /// True until the first line has been read.
    is_at_start: bool,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let (name, source): (_, Box<dyn Read>) = if is_stdin(path) {
            ("standard input".to_owned(), Box::new(io::stdin()))
        } else {
            let name = path.display().to_string();
            let file = File::open(path).map_err(|error| Failure::io("cannot read", &name, &error))?;
            (name, Box::new(file))
        };
        Ok(Self {
            name,
            reader: BufReader::with_capacity(64 << 10, source),
            line: Vec::new(),
            number: 0,
            is_at_start: true,
        })
    }

    /// Returns the next line that contains more than white space, without its line end. If a line exceeds the maximum length,
    /// returns only its start.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, Failure> {
        loop {
            self.line.clear();
            let read = read_line(&mut self.reader, &mut self.line);
            self.number = self.number.saturating_add(1);
            if std::mem::take(&mut self.is_at_start) {
                check_text(&self.line).map_err(|error| self.not_text(&error))?;
            }
            match read {
                Ok(0) => return Ok(None),
                Ok(_) if self.line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) => {}
                Ok(_) => {
                    let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
                    return Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)));
                }
                Err(error) => return Err(Failure::io("cannot read", &self.name, &error)),
            }
        }
    }

    /// Returns the name of the file, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of the line that [`next`](Self::next) returned last, counted from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the failure for a file that is not UTF-8 text.
    fn not_text(&self, error: &Error) -> Failure {
        let (name, message, code) = (escape(&self.name), error.message(), error.kind.code());
        Failure::BadFilter(format!("error: {name}:1: {message} [{code}]\n"))
    }

    /// Returns true if the next line has possibly not arrived yet. The caller should then flush its answers.
    pub(crate) fn may_wait(&self) -> bool {
        self.reader.buffer().is_empty()
    }
}

/// Reads a line with its line feed. Keeps at most [`MOST_LINE_BYTES`] + 2 bytes, and drops the rest of the line.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let read = reader.by_ref().take(MOST_LINE_BYTES.saturating_add(2)).read_until(b'\n', line)?;
    if line.last() != Some(&b'\n') {
        loop {
            let (done, used) = match reader.fill_buf()? {
                [] => break,
                bytes => match bytes.iter().position(|byte| *byte == b'\n') {
                    Some(at) => (true, at.saturating_add(1)),
                    None => (false, bytes.len()),
                },
            };
            reader.consume(used);
            if done {
                break;
            }
        }
    }
    Ok(read)
}
