//! What is wrong with a file rather than with a document in it.

use super::piece::FileFault;
use super::position::Position;
use crate::error::{Error, ErrorKind, quote};
use crate::ingest::envelope::expected_case;

/// What may stand behind an array or a search answer.
const MORE: &str = "nothing behind an array or a search answer but more of them";

/// The fault of an object behind an array or an answer that is no answer.
pub(super) fn no_answer(position: Position) -> FileFault {
    let error = Error::new(ErrorKind::Syntax, position.offset, "an object that is no search answer", MORE);
    FileFault { line: position.line, error }
}

/// The fault of a byte behind an array or an answer that begins neither.
pub(super) fn stray(byte: u8, position: Position) -> FileFault {
    let found = match byte.is_ascii_graphic() {
        true => quote(char::from(byte).encode_utf8(&mut [0; 4])),
        false => format!("the byte 0x{byte:02X}"),
    };
    let error = Error::new(ErrorKind::Syntax, position.offset, found, MORE);
    FileFault { line: position.line, error }
}

/// The fault of an object that is neither a document nor an answer as far as it may be held; cases seem to lie in its `envelope`.
pub(super) fn no_items(line: u64, limit: usize, envelope: Option<&str>) -> FileFault {
    let found = format!("an object over several lines, without `items` in its first {limit} bytes");
    let expected = envelope.map(expected_case);
    let expected = expected.unwrap_or_else(|| {
        "a document on each line, or a search answer whose `items` stand sooner".to_owned()
    });
    FileFault { line, error: Error::new(ErrorKind::CaseTooLarge, limit, found, expected) }
}
