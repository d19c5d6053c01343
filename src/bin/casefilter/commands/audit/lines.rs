//! Reads the lines of an audit log.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// The maximum length of a line of a log, in bytes.
const MOST_LINE_BYTES: u64 = 64 << 20;

/// Reads the next line of a log after the end of `line`. A longer line than that of a record is read in pieces, which are no records.
/// Returns false at the end of the file.
pub(super) fn next_line(file: &mut BufReader<File>, line: &mut Vec<u8>) -> io::Result<bool> {
    Ok(file.take(MOST_LINE_BYTES).read_until(b'\n', line)? > 0)
}
