//! Filters of keys. A filter tells which strings a stored column may have, so that a search for one id reads the ids of only a few
//! batches.
#![expect(clippy::indexing_slicing, reason = "an index below the number of blocks, which is not 0")]

use xxhash_rust::xxh3::xxh3_64;

use crate::column::codec::{ByteReader, ByteWriter, Fault};
use crate::column::{Column, ColumnData, Dictionary};
use crate::rows::MAX_ROWS;

/// The number of words of a block.
const WORDS: usize = 8;

/// The number of bits for each string. With 10 bits, the filter accepts a string that is not in the column with a probability of
/// about 1 %.
const BITS: usize = 10;

/// A split-block Bloom filter of the distinct strings of a column.
///
/// Each string sets one bit in each of the eight words of one block. So a filter accepts every string of its column, and a few
/// other strings. The hashes, blocks and multipliers are those of Parquet's
/// [Bloom filter](https://github.com/apache/parquet-format/blob/master/BloomFilter.md), with XXH3 instead of XXH64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyFilter {
    /// The blocks. There is at least one.
    blocks: Box<[[u32; WORDS]]>,
}

/// The multipliers that choose the bit of each word.
const MULTIPLIERS: [u32; WORDS] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// Returns the number of blocks of a filter of `strings` strings.
fn blocks_for(strings: usize) -> usize {
    strings.saturating_mul(BITS).div_ceil(WORDS * 32).max(1)
}

/// Returns the bits of a string in its block.
fn bits(hash: u64) -> [u32; WORDS] {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half of the hash")]
    let key = hash as u32;
    MULTIPLIERS.map(|multiplier| 1 << (key.wrapping_mul(multiplier) >> 27))
}

impl KeyFilter {
    /// Creates the filter of a column of strings.
    pub(crate) fn of(column: &Column) -> Self {
        let dictionary = match &column.data {
            ColumnData::Strings { dictionary, .. } => Some(dictionary),
            ColumnData::Ordered { .. } | ColumnData::Booleans { .. } => None,
        };
        let strings = dictionary.map_or(0, Dictionary::len);
        let mut filter = Self { blocks: vec![[0; WORDS]; blocks_for(strings)].into() };
        if let Some(dictionary) = dictionary {
            for code in 0..strings {
                let hash = xxh3_64(dictionary.bytes(code));
                let block = filter.block(hash);
                for (word, bit) in filter.blocks[block].iter_mut().zip(bits(hash)) {
                    *word |= bit;
                }
            }
        }
        filter
    }

    /// Returns the index of the block of a string.
    fn block(&self, hash: u64) -> usize {
        let blocks = self.blocks.len() as u64;
        usize::try_from((hash >> 32).wrapping_mul(blocks) >> 32).unwrap_or(0)
    }

    /// Returns false only if the column does not have the string.
    pub(crate) fn may_have(&self, text: &str) -> bool {
        let hash = xxh3_64(text.as_bytes());
        let block = self.blocks[self.block(hash)];
        block.iter().zip(bits(hash)).all(|(word, bit)| word & bit != 0)
    }

    /// Writes the filter.
    pub(crate) fn write(&self, out: &mut ByteWriter) {
        for block in &self.blocks {
            out.all(block);
        }
    }

    /// Reads a filter of at most [`MAX_ROWS`] strings.
    ///
    /// # Errors
    /// Returns a fault if the bytes are not a whole number of blocks, or if there are too few or too many blocks.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let count = bytes.len() / (WORDS * 4);
        if !(1..=blocks_for(MAX_ROWS)).contains(&count) {
            return Err(format!("a key filter of {count} blocks, expected 1 to {}", blocks_for(MAX_ROWS)));
        }
        let mut reader = ByteReader::new(bytes);
        let mut blocks = Vec::with_capacity(count);
        for _ in 0..count {
            let words = reader.all::<u32>(WORDS)?;
            blocks.push(words.try_into().map_err(|_| "a block of the wrong size")?);
        }
        reader.finish()?;
        Ok(Self { blocks: blocks.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BatchBuilder, Document, Keep, Row};
    use crate::catalog::{Catalog, FieldId};
    use crate::value::Value;

    fn filter_of(ids: impl Iterator<Item = String>) -> KeyFilter {
        let catalog = Catalog::cases();
        let mut builder = BatchBuilder::new(&catalog, Keep::Nothing, 0);
        for id in ids {
            let mut row = Row::default();
            row.push(FieldId::ID, Value::String(id.into()));
            builder.push(&row, Document::Number { number: 0, size_bytes: 0 }, 0);
        }
        KeyFilter::of(builder.seal().column(FieldId::ID).unwrap())
    }

    #[test]
    fn a_filter_has_all_strings_of_its_column_and_few_others() {
        for rows in [0, 1, 30, 3_000, MAX_ROWS] {
            let filter = filter_of((0..rows).map(|number| format!("case-{number}")));
            assert!((0..rows).all(|number| filter.may_have(&format!("case-{number}"))), "{rows}");
            let others = (0..20_000).filter(|number| filter.may_have(&format!("other-{number}"))).count();
            assert!(others < 400, "{others} of 20,000 pass a filter of {rows}");
        }
    }

    #[test]
    fn filters_come_back_and_bytes_of_other_lengths_are_refused() {
        for rows in [0, 1, 100, MAX_ROWS] {
            let filter = filter_of((0..rows).map(|number| format!("case-{number}")));
            let mut out = ByteWriter::default();
            filter.write(&mut out);
            let bytes = out.into_bytes();
            assert_eq!(KeyFilter::read(&bytes), Ok(filter));
            assert!(KeyFilter::read(&bytes[1..]).is_err() || rows == MAX_ROWS);
            assert!(KeyFilter::read(&[&bytes[..], &[0]].concat()).is_err());
        }
        assert!(KeyFilter::read(&[]).is_err());
        assert!(KeyFilter::read(&vec![0; (blocks_for(MAX_ROWS) + 1) * 32]).is_err());
    }
}
