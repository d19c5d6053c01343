//! Standard output: buffered, and quiet about readers that went away.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use clap::ValueEnum;
use serde::Serialize;

use crate::failure::Failure;

/// Standard output behind a buffer. [`finish`](Output::finish) writes what is left.
pub(crate) struct Output(BufWriter<Stdout>);

impl Output {
    pub(crate) fn new() -> Self {
        Self(BufWriter::with_capacity(64 << 10, io::stdout()))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.0.write_all(bytes).map_err(|error| Failure::stdout(&error))
    }

    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.write(text.as_bytes())?;
        self.write(b"\n")
    }

    /// A value as JSON on one line.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(|error| Failure::Failed(error.to_string()))?;
        self.line(&text)
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.0.flush().map_err(|error| Failure::stdout(&error))
    }

    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush()
    }
}

/// JSON or a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For programs
    Json,
    /// For people
    Table,
}

impl Format {
    /// What was asked for, or what fits where standard output goes.
    pub(crate) fn or_fitting(asked: Option<Self>) -> Self {
        asked.unwrap_or(if io::stdout().is_terminal() { Self::Table } else { Self::Json })
    }
}
