//! Writes strings as JSON string literals.

use std::fmt::Write as _;

/// Appends a string as a JSON string literal, with quotes and escapes.
pub(super) fn push_json_string(out: &mut String, text: &str) {
    out.push('"');
    let needs_escape = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    // The compiler can vectorise `fold`, which has no early exit. It cannot vectorise `any`.
    if text.bytes().fold(false, |any, byte| any | needs_escape(byte)) {
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                c if c < ' ' => {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{:04x}", u32::from(c));
                }
                c => out.push(c),
            }
        }
    } else {
        out.push_str(text);
    }
    out.push('"');
}
