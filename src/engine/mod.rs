//! Many batches, searched as one.

mod answer;
mod import;
mod memory;
mod snapshot;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

pub use answer::Answer;
pub use import::{Import, Mode, Refusal, Report};
pub use memory::{FieldMemory, Memory};

use self::import::Writer;
use self::snapshot::Snapshot;
use crate::batch::MAX_ROWS;
use crate::catalog::Catalog;
use crate::exec::{self, Query};
use crate::filter::Filter;
use crate::limits::Limits;
use crate::page::{SortBy, Visit, first_page, sorted_page};
use crate::request::Request;

/// Cases in memory, and the answers to searches over them.
///
/// `Send + Sync`; a search works on the snapshot that was current when it began, never waits for
/// an import and never holds one up.
///
/// ```
/// use casefilter::{Catalog, Engine, Filter, Mode, Request};
///
/// let engine = Engine::new(Catalog::cases());
/// let mut import = engine.import(Mode::Strict);
/// import.push(b"{\"id\":\"a\",\"caseReview\":{\"status\":\"open\"}}\n{\"id\":\"b\",\"tags\":[\"vip\"]}\n")?;
/// import.commit()?;
/// let filter = Filter::compile_text(engine.catalog(), "status = open or tags in (vip)")?;
/// let answer = engine.search(&Request::new(filter).count(true));
/// assert_eq!(answer.ids().collect::<Vec<_>>(), ["a", "b"]);
/// assert_eq!(answer.total(), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Engine {
    catalog: Catalog,
    limits: Limits,
    keep_documents: bool,
    batch_rows: usize,
    current: ArcSwap<Snapshot>,
    writer: Mutex<Writer>,
}

/// How an [`Engine`] is to be made.
#[derive(Clone, Debug)]
pub struct EngineBuilder {
    catalog: Catalog,
    limits: Limits,
    keep_documents: bool,
    batch_rows: usize,
}

impl EngineBuilder {
    /// Bounds on case documents.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Whether documents are kept; without them, answers hold ids alone.
    #[must_use]
    pub fn documents(self, keep_documents: bool) -> Self {
        Self { keep_documents, ..self }
    }

    /// How many cases a batch holds: 65,536, or fewer, which only tests have a use for.
    #[must_use]
    pub fn batch_rows(self, rows: usize) -> Self {
        Self { batch_rows: rows.clamp(1, MAX_ROWS), ..self }
    }

    /// An engine without cases.
    #[must_use]
    pub fn build(self) -> Engine {
        Engine {
            catalog: self.catalog,
            limits: self.limits,
            keep_documents: self.keep_documents,
            batch_rows: self.batch_rows,
            current: ArcSwap::from_pointee(Snapshot::default()),
            writer: Mutex::default(),
        }
    }
}

impl Engine {
    /// An engine without cases, under the default limits, that keeps documents.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// assert!(Engine::new(Catalog::cases()).is_empty());
    /// ```
    #[must_use]
    pub fn new(catalog: Catalog) -> Self {
        Self::builder(catalog).build()
    }

    /// Settings for an engine.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Limits};
    /// let engine = Engine::builder(Catalog::cases())
    ///     .limits(Limits { case_bytes: 1 << 20, ..Limits::default() })
    ///     .documents(false)
    ///     .build();
    /// assert_eq!(engine.limits().case_bytes, 1 << 20);
    /// ```
    #[must_use]
    pub fn builder(catalog: Catalog) -> EngineBuilder {
        EngineBuilder { catalog, limits: Limits::default(), keep_documents: true, batch_rows: MAX_ROWS }
    }

    /// The fields that are stored and can be filtered.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The bounds on case documents.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How many cases there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.current.load().cases()
    }

    /// True when there is no case.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Begins an import, which waits for another one that is under way.
    #[must_use]
    pub fn import(&self, mode: Mode) -> Import<'_> {
        Import::new(self, mode)
    }

    /// Answers a request.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter, Mode, Order, Request};
    /// let engine = Engine::new(Catalog::cases());
    /// let mut import = engine.import(Mode::Strict);
    /// import.push(br#"[{"id":"a","totalAmountInDefaultCurrency":5},{"id":"b"},{"id":"c","totalAmountInDefaultCurrency":7}]"#)?;
    /// import.commit()?;
    /// let largest_first = Request::new(Filter::all(engine.catalog()))
    ///     .order(Order::parse(engine.catalog(), "-totalAmountInDefaultCurrency")?);
    /// assert_eq!(engine.search(&largest_first).ids().collect::<Vec<_>>(), ["c", "a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// When the filter was compiled for a catalogue that is not [within](Catalog::is_within) the engine's.
    #[must_use]
    pub fn search(&self, request: &Request) -> Answer {
        self.check(&request.filter);
        let snapshot = self.current.load_full();
        let offset = usize::try_from(request.offset).unwrap_or(usize::MAX);
        let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
        let query = self.query(&request.filter, &snapshot);
        let known = if request.count { self.known_count(&query, &snapshot) } else { None };
        let mut total = (request.count && known.is_none()).then_some(0);
        let slots = snapshot.slots();
        let batches = if limit == 0 && total.is_none() { Vec::new() } else { query.batches(slots.len()) };
        let visits = batches.iter().filter_map(|number| {
            slots.get(*number).map(|slot| Visit { number: *number, batch: &slot.batch, live: slot.live() })
        });
        let rows = if request.order.is_none() && snapshot.is_ordered() {
            first_page(visits, (offset, limit), total.as_mut(), |visit| {
                exec::select(&query, visit.number, visit.batch, visit.live)
            })
        } else {
            let by = SortBy::new(request.order, self.catalog.fields());
            sorted_page(visits.collect(), by, (offset, limit), total.as_mut(), |visit| {
                exec::select(&query, visit.number, visit.batch, visit.live)
            })
        };
        let total = if request.count { known.or(total) } else { None };
        drop(query);
        Answer::new(snapshot, rows, total, request.offset, request.limit)
    }

    /// How many cases the filter selects.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter};
    /// let engine = Engine::new(Catalog::cases());
    /// assert_eq!(engine.count(&Filter::all(engine.catalog())), 0);
    /// ```
    ///
    /// # Panics
    /// As [`search`](Self::search).
    #[must_use]
    pub fn count(&self, filter: &Filter) -> u64 {
        self.search(&Request::new(filter.clone()).limit(0).count(true)).total().unwrap_or(0)
    }

    fn query<'q>(&self, filter: &'q Filter, snapshot: &'q Snapshot) -> Query<'q> {
        Query::new(filter.predicate(), snapshot.directory(), |number| {
            snapshot.slots().get(number).map(|slot| &*slot.batch)
        })
    }

    /// How many cases are selected, where the values' counts tell.
    fn known_count(&self, query: &Query<'_>, snapshot: &Snapshot) -> Option<u64> {
        if !snapshot.is_all_live() {
            return None;
        }
        query.known_count(|field| !self.catalog.field(field).is_many())
    }

    fn check(&self, filter: &Filter) {
        assert!(
            filter.catalog().is_within(&self.catalog),
            "the filter was compiled for a catalogue that is not within the engine's"
        );
    }

    /// What the cases take in memory.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let memory = Engine::new(Catalog::cases()).memory();
    /// assert_eq!(memory.fields[0].name, "id");
    /// ```
    #[must_use]
    pub fn memory(&self) -> Memory {
        Memory::new(&self.current.load(), &self.catalog)
    }

    fn lock_writer(&self) -> std::sync::MutexGuard<'_, Writer> {
        // A writer changes its state in one step at the end, so a panic before leaves it whole.
        self.writer.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn publish(&self, snapshot: Snapshot) {
        self.current.store(Arc::new(snapshot));
    }

    /// Says which invariant of the stored cases does not hold; for tests and fuzzers.
    ///
    /// # Errors
    /// A sentence about the first invariant that does not hold.
    pub fn validate(&self) -> Result<(), String> {
        self.current.load().validate(&self.catalog)
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("cases", &self.len()).finish_non_exhaustive()
    }
}
