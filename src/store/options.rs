//! The options of a store, and the durability of its writes.

use std::time::Duration;

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
    /// closed. A crash before that can lose the write, but only as a whole.
    Grouped,
}

/// Options for creating or opening a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    pub(super) limits: Limits,
    pub(super) cache_bytes: usize,
    pub(super) checkpoint_every: u64,
    pub(super) batch_rows: usize,
    /// The maximum number of events that are kept. `None` leaves the setting of the file unchanged.
    pub(super) kept_count: Option<u64>,
    /// The maximum age of events. `Some(None)` means that there is no maximum. `None` leaves the setting of the file unchanged.
    pub(super) kept_age: Option<Option<Duration>>,
    pub(super) history: Option<Duration>,
}

/// The limits for the events of standing filters that are kept: their maximum number and their maximum age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeptEvents {
    pub(super) count: u64,
    /// The maximum age of an event, if there is one.
    pub(super) age: Option<Duration>,
}

/// The maximum age that can be set, in milliseconds. It is far longer than any file will exist.
const MOST_AGE_MS: u64 = u64::MAX >> 1;

impl StoreOptions {
    /// Returns the limits for the events that are kept. For a limit that is not set in these options, returns the limit of the
    /// file, which is in `stored`.
    pub(super) fn kept_events(&self, stored: Option<KeptEvents>) -> KeptEvents {
        let stored = stored.unwrap_or_default();
        KeptEvents {
            count: self.kept_count.unwrap_or(stored.count),
            age: self.kept_age.unwrap_or(stored.age),
        }
    }
}

impl Default for KeptEvents {
    fn default() -> Self {
        Self { count: 1_000_000, age: None }
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            cache_bytes: 64 << 20,
            checkpoint_every: 1 << 14,
            batch_rows: MAX_ROWS,
            kept_count: None,
            kept_age: None,
            history: None,
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

    /// Sets the maximum number of [events](crate::Event) that are kept. A write that would exceed it removes the oldest events. If
    /// no program has set it, 1,000,000 events are kept.
    ///
    /// The file stores this setting. A program that does not set it uses the setting of the file. If the file cannot be written
    /// when it is opened, such as on a full disk, the setting applies only until the store is closed.
    ///
    /// Before its commit, a write has its events in memory, at most about twice this number. Each event takes about 30 bytes.
    ///
    /// ```
    /// use casefilter::StoreOptions;
    /// let options = StoreOptions::default().keep_events(u64::MAX); // Until the host calls `Store::forget_events`.
    /// # let _ = options;
    /// ```
    #[must_use]
    pub fn keep_events(self, count: u64) -> Self {
        Self { kept_count: Some(count), ..self }
    }

    /// Sets the time for which [events](crate::Event) are kept. A write that gives events removes the events that are older than
    /// this time. If no program has set it, events of any age are kept, up to their maximum [number](Self::keep_events). The file
    /// stores this setting, too.
    ///
    /// ```
    /// use std::time::Duration;
    /// use casefilter::StoreOptions;
    /// let options = StoreOptions::default().keep_events_for(Duration::from_secs(30 * 24 * 3600));
    /// # let _ = options;
    /// ```
    #[must_use]
    pub fn keep_events_for(self, age: impl Into<Option<Duration>>) -> Self {
        // The file stores the age in whole milliseconds.
        let whole_ms = |age: Duration| {
            Duration::from_millis(u64::try_from(age.as_millis()).unwrap_or(MOST_AGE_MS).min(MOST_AGE_MS))
        };
        Self { kept_age: Some(age.into().map(whole_ms)), ..self }
    }

    /// Sets the time for which the store keeps documents that a write replaced or deleted, as
    /// [`Store::set_history`](super::Store::set_history) does. Zero ends the history, and removes its documents.
    ///
    /// The file stores this setting. Without this option, the setting of the file is not changed: a store continues the history of
    /// its file. A store that is opened for reading only ignores this option.
    ///
    /// ```
    /// use std::time::Duration;
    /// use casefilter::{AsOf, Catalog, Durability, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("cases.db");
    /// let options = StoreOptions::default().history(Duration::from_secs(30 * 24 * 3600));
    /// let store = Store::create(&path, Catalog::cases(), options)?;
    /// store.upsert(br#"{"id":"a"}"#, Durability::Synced)?;
    /// store.delete("a", Durability::Synced)?;
    /// assert_eq!(store.as_of(AsOf::Write(1))?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn history(self, time: Duration) -> Self {
        Self { history: Some(time), ..self }
    }

    /// Sets the maximum number of documents in a batch. The default is 65,536. Smaller values are meant for tests.
    #[must_use]
    pub fn batch_rows(self, rows: usize) -> Self {
        Self { batch_rows: rows.clamp(1, MAX_ROWS), ..self }
    }
}
