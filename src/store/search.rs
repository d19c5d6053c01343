//! Searches in a store: finds the rows in memory, and reads the documents of the page from the file.

use std::time::Duration;

use super::database::Store;
use super::documents::{Documents, no_documents};
use super::error::{Fault, StoreError, StoreErrorKind};
use crate::catalog::Catalog;
use crate::engine::explain::Explanation;
use crate::engine::{
    AnswerWriter, FacetExplanation, FoundRows, Sealed, SearchAnswer, Searchable, request_for,
};
use crate::error::Error;
use crate::facet::{FacetsAnswer, FacetsRequest};
#[cfg(feature = "service")]
use crate::filter::Cursor;
use crate::filter::{Completions, Filter, SearchRequest, Warning};
use crate::limits::Limits;

impl Store {
    /// Returns the number of documents that the filter selects.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::count`](crate::Engine::count). Returns an error if the file cannot be read, or if the column
    /// of a field of the filter is damaged. Every search of the store returns this error if it needs a damaged column.
    pub fn count(&self, filter: &Filter) -> Result<u64, StoreError> {
        self.searched(|| self.engine.count(filter))
    }

    /// Returns [`hints`](Self::hints) on the filter of a request. The [token](SearchRequest::with_cancel) and the
    /// [deadline](SearchRequest::with_deadline) of the request can stop the comparison with stored values. They do not stop the
    /// search for [unknown members](Self::unknown_members), which reads a sample of documents.
    ///
    /// # Errors
    /// Returns an error if the computation was stopped, or if the file cannot be read.
    pub fn hints_for(&self, request: &SearchRequest) -> Result<Vec<Warning>, StoreError> {
        let mut hints = self.searched(|| self.engine.hints_for(request))?;
        hints.extend(self.unknown_members(&request.filter));
        Ok(hints)
    }

    /// Returns hints about why a filter may select no document, as [`Engine::hints`](crate::Engine::hints) does. Adds hints about
    /// [unknown members](Self::unknown_members) that are similar to fields of the filter. Hints that need a part of the file that
    /// cannot be read are missing.
    #[must_use]
    pub fn hints(&self, filter: &Filter) -> Vec<Warning> {
        let mut hints = self.with_columns(|| self.engine.hints(filter)).unwrap_or_default();
        hints.extend(self.unknown_members(filter));
        hints
    }

    /// Returns the plan of a request, like [`Engine::explain`](crate::Engine::explain). Does not read documents.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::explain`](crate::Engine::explain), and those of [`count`](Self::count).
    pub fn explain(&self, request: &SearchRequest) -> Result<Explanation, StoreError> {
        self.searched(|| self.engine.explain(request))
    }

    /// Returns the plan of a request with its measured costs, like [`Engine::analyze`](crate::Engine::analyze). Does not read
    /// documents, so their cost is not included.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::analyze`](crate::Engine::analyze), and those of [`count`](Self::count).
    pub fn analyze(
        &self,
        request: &SearchRequest,
        clock: &(dyn Fn() -> Duration + Sync),
    ) -> Result<Explanation, StoreError> {
        self.searched(|| self.engine.analyze(request, clock))
    }

    /// Runs a search on a consistent snapshot. Reads the documents of the page from the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if a document is damaged. Returns [`StoreErrorKind::Request`] if
    /// [`Engine::search`](crate::Engine::search) rejects the request, or if the search was stopped, even while documents were read.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, StoreError> {
        let (rows, page) = self.find(request, |rows, documents| self.page(request, rows, documents))?;
        Ok(page.unwrap_or_else(|| self.empty_page(request, &rows)))
    }

    /// Counts the values of fields in the selected documents, as [`Engine::facets`](crate::Engine::facets) does. Does not read
    /// documents.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::facets`](crate::Engine::facets), and those of [`count`](Self::count).
    pub fn facets(&self, request: &FacetsRequest) -> Result<FacetsAnswer, StoreError> {
        self.searched(|| self.engine.facets(request))
    }

    /// Counts the values of fields, and returns the strategies that counted each facet, as
    /// [`Engine::explain_facets`](crate::Engine::explain_facets) does. Does not read documents.
    ///
    /// # Errors
    /// Returns the errors of [`facets`](Self::facets).
    pub fn explain_facets(&self, request: &FacetsRequest) -> Result<Vec<FacetExplanation>, StoreError> {
        self.searched(|| self.engine.explain_facets(request))
    }

    /// Answers a search, and counts the values of fields in the same snapshot. Reads the documents of the page from the file.
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Facet, FacetsRequest, Filter, SearchRequest, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// store.upsert(br#"{"id":"a","tags":["vip"]}"#, Durability::Synced)?;
    /// let filter = Filter::all(store.catalog());
    /// let facets = FacetsRequest::new(filter.clone()).with_facet(Facet::values(store.catalog(), "tags")?);
    /// let (page, counts) = store.search_with_facets(&SearchRequest::new(filter), &facets)?;
    /// assert_eq!((page.len(), counts.total, counts.facets[0].absent), (1, 1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`search`](Self::search) and of [`Engine::facets`](crate::Engine::facets).
    pub fn search_with_facets(
        &self,
        search: &SearchRequest,
        facets: &FacetsRequest,
    ) -> Result<(SearchAnswer, FacetsAnswer), StoreError> {
        let find = || self.engine.find_with_facets(search, facets);
        let (rows, answer, page) =
            self.find_beside(find, |rows, documents| self.page(search, rows, documents))?;
        Ok((page.unwrap_or_else(|| self.empty_page(search, &rows)), answer))
    }

    /// Reads the document with this id. Returns `None` if no document has the id.
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// store.upsert(br#"{"id":"a","tags":["vip"]}"#, Durability::Synced)?;
    /// assert_eq!(store.get("a")?.as_deref(), Some(r#"{"id":"a","tags":["vip"]}"#));
    /// assert_eq!(store.get("b")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if the document is damaged.
    pub fn get(&self, id: &str) -> Result<Option<String>, StoreError> {
        let Some(request) = request_for(self.catalog(), id) else { return Ok(None) };
        let read = |rows: &FoundRows, documents: &Documents| {
            (rows.len() > 0).then(|| documents.read(rows.document_number(0), str::to_owned)).transpose()
        };
        let (_, document) = self.find(&request, read)?;
        Ok(document.flatten())
    }

    /// Returns the completions at the byte offset `cursor` of a filter text, as [`Engine::completions`](crate::Engine::completions)
    /// does. Reads no documents. If the file cannot be read, no values of documents are among the completions.
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::create(folder.path().join("cases.db"), Catalog::cases(), StoreOptions::default())?;
    /// store.upsert(br#"{"id":"a","tags":["vip"]}"#, Durability::Synced)?;
    /// assert_eq!(store.completions("tags = ", 7).candidates[0].text, "vip");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn completions(&self, text: &str, cursor: usize) -> Completions {
        let completions = self.with_columns(|| self.engine.completions(text, cursor));
        completions.unwrap_or_else(|_| Completions::new(self.catalog(), text, cursor))
    }

    /// Returns true if there is a document with this id. Reads no documents.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn contains(&self, id: &str) -> Result<bool, StoreError> {
        self.with_columns(|| self.engine.contains(id))
    }

    /// Calls `search`, which may read columns. See [`with_columns`](Self::with_columns).
    fn searched<T>(&self, search: impl Fn() -> Result<T, Error>) -> Result<T, StoreError> {
        self.with_columns(search)?.map_err(|error| StoreError::request(&self.name, error))
    }

    /// Runs a search. Unless the page is empty, calls `read` with the page and a reader of its documents.
    pub(super) fn find<T>(
        &self,
        request: &SearchRequest,
        read: impl Fn(&FoundRows, &Documents) -> Result<T, Fault>,
    ) -> Result<(FoundRows, Option<T>), StoreError> {
        let (rows, (), page) = self.find_beside(|| Ok((self.engine.find(request)?, ())), read)?;
        Ok((rows, page))
    }

    /// Runs a search by `find`, which also returns another result of the same snapshot. Unless the page is empty, calls `read` with
    /// the page and a reader of its documents. If the file was opened again in between, calls both again.
    fn find_beside<T, B>(
        &self,
        find: impl Fn() -> Result<(FoundRows, B), Error>,
        read: impl Fn(&FoundRows, &Documents) -> Result<T, Fault>,
    ) -> Result<(FoundRows, B, Option<T>), StoreError> {
        let (answer, beside) = self.searched(&find)?;
        if answer.len() == 0 {
            return Ok((answer, beside, None));
        }
        let own = answer.attachment::<Documents>();
        let mut anew = None;
        let again = || {
            // Waits for a thread that may be reopening the file. Repeats the search, because writes may have replaced documents in
            // between.
            let now = Documents::of(&self.file)?;
            let (answer, beside) = find().map_err(|error| match error.is_stop() {
                true => Fault::stopped(error),
                false => Fault::new(
                    StoreErrorKind::Failed,
                    "the file was opened again while a page was read; search again",
                ),
            })?;
            let documents = answer.attachment::<Documents>();
            let documents = documents.filter(|own| own.generation >= now.generation).unwrap_or(&now);
            let result = read(&answer, documents)?;
            anew = Some((answer, beside));
            Ok(result)
        };
        let result = match own {
            Some(own) => self.reading(own.generation, || read(&answer, own), again),
            None => self.reading(self.file.generation(), || Err(no_documents()), again),
        }?;
        let (answer, beside) = anew.unwrap_or((answer, beside));
        Ok((answer, beside, Some(result)))
    }

    /// Calls `read` with a reader of the documents that a search found.
    pub(super) fn read_documents<T>(
        &self,
        answer: &FoundRows,
        read: impl Fn(&Documents) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let own = answer.attachment::<Documents>();
        let again = || {
            let now = Documents::of(&self.file)?;
            let now = match own {
                Some(own) => now.with_old_of(own),
                None => now,
            };
            // Documents that were replaced or deleted after the search are no longer in the file.
            read(&now).map_err(|fault| match fault.kind {
                StoreErrorKind::Corrupt if own.is_none_or(|own| now.generation != own.generation) => {
                    Fault::new(
                        StoreErrorKind::Failed,
                        "the file was opened again while documents were read; read them again",
                    )
                }
                _ => fault,
            })
        };
        match own {
            Some(own) => self.reading(own.generation, || read(own), again),
            None => self.reading(self.file.generation(), again, again),
        }
    }

    /// Returns the ids of the documents on the page of a request, in order. Does not read documents.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::search`](crate::Engine::search), and those of [`count`](Self::count).
    pub fn ids(&self, request: &SearchRequest) -> Result<Vec<String>, StoreError> {
        self.searched(|| Ok(self.engine.find(request)?.ids().map(str::to_owned).collect()))
    }

    /// Passes the ids of the documents on the page of a request to `take`. The ids come from one snapshot. Does not read documents.
    ///
    /// The ids are not collected in a list. So the limit of the request may exceed [`Limits::page`](crate::Limits::page), as with
    /// [`documents`](Self::documents). The deadline of the request applies only to the search. After the search, `take` can stop
    /// the loop by returning an error.
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Filter, SearchRequest, Store, StoreError, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("cases.db");
    /// # let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
    /// store.upsert(br#"{"id":"a"}"#, Durability::Grouped)?;
    /// let mut ids = Vec::new();
    /// store.each_id(&SearchRequest::new(Filter::all(store.catalog())).with_limit(u64::MAX), |id| {
    ///     ids.push(id.to_owned());
    ///     Ok::<_, StoreError>(())
    /// })?;
    /// assert_eq!(ids, ["a"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the error of `take`. Returns [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch) in the same cases as
    /// [`Engine::search`](crate::Engine::search), and the errors of [`count`](Self::count).
    pub fn each_id<E: From<StoreError>>(
        &self,
        request: &SearchRequest,
        take: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let found = self.searched(|| {
            let found = self.engine.find_any_page(request)?;
            found.read_ids();
            Ok(found)
        })?;
        found.ids().try_for_each(take)
    }

    /// Returns an iterator over the documents on the page of a request, from one snapshot.
    ///
    /// Only one document at a time is in memory. So the limit of the request may exceed [`Limits::page`](crate::Limits::page). The
    /// deadline of the request applies to the search, and not to the iterator.
    ///
    /// # Errors
    /// Returns [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch) in the same cases as
    /// [`Engine::search`](crate::Engine::search), and the errors of [`count`](Self::count).
    pub fn documents(&self, request: &SearchRequest) -> Result<StoredDocuments<'_>, StoreError> {
        let rows = self.searched(|| self.engine.find_any_page(request))?;
        Ok(StoredDocuments::new(self, rows))
    }

    /// Returns the number of a write, or `None` if the file does not count writes.
    pub(super) fn counted(&self, write: u64) -> Option<u64> {
        self.is_packed.then_some(write)
    }

    /// Reads the documents of a page.
    pub(super) fn page(
        &self,
        request: &SearchRequest,
        rows: &FoundRows,
        documents: &Documents,
    ) -> Result<SearchAnswer, Fault> {
        let mut page = AnswerWriter::new(request, rows.total, rows.examined, rows.len());
        page.set_next(rows.next.clone());
        page.set_last_write(self.counted(rows.last_write));
        for place in 0..rows.len() {
            request.stop.verdict_now().map_err(Fault::stopped)?;
            documents.read(rows.document_number(place), |document| page.push(rows.id(place), document))?;
        }
        Ok(page.finish())
    }

    /// Returns the answer for a page without documents.
    pub(super) fn empty_page(&self, request: &SearchRequest, rows: &FoundRows) -> SearchAnswer {
        let mut page = AnswerWriter::new(request, rows.total, rows.examined, 0);
        page.set_last_write(self.counted(rows.last_write));
        page.finish()
    }
}

/// An iterator over documents of a [`Store`]. It reads one document at a time from the file; see [`Store::documents`].
#[derive(Debug)]
pub struct StoredDocuments<'s> {
    store: &'s Store,
    rows: FoundRows,
    /// The index of the next document.
    next: usize,
}

impl<'s> StoredDocuments<'s> {
    pub(super) fn new(store: &'s Store, rows: FoundRows) -> Self {
        Self { store, rows, next: 0 }
    }
}

#[cfg(feature = "service")]
impl StoredDocuments<'_> {
    /// Returns the cursor for the next page, if the request asks for it and the page is not the last page.
    pub(crate) fn cursor(&self) -> Option<&Cursor> {
        self.rows.next.as_ref()
    }

    /// Returns the number of selected documents, if the request asks for the count.
    pub(crate) fn total(&self) -> Option<u64> {
        self.rows.total
    }

    /// Returns the number of documents that the iterator has not returned yet.
    pub(crate) fn left(&self) -> usize {
        self.rows.len().saturating_sub(self.next)
    }

    /// Reads the ids of all documents of the page, which [`next_id`](Self::next_id) returns.
    pub(crate) fn read_ids(&self) -> Result<(), StoreError> {
        self.store.with_columns(|| self.rows.read_ids())
    }

    /// Passes the ids of all documents of the page to `take`, in order. The ids must have been [read](Self::read_ids).
    pub(crate) fn each_id(&self, take: impl FnMut(&str)) {
        self.rows.ids().for_each(take);
    }

    /// Returns the number of the last write before the search, if the file counts writes.
    pub(crate) fn last_write(&self) -> Option<u64> {
        self.store.counted(self.rows.last_write)
    }

    /// Returns the id of the next document, and does not move on. Returns `None` after the last document. The ids must have been
    /// [read](Self::read_ids).
    pub(crate) fn next_id(&self) -> Option<&str> {
        (self.left() > 0).then(|| self.rows.id(self.next))
    }

    /// Skips the next document.
    pub(crate) fn pass_over(&mut self) {
        self.next = self.next.saturating_add(1).min(self.rows.len());
    }
}

impl Iterator for StoredDocuments<'_> {
    type Item = Result<String, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let place = self.next;
        if place >= self.rows.len() {
            return None;
        }
        self.next = place.saturating_add(1);
        let number = self.rows.document_number(place);
        Some(self.store.read_documents(&self.rows, |documents| documents.read(number, str::to_owned)))
    }
}

impl Sealed for Store {}

impl Searchable for Store {
    type Error = StoreError;

    fn catalog(&self) -> &Catalog {
        self.catalog()
    }

    fn limits(&self) -> &Limits {
        self.limits()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn get(&self, id: &str) -> Result<Option<String>, StoreError> {
        self.get(id)
    }

    fn contains(&self, id: &str) -> Result<bool, StoreError> {
        self.contains(id)
    }

    fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, StoreError> {
        self.search(request)
    }

    fn count(&self, filter: &Filter) -> Result<u64, StoreError> {
        self.count(filter)
    }

    fn hints(&self, filter: &Filter) -> Vec<Warning> {
        self.hints(filter)
    }

    fn explain(&self, request: &SearchRequest) -> Result<Explanation, StoreError> {
        self.explain(request)
    }
}
