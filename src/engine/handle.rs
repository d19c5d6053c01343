//! The engine type and its builder: the settings of an engine, and the state that its threads share.
//!
//! The operations of the engine are in other modules: [searches](super::search), [writes](super::write) and
//! [memory](super::memory).

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use arc_swap::Guard;

use super::invariant::InvariantError;
use super::shared_state::SharedState;
use super::snapshot::{BatchId, Head, Snapshot, View};
use super::watching::{WatchSettings, Watching};
use super::write::{Sizes, Writer};
use crate::batch::{Keep, MAX_ROWS};
use crate::catalog::Catalog;
use crate::ingest::DocumentTemplate;
use crate::limits::Limits;

/// An in-memory collection of documents that answers searches.
///
/// An engine is `Send + Sync`. A search uses the snapshot that was current when the search started. Searches and imports never wait
/// for each other.
///
/// ```
/// use casefilter::{Catalog, Engine, Filter, ImportMode, SearchRequest};
///
/// let engine = Engine::new(Catalog::cases());
/// let mut import = engine.import(ImportMode::Strict);
/// import.push(b"{\"id\":\"a\",\"caseReview\":{\"status\":\"open\"}}\n{\"id\":\"b\",\"tags\":[\"vip\"]}\n")?;
/// import.commit()?;
/// let filter = Filter::compile_text(engine.catalog(), "status = open or tags in (vip)")?;
/// let answer = engine.search(&SearchRequest::new(filter).with_count(true))?;
/// assert_eq!(answer.ids().collect::<Vec<_>>(), ["a", "b"]);
/// assert_eq!(answer.total(), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Engine {
    pub(super) catalog: Catalog,
    pub(super) limits: Limits,
    pub(super) keep: Keep,
    pub(super) sizes: Sizes,
    pub(super) current: SharedState,
    /// The document template of [single documents](Engine::upsert), learned from earlier documents.
    ///
    /// If another thread has locked the template, a thread does not wait, but reads its document with the strict parser. This takes
    /// more instructions and has the same result.
    pub(super) template: Mutex<DocumentTemplate>,
    /// The size of the writer's state in bytes, as [`memory`](Engine::memory) last read it.
    pub(super) writer_bytes: AtomicUsize,
    /// The standing filters, if there are some.
    pub(crate) watching: Option<Watching>,
}

/// A builder for an [`Engine`].
#[derive(Clone, Debug)]
pub struct EngineBuilder {
    pub(super) catalog: Catalog,
    limits: Limits,
    keep: Keep,
    batch_rows: usize,
    pub(super) watch: Option<WatchSettings>,
}

impl EngineBuilder {
    /// Sets the limits of documents and, by [`Limits::page`], of the pages of searches. The limits of request bodies, filter texts
    /// and parameters are set in [`FilterBuilder`](crate::FilterBuilder).
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Turns off the storage of documents. Without documents, answers contain only ids, and the engine takes less memory.
    #[must_use]
    pub fn without_documents(self) -> Self {
        Self { keep: Keep::Nothing, ..self }
    }

    /// Makes the engine expect a document number for each document, because the documents are stored outside the engine.
    #[must_use]
    #[cfg_attr(
        not(any(test, feature = "store")),
        expect(dead_code, reason = "the durable store builds on it")
    )]
    pub(crate) fn numbered_documents(self) -> Self {
        Self { keep: Keep::Numbers, ..self }
    }

    /// Sets the maximum number of documents in a batch. The default is 65,536. Tests use smaller batches.
    #[must_use]
    pub fn batch_rows(self, rows: usize) -> Self {
        Self { batch_rows: rows.clamp(1, MAX_ROWS), ..self }
    }

    /// Builds an empty engine.
    #[must_use]
    pub fn build(self) -> Engine {
        self.build_on(SharedState::new)
    }

    pub(super) fn build_on(self, current: impl FnOnce(Snapshot, Writer) -> SharedState) -> Engine {
        let first = Snapshot::new(Arc::new(View::empty(Default::default())), Head::new(BatchId(0)), 0);
        let writer = Writer { next_batch: 1, ..Writer::default() };
        Engine {
            catalog: self.catalog,
            limits: self.limits,
            keep: self.keep,
            sizes: Sizes { batch: self.batch_rows },
            current: current(first, writer),
            template: Mutex::default(),
            writer_bytes: AtomicUsize::new(0),
            watching: self.watch.map(WatchSettings::build),
        }
    }
}

impl Engine {
    /// Creates an empty engine that keeps documents, with the default limits.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// assert!(Engine::new(Catalog::cases()).is_empty());
    /// ```
    #[must_use]
    pub fn new(catalog: Catalog) -> Self {
        Self::builder(catalog).build()
    }

    /// Returns a builder for an engine.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Limits};
    /// let engine = Engine::builder(Catalog::cases())
    ///     .limits(Limits::default().with_document_bytes(1 << 20))
    ///     .without_documents()
    ///     .build();
    /// assert_eq!(engine.limits().document_bytes, 1 << 20);
    /// ```
    #[must_use]
    pub fn builder(catalog: Catalog) -> EngineBuilder {
        let (limits, keep, batch_rows) = (Limits::default(), Keep::Text, MAX_ROWS);
        EngineBuilder { catalog, limits, keep, batch_rows, watch: None }
    }

    /// Returns the catalogue: the fields that are stored and can be filtered.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the limits of documents and pages.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the current snapshot, for a caller that keeps it longer than a search does.
    pub(crate) fn current_snapshot(&self) -> Arc<Snapshot> {
        Guard::into_inner(self.current.load())
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.current.load().cases()
    }

    /// Returns true if there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks the invariants of the stored documents, for tests and fuzzers.
    ///
    /// # Errors
    /// Returns a description of the first violated invariant.
    pub fn validate(&self) -> Result<(), InvariantError> {
        let mut writer = self.current.write();
        let snapshot = self.current.load();
        writer.list(&snapshot);
        snapshot
            .validate(&self.catalog, self.keep)
            .and_then(|()| writer.validate(&snapshot, snapshot.view(&self.catalog, self.keep)))
            .map_err(InvariantError::new)
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("documents", &self.len()).finish_non_exhaustive()
    }
}
