//! Slices of plain values: each in memory of its own, or all those of a batch side by side.

use std::ops::{Deref, Range};
use std::sync::Arc;

use memmap2::MmapMut;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Values that are no more than their bytes.
pub(crate) trait Plain: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + 'static {}

impl<T: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + 'static> Plain for T {}

/// Values that are never changed again, one behind the other.
#[derive(Clone, Debug)]
pub(crate) struct Slice<T>(Memory<T>);

#[derive(Clone, Debug)]
enum Memory<T> {
    Own(Box<[T]>),
    /// These bytes of a region, which are whole and aligned values.
    Shared(Arc<Region>, Range<usize>),
}

/// Memory straight from the system, where it can be had in pages much larger than 4 KiB.
///
/// A search of ten million cases reads some thousand bitmaps of 8 KiB, all over the heap. On small pages each costs
/// two or three misses of the TLB, and the processor fetches ahead no further than to the end of a page.
#[derive(Debug)]
pub(crate) struct Region(MmapMut);

/// Where a slice starts: at a cache line, so that no wide load crosses two.
const ALIGNMENT: usize = 64;
/// What one large page holds; less than that stays where it is.
const LARGE_PAGE: usize = 2 << 20;

impl<T: Plain> Deref for Slice<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Memory::Own(values) => values,
            Memory::Shared(region, bytes) => {
                let bytes = region.0.get(bytes.clone()).unwrap_or_default();
                <[T]>::ref_from_bytes(bytes).unwrap_or_default()
            }
        }
    }
}

impl<T: Plain> Slice<T> {
    /// The values, to be changed; they get memory of their own.
    pub(crate) fn to_mut(&mut self) -> &mut [T] {
        if let Memory::Shared(..) = self.0 {
            self.0 = Memory::Own(Box::from(&**self));
        }
        match &mut self.0 {
            Memory::Own(values) => values,
            Memory::Shared(..) => &mut [],
        }
    }

    pub(crate) fn into_vec(self) -> Vec<T> {
        match self.0 {
            Memory::Own(values) => values.into_vec(),
            Memory::Shared(..) => self.to_vec(),
        }
    }
}

impl<T: Plain + PartialEq> PartialEq for Slice<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Plain + Eq> Eq for Slice<T> {}

impl<T> From<Vec<T>> for Slice<T> {
    fn from(values: Vec<T>) -> Self {
        Self(Memory::Own(values.into()))
    }
}

impl<T> From<Box<[T]>> for Slice<T> {
    fn from(values: Box<[T]>) -> Self {
        Self(Memory::Own(values))
    }
}

impl<T> FromIterator<T> for Slice<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(Memory::Own(values.into_iter().collect()))
    }
}

/// A slice of any values that can move.
pub(crate) trait Move {
    /// Its values, as bytes.
    fn bytes(&self) -> &[u8];
    /// Reads its values, which are there, from the bytes from `start` on.
    fn settle(&mut self, region: &Arc<Region>, start: usize);
}

impl<T: Plain> Move for Slice<T> {
    fn bytes(&self) -> &[u8] {
        (**self).as_bytes()
    }

    fn settle(&mut self, region: &Arc<Region>, start: usize) {
        let end = start.saturating_add(self.bytes().len());
        self.0 = Memory::Shared(Arc::clone(region), start..end);
    }
}

/// Moves slices side by side into large pages, if there is enough for one; where the system gives no memory they stay.
pub(crate) fn pack(slices: &mut [&mut dyn Move]) {
    let padded = |slice: &dyn Move| slice.bytes().len().next_multiple_of(ALIGNMENT);
    let size = slices.iter().map(|slice| padded(&**slice)).fold(0, usize::saturating_add);
    if size < LARGE_PAGE {
        return;
    }
    let Ok(mut map) = MmapMut::map_anon(size) else { return };
    // Systems that know no such pages do without.
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
    let region = Arc::new(Region(map));
    let mut start: usize = 0;
    for slice in slices {
        let size = padded(&**slice);
        slice.settle(&region, start);
        start = start.saturating_add(size);
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
        assert!(matches!(rows.0, Memory::Shared(..)));
        assert_eq!((words.to_vec(), bytes.to_vec(), rows.to_vec()), before);
        assert_eq!(none.len(), 0);
        assert!(
            [words.as_ptr().addr(), bytes.as_ptr().addr(), rows.as_ptr().addr()]
                .iter()
                .all(|place| place.is_multiple_of(ALIGNMENT))
        );
        // The region lives as long as one of its slices.
        let copy = rows.clone();
        drop((words, bytes, rows));
        assert_eq!(*copy, [7; 77]);
    }

    #[test]
    fn what_fills_no_large_page_stays() {
        let mut few: Slice<u64> = vec![1, 2, 3].into();
        pack(&mut [&mut few]);
        assert!(matches!(few.0, Memory::Own(_)));
    }
}
