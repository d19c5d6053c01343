//! The options of a store, and the durability of its writes.

use crate::batch::MAX_ROWS;
use crate::limits::Limits;

/// The durability of a write: it determines when the write is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Durability {
    /// The write is on disk before the call returns.
    #[default]
    Synced,
    /// The write is on disk after the next synced write, after the next [`Store::sync`](super::Store::sync), or after the store is
    /// closed. A crash before that loses the whole write.
    Grouped,
}

/// Options for creating or opening a store.
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
    /// Sets the limits on documents and, with [`Limits::page`], on the pages of searches. The limits on bodies, filter texts and
    /// parameters are set in [`FilterBuilder`](crate::FilterBuilder).
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the size of the cache for pages of the file, in bytes. Columns are not in this cache. The default is 64 MiB.
    #[must_use]
    pub fn cache_bytes(self, cache_bytes: usize) -> Self {
        Self { cache_bytes, ..self }
    }

    /// Sets the number of stored or deleted documents after which a checkpoint is made. The default is 16,384.
    #[must_use]
    pub fn checkpoint_every(self, cases: u64) -> Self {
        Self { checkpoint_every: cases.max(1), ..self }
    }

    /// Sets the maximum number of documents in a batch. The default is 65,536. Smaller values are meant for tests.
    #[must_use]
    pub fn batch_rows(self, rows: usize) -> Self {
        Self { batch_rows: rows.clamp(1, MAX_ROWS), ..self }
    }
}
