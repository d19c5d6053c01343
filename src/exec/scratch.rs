//! Scratch space: bitmaps and lists that a program uses while it runs. Later batches and searches reuse them.

use std::cell::{Cell, RefCell, RefMut};

use crate::rows::LANES;

/// Free bitmaps and lists.
#[derive(Default)]
pub(super) struct Scratch {
    bitmaps: Vec<Vec<u64>>,
    lists: Vec<Vec<u16>>,
}

impl Scratch {
    /// Returns a bitmap of `rows` rows with arbitrary contents.
    pub(super) fn bitmap(&mut self, rows: usize) -> Vec<u64> {
        let mut words = self.bitmaps.pop().unwrap_or_default();
        words.resize(rows.div_ceil(LANES), 0);
        words
    }

    /// Returns an empty list.
    pub(super) fn list(&mut self) -> Vec<u16> {
        self.lists.pop().unwrap_or_default()
    }

    pub(super) fn put_bitmap(&mut self, bitmap: Vec<u64>) {
        self.bitmaps.push(bitmap);
    }

    pub(super) fn put_list(&mut self, mut list: Vec<u16>) {
        list.clear();
        self.lists.push(list);
    }

    fn is_empty(&self) -> bool {
        self.bitmaps.is_empty() && self.lists.is_empty()
    }

    /// Frees memory that few searches need. Keeps up to eight bitmaps and eight lists of 8 KiB each.
    fn shrink(&mut self) {
        const KEPT: usize = 8;
        const LISTED: usize = 1 << 12;
        self.bitmaps.truncate(KEPT);
        self.lists.truncate(KEPT);
        self.lists.iter_mut().for_each(|list| list.shrink_to(LISTED));
    }
}

thread_local! {
    /// The scratch space of the last search of this thread. The next search reuses it, because clearing new memory takes as
    /// long as a small search.
    static LAST: Cell<Scratch> = Cell::default();
}

/// The scratch space of a query. The query takes it from its thread, and returns it to the thread on drop.
pub(super) struct PooledScratch(RefCell<Scratch>);

impl PooledScratch {
    /// Borrows the scratch space for one run of a program.
    pub(super) fn borrow(&self) -> RefMut<'_, Scratch> {
        self.0.borrow_mut()
    }

    /// Moves the scratch space into a new `PooledScratch`, for a query that runs instead of the current query. The new
    /// `PooledScratch` returns it to the thread on drop.
    pub(super) fn hand_on(&self) -> Self {
        Self(RefCell::new(self.0.take()))
    }
}

impl Default for PooledScratch {
    fn default() -> Self {
        // On a thread that is about to end, the thread-local value may already be dropped.
        Self(RefCell::new(LAST.try_with(Cell::take).unwrap_or_default()))
    }
}

impl Drop for PooledScratch {
    fn drop(&mut self) {
        let mut scratch = std::mem::take(self.0.get_mut());
        if scratch.is_empty() {
            return;
        }
        scratch.shrink();
        LAST.try_with(|last| last.set(scratch)).unwrap_or_default();
    }
}
