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
/// All searches of a snapshot see the same documents, so the pages of one list fit together, also by
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
        EngineSnapshot {
            catalog: self.catalog.clone(),
            limits: self.limits.clone(),
            keep: self.keep,
            snapshot: self.current_snapshot(),
        }
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

    /// Answers a request, like [`Engine::search`].
    ///
    /// # Errors
    /// Returns the errors of [`Engine::search`].
    pub fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, Error> {
        Ok(SearchAnswer::of_rows(self.find(request)?, request))
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
