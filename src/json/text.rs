//! Converts bytes to text, and trims whitespace.

/// Converts bytes to text. If they are not UTF-8, the error is the offset of the first invalid byte.
pub(crate) fn text(bytes: &[u8]) -> std::result::Result<&str, usize> {
    /// The minimum length, in bytes, for which vector instructions are faster. A shorter text is checked word by word. For such a
    /// text, checking the bytes after the last whole vector would cost more time than the vectors save.
    const MANY: usize = 256;
    if bytes.len() < MANY {
        return std::str::from_utf8(bytes).map_err(|fault| fault.valid_up_to());
    }
    simdutf8::compat::from_utf8(bytes).map_err(|fault| fault.valid_up_to())
}

/// Returns true if `byte` is whitespace that JSON allows between tokens.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Returns the text without whitespace at the start.
pub(crate) fn trim_start(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_space(*byte)).unwrap_or(text.len());
    text.get(start..).unwrap_or_default()
}

/// Returns the text without whitespace at the start and the end.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_space(*byte)).map_or(0, |last| last.saturating_add(1));
    trim_start(text.get(..end).unwrap_or_default())
}
