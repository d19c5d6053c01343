//! Snapshots of a store that a host holds, to run several searches on the same documents: the current documents, or those as of an
//! earlier write.

use std::time::Duration;

use super::database::Store;
#[cfg(feature = "service")]
use super::documents::Documents;
#[cfg(feature = "service")]
use super::error::Fault;
use super::error::StoreError;
use super::search::StoredDocuments;
use crate::engine::explain::Explanation;
use crate::engine::{EngineSnapshot, FacetExplanation, FoundRows, SearchAnswer};
use crate::error::Error;
use crate::facet::{FacetsAnswer, FacetsRequest};
use crate::filter::{Filter, SearchRequest};

/// The documents of a [`Store`] at one moment. Later writes do not change them.
///
/// The file keeps the space of documents that were replaced or deleted later, until the snapshot is dropped. See
/// [`EngineSnapshot`].
///
/// ```
/// use casefilter::{Catalog, Durability, Filter, SearchRequest, Store, StoreOptions};
/// # let folder = tempfile::tempdir()?;
/// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
/// store.upsert(br#"{"id":"a","tags":["vip"]}"#, Durability::Grouped)?;
/// let snapshot = store.snapshot();
/// store.upsert(br#"{"id":"a"}"#, Durability::Grouped)?;
/// let answer = snapshot.search(&SearchRequest::new(Filter::all(store.catalog())))?;
/// assert_eq!(answer.documents().collect::<Vec<_>>(), [r#"{"id":"a","tags":["vip"]}"#]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct StoreSnapshot<'s> {
    store: &'s Store,
    snapshot: EngineSnapshot,
}

impl Store {
    /// Returns a snapshot of the documents, for several searches.
    ///
    /// See [`StoreSnapshot`] for an example, and [`as_of`](Self::as_of) for a snapshot of an earlier moment.
    #[must_use]
    pub fn snapshot(&self) -> StoreSnapshot<'_> {
        StoreSnapshot::new(self, self.engine.snapshot())
    }
}

impl<'s> StoreSnapshot<'s> {
    pub(super) fn new(store: &'s Store, snapshot: EngineSnapshot) -> Self {
        Self { store, snapshot }
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.snapshot.len()
    }

    /// Returns true if there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.snapshot.is_empty()
    }

    /// Returns the number of the last write before the snapshot, or 0 if there was none. Returns `None` if the file has an earlier
    /// format version, which does not count writes.
    ///
    /// Each write that stores or deletes documents has a number: 1 for the first write of the file, and one more for each further
    /// write. An import is one write. A crash may lose [grouped](super::Durability::Grouped) writes. Later writes then get the same
    /// numbers.
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("cases.db");
    /// let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
    /// store.upsert_many(br#"[{"id":"a"},{"id":"b"}]"#)?;
    /// store.delete("a", Durability::Synced)?;
    /// store.close()?;
    /// let store = Store::open(&path, Catalog::cases(), StoreOptions::default())?;
    /// assert_eq!(store.snapshot().last_write(), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn last_write(&self) -> Option<u64> {
        self.store.counted(self.snapshot.last_write())
    }

    /// Answers a request, like [`Store::search`].
    ///
    /// # Errors
    /// Returns the errors of [`Store::search`]. After a failed read or write, the store reopens the file. A snapshot that was taken
    /// before can then also return an error. It does so if a document of the page was replaced or deleted before the reopening. It
    /// also does so if it needs a column that is not in memory yet, and a checkpoint has removed the batch of this column.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, StoreError> {
        let rows = self.searched(|| self.snapshot.find(request))?;
        if rows.len() == 0 {
            return Ok(self.store.empty_page(request, &rows));
        }
        self.store.read_documents(&rows, |documents| self.store.page(request, &rows, documents))
    }

    /// Returns the number of documents that the filter selects, like [`Store::count`].
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Filter, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// let snapshot = store.snapshot();
    /// store.upsert(br#"{"id":"a"}"#, Durability::Grouped)?;
    /// assert_eq!(snapshot.count(&Filter::all(store.catalog()))?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`search`](Self::search).
    pub fn count(&self, filter: &Filter) -> Result<u64, StoreError> {
        let request = SearchRequest::new(filter.clone()).with_limit(0).with_count(true);
        Ok(self.searched(|| self.snapshot.find(&request))?.total.unwrap_or(0))
    }

    /// Counts the values of fields, like [`Store::facets`].
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Facet, FacetsRequest, Filter, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// store.upsert(br#"{"id":"a","tags":["vip"]}"#, Durability::Grouped)?;
    /// let tags = Facet::values(store.catalog(), "tags")?;
    /// let request = FacetsRequest::new(Filter::all(store.catalog())).with_facet(tags);
    /// assert_eq!(store.snapshot().facets(&request)?.total, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Store::facets`].
    pub fn facets(&self, request: &FacetsRequest) -> Result<FacetsAnswer, StoreError> {
        self.searched(|| self.store.engine.facets_in(self.snapshot.inner(), request))
    }

    /// Returns the strategies that count each facet, like [`Store::explain_facets`].
    ///
    /// ```
    /// use casefilter::{Catalog, FacetsRequest, Filter, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// let request = FacetsRequest::new(Filter::all(store.catalog()));
    /// assert!(store.snapshot().explain_facets(&request)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Store::facets`].
    pub fn explain_facets(&self, request: &FacetsRequest) -> Result<Vec<FacetExplanation>, StoreError> {
        self.searched(|| self.store.engine.explain_facets_in(self.snapshot.inner(), request))
    }

    /// Returns the plan of a request, like [`Store::explain`].
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, SearchRequest, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// let request = SearchRequest::new(Filter::all(store.catalog()));
    /// assert_eq!(store.snapshot().explain(&request)?.documents, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Store::explain`].
    pub fn explain(&self, request: &SearchRequest) -> Result<Explanation, StoreError> {
        self.searched(|| self.store.engine.explained(self.snapshot.inner(), request, None))
    }

    /// Returns the plan of a request with its measured costs, like [`Store::analyze`].
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, SearchRequest, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// let request = SearchRequest::new(Filter::all(store.catalog()));
    /// let start = std::time::Instant::now();
    /// assert!(store.snapshot().analyze(&request, &|| start.elapsed())?.analysis.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Store::explain`].
    pub fn analyze(
        &self,
        request: &SearchRequest,
        clock: &(dyn Fn() -> Duration + Sync),
    ) -> Result<Explanation, StoreError> {
        self.searched(|| self.store.engine.explained(self.snapshot.inner(), request, Some(clock)))
    }

    /// Returns an iterator over the documents on the page of a request, like [`Store::documents`].
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Filter, SearchRequest, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// store.upsert(br#"{"id":"a"}"#, Durability::Grouped)?;
    /// let all = SearchRequest::new(Filter::all(store.catalog())).with_limit(u64::MAX);
    /// assert_eq!(store.snapshot().documents(&all)?.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Store::documents`].
    pub fn documents(&self, request: &SearchRequest) -> Result<StoredDocuments<'s>, StoreError> {
        let rows = self.find(request)?;
        Ok(StoredDocuments::new(self.store, rows))
    }

    /// Passes the ids of the documents on the page of a request to `take`, like [`Store::each_id`].
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Filter, SearchRequest, Store, StoreError, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// store.upsert(br#"{"id":"a"}"#, Durability::Grouped)?;
    /// let mut ids = Vec::new();
    /// store.snapshot().each_id(&SearchRequest::new(Filter::all(store.catalog())), |id| {
    ///     ids.push(id.to_owned());
    ///     Ok::<_, StoreError>(())
    /// })?;
    /// assert_eq!(ids, ["a"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the error of `take`, and the errors of [`Store::each_id`].
    pub fn each_id<E: From<StoreError>>(
        &self,
        request: &SearchRequest,
        take: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let found = self.find(request)?;
        self.store.with_columns(|| found.read_ids())?;
        found.ids().try_for_each(take)
    }

    /// Finds the rows of a page of any size.
    fn find(&self, request: &SearchRequest) -> Result<FoundRows, StoreError> {
        self.searched(|| self.store.engine.find_in(self.snapshot.inner(), request))
    }

    /// Calls `search`, which may read columns. See [`Store::with_columns`].
    fn searched<T>(&self, search: impl Fn() -> Result<T, Error>) -> Result<T, StoreError> {
        let found = self.store.with_columns(search)?;
        found.map_err(|error| StoreError::request(&self.store.name, error))
    }

    /// Finds the page of a request, and calls `read` with it and a reader of its documents, unless the page is empty.
    #[cfg(feature = "service")]
    pub(super) fn find_and_read<T>(
        &self,
        request: &SearchRequest,
        read: impl Fn(&FoundRows, &Documents) -> Result<T, Fault>,
    ) -> Result<(FoundRows, Option<T>), StoreError> {
        let rows = self.searched(|| self.snapshot.find(request))?;
        if rows.len() == 0 {
            return Ok((rows, None));
        }
        let result = self.store.read_documents(&rows, |documents| read(&rows, documents))?;
        Ok((rows, Some(result)))
    }
}
