//! Scratch space: bitmaps and lists that a program needs while it runs, kept from batch to batch and from search to search.

use std::cell::{Cell, RefCell, RefMut};

use crate::rows::LANES;

/// Bitmaps and lists that are not in use.
#[derive(Default)]
pub(super) struct Scratch {
    bitmaps: Vec<Vec<u64>>,
    lists: Vec<Vec<u16>>,
}

impl Scratch {
    /// Returns a bitmap of `rows` rows with any contents.
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

    /// Frees what searches seldom need: eight bitmaps and eight lists of 8 KiB stay.
    fn shrink(&mut self) {
        const KEPT: usize = 8;
        const LISTED: usize = 1 << 12;
        self.bitmaps.truncate(KEPT);
        self.lists.truncate(KEPT);
        self.lists.iter_mut().for_each(|list| list.shrink_to(LISTED));
    }
}

thread_local! {
    /// The scratch space of the last search of this thread, for the next one: clearing new memory takes as long as a small search.
    static LAST: Cell<Scratch> = Cell::default();
}

/// The scratch space of a query, taken from the thread and given back to it.
pub(super) struct PooledScratch(RefCell<Scratch>);

impl PooledScratch {
    /// Borrows the scratch space for one run of a program.
    pub(super) fn borrow(&self) -> RefMut<'_, Scratch> {
        self.0.borrow_mut()
    }

    /// Moves the scratch space to a query that runs instead of this one's; the new owner gives it back when it is dropped.
    pub(super) fn hand_on(&self) -> Self {
        Self(RefCell::new(self.0.take()))
    }
}

impl Default for PooledScratch {
    fn default() -> Self {
        // A thread that is about to end may have none any more.
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
