//! Snapshots of a store that a host holds, to run several searches on the same documents.

use super::database::Store;
use super::error::{Fault, StoreError};
use crate::engine::{AnswerWriter, EngineSnapshot, SearchAnswer};
use crate::filter::SearchRequest;

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
    /// See [`StoreSnapshot`] for an example.
    #[must_use]
    pub fn snapshot(&self) -> StoreSnapshot<'_> {
        StoreSnapshot { store: self, snapshot: self.engine.snapshot() }
    }
}

impl StoreSnapshot<'_> {
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

    /// Answers a request, like [`Store::search`].
    ///
    /// # Errors
    /// Returns the errors of [`Store::search`]. Also returns an error if a document of the page was replaced or deleted before the
    /// store reopened the file, or if a column of such documents has not been read before. The store reopens the file after a
    /// failed read or write.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, StoreError> {
        let rows = self.store.with_columns(|| self.snapshot.find(request))?;
        let rows = rows.map_err(|error| StoreError::request(&self.store.name, error))?;
        let new = || {
            let mut page = AnswerWriter::new(request, rows.total, rows.examined, rows.len());
            page.set_next(rows.next.clone());
            page
        };
        if rows.len() == 0 {
            return Ok(new().finish());
        }
        self.store.read_documents(&rows, |documents| {
            let mut page = new();
            for place in 0..rows.len() {
                request.stop.verdict_now().map_err(Fault::stopped)?;
                documents
                    .read(rows.document_number(place), |document| page.push(rows.id(place), document))?;
            }
            Ok(page.finish())
        })
    }
}
