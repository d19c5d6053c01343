//! Converts NDJSON to a JSON array while writing it.

use std::io::{self, Write};

/// A writer that converts NDJSON to an array of the same documents, with one document per line.
pub(crate) struct Array<W> {
    out: W,
    /// The text that is written before the next document.
    before: &'static [u8],
    is_line_begun: bool,
}

impl<W: Write> Array<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, before: b"[\n", is_line_begun: false }
    }

    /// Writes the end of the array.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let is_empty = self.before == b"[\n" && !self.is_line_begun;
        self.out.write_all(if is_empty { b"[]\n" } else { b"\n]\n" })
    }
}

impl<W: Write> Write for Array<W> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let (document, is_ended) = match line.strip_suffix(b"\n") {
                Some(document) => (document, true),
                None => (line, false),
            };
            if !self.is_line_begun {
                self.out.write_all(self.before)?;
                self.before = b",\n";
            }
            self.out.write_all(document)?;
            self.is_line_begun = !is_ended;
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_elements_however_they_are_split_into_writes() {
        for (lines, array) in
            [("", "[]\n"), ("{}\n", "[\n{}\n]\n"), ("{\"a\":1}\n{}\n", "[\n{\"a\":1},\n{}\n]\n")]
        {
            for chunk in 1..=lines.len().max(1) {
                let mut out = Vec::new();
                let mut writer = Array::new(&mut out);
                lines.as_bytes().chunks(chunk).for_each(|bytes| writer.write_all(bytes).unwrap());
                writer.finish().unwrap();
                assert_eq!(String::from_utf8(out).unwrap(), array, "{chunk}");
            }
        }
    }
}
