//! A look at a file's schema before the Parquet library reads it.
//!
//! The library recurses as deeply as the schema nests, and reserves memory for as many children as a
//! group says that it has; a few bytes of a forged file could end the process. So both are checked
//! here first. The footer is the struct `FileMetaData` of the format's `parquet.thrift`, in Thrift's
//! compact protocol; its field 2 is the schema, a tree in depth-first order, laid out as a list.

use parquet::errors::Result;
use parquet::file::reader::ChunkReader;
use smallvec::SmallVec;

/// How deep groups may lie in each other; a struct in a list takes three.
const MAX_DEPTH: usize = 128;
/// How deep structs and lists of the footer itself lie in each other; the format needs eight.
const MAX_NESTING: usize = 32;
/// A file ends with the length of the footer, four bytes, and four that name the format.
const TAIL_BYTES: usize = 8;

const BOOLEAN: [u8; 2] = [1, 2];
const LIST: [u8; 2] = [9, 10];
const STRUCT: u8 = 12;

/// True when the schema of a file nests no deeper than any case, and no group says more children
/// than there are; false also for a footer that cannot be read.
///
/// # Errors
/// As the reader.
pub(super) fn is_sound(reader: &impl ChunkReader) -> Result<bool> {
    let Some(tail_start) = reader.len().checked_sub(TAIL_BYTES as u64) else { return Ok(false) };
    let tail = reader.get_bytes(tail_start, TAIL_BYTES)?;
    let Some((length, b"PAR1")) = tail.split_first_chunk() else { return Ok(false) };
    let length = u32::from_le_bytes(*length);
    let Some(start) = tail_start.checked_sub(u64::from(length)) else { return Ok(false) };
    let Ok(length) = usize::try_from(length) else { return Ok(false) };
    let footer = reader.get_bytes(start, length)?;
    Ok(Thrift(&footer).metadata() == Some(true))
}

/// What is left to read; methods give `None` where it is not Thrift.
struct Thrift<'f>(&'f [u8]);

impl Thrift<'_> {
    /// Whether every schema in the struct is sound.
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
        // How many children each open group still waits for.
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

    /// How many children a schema element has, its field 5.
    fn children(&mut self) -> Option<u64> {
        let (mut id, mut children) = (0, 0);
        while let Some(kind) = self.field(&mut id)? {
            if id == 5 && (3..=6).contains(&kind) {
                // A negative number, written zigzag, is odd, and none of the library's.
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

    /// The type of the next field of a struct, whose number goes into `id`; none at its end.
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

    /// The type and number of a list's elements.
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
            // The format has no maps.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    /// A file of nothing but a footer with these schema elements, each with its number of children.
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
            // Optional, the name `x`, the number of children.
            footer.extend([0x35, 2, 0x18, 1, b'x', 0x15]);
            varint(count * 2, &mut footer);
            footer.push(0);
        }
        footer.push(0);
        let length = u32::try_from(footer.len()).unwrap();
        [b"PAR1", &footer[..], &length.to_le_bytes(), b"PAR1"].concat().into()
    }

    #[test]
    fn schemas_that_would_harm_the_library_are_told() {
        let deep = |levels: usize| [vec![1; levels], vec![0]].concat();
        assert!(is_sound(&file(&[2, 0, 1, 0])).unwrap());
        assert!(is_sound(&file(&deep(MAX_DEPTH - 1))).unwrap());
        assert!(!is_sound(&file(&deep(MAX_DEPTH))).unwrap());
        assert!(!is_sound(&file(&deep(1_000_000))).unwrap());
        assert!(!is_sound(&file(&[1 << 30, 0])).unwrap());
        assert!(!is_sound(&file(&[i32::MAX as u64])).unwrap());
        let wide = [vec![5000], [1, 0].repeat(5000)].concat();
        assert!(is_sound(&file(&wide)).unwrap());
    }

    #[test]
    fn what_is_no_footer_is_not_sound() {
        let sound = file(&[2, 0, 1, 0]);
        for length in 0..sound.len() {
            assert!(!is_sound(&sound.slice(..length)).unwrap());
        }
        let mut long = sound.to_vec();
        let at = long.len() - TAIL_BYTES;
        long[at..at + 4].copy_from_slice(&[0xFF; 4]);
        assert!(!is_sound(&Bytes::from(long)).unwrap());
    }
}
