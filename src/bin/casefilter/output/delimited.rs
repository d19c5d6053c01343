//! Writes CSV and tab-separated text. By default, guards against CSV injection: no cell is a formula that a spreadsheet would run.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use crate::output::failure::Failure;
use crate::output::stdout::Output;

/// The number of bytes that are collected before they are written.
const PIECE_BYTES: usize = 1 << 16;

/// The text between two values of a field in one cell.
pub(crate) const BETWEEN: &str = "; ";

/// A writer of rows as CSV (RFC 4180), or as TSV, which has tabs instead of commas.
pub(crate) struct Delimited {
    kind: Kind,
    /// False to put an apostrophe in front of cells that a spreadsheet would run.
    is_raw: bool,
    writer: csv::Writer<Vec<u8>>,
    bytes: usize,
}

/// The character between two cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Csv,
    Tsv,
}

impl Delimited {
    pub(crate) fn new(kind: Kind, is_raw: bool) -> Self {
        Self { kind, is_raw, writer: writer(kind), bytes: 0 }
    }

    /// Writes a row.
    pub(crate) fn record<W: Write, C: AsRef<str>>(
        &mut self,
        cells: impl IntoIterator<Item = C>,
        out: &mut Output<W>,
    ) -> Result<(), Failure> {
        let failed = |error: csv::Error| Failure::Failed(error.to_string());
        for cell in cells {
            let cell = if self.is_raw { Cow::Borrowed(cell.as_ref()) } else { harmless(cell.as_ref()) };
            self.bytes = self.bytes.saturating_add(cell.len().saturating_add(1));
            self.writer.write_field(cell.as_bytes()).map_err(failed)?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(failed)?;
        if self.bytes >= PIECE_BYTES { self.flush(out) } else { Ok(()) }
    }

    /// Writes the records that have been collected.
    pub(crate) fn flush<W: Write>(&mut self, out: &mut Output<W>) -> Result<(), Failure> {
        self.bytes = 0;
        let written = std::mem::replace(&mut self.writer, writer(self.kind)).into_inner();
        let written = written.map_err(|error| Failure::Failed(error.to_string()))?;
        let text = String::from_utf8(written).map_err(|error| Failure::Failed(error.to_string()))?;
        out.lines(&text)
    }
}

fn writer(kind: Kind) -> csv::Writer<Vec<u8>> {
    let (delimiter, end) = match kind {
        // On a terminal, a carriage return would be shown as an escaped character.
        Kind::Csv if io::stdout().is_terminal() => (b',', csv::Terminator::Any(b'\n')),
        Kind::Csv => (b',', csv::Terminator::CRLF),
        Kind::Tsv => (b'\t', csv::Terminator::Any(b'\n')),
    };
    csv::WriterBuilder::new().delimiter(delimiter).terminator(end).flexible(true).from_writer(Vec::new())
}

/// Puts an apostrophe in front of a cell that a spreadsheet would run as a formula.
fn harmless(cell: &str) -> Cow<'_, str> {
    match cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number(cell) {
        true => Cow::Owned(format!("'{cell}")),
        false => Cow::Borrowed(cell),
    }
}

/// Returns true if a cell is a number: digits, optionally with a sign, a fraction and an exponent.
fn is_number(cell: &str) -> bool {
    let unsigned = cell.strip_prefix(['+', '-']).unwrap_or(cell);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    [whole, fraction, exponent]
        .iter()
        .all(|part| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_a_spreadsheet_would_run_get_an_apostrophe() {
        for cell in [
            "=1+1",
            "+cmd|' /C calc'!A0",
            "-1+1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "-",
            "+",
            "-.5",
            "-1e",
            "-5; =1",
        ] {
            assert_eq!(harmless(cell), format!("'{cell}"));
        }
        for cell in ["", "a=1", "-5", "+49123456", "-0.50", "+1e-7", " =1", "1-1", "'=1"] {
            assert_eq!(harmless(cell), cell);
        }
    }
}
