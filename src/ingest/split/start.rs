//! Checks the first bytes of a file: detects a byte-order mark, an encoding other than UTF-8, and compressed files.

use crate::error::{Error, ErrorKind};

/// The number of bytes at the start of a file that are checked.
pub(super) const LONGEST: usize = 4;

/// The byte-order mark of UTF-8, which some programs write at the start of a file.
pub(super) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Returns the length of the byte-order mark at the start, or 0 if there is none.
pub(super) fn mark_len(start: &[u8]) -> usize {
    if start.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}

/// Checks the first [`LONGEST`] bytes of a file, or all bytes if the file is shorter.
///
/// # Errors
/// Returns an error for the start of a compressed or Parquet file, and for the start of text in UTF-16 or UTF-32.
pub(super) fn check(start: &[u8]) -> Result<(), Error> {
    let fault = |found: &str, expected: &str| {
        let expected = format!("JSON in UTF-8; {expected}");
        Err(Error::new(ErrorKind::BadFile, 0, found, expected))
    };
    match start {
        [0xff, 0xfe, 0, 0] | [0, 0, 0xfe, 0xff] => {
            fault("text in UTF-32", "convert it with `iconv -f UTF-32 -t UTF-8`")
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            fault("text in UTF-16", "convert it with `iconv -f UTF-16 -t UTF-8`")
        }
        [first, 0, second, 0] if is_text(*first) && *second != 0 => {
            fault("text in UTF-16 without a byte-order mark", "convert it with `iconv -f UTF-16LE -t UTF-8`")
        }
        [0, first, 0, second] if is_text(*first) && *second != 0 => {
            fault("text in UTF-16 without a byte-order mark", "convert it with `iconv -f UTF-16BE -t UTF-8`")
        }
        [first, 0, 0, 0] if is_text(*first) => {
            fault("text in UTF-32 without a byte-order mark", "convert it with `iconv -f UTF-32LE -t UTF-8`")
        }
        [0, 0, 0, first] if is_text(*first) => {
            fault("text in UTF-32 without a byte-order mark", "convert it with `iconv -f UTF-32BE -t UTF-8`")
        }
        [0x1f, 0x8b, ..] => fault("a gzip file", "decompress it with `gzip -d`"),
        [0x28, 0xb5, 0x2f, 0xfd] => fault("a zstd file", "decompress it with `zstd -d`"),
        b"PK\x03\x04" => {
            fault("a ZIP file (a spreadsheet is one, too)", "unpack it, or export the spreadsheet as text")
        }
        b"PAR1" => fault("a Parquet file", "rename it so that its name ends in .parquet"),
        _ => Ok(()),
    }
}

/// Checks the start of a text that should be JSON. Applies the same rules as for the start of a file of cases.
///
/// # Errors
/// Returns an error if the bytes are the start of a compressed or Parquet file, or of text in UTF-16 or UTF-32.
pub fn check_text(text: &[u8]) -> Result<(), Error> {
    check(text.get(..LONGEST).unwrap_or(text))
}

/// Returns true if JSON text can start with the byte.
fn is_text(byte: u8) -> bool {
    matches!(byte, b'{' | b'[' | b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(start: &[u8]) -> Option<String> {
        check(start).err().map(|error| error.message())
    }

    #[test]
    fn other_encodings_are_named_with_the_command_that_converts_them() {
        for (text, name, from) in [
            ("\u{feff}{\"id\":\"a\"}", "UTF-16", "UTF-16"),
            ("{\"id\":\"a\"}", "UTF-16 without a byte-order mark", "UTF-16"),
            ("[]", "UTF-16 without a byte-order mark", "UTF-16"),
            ("\r\n{}", "UTF-16 without a byte-order mark", "UTF-16"),
        ] {
            for (order, bytes) in [
                ("LE", text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
                ("BE", text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            ] {
                let order = if text.starts_with('\u{feff}') { "" } else { order };
                let message = found(&bytes[..4]).unwrap();
                let wanted = format!(
                    "found text in {name}, expected JSON in UTF-8; convert it with `iconv -f {from}{order} -t UTF-8`"
                );
                assert_eq!(message, wanted);
            }
        }
        for bytes in ["\u{feff}", "{"]
            .map(|text| text.chars().flat_map(|char| u32::from(char).to_le_bytes()).collect::<Vec<u8>>())
        {
            assert!(found(&bytes).unwrap().contains("iconv -f UTF-32"), "{bytes:?}");
        }
    }

    #[test]
    fn malformed_text_in_utf_8_passes() {
        for start in [
            &b""[..],
            b"{",
            b"{\"id",
            b"[{\"i",
            b"\xef\xbb\xbf{",
            b"\xff{\"i",
            b"\0\0\0\0",
            b"{\0",
            b"x\0y\0",
            b"oops",
            b"PAR",
            b"\x28\xb5\x2f",
        ] {
            assert_eq!(found(start), None, "{start:?}");
        }
    }
}
