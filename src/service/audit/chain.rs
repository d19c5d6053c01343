//! The hash chain of an audit log: writes a record as a line, and reads a line.
//!
//! A line is `{"n":NUMBER,"prev":"…",MEMBERS,"hash":"…"}`. The hash is the SHA-256 of two texts, one after the other: the hash of
//! the record before, as 64 digits, and the bytes of the line up to `,"hash":"`. `prev` has the first 16 digits of the hash of the
//! record before. With `prev`, verification distinguishes a changed record from a record whose predecessor was changed.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// The number and the hash of a record of an audit log. They identify the log up to this record.
///
/// Its text is the number and the hash, such as `7:3c…`. Keep the text of the last record outside the machine of the service: with
/// it, [`verify_audit_log`](super::verify_audit_log) detects that records were cut off, or that the whole log was rewritten.
///
/// ```
/// use casefilter::service::AuditHead;
/// let text = format!("7:{}", "3c".repeat(32));
/// let head: AuditHead = text.parse()?;
/// assert_eq!((head.number(), head.to_string()), (7, text));
/// assert!("7:3c".parse::<AuditHead>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditHead {
    pub(super) number: u64,
    /// The hash as hexadecimal digits.
    pub(super) hash: Hash,
}

/// A SHA-256 hash as lower-case hexadecimal digits.
pub(super) type Hash = [u8; HASH_DIGITS];
pub(super) const HASH_DIGITS: usize = 64;

/// The number of digits of `prev`.
const PREV_DIGITS: usize = 16;

impl AuditHead {
    /// The head of a log without records.
    pub(super) const NONE: Self = Self { number: 0, hash: [b'0'; HASH_DIGITS] };

    /// Returns the number of the record. Records are numbered from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the hash of the record, as 64 hexadecimal digits.
    #[must_use]
    pub fn hash(&self) -> &str {
        std::str::from_utf8(&self.hash).unwrap_or_default()
    }

    /// Writes the next record, as a line, to `line`. Returns the number and the hash of that record. `members` is JSON text:
    /// members without braces.
    pub(super) fn seal(&self, members: &[u8], line: &mut Vec<u8>) -> Self {
        let number = self.number.saturating_add(1);
        line.clear();
        line.extend_from_slice(NUMBER.as_bytes());
        line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        line.extend_from_slice(PREV.as_bytes());
        line.extend_from_slice(prev_of(&self.hash));
        line.extend_from_slice(b"\",");
        line.extend_from_slice(members);
        let hash = self.hash_after(line);
        line.extend_from_slice(HASH.as_bytes());
        line.extend_from_slice(&hash);
        line.extend_from_slice(b"\"}\n");
        Self { number, hash }
    }

    /// Returns the hash that the next record has if its content is `content`.
    fn hash_after(&self, content: &[u8]) -> Hash {
        digits(&Sha256::new().chain_update(self.hash).chain_update(content).finalize())
    }

    /// Returns true if the line is that of the next record.
    pub(super) fn is_before(&self, line: &Line<'_>) -> bool {
        self.number.checked_add(1) == Some(line.number) && line.hash == self.hash_after(line.content)
    }

    /// Returns true if the line is that of the next record, except for the digits of `prev`.
    pub(super) fn is_before_but_for_prev(&self, line: &Line<'_>) -> bool {
        let mut content = Vec::with_capacity(line.content.len());
        content.extend_from_slice(NUMBER.as_bytes());
        content.extend_from_slice(itoa::Buffer::new().format(line.number).as_bytes());
        content.extend_from_slice(PREV.as_bytes());
        content.extend_from_slice(prev_of(&self.hash));
        content.extend_from_slice(line.after_prev);
        line.hash == self.hash_after(&content)
    }

    /// Returns true if the `prev` of the line is the hash of this record.
    pub(super) fn is_named_by(&self, line: &Line<'_>) -> bool {
        line.prev == prev_of(&self.hash)
    }
}

impl fmt::Display for AuditHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.number, self.hash())
    }
}

impl FromStr for AuditHead {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once(':').and_then(|(number, hash)| {
            Some(Self { number: number.parse().ok()?, hash: hash_of(hash.as_bytes())? })
        });
        parsed.ok_or_else(|| {
            "expected the number and the hash of a record, such as `7:3c…` with 64 digits".to_owned()
        })
    }
}

const NUMBER: &str = "{\"n\":";
const PREV: &str = ",\"prev\":\"";
const HASH: &str = ",\"hash\":\"";

fn prev_of(hash: &Hash) -> &[u8] {
    hash.get(..PREV_DIGITS).unwrap_or_default()
}

/// Returns a hash as digits.
pub(super) fn digits(hash: &[u8]) -> Hash {
    let mut digits = [b'0'; HASH_DIGITS];
    for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(hash) {
        *pair = [byte >> 4, byte & 0xf]
            .map(|digit| digit.wrapping_add(if digit < 10 { b'0' } else { b'a' - 10 }));
    }
    digits
}

/// Reads the digits of a hash. Returns `None` unless they are 64 lower-case hexadecimal digits.
pub(super) fn hash_of(digits: &[u8]) -> Option<Hash> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    Hash::try_from(digits).ok().filter(|digits| digits.iter().all(is_digit))
}

/// A line that has the form of a record. Its hash may be wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'l> {
    pub(super) number: u64,
    prev: &'l [u8],
    pub(super) hash: Hash,
    content: &'l [u8],
    /// The part of the content after `prev`.
    after_prev: &'l [u8],
}

impl<'l> Line<'l> {
    /// Reads a line without its line end. Returns `None` if it does not have the form of a record.
    pub(super) fn read(line: &'l [u8]) -> Option<Self> {
        let rest = line.strip_suffix(b"\"}")?;
        let (rest, hash) = rest.split_at_checked(rest.len().checked_sub(HASH_DIGITS)?)?;
        let content = rest.strip_suffix(HASH.as_bytes())?;
        let rest = content.strip_prefix(NUMBER.as_bytes())?;
        let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        let (number, rest) = rest.split_at_checked(end)?;
        let rest = rest.strip_prefix(PREV.as_bytes())?;
        let (prev, after_prev) = rest.split_at_checked(PREV_DIGITS)?;
        let number = std::str::from_utf8(number).ok()?.parse().ok()?;
        Some(Self { number, prev, hash: hash_of(hash)?, content, after_prev })
    }

    pub(super) fn head(&self) -> AuditHead {
        AuditHead { number: self.number, hash: self.hash }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_its_predecessor_and_can_be_checked_with_common_tools() {
        let mut line = Vec::new();
        let first = AuditHead::NONE.seal(br#""event":"opened""#, &mut line);
        let text = String::from_utf8(line.clone()).unwrap();
        let content = format!(r#"{{"n":1,"prev":"{}","event":"opened""#, "0".repeat(16));
        assert_eq!(text, format!("{content},\"hash\":\"{}\"}}\n", first.hash()));
        let hashed = Sha256::digest(format!("{}{content}", "0".repeat(64)));
        assert_eq!(first.hash().as_bytes(), digits(&hashed));
        let read = Line::read(text.trim_end().as_bytes()).unwrap();
        assert!(AuditHead::NONE.is_before(&read) && AuditHead::NONE.is_named_by(&read));
        assert_eq!(read.head(), first);
        assert!(!first.is_before(&read) && !first.is_named_by(&read));
        let second = first.seal(br#""status":200"#, &mut line);
        let read = Line::read(line.trim_ascii_end()).unwrap();
        assert!(first.is_before(&read) && first.is_named_by(&read) && read.head() == second);
    }

    #[test]
    fn a_line_of_another_form_is_not_a_record() {
        let mut line = Vec::new();
        AuditHead::NONE.seal(br#""a":"b""#, &mut line);
        let whole = line.trim_ascii_end().to_vec();
        for end in 0..whole.len() {
            assert!(Line::read(&whole[..end]).is_none());
        }
        for text in ["", "{}", "null", "\"}", r#"{"n":1,"hash":""}"#] {
            assert!(Line::read(text.as_bytes()).is_none(), "{text}");
        }
        let upper = String::from_utf8(whole).unwrap().to_uppercase();
        assert!(Line::read(upper.as_bytes()).is_none());
    }
}
