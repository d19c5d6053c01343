//! An immutable slice of plain values (`Slice`), which owns its memory or shares one memory region with the other slices of its
//! batch.

use std::marker::PhantomData;
use std::ops::{Deref, Range};

use bytes::{Buf, Bytes};
use memmap2::MmapMut;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A type whose values can be copied and viewed as plain bytes.
pub(crate) trait Plain: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + 'static {}

impl<T: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + 'static> Plain for T {}

/// An immutable slice of plain values. A clone shares the memory of the original.
#[derive(Clone, Debug)]
pub(crate) struct Slice<T> {
    /// The bytes of the values. They are aligned for `T`. Their length is a multiple of the size of `T`.
    bytes: Bytes,
    values: PhantomData<T>,
}

/// A vector that owns the memory of a [`Bytes`].
struct Own<T>(Vec<T>);

impl<T: Plain> AsRef<[u8]> for Own<T> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// The alignment in bytes of the slices in a memory region: one cache line, so that vector loads do not cross a line boundary.
const ALIGNMENT: usize = 64;
/// The size of a large page in bytes. [`pack`] does not move slices that are smaller than this in total.
const LARGE_PAGE: usize = 2 << 20;

impl<T: Plain> Deref for Slice<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        <[T]>::ref_from_bytes(&self.bytes).unwrap_or_default()
    }
}

impl<T: Plain> Slice<T> {
    /// Returns the values in `range` as a slice that shares the memory, or `None` if `range` is out of bounds.
    pub(crate) fn part(&self, range: Range<usize>) -> Option<Self> {
        let start = range.start.checked_mul(size_of::<T>())?;
        let end = range.end.checked_mul(size_of::<T>())?;
        let is_there = start <= end && end <= self.bytes.len();
        is_there.then(|| Self { bytes: self.bytes.slice(start..end), values: PhantomData })
    }
}

impl<T: Plain + PartialEq> PartialEq for Slice<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Plain + Eq> Eq for Slice<T> {}

impl<T: Plain + Send> From<Vec<T>> for Slice<T> {
    fn from(mut values: Vec<T>) -> Self {
        values.shrink_to_fit();
        Self { bytes: Bytes::from_owner(Own(values)), values: PhantomData }
    }
}

impl<T: Plain + Send> FromIterator<T> for Slice<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        values.into_iter().collect::<Vec<T>>().into()
    }
}

/// A slice of plain values of any type. [`pack`] moves the values of such slices to another memory region.
pub(crate) trait Move {
    /// Returns the values as bytes.
    fn bytes(&self) -> &[u8];
    /// Makes the slice use the memory of `bytes`, which must have the same content as the slice.
    fn settle(&mut self, bytes: Bytes);
}

impl<T: Plain> Move for Slice<T> {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn settle(&mut self, bytes: Bytes) {
        self.bytes = bytes;
    }
}

/// Copies slices one after the other into one memory region from the system. The region has pages of 2 MiB if the system supports
/// them. Does nothing if the slices together are smaller than such a page, or if the region cannot be mapped.
///
/// A search of ten million cases reads about a thousand bitmaps of 8 KiB, which are otherwise scattered over the heap. With pages
/// of 4 KiB, each bitmap costs two or three TLB misses, and the processor stops prefetching at the end of each page.
pub(crate) fn pack(slices: &mut [&mut dyn Move]) {
    let padded = |slice: &dyn Move| slice.bytes().len().next_multiple_of(ALIGNMENT);
    let size = slices.iter().map(|slice| padded(&**slice)).fold(0, usize::saturating_add);
    if size < LARGE_PAGE {
        return;
    }
    let Ok(mut map) = MmapMut::map_anon(size) else { return };
    // An error here means that the system has no large pages. The region then has small pages.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    let mut start: usize = 0;
    for slice in &*slices {
        let bytes = slice.bytes();
        let end = start.saturating_add(bytes.len());
        let Some(target) = map.get_mut(start..end) else { return };
        target.copy_from_slice(bytes);
        start = start.saturating_add(padded(&**slice));
    }
    let mut region = Bytes::from_owner(map);
    for slice in slices {
        let padding = padded(&**slice).saturating_sub(slice.bytes().len());
        slice.settle(region.split_to(slice.bytes().len()));
        region.advance(padding.min(region.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_the_same_wherever_they_lie() {
        let mut words: Slice<u64> = (0..300_000_u64).map(|value| value.wrapping_mul(0x9e37_79b9)).collect();
        let mut bytes: Slice<u8> = (0..=255_u8).cycle().take(1001).collect();
        let mut rows: Slice<u16> = vec![7; 77].into();
        let mut none: Slice<u32> = Vec::new().into();
        let before = (words.to_vec(), bytes.to_vec(), rows.to_vec());
        pack(&mut [&mut words, &mut bytes, &mut none, &mut rows]);
        assert_eq!((words.to_vec(), bytes.to_vec(), rows.to_vec()), before);
        assert_eq!(none.len(), 0);
        assert!(
            [words.as_ptr().addr(), bytes.as_ptr().addr(), rows.as_ptr().addr()]
                .iter()
                .all(|place| place.is_multiple_of(ALIGNMENT))
        );
        // The region is freed when the last of its slices is dropped.
        let copy = rows.clone();
        drop((words, bytes, rows));
        assert_eq!(*copy, [7; 77]);
    }

    #[test]
    fn a_slice_smaller_than_a_large_page_is_not_moved() {
        let mut few: Slice<u64> = vec![1, 2, 3].into();
        let before = few.as_ptr();
        pack(&mut [&mut few]);
        assert_eq!(few.as_ptr(), before);
    }
}
