//! Finds the first byte that ends a string or needs special handling (an escape or an invalid byte). Reads sixteen bytes at a time.

use wide::u8x16;

/// Returns the number of bytes before the first quote, backslash or control character. Returns the length of `bytes` if it contains
/// no such byte.
#[inline(always)]
pub(crate) fn plain_len(bytes: &[u8]) -> usize {
    // Most strings end in the first sixteen bytes. Dates and ids end in the second sixteen bytes.
    let Some((first, rest)) = bytes.split_first_chunk() else { return long_plain_len(bytes) };
    match plain_in_sixteen(first) {
        16 => {}
        len => return len,
    }
    match rest.first_chunk().map(plain_in_sixteen) {
        Some(len) if len < 16 => len.wrapping_add(16),
        _ => long_plain_len(bytes),
    }
}

/// Computes [`plain_len`] for any number of bytes.
#[inline(never)]
fn long_plain_len(bytes: &[u8]) -> usize {
    let (chunks, rest) = bytes.as_chunks();
    let mut len: usize = 0;
    for chunk in chunks {
        let plain = plain_in_sixteen(chunk);
        len = len.wrapping_add(plain);
        if plain < chunk.len() {
            return len;
        }
    }
    let (chunks, rest) = rest.as_chunks();
    for chunk in chunks {
        let plain = plain_in_eight(*chunk);
        len = len.wrapping_add(plain);
        if plain < chunk.len() {
            return len;
        }
    }
    let is_plain = |byte: &&u8| **byte >= b' ' && **byte != b'"' && **byte != b'\\';
    len.wrapping_add(rest.iter().take_while(is_plain).count())
}

/// Computes [`plain_len`] for sixteen bytes.
#[inline(always)]
fn plain_in_sixteen(bytes: &[u8; 16]) -> usize {
    let bytes = u8x16::new(*bytes);
    let controls = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
    let ends = controls | bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\'));
    // One bit for each byte that is a quote, a backslash or a control character. Bit 16 is always set, so the result is 16 if the
    // chunk has no such byte.
    (ends.to_bitmask() | 1 << 16).trailing_zeros() as usize
}

/// Computes [`plain_len`] for eight bytes, in one word (SWAR).
#[inline(always)]
fn plain_in_eight(bytes: [u8; 8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    let word = u64::from_le_bytes(bytes);
    // In `ends`, the high bit of a byte is set if the byte is a quote, a backslash or a control character. Only the bits up to the
    // first such byte are reliable, because the subtraction carries into the bytes after it. Flipping bit 1 turns a quote (0x22)
    // into 0x20, so one subtraction finds quotes and control characters.
    let quotes_and_controls = (word ^ ONES.wrapping_mul(2)).wrapping_sub(ONES.wrapping_mul(0x21));
    let backslashes = (word ^ ONES.wrapping_mul(0x5c)).wrapping_sub(ONES);
    let ends = (quotes_and_controls | backslashes) & !word & HIGHS;
    ends.trailing_zeros() as usize / 8
}
