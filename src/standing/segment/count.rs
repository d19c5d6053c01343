//! Counts and offsets of a segment.

/// Converts a count or an offset to `u32`. All fit, because a segment is smaller than 4 GiB.
pub(super) fn count(count: usize) -> u32 {
    debug_assert!(u32::try_from(count).is_ok(), "{count} items of a segment");
    u32::try_from(count).unwrap_or(u32::MAX)
}
