//! Converts NDJSON to a Parquet file while writing it.

use std::io::{self, Write};
use std::str;

use casefilter::arrow::ParquetWriter;
use casefilter::{Catalog, Order};

/// A writer that converts NDJSON to a Parquet file of cases.
pub(crate) struct ParquetFile<W: Write + Send> {
    writer: ParquetWriter<W>,
    /// The start of a line that is not complete yet.
    line: Vec<u8>,
}

impl<W: Write + Send> ParquetFile<W> {
    /// Starts a Parquet file of documents of a catalogue. The ids of the documents must all be different. If `order` is given, the
    /// documents must be in this order.
    pub(crate) fn new(out: W, catalog: &Catalog, order: Option<&Order>) -> io::Result<Self> {
        let writer = ParquetWriter::new(out, catalog, order)?.with_unique_ids(catalog);
        Ok(Self { writer, line: Vec::new() })
    }

    /// Writes the end of the Parquet file.
    pub(crate) fn finish(self) -> io::Result<()> {
        debug_assert!(self.line.is_empty());
        self.writer.finish().map(drop)
    }

    fn push(&mut self, line: &[u8]) -> io::Result<()> {
        let document =
            str::from_utf8(line).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        self.writer.push(document)
    }
}

/// Accepts NDJSON.
impl<W: Write + Send> Write for ParquetFile<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        lines.try_for_each(|line| match line.strip_suffix(b"\n") {
            Some(end) if self.line.is_empty() => self.push(end),
            Some(end) => {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(end);
                self.push(&line)
            }
            None => {
                self.line.extend_from_slice(line);
                Ok(())
            }
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use casefilter::{Engine, ImportMode, sample};

    #[test]
    fn a_write_may_end_anywhere() {
        let mut file = Vec::new();
        let mut writer = ParquetFile::new(&mut file, &Catalog::cases(), None).unwrap();
        let count = 20_000;
        let mut text = Vec::new();
        for case in sample::Cases::new(count, 1) {
            text.extend(case);
            text.push(b'\n');
        }
        for chunk in text.chunks(1013) {
            writer.write_all(chunk).unwrap();
        }
        writer.finish().unwrap();
        let engine = Engine::new(Catalog::cases());
        let mut import = engine.import(ImportMode::Strict);
        import.parquet("", bytes::Bytes::from(file)).unwrap();
        assert_eq!(import.commit().unwrap().stored, count);
    }
}
