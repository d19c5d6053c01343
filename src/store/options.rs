//! How a store is opened, and when its writes are on disk.

use crate::batch::MAX_ROWS;
use crate::limits::Limits;

/// When a write is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Durability {
    /// Before the call returns.
    #[default]
    Synced,
    /// With the next write that is synced, the next [`Store::sync`](super::Store::sync), or when the store is closed; until then a
    /// crash loses it, whole.
    Grouped,
}

/// How a store is to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    pub(super) limits: Limits,
    pub(super) cache_bytes: usize,
    pub(super) checkpoint_every: u64,
    pub(super) batch_rows: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            cache_bytes: 64 << 20,
            checkpoint_every: 1 << 14,
            batch_rows: MAX_ROWS,
        }
    }
}

impl StoreOptions {
    /// Bounds on case documents, and by [`Limits::page`] on the pages of searches.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// How much of the file is kept in memory at most, beside the columns: 64 MiB, unless set.
    #[must_use]
    pub fn cache_bytes(self, cache_bytes: usize) -> Self {
        Self { cache_bytes, ..self }
    }

    /// After how many cases stored or deleted a checkpoint is made: 16,384, unless set.
    #[must_use]
    pub fn checkpoint_every(self, cases: u64) -> Self {
        Self { checkpoint_every: cases.max(1), ..self }
    }

    /// How many cases a batch holds: 65,536, or fewer, which only tests have a use for.
    #[must_use]
    pub fn batch_rows(self, rows: usize) -> Self {
        Self { batch_rows: rows.clamp(1, MAX_ROWS), ..self }
    }
}
