//! Compresses the parts of stored batches by zstd, and decompresses them.
//!
//! A part stays plain unless it becomes much smaller, because decompression takes time when the part is read. The checksum of a
//! part is that of its plain bytes, so it also detects damage of the compressed bytes.

use zstd::zstd_safe::{decompress, find_frame_compressed_size, get_frame_content_size};

use super::error::Fault;

/// The first byte of a compressed part. The first byte of a plain part is its version, which is less.
const PACKED: u8 = 0x80;

/// The compression level of zstd. Higher levels take longer, and parts hardly become smaller.
const LEVEL: i32 = 1;

/// The maximum ratio of the size of a part to its compressed size. If a part compresses better, zeros are added after the frame. So
/// a damaged file cannot make a reader reserve more memory than this multiple of the file.
const MOST_RATIO: usize = 256;

/// Compresses a part if this saves at least three eighths.
pub(super) fn pack(part: Vec<u8>) -> Vec<u8> {
    let Ok(frame) = zstd::bulk::compress(&part, LEVEL) else { return part };
    if frame.len() > (part.len() / 8).saturating_mul(5) {
        return part;
    }
    let mut packed = Vec::with_capacity(frame.len().saturating_add(1));
    packed.push(PACKED);
    packed.extend_from_slice(&frame);
    packed.resize(packed.len().max(part.len().div_ceil(MOST_RATIO).saturating_add(1)), 0);
    packed
}

/// Returns the plain bytes of a part.
pub(super) fn unpack(bytes: Vec<u8>) -> Result<Vec<u8>, Fault> {
    let Some(packed) = bytes.strip_prefix(&[PACKED]) else { return Ok(bytes) };
    decompressed(packed).ok_or_else(|| Fault::corrupt("a part of a batch cannot be decompressed"))
}

fn decompressed(packed: &[u8]) -> Option<Vec<u8>> {
    let (frame, zeros) = packed.split_at_checked(find_frame_compressed_size(packed).ok()?)?;
    let size = usize::try_from(get_frame_content_size(frame).ok()??).ok()?;
    if size > packed.len().saturating_mul(MOST_RATIO) || zeros.iter().any(|byte| *byte != 0) {
        return None;
    }
    let mut part = Vec::with_capacity(size);
    decompress(&mut part, frame).ok()?;
    (part.len() == size).then_some(part)
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    #[test]
    fn parts_come_back_and_small_or_random_ones_stay_plain() {
        let random: Vec<u8> = (0..700_u64).flat_map(|at| xxh3_64(&at.to_le_bytes()).to_le_bytes()).collect();
        let words: Vec<u8> = (1..9_000_u32).flat_map(|at| [1, (at % 7) as u8, 0, 0]).collect();
        for (part, is_packed) in [(vec![1], false), (random, false), (words, true), (vec![1; 1 << 20], true)]
        {
            let packed = pack(part.clone());
            assert_eq!(packed.len() < part.len(), is_packed);
            assert!(packed.len() * MOST_RATIO >= part.len());
            assert_eq!(unpack(packed).unwrap(), part);
        }
    }

    #[test]
    fn damage_gives_an_error_or_a_part_of_bounded_size() {
        let part: Vec<u8> = (0..900_u32).flat_map(|at| [1, (at % 7) as u8, 0]).collect();
        let packed = pack(part.clone());
        assert_eq!(packed[0], PACKED);
        for at in 1..packed.len() {
            assert!(unpack(packed[..at].to_vec()).is_err());
            for change in [1, 0x20, 0xff] {
                let mut damaged = packed.clone();
                damaged[at] ^= change;
                assert!(unpack(damaged).map_or(0, |part| part.len()) <= packed.len() * MOST_RATIO);
            }
        }
        assert!(unpack([&packed[..], &[1]].concat()).is_err());
        let bomb = zstd::bulk::compress(&vec![0; 1 << 20], 3).unwrap();
        assert!(unpack([&[PACKED][..], &bomb].concat()).is_err());
    }
}
