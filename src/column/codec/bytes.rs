//! Writes and reads little-endian numbers.

/// A writer that appends numbers and bytes to a buffer.
#[derive(Debug, Default)]
pub(crate) struct ByteWriter {
    bytes: Vec<u8>,
}

impl ByteWriter {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes `values`. Does not write their count.
    pub(crate) fn all<V: Fixed>(&mut self, values: &[V]) {
        self.bytes.reserve(size_of_val(values));
        for value in values {
            value.write(&mut self.bytes);
        }
    }

    /// Writes ascending offsets by delta encoding. First writes one byte: the width of a difference (1, 2 or 4 bytes). Then writes
    /// the difference between each offset and the previous offset. The first difference is from 0.
    pub(crate) fn lengths(&mut self, ends: &[u32]) {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let lengths = || ends.iter().zip(starts.clone()).map(|(end, start)| end.saturating_sub(start));
        let longest = lengths().max().unwrap_or(0);
        if let Ok(_width) = u8::try_from(longest) {
            self.u8(1);
            #[expect(clippy::cast_possible_truncation, reason = "the longest fits")]
            self.bytes.extend(lengths().map(|length| length as u8));
        } else if let Ok(_width) = u16::try_from(longest) {
            self.u8(2);
            #[expect(clippy::cast_possible_truncation, reason = "the longest fits")]
            lengths().for_each(|length| (length as u16).write(&mut self.bytes));
        } else {
            self.u8(4);
            lengths().for_each(|length| length.write(&mut self.bytes));
        }
    }
}

/// A reader of untrusted bytes.
///
/// It verifies that the bytes of values exist before it allocates memory for the values.
#[derive(Debug)]
pub(crate) struct ByteReader<'b> {
    rest: &'b [u8],
}

/// The reason why bytes are rejected.
pub(crate) type Fault = String;

impl<'b> ByteReader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Reads the next `count` bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'b [u8], Fault> {
        let found = self.rest.split_at_checked(count);
        let (taken, rest) =
            found.ok_or_else(|| format!("{} bytes left, expected {count} or more", self.rest.len()))?;
        self.rest = rest;
        Ok(taken)
    }

    /// Reads the next value.
    pub(crate) fn one<V: Fixed>(&mut self) -> Result<V, Fault> {
        let value = self.bytes(size_of::<V>()).map(V::read)?;
        value.ok_or_else(|| "no value".to_owned())
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Fault> {
        self.one()
    }

    /// Reads the next `count` values.
    pub(crate) fn all<V: Fixed>(&mut self, count: usize) -> Result<Vec<V>, Fault> {
        let bytes = self.bytes(count.saturating_mul(size_of::<V>()))?;
        Ok(bytes.chunks_exact(size_of::<V>()).filter_map(V::read).collect())
    }

    /// Reads `count` lengths, as [`ByteWriter::lengths`] writes them. Returns their running sums, which are ascending offsets.
    pub(crate) fn ends(&mut self, count: usize) -> Result<Vec<u32>, Fault> {
        let lengths: &mut dyn Iterator<Item = u32> = match self.u8()? {
            1 => &mut self.bytes(count)?.iter().map(|length| u32::from(*length)),
            2 => {
                let bytes = self.bytes(count.saturating_mul(2))?;
                &mut bytes.chunks_exact(2).filter_map(u16::read).map(u32::from)
            }
            4 => {
                let bytes = self.bytes(count.saturating_mul(4))?;
                &mut bytes.chunks_exact(4).filter_map(u32::read)
            }
            width => return Err(format!("offsets of width {width}")),
        };
        let mut end = 0_u32;
        let ends: Option<Vec<u32>> = lengths
            .map(|length| {
                end = end.checked_add(length)?;
                Some(end)
            })
            .collect();
        ends.ok_or_else(|| "offsets beyond 32 bits".to_owned())
    }

    /// Returns all remaining bytes.
    pub(crate) fn rest(self) -> &'b [u8] {
        self.rest
    }

    /// Returns an error if there are unread bytes.
    pub(crate) fn finish(self) -> Result<(), Fault> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(format!("{more} bytes after the end")),
        }
    }
}

/// A type of number that is stored in its full width.
pub(crate) trait Fixed: Sized {
    fn write(&self, out: &mut Vec<u8>);
    /// Reads a number. Returns `None` if the length of `bytes` is not exactly the size of the number.
    fn read(bytes: &[u8]) -> Option<Self>;
}

macro_rules! fixed {
    ($($number:ty),*) => {$(
        impl Fixed for $number {
            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self::from_le_bytes)
            }
        }
    )*};
}

fixed!(u8, u16, u32, u64, i64, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_come_back_in_every_width() {
        for ends in [vec![], vec![0, 0, 255], vec![1, 256 + 1, 65_536], vec![7, u32::MAX, u32::MAX]] {
            let mut writer = ByteWriter::default();
            writer.lengths(&ends);
            let bytes = writer.into_bytes();
            let mut reader = ByteReader::new(&bytes);
            assert_eq!(reader.ends(ends.len()), Ok(ends.clone()));
            assert_eq!(reader.finish(), Ok(()));
            assert!(ByteReader::new(&bytes).ends(ends.len() + 1).is_err());
            assert!(ByteReader::new(&bytes).ends(usize::MAX).is_err());
        }
        let beyond = [4, 255, 255, 255, 255, 1, 0, 0, 0];
        assert_eq!(ByteReader::new(&beyond).ends(2), Err("offsets beyond 32 bits".to_owned()));
    }
}
