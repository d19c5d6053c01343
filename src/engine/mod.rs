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
use crate::catalog::Catalog;
use crate::exec;
use crate::filter::Filter;
use crate::limits::Limits;
use crate::page::{At, SortBy, sorted_page};
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
    current: ArcSwap<Snapshot>,
    writer: Mutex<Writer>,
}

/// How an [`Engine`] is to be made.
#[derive(Clone, Debug)]
pub struct EngineBuilder {
    catalog: Catalog,
    limits: Limits,
    keep_documents: bool,
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

    /// An engine without cases.
    #[must_use]
    pub fn build(self) -> Engine {
        Engine {
            catalog: self.catalog,
            limits: self.limits,
            keep_documents: self.keep_documents,
            current: ArcSwap::from_pointee(Snapshot::default()),
            writer: Mutex::default(),
        }
    }
}

impl Engine {
    /// An engine without cases, under the default limits, that keeps documents.
    #[must_use]
    pub fn new(catalog: Catalog) -> Self {
        Self::builder(catalog).build()
    }

    /// Settings for an engine.
    #[must_use]
    pub fn builder(catalog: Catalog) -> EngineBuilder {
        EngineBuilder { catalog, limits: Limits::default(), keep_documents: true }
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
    /// # Panics
    /// When the filter was compiled for a catalogue that is not [within](Catalog::is_within) the engine's.
    #[must_use]
    pub fn search(&self, request: &Request) -> Answer {
        self.check(&request.filter);
        let snapshot = self.current.load_full();
        let offset = usize::try_from(request.offset).unwrap_or(usize::MAX);
        let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
        let predicate = request.filter.predicate();
        let mut total: u64 = 0;
        let mut select = |number: usize| match snapshot.slots().get(number) {
            Some(slot) => {
                let selection = slot.live(exec::select(predicate, &slot.batch));
                if request.count {
                    total = total.saturating_add(selection.count(slot.batch.rows()) as u64);
                }
                selection
            }
            None => crate::column::Selection::None,
        };
        let rows = if request.order.is_none() && snapshot.is_ordered() {
            let mut rows = Vec::new();
            let mut passed: usize = 0;
            for (number, slot) in snapshot.slots().iter().enumerate() {
                if rows.len() >= limit && !request.count {
                    break;
                }
                let selection = select(number);
                let skip = offset.saturating_sub(passed);
                let selected = selection.count(slot.batch.rows());
                passed = passed.saturating_add(selected);
                if skip < selected && rows.len() < limit {
                    let room = limit.saturating_sub(rows.len());
                    rows.extend(selection.iter(slot.batch.rows()).skip(skip).take(room).filter_map(|row| {
                        Some(At { batch: u32::try_from(number).ok()?, row: u16::try_from(row).ok()? })
                    }));
                }
            }
            rows
        } else {
            let batches: Vec<_> = snapshot.slots().iter().map(|slot| &*slot.batch).collect();
            let by = SortBy::new(request.order, self.catalog.fields());
            sorted_page(&batches, by, (offset, limit), request.count, &mut select)
        };
        Answer::new(snapshot, rows, request.count.then_some(total), request.offset, request.limit)
    }

    /// How many cases the filter selects.
    ///
    /// # Panics
    /// As [`search`](Self::search).
    #[must_use]
    pub fn count(&self, filter: &Filter) -> u64 {
        self.check(filter);
        let snapshot = self.current.load();
        let counts = snapshot.slots().iter().map(|slot| {
            slot.live(exec::select(filter.predicate(), &slot.batch)).count(slot.batch.rows()) as u64
        });
        counts.sum()
    }

    fn check(&self, filter: &Filter) {
        assert!(
            filter.catalog().is_within(&self.catalog),
            "the filter was compiled for a catalogue that is not within the engine's"
        );
    }

    /// What the cases take in memory.
    #[must_use]
    pub fn memory(&self) -> Memory {
        Memory::new(&self.current.load(), &self.catalog, &self.lock_writer())
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
        let writer = self.lock_writer();
        let snapshot = self.current.load();
        snapshot.validate(&self.catalog)?;
        writer.validate(&snapshot)
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("cases", &self.len()).finish_non_exhaustive()
    }
}
