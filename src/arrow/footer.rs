//! Validates the schema in the footer of a Parquet file, before the Parquet library reads the file.
//!
//! The library's recursion is as deep as the nesting of the schema. It also reserves memory for the number of children that a group
//! claims to have. So a forged file of a few bytes could crash the process. This module checks the depth and these numbers first.
//!
//! The footer is the struct `FileMetaData` of `parquet.thrift`, in Thrift's compact protocol. Field 2 of this struct is the schema:
//! a tree that is stored as a list, in depth-first order.

use parquet::errors::Result;
use parquet::file::reader::ChunkReader;
use smallvec::SmallVec;

/// The maximum nesting depth of groups in the schema. A struct in a list needs three levels.
const MAX_DEPTH: usize = 128;
/// The maximum nesting depth of Thrift structs and lists that the parser of the footer accepts. The Parquet format needs 8.
const MAX_NESTING: usize = 32;
/// The size of the end of a file, in bytes: the length of the footer (4 bytes) and the magic number (4 bytes).
const TAIL_BYTES: usize = 8;

const BOOLEAN: [u8; 2] = [1, 2];
const LIST: [u8; 2] = [9, 10];
const STRUCT: u8 = 12;

/// Returns true if the schema of a file does not nest too deeply, and no group claims more children than the schema has elements.
///
/// Returns false if the footer cannot be parsed.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub(super) fn is_valid(reader: &impl ChunkReader) -> Result<bool> {
    let Some(tail_start) = reader.len().checked_sub(TAIL_BYTES as u64) else { return Ok(false) };
    let tail = reader.get_bytes(tail_start, TAIL_BYTES)?;
    let Some((length, b"PAR1")) = tail.split_first_chunk() else { return Ok(false) };
    let length = u32::from_le_bytes(*length);
    let Some(start) = tail_start.checked_sub(u64::from(length)) else { return Ok(false) };
    let Ok(length) = usize::try_from(length) else { return Ok(false) };
    let footer = reader.get_bytes(start, length)?;
    Ok(ThriftReader(&footer).metadata() == Some(true))
}

/// A reader of Thrift's compact protocol. Contains the bytes that have not been read. Its methods return `None` for malformed
/// input.
struct ThriftReader<'f>(&'f [u8]);

impl ThriftReader<'_> {
    /// Parses `FileMetaData`. Returns true if its schema is valid. Returns `None` if the bytes are malformed.
    fn metadata(&mut self) -> Option<bool> {
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            if id == 2 && LIST.contains(&kind) {
                if !self.schema()? {
                    return Some(false);
                }
            } else {
                self.skip(kind, 0)?;
            }
        }
        Some(true)
    }

    fn schema(&mut self) -> Option<bool> {
        let (kind, count) = self.list()?;
        if kind != STRUCT {
            return Some(count == 0);
        }
        // For each open group, the number of children that have not been read.
        let mut open: SmallVec<[u64; 16]> = SmallVec::new();
        for _ in 0..count {
            let children = self.children()?;
            if let Some(waiting) = open.last_mut() {
                *waiting = waiting.saturating_sub(1);
            }
            if children > count || open.len() >= MAX_DEPTH {
                return Some(false);
            }
            open.push(children);
            while open.last() == Some(&0) {
                open.pop();
            }
        }
        Some(true)
    }

    /// Parses a schema element, and returns the number of its children (field 5).
    fn children(&mut self) -> Option<u64> {
        let (mut id, mut children) = (0, 0);
        while let Some(kind) = self.field(&mut id)? {
            if id == 5 && (3..=6).contains(&kind) {
                // In zigzag encoding, negative numbers are stored as odd numbers. The number of children is never negative.
                let written = self.varint()?;
                if written % 2 == 1 {
                    return None;
                }
                children = written / 2;
            } else {
                self.skip(kind, 0)?;
            }
        }
        Some(children)
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self, count: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Parses the header of the next field of a struct: sets `id`, and returns the type of the field. Returns `Some(None)` at the
    /// end of the struct, and `None` if the bytes are malformed.
    fn field(&mut self, id: &mut u64) -> Option<Option<u8>> {
        let header = self.byte()?;
        if header == 0 {
            return Some(None);
        }
        *id = match header >> 4 {
            0 => self.varint()? / 2,
            step => id.saturating_add(u64::from(step)),
        };
        Some(Some(header & 0x0F))
    }

    /// Parses the header of a list. Returns the type and the number of its elements.
    fn list(&mut self) -> Option<(u8, u64)> {
        let header = self.byte()?;
        let count = match header >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        Some((header & 0x0F, count))
    }

    fn skip(&mut self, kind: u8, nesting: usize) -> Option<()> {
        let below = nesting.checked_add(1).filter(|below| *below <= MAX_NESTING)?;
        match kind {
            1 | 2 => Some(()),
            3 => self.bytes(1),
            4..=6 => self.varint().map(drop),
            7 => self.bytes(8),
            8 => self.varint().and_then(|length| self.bytes(length)),
            9 | 10 => {
                let (kind, count) = self.list()?;
                (0..count).try_for_each(|_| match kind {
                    kind if BOOLEAN.contains(&kind) => self.bytes(1),
                    kind => self.skip(kind, below),
                })
            }
            STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, below)?;
                }
                Some(())
            }
            // There are no maps in `parquet.thrift`.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    /// Returns a file that contains only a footer. `children` contains the number of children of each schema element.
    fn file(children: &[u64]) -> Bytes {
        let varint = |mut value: u64, out: &mut Vec<u8>| {
            while value >= 0x80 {
                out.push(0x80 | (value & 0x7F) as u8);
                value >>= 7;
            }
            out.push(value as u8);
        };
        // Version 2, then the schema.
        let mut footer = vec![0x15, 4, 0x19, 0xF0 | STRUCT];
        varint(children.len() as u64, &mut footer);
        for count in children {
            // Repetition "optional", the name `x`, the number of children.
            footer.extend([0x35, 2, 0x18, 1, b'x', 0x15]);
            varint(count * 2, &mut footer);
            footer.push(0);
        }
        footer.push(0);
        let length = u32::try_from(footer.len()).unwrap();
        [b"PAR1", &footer[..], &length.to_le_bytes(), b"PAR1"].concat().into()
    }

    #[test]
    fn schemas_that_would_crash_the_library_are_invalid() {
        let deep = |levels: usize| [vec![1; levels], vec![0]].concat();
        assert!(is_valid(&file(&[2, 0, 1, 0])).unwrap());
        assert!(is_valid(&file(&deep(MAX_DEPTH - 1))).unwrap());
        assert!(!is_valid(&file(&deep(MAX_DEPTH))).unwrap());
        assert!(!is_valid(&file(&deep(1_000_000))).unwrap());
        assert!(!is_valid(&file(&[1 << 30, 0])).unwrap());
        assert!(!is_valid(&file(&[i32::MAX as u64])).unwrap());
        let wide = [vec![5000], [1, 0].repeat(5000)].concat();
        assert!(is_valid(&file(&wide)).unwrap());
    }

    #[test]
    fn a_truncated_footer_is_invalid() {
        let whole = file(&[2, 0, 1, 0]);
        for length in 0..whole.len() {
            assert!(!is_valid(&whole.slice(..length)).unwrap());
        }
        let mut long = whole.to_vec();
        let at = long.len() - TAIL_BYTES;
        long[at..at + 4].copy_from_slice(&[0xFF; 4]);
        assert!(!is_valid(&Bytes::from(long)).unwrap());
    }
}
