//! The removed names of a segment.

use std::sync::Arc;

/// The number of words of a chunk.
const WORDS: usize = 64;
/// The number of names of a chunk.
const NAMES: u32 = 64 * WORDS as u32;

/// The set of the removed names of a segment. Removing a name copies one chunk, so that older sets stay as they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Removed {
    /// A bit for each name. Missing chunks have no removed names.
    chunks: Vec<Option<Arc<[u64; WORDS]>>>,
    len: usize,
}

impl Removed {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn contains(&self, name: u32) -> bool {
        let chunk = self.chunks.get((name / NAMES) as usize).and_then(Option::as_ref);
        let word = chunk.and_then(|chunk| chunk.get((name % NAMES / 64) as usize));
        word.is_some_and(|word| word >> (name % 64) & 1 != 0)
    }

    /// Adds a name, which must not be in the set.
    pub(super) fn add(&mut self, name: u32) {
        debug_assert!(!self.contains(name), "{name} is removed twice");
        let chunk = (name / NAMES) as usize;
        if self.chunks.len() <= chunk {
            self.chunks.resize(chunk.saturating_add(1), None);
        }
        let Some(chunk) = self.chunks.get_mut(chunk) else { return };
        let chunk = Arc::make_mut(chunk.get_or_insert_with(|| Arc::new([0; WORDS])));
        if let Some(word) = chunk.get_mut((name % NAMES / 64) as usize) {
            *word |= 1 << (name % 64);
            self.len = self.len.saturating_add(1);
        }
    }

    pub(super) fn size_bytes(&self) -> usize {
        let chunks = self.chunks.iter().flatten().count().saturating_mul(size_of::<[u64; WORDS]>());
        let slots = self.chunks.capacity().saturating_mul(size_of::<Option<Arc<[u64; WORDS]>>>());
        chunks.saturating_add(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_removed_in_copies() {
        let first = Removed::default();
        let mut second = first.clone();
        for name in [0, 63, 64, 4095, 4096, 70_000] {
            let before = second.clone();
            second.add(name);
            assert!(second.contains(name) && !before.contains(name) && !first.contains(name));
        }
        assert_eq!((second.len(), first.len()), (6, 0));
        assert!(
            !second.contains(1)
                && !second.contains(65)
                && !second.contains(4097)
                && !second.contains(u32::MAX)
        );
    }
}
