//! Searches: rows from memory, documents of the page from the file.

use std::time::Duration;

use super::database::Store;
use super::documents::Documents;
use super::error::{Fault, StoreError, StoreErrorKind};
use crate::engine::explain::Explanation;
use crate::engine::{Answer, AnswerWriter, WrittenAnswer};
use crate::error::Error;
use crate::filter::Request;
use crate::filter::{Filter, Warning};

impl Store {
    /// Returns the number of cases that the filter selects.
    ///
    /// # Errors
    /// As [`Engine::count`](crate::Engine::count).
    pub fn count(&self, filter: &Filter) -> Result<u64, Error> {
        self.engine.count(filter)
    }

    /// Returns hints about why a filter may select no case, as [`Engine::hints`](crate::Engine::hints) does, and the
    /// [unknown members](Self::unknown_members) that look like its fields.
    #[must_use]
    pub fn hints(&self, filter: &Filter) -> Vec<Warning> {
        let mut hints = self.engine.hints(filter);
        hints.extend(self.unknown_members(filter));
        hints
    }

    /// Returns the plan of a request, like [`Engine::explain`](crate::Engine::explain). The file is not read.
    ///
    /// # Errors
    /// As [`Engine::explain`](crate::Engine::explain).
    pub fn explain(&self, request: &Request) -> Result<Explanation, Error> {
        self.engine.explain(request)
    }

    /// Returns the plan of a request with its costs, like [`Engine::analyze`](crate::Engine::analyze). Documents are not read, so
    /// reading them is not measured.
    ///
    /// # Errors
    /// As [`Engine::analyze`](crate::Engine::analyze).
    pub fn analyze(
        &self,
        request: &Request,
        clock: &(dyn Fn() -> Duration + Sync),
    ) -> Result<Explanation, Error> {
        self.engine.analyze(request, clock)
    }

    /// Answers a request from the cases of one moment. The documents of the page are read from the file.
    ///
    /// # Errors
    /// When the file cannot be read, or a document is damaged; [`StoreErrorKind::Request`] for a request that
    /// [`Engine::search`](crate::Engine::search) rejects.
    pub fn search(&self, request: &Request) -> Result<WrittenAnswer, StoreError> {
        let (answer, page) = self.find(request, |answer, documents| {
            let mut page = AnswerWriter::new(request, answer.total(), answer.examined(), answer.len());
            for (number, id) in answer.document_numbers().zip(answer.ids()) {
                documents.read(number, |document| page.push(id, document))?;
            }
            Ok(page.finish())
        })?;
        let none = || AnswerWriter::new(request, answer.total(), answer.examined(), 0).finish();
        Ok(page.unwrap_or_else(none))
    }

    /// Searches, and calls `read` with the page and its documents, unless the page is empty.
    pub(super) fn find<T>(
        &self,
        request: &Request,
        read: impl Fn(&Answer, &Documents) -> Result<T, Fault>,
    ) -> Result<(Answer, Option<T>), StoreError> {
        let answer = self.engine.search(request).map_err(|error| StoreError::request(&self.name, error))?;
        if answer.is_empty() {
            return Ok((answer, None));
        }
        let Some(own) = answer.attachment::<Documents>() else {
            return Err(self.error(Fault::corrupt("cases without documents")));
        };
        let mut anew = None;
        let again = || {
            // Waits for a thread that reopens the file. The search is repeated, since writes in between have other documents.
            let now = Documents::of(&self.file)?;
            let Ok(answer) = self.engine.search(request) else {
                return Err(Fault::new(
                    StoreErrorKind::Failed,
                    "opened again while a page was read; search again",
                ));
            };
            let documents = answer.attachment::<Documents>();
            let documents = documents.filter(|own| own.generation >= now.generation).unwrap_or(&now);
            let result = read(&answer, documents)?;
            anew = Some(answer);
            Ok(result)
        };
        let result = self.reading(own.generation, || read(&answer, own), again)?;
        Ok((anew.unwrap_or(answer), Some(result)))
    }

    /// Calls `read` with the documents of the cases that a search found.
    pub(super) fn read_documents<T>(
        &self,
        answer: &Answer,
        read: impl Fn(&Documents) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let Some(own) = answer.attachment::<Documents>() else {
            return Err(self.error(Fault::corrupt("cases without documents")));
        };
        let again = || {
            let now = Documents::of(&self.file)?;
            // Documents that were replaced or deleted since the search are gone.
            read(&now).map_err(|fault| match fault.kind {
                StoreErrorKind::Corrupt if now.generation != own.generation => Fault::new(
                    StoreErrorKind::Failed,
                    "opened again while documents were read; read them again",
                ),
                _ => fault,
            })
        };
        self.reading(own.generation, || read(own), again)
    }

    /// Returns the ids of the cases on the page of a request, in order. The file is not read.
    ///
    /// # Errors
    /// As [`Engine::search`](crate::Engine::search).
    pub fn ids(&self, request: &Request) -> Result<Vec<String>, Error> {
        Ok(self.engine.search(request)?.ids().map(str::to_owned).collect())
    }

    /// Passes the ids of the cases on the page of a request to `take`, all of one moment. The file is not read.
    ///
    /// No list of them is made, and the limit of the request may be above [`Limits::page`](crate::Limits::page), as for [`documents`](Self::documents).
    ///
    /// ```
    /// use casefilter::{Catalog, Durability, Error, Filter, Request, Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("cases.db");
    /// # let store = Store::create(&path, Catalog::cases(), StoreOptions::default())?;
    /// store.upsert(br#"{"id":"a"}"#, Durability::Grouped)?;
    /// let mut ids = Vec::new();
    /// store.each_id(&Request::new(Filter::all(store.catalog())).limit(u64::MAX), |id| {
    ///     ids.push(id.to_owned());
    ///     Ok::<_, Error>(())
    /// })?;
    /// assert_eq!(ids, ["a"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The error of `take`; [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch), as [`Engine::search`](crate::Engine::search).
    pub fn each_id<E: From<Error>>(
        &self,
        request: &Request,
        take: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.engine.search_any_page(request)?.ids().try_for_each(take)
    }

    /// Returns an iterator over the documents of the cases on the page of a request, all of one moment.
    ///
    /// Since one document is in memory at a time, the limit of the request may be above [`Limits::page`](crate::Limits::page).
    ///
    /// # Errors
    /// [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch), as [`Engine::search`](crate::Engine::search).
    pub fn documents(&self, request: &Request) -> Result<StoredDocuments<'_>, Error> {
        let answer = self.engine.search_any_page(request)?;
        let numbers = answer.document_numbers().collect::<Vec<_>>().into_iter();
        Ok(StoredDocuments { store: self, answer, numbers })
    }
}

/// An iterator over documents of a [`Store`], which reads one at a time; see [`Store::documents`].
#[derive(Debug)]
pub struct StoredDocuments<'s> {
    store: &'s Store,
    answer: Answer,
    numbers: std::vec::IntoIter<Option<u64>>,
}

#[cfg(feature = "service")]
impl StoredDocuments<'_> {
    /// Returns the number of selected cases, if the request counts them.
    pub(crate) fn total(&self) -> Option<u64> {
        self.answer.total()
    }

    /// Returns the number of documents to come.
    pub(crate) fn left(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the id of the case whose document is next.
    pub(crate) fn next_id(&self) -> Option<&str> {
        self.answer.id_at(self.answer.len().checked_sub(self.left())?)
    }

    /// Skips the next document.
    pub(crate) fn pass_over(&mut self) {
        self.numbers.next();
    }
}

impl Iterator for StoredDocuments<'_> {
    type Item = Result<String, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.numbers.next()?;
        Some(self.store.read_documents(&self.answer, |documents| documents.read(number, str::to_owned)))
    }
}
