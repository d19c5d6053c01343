//! Converts request bodies from bytes to text. Checks their size and that they are UTF-8.

use crate::error::{Error, ErrorKind, Errors};
use crate::json;
use crate::limits::Limits;

/// Returns the body as text, or an error if it is too large or not UTF-8.
pub(super) fn body_text<'a>(body: &'a [u8], limits: &Limits) -> Result<&'a str, Errors> {
    let limit = limits.body_bytes;
    if body.len() > limit {
        let found = format!("a body of {} bytes", body.len());
        return Err(
            Error::new(ErrorKind::BodyTooLarge, limit, found, format!("at most {limit} bytes")).into()
        );
    }
    Ok(utf8(body)?)
}

/// Returns bytes as text.
///
/// # Errors
/// Returns an error at the offset of the first byte that is not UTF-8.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    json::text(bytes).map_err(|offset| not_utf8(bytes, offset))
}

fn not_utf8(bytes: &[u8], offset: usize) -> Error {
    let valid = bytes.get(..offset).and_then(|valid| std::str::from_utf8(valid).ok()).unwrap_or_default();
    let byte = bytes.get(offset).copied().unwrap_or_default();
    let path = json::paths_at(valid, &[offset]).pop().unwrap_or_default();
    Error::new(ErrorKind::NotUtf8, offset, format!("the byte 0x{byte:02X}"), "UTF-8").at(path)
}
