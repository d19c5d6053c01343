//! The answer to a search: ids, documents, the total, and the JSON form.

use std::io;

use super::found_rows::FoundRows;
use super::written_page::WrittenPage;
use crate::filter::{Cursor, SearchRequest};

/// The page that a search found, and the total if the request asks for it.
///
/// The answer keeps the documents as they were during the search. Later writes do not change them. An answer of an
/// [`Engine`](crate::Engine) shares the memory of its documents with the engine. An answer of a store or of PostgreSQL has copies
/// of them.
///
/// ```
/// use casefilter::{Catalog, Engine, Filter, ImportMode, SearchRequest};
/// let engine = Engine::new(Catalog::cases());
/// let mut import = engine.import(ImportMode::Strict);
/// import.push(br#"{"id":"a","amount":1.0}"#)?;
/// import.commit()?;
/// let answer = engine.search(&SearchRequest::new(Filter::all(engine.catalog())).with_limit(1).with_count(true))?;
/// assert_eq!(answer.documents().collect::<Vec<_>>(), [r#"{"id":"a","amount":1.0}"#]);
/// assert_eq!(
///     answer.to_json(),
///     r#"{"list":{"items":[{"id":"a","amount":1.0}],"totalItems":1,"pageInfo":{"limit":1,"offset":0}}}"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SearchAnswer {
    page: Page,
    offset_and_limit: (u64, u64),
}

/// The source of the documents of a page.
#[derive(Clone)]
enum Page {
    Rows(FoundRows),
    Written(WrittenPage),
}

impl SearchAnswer {
    /// Returns the answer to a request with the rows that were found.
    pub(super) fn of_rows(rows: FoundRows, request: &SearchRequest) -> Self {
        Self { page: Page::Rows(rows), offset_and_limit: (request.offset, request.limit) }
    }

    pub(super) fn of_written(page: WrittenPage, offset_and_limit: (u64, u64)) -> Self {
        Self { page: Page::Written(page), offset_and_limit }
    }

    /// Replaces the cursor for the next page.
    pub(super) fn replace_next(&mut self, next: Option<Cursor>) {
        match &mut self.page {
            Page::Rows(rows) => rows.next = next,
            Page::Written(page) => page.replace_next(next, self.offset_and_limit),
        }
    }

    /// Returns the number of documents on the page.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.page {
            Page::Rows(rows) => rows.len(),
            Page::Written(page) => page.len(),
        }
    }

    /// Returns true if no document is on the page.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the total: the number of documents that the filter selects. Returns `None` if the request does not ask for it.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        match &self.page {
            Page::Rows(rows) => rows.total,
            Page::Written(page) => page.total,
        }
    }

    /// Returns the cursor for the next page. Returns `None` if the request does not ask for it, or if the page is the last page.
    ///
    /// See [`Cursor`] for an example.
    #[must_use]
    pub fn next(&self) -> Option<&Cursor> {
        match &self.page {
            Page::Rows(rows) => rows.next.as_ref(),
            Page::Written(page) => page.next.as_ref(),
        }
    }

    /// Returns the number of the last write before the snapshot that was searched, or 0 if there was none.
    ///
    /// Two answers of the same engine or store with the same number come from the same documents. See
    /// [`EngineSnapshot::last_write`](crate::EngineSnapshot) for the numbers of an engine. A store keeps its numbers in the file.
    /// Returns `None` for an answer of PostgreSQL, and of a store whose file has an earlier format version.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter, SearchRequest};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a"},{"id":"b"}]"#)?;
    /// let answer = engine.search(&SearchRequest::new(Filter::all(engine.catalog())))?;
    /// assert_eq!(answer.last_write(), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn last_write(&self) -> Option<u64> {
        match &self.page {
            Page::Rows(rows) => Some(rows.last_write),
            Page::Written(page) => page.last_write,
        }
    }

    /// Returns the number of rows that the search examined. This number is a measure of its work.
    ///
    /// The number includes all rows of each evaluated batch. It also includes each row that the search takes from a list in the
    /// index over all batches. It does not include rows for which the index gives only a count, or rows of batches that the index
    /// or a zone map excludes. The number is 0 for a page from PostgreSQL.
    #[must_use]
    pub fn examined(&self) -> u64 {
        match &self.page {
            Page::Rows(rows) => rows.examined,
            Page::Written(page) => page.examined,
        }
    }

    /// Returns the ids of the documents on the page, in the order of the page.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|place| match &self.page {
            Page::Rows(rows) => rows.id(place),
            Page::Written(page) => page.id(place),
        })
    }

    /// Returns the documents on the page, in the order of the page. Their text is the text that was inserted. If the engine does
    /// not keep documents, the strings are empty.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|place| match &self.page {
            Page::Rows(rows) => rows.document(place),
            Page::Written(page) => page.document(place),
        })
    }

    /// Returns the answer as JSON: `{"list":{"items":[…],"totalItems":n,"pageInfo":{…}}}`.
    ///
    /// If the engine does not keep documents, an item is an object with only an `id`.
    #[must_use]
    pub fn to_json(&self) -> String {
        match &self.page {
            Page::Rows(rows) => rows.to_json(self.offset_and_limit),
            Page::Written(page) => page.json.clone(),
        }
    }

    /// Returns the same JSON as [`to_json`](Self::to_json), but does not copy an answer that already is JSON.
    #[must_use]
    pub fn into_json(self) -> String {
        match self.page {
            Page::Written(page) => page.json,
            Page::Rows(_) => self.to_json(),
        }
    }

    /// Writes the same JSON as [`to_json`](Self::to_json) to a writer, such as a file or a `Vec<u8>`.
    ///
    /// It writes each document separately, so pass a buffered writer. A mutable reference to a writer is also a writer.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter, SearchRequest};
    /// let engine = Engine::new(Catalog::cases());
    /// let answer = engine.search(&SearchRequest::new(Filter::all(engine.catalog())).with_limit(1))?;
    /// let mut body: Vec<u8> = Vec::new();
    /// answer.write_json(&mut body)?;
    /// assert_eq!(body, br#"{"list":{"items":[],"pageInfo":{"limit":1,"offset":0}}}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the error of the writer.
    pub fn write_json(&self, out: impl io::Write) -> io::Result<()> {
        match &self.page {
            Page::Rows(rows) => rows.write_json(out, self.offset_and_limit),
            Page::Written(page) => {
                let mut out = out;
                out.write_all(page.json.as_bytes())
            }
        }
    }
}

impl std::fmt::Debug for SearchAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchAnswer")
            .field("ids", &self.ids().collect::<Vec<_>>())
            .field("total", &self.total())
            .finish()
    }
}
