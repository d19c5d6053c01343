//! The faults of a file as a whole, not of one document in it, such as text after an array.

use super::piece::FileFault;
use super::position::Position;
use crate::error::{Error, ErrorKind, Found};
use crate::ingest::envelope::expected_case;

/// The `expected …` text of the fault that is reported if something else follows an array or a search answer.
const MORE: &str = "another array, another search answer or the end of the file";

/// Returns the fault for an object that follows an array or a search answer, but is not a search answer.
pub(super) fn no_answer(position: Position) -> FileFault {
    let error = Error::new(ErrorKind::Syntax, position.offset, "an object that is not a search answer", MORE);
    FileFault { line: position.line, error }
}

/// Returns the fault for an unexpected byte after an array or a search answer. Only another array or search answer may follow
/// there.
pub(super) fn stray(byte: u8, position: Position) -> FileFault {
    let found = match byte.is_ascii_graphic() {
        true => Found::text(char::from(byte)),
        false => format!("the byte 0x{byte:02X}").into(),
    };
    let error = Error::new(ErrorKind::Syntax, position.offset, found, MORE);
    FileFault { line: position.line, error }
}

/// Returns the fault for an object if its first `limit` bytes are not enough to tell whether it is a document or a search answer.
/// `envelope` is the name of the member that seems to contain cases.
pub(super) fn no_items(line: u64, limit: usize, envelope: Option<&str>) -> FileFault {
    let found = format!("an object that spans several lines and has no `items` in its first {limit} bytes");
    let expected = envelope.map(expected_case);
    let expected = expected.unwrap_or_else(|| {
        "a document on each line, or a search answer whose `items` come earlier".to_owned()
    });
    FileFault { line, error: Error::new(ErrorKind::DocumentTooLarge, limit, found, expected) }
}
