//! Reads the lines of an audit log.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// The maximum number of bytes that one call of [`next_line`] reads. No record is longer.
const MOST_LINE_BYTES: u64 = 64 << 20;

/// Appends the next line of a log to `line`. If the line is longer than [`MOST_LINE_BYTES`], appends only its next piece. Such a
/// line is not a record. Returns false at the end of the file.
pub(super) fn next_line(file: &mut BufReader<File>, line: &mut Vec<u8>) -> io::Result<bool> {
    Ok(file.take(MOST_LINE_BYTES).read_until(b'\n', line)? > 0)
}
