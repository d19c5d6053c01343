//! Bytes as text, and the space around it.

/// Returns bytes as text; otherwise, the offset at which they stop being UTF-8.
pub(crate) fn text(bytes: &[u8]) -> std::result::Result<&str, usize> {
    /// Below this, the bytes after the last whole vector cost more than a check of all of them word by word.
    const MANY: usize = 256;
    if bytes.len() < MANY {
        return std::str::from_utf8(bytes).map_err(|fault| fault.valid_up_to());
    }
    simdutf8::compat::from_utf8(bytes).map_err(|fault| fault.valid_up_to())
}

/// True for the space that may stand between tokens.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Returns a text without the space before it.
pub(crate) fn trim_start(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_space(*byte)).unwrap_or(text.len());
    text.get(start..).unwrap_or_default()
}

/// Returns a text without the space around it.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_space(*byte)).map_or(0, |last| last.saturating_add(1));
    trim_start(text.get(..end).unwrap_or_default())
}
