//! Standing filters of a store, and the events that its writes give.

use std::time::Duration;

use super::database::Store;
use super::error::{Fault, StoreError, StoreErrorKind, guarded};
use super::log::Log;
use super::options::KeptEvents;
use super::standing_bytes::StandingCounters;
use super::standing_tables::{
    put_counters, put_events, put_filters, read_events, remove_filter, system_clock, trim,
};
use super::tables::EVENTS;
use crate::error::Error;
use crate::standing::{Event, FilterSet, StandingFilter, WriteEvents, has_form, key_of};

/// Returns true if a filter without an owner can have this name.
fn is_name(name: &str) -> bool {
    has_form(None, name, StandingFilter::MAX_NAME_BYTES)
}

impl Store {
    /// Inserts standing filters. Each filter replaces the filter of the store that has the same name. From the next write on, each
    /// write gives [events](Event) that say which of the filters a document enters and leaves. The filters are stored in the file,
    /// all or none. They are on disk when the call returns. Returns the number of filters that were replaced.
    ///
    /// The call gives no events for documents that the filters already select. For such events, call
    /// [`insert_entering`](Self::insert_entering) instead. The replacement of a filter gives no events either: later writes use the
    /// new filter.
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, EventKind, Filter, StandingFilter, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// let vip = Filter::compile_text(store.catalog(), "tags = vip")?;
    /// store.insert_standing([StandingFilter::new("vip", &vip)])?;
    /// store.upsert(br#"{"id":"a","tags":["vip"]}"#, Durability::Synced)?;
    /// store.delete("a", Durability::Synced)?;
    /// let events = store.events_after(0, 100)?;
    /// assert_eq!([&events[0].kind, &events[1].kind], [&EventKind::Entered, &EventKind::Left]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Request`](StoreErrorKind::Request) with an error of [`FilterSet::insert_many`](crate::FilterSet::insert_many) if a
    /// filter or its name is not accepted. Returns [`OldFormat`](StoreErrorKind::OldFormat) if the file has an earlier version.
    /// Returns an error if the file cannot be written, as [`upsert`](Self::upsert) does. Then nothing is inserted.
    pub fn insert_standing(
        &self,
        filters: impl IntoIterator<Item = StandingFilter>,
    ) -> Result<usize, StoreError> {
        self.insert_filters(filters, false)
    }

    /// Inserts standing filters as [`insert_standing`](Self::insert_standing) does, and gives an event
    /// [`Entered`](crate::EventKind::Entered) for each document that one of them selects now.
    ///
    /// Writes wait meanwhile, so that no write comes between the filters and their events. A filter that replaces another one gives
    /// `Entered` also for documents that both select. It gives no `Left` for documents that only the replaced filter selected.
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Filter, StandingFilter, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// store.upsert(br#"{"id":"a"}"#, Durability::Synced)?;
    /// store.insert_entering([StandingFilter::new("all", &Filter::all(store.catalog()))])?;
    /// assert_eq!(store.events_after(0, 100)?[0].id, "a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`insert_standing`](Self::insert_standing), and those of [`search`](Self::search).
    pub fn insert_entering(
        &self,
        filters: impl IntoIterator<Item = StandingFilter>,
    ) -> Result<usize, StoreError> {
        self.insert_filters(filters, true)
    }

    fn insert_filters(
        &self,
        filters: impl IntoIterator<Item = StandingFilter>,
        enters: bool,
    ) -> Result<usize, StoreError> {
        let refused = |error: Error| StoreError::request(&self.name, error);
        let filters = self.filters.checked(filters).map_err(refused)?;
        if filters.is_empty() {
            return Ok(0);
        }
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        self.check_format()?;
        self.filters.check_room(&filters).map_err(refused)?;
        let events = match enters {
            true => {
                let (time, most) = (system_clock()(), self.kept_events().count);
                let find = || self.engine.find_entering(&filters, time, most).map_err(refused);
                Some(self.prepared(&mut log, find)?)
            }
            false => None,
        };
        self.change_filters(
            &mut log,
            |transaction, counters| {
                put_filters(transaction, filters.iter().map(|filter| (filter, "")), counters)
            },
            events.as_ref(),
            |set| set.insert_many(filters.iter().cloned()),
        )
    }

    /// Removes the standing filter of this name. Returns false if there is none. Gives no events, not even for the documents that
    /// the filter selects. If [`insert_entering`](Self::insert_entering) inserts the filter again, these documents enter it again.
    /// The change is on disk when the call returns.
    ///
    /// ```
    /// use casefilter::{Catalog, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// assert!(!store.remove_standing("unknown")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, as [`upsert`](Self::upsert) does.
    pub fn remove_standing(&self, name: &str) -> Result<bool, StoreError> {
        // A name of another form may be the key of a filter that has an owner.
        Ok(is_name(name) && self.remove_key(name)?)
    }

    /// Like [`remove_standing`](Self::remove_standing), for a filter that has an [owner](StandingFilter::owner). For example, a
    /// program removes the filters of a service token after the token was revoked.
    ///
    /// ```
    /// use casefilter::{Catalog, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// assert!(!store.remove_standing_of("unknown", "name")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`remove_standing`](Self::remove_standing).
    pub fn remove_standing_of(&self, owner: &str, name: &str) -> Result<bool, StoreError> {
        self.remove_key(&key_of(Some(owner), name))
    }

    fn remove_key(&self, key: &str) -> Result<bool, StoreError> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        if !self.filters.contains(key) {
            return Ok(false);
        }
        self.change_filters(
            &mut log,
            |transaction, counters| remove_filter(transaction, key, counters),
            None,
            |set| Ok(set.remove(key)),
        )
    }

    /// Commits a change of the filters to the file, and then changes the filters in memory.
    pub(super) fn change_filters<T>(
        &self,
        log: &mut Log,
        change: impl FnOnce(&redb::WriteTransaction, &mut StandingCounters) -> Result<(), Fault>,
        events: Option<&WriteEvents>,
        publish: impl FnOnce(&FilterSet) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        let mut counters = log.standing;
        let committed = guarded(|| {
            let transaction = self.file.write(true)?;
            change(&transaction, &mut counters)?;
            if let Some(events) = events {
                put_events(&transaction, events, self.kept_events(), &mut counters)?;
            }
            put_counters(&transaction, counters)?;
            transaction.commit()?;
            Ok(())
        });
        self.settle(log, committed)?;
        log.is_ahead = true;
        // The filters were checked before, so this does not fail.
        let published = publish(&self.filters).map_err(|error| Fault::corrupt(error.to_string()));
        let published = self.settle(log, published)?;
        log.is_ahead = false;
        log.standing = counters;
        log.synced();
        Ok(published)
    }

    /// Returns the standing filter of this name.
    ///
    /// Its text is the normal form of the filter that was inserted.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, StandingFilter, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// let vip = StandingFilter::new("vip", &Filter::compile_text(store.catalog(), "tags = vip")?);
    /// store.insert_standing([vip.clone()])?;
    /// assert_eq!(store.standing("vip"), Some(vip));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn standing(&self, name: &str) -> Option<StandingFilter> {
        self.filters.get(name).filter(|_| is_name(name))
    }

    /// Returns all standing filters, in no particular order. Later changes do not change the result.
    ///
    /// ```
    /// use casefilter::{Catalog, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// assert_eq!(store.standing_filters().count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn standing_filters(&self) -> impl Iterator<Item = StandingFilter> {
        self.filters.iter()
    }

    /// Returns at most `most` events after the event with the number `after`, in the order of their numbers. If `after` is 0,
    /// starts with event 1.
    ///
    /// Returns only events that are on disk. So after a crash, no event has disappeared, and none has another number. The events of
    /// a [grouped](super::Durability::Grouped) write are returned after the next synced write or [`sync`](Self::sync).
    ///
    /// ```
    /// use casefilter::{Catalog, Store, StoreErrorKind, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// assert!(store.events_after(0, 100)?.is_empty());
    /// assert_eq!(store.events_after(1, 100).unwrap_err().kind(), StoreErrorKind::EventsGone);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`EventsGone`](StoreErrorKind::EventsGone) if an event after `after` is not kept any more, or if the event `after`
    /// has not happened yet; [`StoreError::events_gone`] names the oldest and the last event. Returns an error if the file cannot
    /// be read, or if an event is damaged.
    pub fn events_after(&self, after: u64, most: usize) -> Result<Vec<Event>, StoreError> {
        // The number of the last event is read before the file, so that the file has this event.
        self.read_events((after, self.bell.last()), most)
    }

    /// Reads at most `most` events after the event `range.0`, up to the event `range.1`.
    pub(super) fn read_events(&self, range: (u64, u64), most: usize) -> Result<Vec<Event>, StoreError> {
        let read = || read_events(&self.file.read()?, self.catalog(), range, most);
        self.reading(self.file.generation(), read, read)
    }

    /// Returns the number of the last event that is on disk. Returns 0 if there is none.
    ///
    /// ```
    /// use casefilter::{Catalog, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// assert_eq!(store.last_event(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn last_event(&self) -> u64 {
        self.bell.last()
    }

    /// Waits until there is an event after the event `after`, but not longer than `most`. Returns false if there is still none.
    ///
    /// Blocks the thread. Any number of threads may wait. They hold no lock, so that writes do not wait for them.
    ///
    /// ```
    /// use std::time::Duration;
    /// use casefilter::{Catalog, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// assert!(!store.wait_for_events(0, Duration::from_millis(1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn wait_for_events(&self, after: u64, most: Duration) -> bool {
        self.bell.wait(after, most)
    }

    /// Removes the events up to this number from the file. Their space is reused. The change is on disk when the call returns.
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Filter, StandingFilter, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// store.insert_standing([StandingFilter::new("all", &Filter::all(store.catalog()))])?;
    /// store.upsert_many(br#"[{"id":"a"},{"id":"b"}]"#)?;
    /// store.forget_events(1)?;
    /// assert_eq!(store.events_after(0, 100).unwrap_err().events_gone().map(|gone| gone.oldest), Some(2));
    /// assert_eq!(store.events_after(1, 100)?[0].id, "b");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, as [`upsert`](Self::upsert) does.
    pub fn forget_events(&self, up_to: u64) -> Result<(), StoreError> {
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        // Events that are not on disk yet are kept, because no reader has seen them.
        let oldest = up_to.min(self.bell.last()).saturating_add(1);
        if oldest <= log.standing.first_event {
            return Ok(());
        }
        let forget = |transaction: &redb::WriteTransaction, counters: &mut StandingCounters| {
            counters.changes = counters.changes.saturating_add(1);
            trim(&mut transaction.open_table(EVENTS)?, oldest, None, counters)
        };
        self.change_filters(&mut log, forget, None, |_| Ok(()))
    }

    /// Returns the maximum number and the maximum age of the events that are kept.
    pub(super) fn kept_events(&self) -> KeptEvents {
        self.options.kept_events(None)
    }

    /// Returns true if the format of the file has standing filters.
    #[cfg(feature = "service")]
    pub(crate) fn has_standing(&self) -> bool {
        self.is_packed
    }

    pub(super) fn check_format(&self) -> Result<(), StoreError> {
        if self.is_packed {
            return Ok(());
        }
        let detail =
            "its format version has no standing filters; export the cases, and import them into a new file";
        Err(self.error(Fault::new(StoreErrorKind::OldFormat, detail)))
    }
}
