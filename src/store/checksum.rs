//! Checksums of stored values. The seed depends on the key of the value. So the checksum of a value is wrong if the value is stored
//! under another key.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::column::codec::{ByteReader, ByteWriter};

/// Returns the checksum of `contents`, followed by `contents`.
pub(super) fn with_checksum(seed: u64, contents: &[u8]) -> Vec<u8> {
    let mut out = ByteWriter::default();
    out.all(&[xxh3_64_with_seed(contents, seed)]);
    out.bytes(contents);
    out.into_bytes()
}

/// Returns the contents after the checksum, or `None` if the checksum is wrong.
pub(super) fn checked(seed: u64, bytes: &[u8]) -> Option<&[u8]> {
    let mut reader = ByteReader::new(bytes);
    let checksum: u64 = reader.one().ok()?;
    let contents = reader.rest();
    (xxh3_64_with_seed(contents, seed) == checksum).then_some(contents)
}
