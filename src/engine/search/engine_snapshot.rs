//! Snapshots that a host holds, to run several searches on the same documents.

use std::fmt;
use std::sync::Arc;

use super::answer::SearchAnswer;
use super::found_rows::FoundRows;
use super::requests::find_in;
use crate::batch::Keep;
use crate::catalog::Catalog;
use crate::engine::{Engine, Snapshot};
use crate::error::Error;
use crate::filter::SearchRequest;
use crate::limits::Limits;

/// The documents of an [`Engine`] at one moment. Later writes do not change them.
///
/// All searches of a snapshot see the same documents, so the pages of one list fit together, even if they are requested by
/// [offset](SearchRequest::with_offset). A snapshot does not block writes. It keeps the memory of documents that were replaced or
/// deleted later. Cloning is cheap.
///
/// ```
/// use casefilter::{Catalog, Engine, Filter, SearchRequest};
/// let engine = Engine::new(Catalog::cases());
/// engine.upsert_many(br#"[{"id":"a"},{"id":"b"},{"id":"c"}]"#)?;
/// let snapshot = engine.snapshot();
/// engine.delete("a");
/// let page = SearchRequest::new(Filter::all(engine.catalog())).with_limit(2);
/// assert_eq!(snapshot.search(&page)?.ids().collect::<Vec<_>>(), ["a", "b"]);
/// assert_eq!(snapshot.search(&page.with_offset(2))?.ids().collect::<Vec<_>>(), ["c"]);
/// assert_eq!((snapshot.len(), engine.len()), (3, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct EngineSnapshot {
    catalog: Catalog,
    limits: Limits,
    keep: Keep,
    snapshot: Arc<Snapshot>,
}

impl Engine {
    /// Returns a snapshot of the documents, for several searches.
    ///
    /// See [`EngineSnapshot`] for an example.
    #[must_use]
    pub fn snapshot(&self) -> EngineSnapshot {
        self.snapshot_of(self.current_snapshot())
    }

    pub(crate) fn snapshot_of(&self, snapshot: Arc<Snapshot>) -> EngineSnapshot {
        let (catalog, limits) = (self.catalog.clone(), self.limits.clone());
        EngineSnapshot { catalog, limits, keep: self.keep, snapshot }
    }
}

impl EngineSnapshot {
    /// Returns the catalogue of the engine.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.snapshot.cases()
    }

    /// Returns true if there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of the last write before the snapshot, or 0 if there was none.
    ///
    /// Each write that stores or deletes documents has a number: 1 for the first write of the engine, and one more for each further
    /// write. A write that changes nothing has no number.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a"},{"id":"b"}]"#)?;
    /// assert!(engine.delete("a") && !engine.delete("a"));
    /// assert_eq!(engine.snapshot().last_write(), 2);
    /// # Ok::<(), casefilter::ImportError>(())
    /// ```
    #[must_use]
    pub fn last_write(&self) -> u64 {
        self.snapshot.write()
    }

    /// Answers a request, like [`Engine::search`].
    ///
    /// # Errors
    /// Returns the errors of [`Engine::search`].
    pub fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, Error> {
        Ok(SearchAnswer::of_rows(self.find(request)?, request))
    }

    /// Returns the underlying [`Snapshot`], for the store and for internal methods of the engine.
    #[cfg(feature = "store")]
    pub(crate) fn inner(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Finds the rows of a page.
    pub(crate) fn find(&self, request: &SearchRequest) -> Result<FoundRows, Error> {
        request.check_page(&self.limits)?;
        find_in(&self.catalog, self.keep, &self.snapshot, request)
    }
}

impl fmt::Debug for EngineSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineSnapshot").field("len", &self.len()).finish_non_exhaustive()
    }
}
