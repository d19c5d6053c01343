//! Faults of a whole file.

use super::piece::FileFault;
use super::position::Position;
use crate::error::{Error, ErrorKind, quote};
use crate::ingest::envelope::expected_case;

/// The expectation of a fault after an array or a search answer.
const MORE: &str = "another array, another search answer or the end of the file";

/// Returns the fault for an object that follows an array or an answer, but is not a search answer.
pub(super) fn no_answer(position: Position) -> FileFault {
    let error = Error::new(ErrorKind::Syntax, position.offset, "an object that is not a search answer", MORE);
    FileFault { line: position.line, error }
}

/// Returns the fault for a byte after an array or an answer that starts neither an array nor an answer.
pub(super) fn stray(byte: u8, position: Position) -> FileFault {
    let found = match byte.is_ascii_graphic() {
        true => quote(char::from(byte).encode_utf8(&mut [0; 4])),
        false => format!("the byte 0x{byte:02X}"),
    };
    let error = Error::new(ErrorKind::Syntax, position.offset, found, MORE);
    FileFault { line: position.line, error }
}

/// Returns the fault for an object that is neither a document nor an answer within the limit. `envelope` is the member that seems to
/// contain cases.
pub(super) fn no_items(line: u64, limit: usize, envelope: Option<&str>) -> FileFault {
    let found = format!("an object over several lines, without `items` in its first {limit} bytes");
    let expected = envelope.map(expected_case);
    let expected = expected.unwrap_or_else(|| {
        "a document on each line, or a search answer whose `items` come earlier".to_owned()
    });
    FileFault { line, error: Error::new(ErrorKind::CaseTooLarge, limit, found, expected) }
}
