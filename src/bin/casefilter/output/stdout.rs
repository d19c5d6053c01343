//! Writes standard output: buffered, and escaped on a terminal. If the reader closes standard output, no error message is printed.
//! Also defines the values of the argument `--format` of the commands: table or JSON.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;

use crate::output::escape::{escape_json, escape_lines};
use crate::output::failure::Failure;
use crate::output::spool::Spool;

/// Buffered standard output. [`finish`](Output::finish) writes the rest of the buffer.
///
/// On a terminal, unprintable characters are escaped. Otherwise, every byte is written unchanged.
pub(crate) struct Output<W: Write = Stdout> {
    out: BufWriter<W>,
    is_terminal: bool,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self::to(io::stdout(), io::stdout().is_terminal())
    }
}

impl Output<Box<dyn Write>> {
    /// Returns standard output for cases from a database. The database can be closed before everything has been written; see
    /// [`Spool`].
    pub(crate) fn from_database(database: &Path) -> Result<Self, Failure> {
        let out = spooled_stdout(database).map_err(|error| Failure::stdout(&error))?;
        Ok(Self::to(out, io::stdout().is_terminal()))
    }

    /// Returns standard output for cases in memory.
    pub(crate) fn from_memory() -> Self {
        Self::to(Box::new(io::stdout()), io::stdout().is_terminal())
    }
}

/// Returns standard output through a [`Spool`]. If standard output is a file, returns it directly, because writing to a file does
/// not wait for a reader.
pub(crate) fn spooled_stdout(database: &Path) -> io::Result<Box<dyn Write>> {
    if is_file(&io::stdout()) {
        return Ok(Box::new(io::stdout()));
    }
    Ok(Box::new(Spool::new(io::stdout(), Some(database))?))
}

#[cfg(unix)]
fn is_file(stdout: &Stdout) -> bool {
    use std::os::fd::AsFd;
    let own = stdout.as_fd().try_clone_to_owned().map(std::fs::File::from);
    own.and_then(|file| file.metadata()).is_ok_and(|found| found.is_file())
}

#[cfg(not(unix))]
fn is_file(_: &Stdout) -> bool {
    false
}

impl<W: Write> Output<W> {
    fn to(out: W, is_terminal: bool) -> Self {
        Self { out: BufWriter::with_capacity(64 << 10, out), is_terminal }
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        self.out.write_all(text.as_bytes()).map_err(|error| Failure::stdout(&error))
    }

    /// Writes lines. Each line must have its line end.
    pub(crate) fn lines(&mut self, text: &str) -> Result<(), Failure> {
        if self.is_terminal { self.write(&escape_lines(text)) } else { self.write(text) }
    }

    /// Writes lines in which text from users and files has already been [escaped](crate::output::escape::escape).
    pub(crate) fn escaped_lines(&mut self, text: &str) -> Result<(), Failure> {
        self.write(text)
    }

    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.lines(text)?;
        self.write("\n")
    }

    /// Writes a part of a line of JSON.
    pub(crate) fn json_part(&mut self, json: &str) -> Result<(), Failure> {
        if self.is_terminal { self.write(&escape_json(json)) } else { self.write(json) }
    }

    /// Writes a line of JSON.
    pub(crate) fn json_line(&mut self, json: &str) -> Result<(), Failure> {
        self.json_part(json)?;
        self.write("\n")
    }

    /// Writes a value as JSON on one line.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(|error| Failure::Failed(error.to_string()))?;
        self.json_line(&text)
    }

    /// Writes an id on a line of its own. If standard output is not a terminal, no two ids give the same output. On a terminal, two
    /// ids can give the same output, because unprintable characters are escaped.
    pub(crate) fn id(&mut self, id: &str) -> Result<(), Failure> {
        if id.starts_with('"') || id.contains(char::is_control) { self.json(&id) } else { self.line(id) }
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| Failure::stdout(&error))
    }

    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush()
    }
}

/// The format of an output: JSON or a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For programs
    Json,
    /// For people
    Table,
}

impl Format {
    /// Returns the chosen format, or the default: a table on a terminal, JSON elsewhere.
    pub(crate) fn or_fitting(asked: Option<Self>) -> Self {
        asked.unwrap_or(if io::stdout().is_terminal() { Self::Table } else { Self::Json })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(is_terminal: bool) -> String {
        let mut bytes = Vec::new();
        let mut out = Output::to(&mut bytes, is_terminal);
        out.line("a\u{202e}").unwrap();
        out.json(&"b\u{202e}").unwrap();
        out.json_line("\"c\u{9b}\"").unwrap();
        out.lines("d\u{1b}\n").unwrap();
        out.finish().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_terminal_gets_no_control_characters_and_a_pipe_every_byte() {
        assert_eq!(written(true), "a\\u{202e}\n\"b\\u202e\"\n\"c\\u009b\"\nd\\u{1b}\n");
        assert_eq!(written(false), "a\u{202e}\n\"b\u{202e}\"\n\"c\u{9b}\"\nd\u{1b}\n");
    }
}
