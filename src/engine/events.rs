//! Events of an engine: the API of standing filters in memory.

use std::sync::Arc;

use super::handle::{Engine, EngineBuilder};
#[cfg(feature = "store")]
use super::watching::Clock;
use super::watching::{WatchSettings, Watching};
use crate::error::{Error, ErrorKind};
use crate::filter::SearchRequest;
use crate::standing::{Event, EventRing, EventsGoneError, FilterSet, StandingFilter, WriteEvents};
use crate::value::Timestamp;

impl EngineBuilder {
    /// Makes each write of the engine produce [events](Event) for these standing filters. A document *enters* a filter if the
    /// filter selects it only after the write. The document *leaves* a filter if the filter selects it only before the write. The
    /// engine keeps the latest `most` events in memory. `clock` returns the time of a write.
    ///
    /// A write is first staged and later becomes visible. It uses the filters that the set has when it is staged. So filters may be
    /// inserted and removed at any time. But a filter that is inserted into the set misses the events of a write in progress, even
    /// if this write becomes visible later. [`Engine::insert_standing`] waits for the write in progress. A new filter gets no
    /// events for the documents that it selects already; for these events, use [`Engine::insert_entering`]. Removing a filter
    /// produces no events. Several engines may share one set.
    ///
    /// `clock` runs while the engine is locked for writing. So a clock must not write to the engine: this would be a deadlock.
    /// While a write is staged, up to `2 * most` of its events are in memory, of about 30 bytes each.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use casefilter::{Catalog, Engine, EventKind, Filter, FilterSet, StandingFilter, Timestamp};
    /// let cases = Catalog::cases();
    /// let filters = Arc::new(FilterSet::new(&cases));
    /// filters.insert(StandingFilter::new("vip", &Filter::compile_text(&cases, "tags = vip")?))?;
    /// let clock = || Timestamp::from_millis(0); // In a program: the time of the system.
    /// let engine = Engine::builder(cases).watch(&filters, 10_000, clock)?.build();
    /// engine.upsert(br#"{"id":"a","tags":["vip"]}"#)?;
    /// engine.upsert(br#"{"id":"a"}"#)?;
    /// let events = engine.events_after(0, 100)?;
    /// assert_eq!((events[0].filter.as_str(), events[0].id.as_str()), ("vip", "a"));
    /// assert_eq!([&events[0].kind, &events[1].kind], [&EventKind::Entered, &EventKind::Left]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error of kind [`CatalogMismatch`](crate::ErrorKind::CatalogMismatch) if the catalogue of the set is not
    /// [within](crate::Catalog::is_within) that of the engine.
    pub fn watch(
        mut self,
        filters: &Arc<FilterSet>,
        most: usize,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        filters.catalog().check_within(&self.catalog, "engine")?;
        self.watch = Some(WatchSettings {
            filters: Arc::clone(filters),
            most: most as u64,
            in_memory: true,
            clock: Arc::new(clock),
        });
        Ok(self)
    }

    /// Makes each write of the engine produce events for a store, which keeps the latest `most` events. The filters must have the
    /// catalogue of the engine.
    #[cfg(feature = "store")]
    #[must_use]
    pub(crate) fn watch_for_store(mut self, filters: &Arc<FilterSet>, most: u64, clock: Clock) -> Self {
        self.watch = Some(WatchSettings { filters: Arc::clone(filters), most, in_memory: false, clock });
        self
    }
}

impl Engine {
    /// Returns the first events after the event with the number `after`, at most `most`, in the order of their numbers. If `after`
    /// is 0, begins with the first event. An event is visible as soon as searches see the write that caused it.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let engine = Engine::new(Catalog::cases());
    /// assert!(engine.events_after(0, 100)?.is_empty());
    /// assert!(engine.events_after(1, 100).is_err());
    /// # Ok::<(), casefilter::EventsGoneError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if an event with a number greater than `after` is not kept any more. Also returns an error if `after` is
    /// greater than the number of the last event.
    pub fn events_after(&self, after: u64, most: usize) -> Result<Vec<Event>, EventsGoneError> {
        match self.ring() {
            Some(ring) => ring.after(after, most, &self.catalog),
            None => EventsGoneError::check(after, 1, 0).map(|()| Vec::new()),
        }
    }

    /// Returns the number of the last event. Returns 0 if there has been no event.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// assert_eq!(Engine::new(Catalog::cases()).last_event(), 0);
    /// ```
    #[must_use]
    pub fn last_event(&self) -> u64 {
        self.ring().map_or(0, EventRing::last)
    }

    /// Returns the standing filters of the engine, if it was built with [some](EngineBuilder::watch).
    ///
    /// Changing this set does not wait for a write in progress, which still uses the filters that it began with. See
    /// [`insert_standing`](Self::insert_standing) and [`remove_standing`](Self::remove_standing).
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// assert!(Engine::new(Catalog::cases()).standing().is_none());
    /// ```
    #[must_use]
    pub fn standing(&self) -> Option<&Arc<FilterSet>> {
        self.watching.as_ref().map(|watching| &watching.filters)
    }

    /// Inserts standing filters when the write in progress has ended. A search that starts after this call sees all earlier writes,
    /// and each later write produces its events. So the search and the events together miss no document. Produces no events for the
    /// documents that the filters select already. Each filter replaces the filter of the set that has the same name. Returns the
    /// number of filters that were replaced.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use casefilter::{Catalog, Engine, Filter, FilterSet, StandingFilter, Timestamp};
    /// let cases = Catalog::cases();
    /// let filters = Arc::new(FilterSet::new(&cases));
    /// let engine = Engine::builder(cases.clone()).watch(&filters, 100, || Timestamp::from_millis(0))?.build();
    /// engine.insert_standing([StandingFilter::new("all", &Filter::all(&cases))])?;
    /// engine.upsert(br#"{"id":"a"}"#)?;
    /// assert_eq!(engine.events_after(0, 10)?[0].id, "a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`FilterSet::insert_many`]. If there is an error, nothing is inserted. Returns an error of kind
    /// [`CatalogMismatch`](crate::ErrorKind::CatalogMismatch) if the engine was built without a set.
    pub fn insert_standing(&self, filters: impl IntoIterator<Item = StandingFilter>) -> Result<usize, Error> {
        let watching = self.watching()?;
        let filters = watching.filters.checked(filters)?;
        // Waits for the write in progress.
        let _writing = self.current.write();
        watching.filters.insert_many(filters)
    }

    /// Removes the standing filter of this name when the write in progress has ended. Produces no events, not even for the
    /// documents that the filter selects. After this call, writes produce no events for the filter. Returns false if the engine has
    /// no such filter.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// assert!(!Engine::new(Catalog::cases()).remove_standing("unknown"));
    /// ```
    pub fn remove_standing(&self, name: &str) -> bool {
        let Some(watching) = &self.watching else { return false };
        // Waits for the write in progress.
        let _writing = self.current.write();
        watching.filters.remove(name)
    }

    /// Inserts standing filters, and produces an event [`Entered`](crate::EventKind::Entered) for each pair of a new filter and a
    /// document that it selects now. Each filter replaces the filter of the set that has the same name. Returns the number of
    /// filters that were replaced.
    ///
    /// Writes wait until this call has ended, so that no write comes between the insertion and the events. A filter that replaces
    /// another filter gets `Entered` even for the documents that the replaced filter selected. It gets no `Left`. To insert filters
    /// without such events, call [`insert_standing`](Self::insert_standing).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use casefilter::{Catalog, Engine, Filter, FilterSet, StandingFilter, Timestamp};
    /// let cases = Catalog::cases();
    /// let filters = Arc::new(FilterSet::new(&cases));
    /// let engine = Engine::builder(cases.clone()).watch(&filters, 100, || Timestamp::from_millis(0))?.build();
    /// engine.upsert(br#"{"id":"a"}"#)?;
    /// assert_eq!(engine.insert_entering([StandingFilter::new("all", &Filter::all(&cases))])?, 0);
    /// assert_eq!(engine.events_after(0, 10)?[0].id, "a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`FilterSet::insert_many`]. If there is an error, nothing is inserted. Returns an error of kind
    /// [`CatalogMismatch`](crate::ErrorKind::CatalogMismatch) if the engine was built without a set.
    pub fn insert_entering(&self, filters: impl IntoIterator<Item = StandingFilter>) -> Result<usize, Error> {
        let watching = self.watching()?;
        let filters = watching.filters.checked(filters)?;
        // Until this lock is released, no write is made. The clock is read under the lock, so that no event with a smaller number
        // has a later time.
        let _writing = self.current.write();
        let events = self.find_entering(&filters, (watching.clock)(), watching.most)?;
        let replaced = watching.filters.insert_many(filters)?;
        if let Some(ring) = &watching.ring {
            ring.add(&events);
        }
        Ok(replaced)
    }

    /// Returns an `Entered` event for each document that these filters select, ordered by filter, and then in insertion order. If
    /// there are more than `most` events, the result contains at least the last `most`.
    pub(crate) fn find_entering(
        &self,
        filters: &[StandingFilter],
        time: Timestamp,
        most: u64,
    ) -> Result<WriteEvents, Error> {
        let names = filters.iter().map(|filter| filter.key().into()).collect();
        let mut events = WriteEvents::entering(names, time, most);
        for (name, filter) in filters.iter().enumerate() {
            let request = SearchRequest::new(filter.filter().clone()).with_limit(u64::MAX);
            let found = self.find_any_page(&request)?;
            (0..found.len()).for_each(|at| events.enter(name, found.id(at)));
        }
        Ok(events)
    }

    fn watching(&self) -> Result<&Watching, Error> {
        self.watching.as_ref().ok_or_else(|| {
            let expected = "an engine that was built with `EngineBuilder::watch`";
            Error::new(ErrorKind::CatalogMismatch, 0, "an engine without standing filters", expected)
        })
    }

    fn ring(&self) -> Option<&EventRing> {
        self.watching.as_ref()?.ring.as_ref()
    }
}
