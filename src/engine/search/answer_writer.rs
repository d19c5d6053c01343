//! Creates an answer from documents that a store or a server returns one by one.

use super::answer::SearchAnswer;
use super::frame::{AnswerFrame, PageInfo};
use super::written_page::WrittenPage;
use crate::filter::{Cursor, SearchRequest};

/// A writer that creates an answer from documents, which are pushed one by one.
pub(crate) struct AnswerWriter {
    page: WrittenPage,
    frame: AnswerFrame,
    expected: usize,
    offset_and_limit: (u64, u64),
}

impl AnswerWriter {
    /// Starts the answer to a request. `expected` is an estimate of the number of documents that will be pushed.
    pub(crate) fn new(request: &SearchRequest, total: Option<u64>, examined: u64, expected: usize) -> Self {
        let (page, frame) = WrittenPage::new(request.filter.catalog(), total, examined, expected);
        Self { page, frame, expected, offset_and_limit: (request.offset, request.limit) }
    }

    /// Appends a document.
    pub(crate) fn push(&mut self, id: &str, document: &str) {
        self.page.push(&mut self.frame, self.expected, id, document);
    }

    /// Sets the total, if it becomes known only after the page.
    #[cfg(feature = "postgres")]
    pub(crate) fn set_total(&mut self, total: Option<u64>) {
        self.page.total = total;
    }

    /// Sets the cursor for the next page.
    #[cfg(any(feature = "postgres", feature = "store"))]
    pub(crate) fn set_next(&mut self, next: Option<Cursor>) {
        self.page.next = next;
    }

    /// Sets the number of the last write before the search.
    #[cfg(feature = "store")]
    pub(crate) fn set_last_write(&mut self, last_write: Option<u64>) {
        self.page.last_write = last_write;
    }

    /// Ends the JSON and returns the answer.
    pub(crate) fn finish(mut self) -> SearchAnswer {
        let (offset, limit) = self.offset_and_limit;
        let info = PageInfo { total: self.page.total, offset, limit, next: self.page.next.as_ref() };
        self.frame.end(&mut self.page.json, info);
        SearchAnswer::of_written(self.page, self.offset_and_limit)
    }
}

impl SearchAnswer {
    /// Creates the answer to a request from documents that another system found. `documents` has pairs of an id and a document, in
    /// the order of the page.
    ///
    /// This function also creates an answer from changed documents, for example to [show only the allowed
    /// members](crate::guide::catalogues#show-only-the-allowed-members). The answer has no cursor until
    /// [`with_next`](Self::with_next) sets the cursor of the found page.
    ///
    /// A document is a JSON object. It is copied unchanged. If a document is an empty string, its item in the answer is an object
    /// with only the id. The catalogue of the filter gives the name of the member that contains the id.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, SearchAnswer, SearchRequest};
    /// let request = SearchRequest::new(Filter::all(&Catalog::cases())).with_limit(1);
    /// let answer = SearchAnswer::of_documents(&request, Some(2), [("a", r#"{"id":"a"}"#)]);
    /// assert!(answer.to_json().starts_with(r#"{"list":{"items":[{"id":"a"}],"#));
    /// assert_eq!((answer.len(), answer.total()), (1, Some(2)));
    /// let ids = SearchAnswer::of_documents(&request, None, [("a", ""), ("b", "")]);
    /// assert!(ids.to_json().starts_with(r#"{"list":{"items":[{"id":"a"},{"id":"b"}],"#));
    /// ```
    #[must_use]
    pub fn of_documents<I: AsRef<str>, D: AsRef<str>>(
        request: &SearchRequest,
        total: Option<u64>,
        documents: impl IntoIterator<Item = (I, D)>,
    ) -> Self {
        let mut writer = AnswerWriter::new(request, total, 0, 0);
        for (id, document) in documents {
            writer.push(id.as_ref(), document.as_ref());
        }
        writer.finish()
    }

    /// Sets the cursor for the next page. An answer from [`of_documents`](Self::of_documents) has no cursor before this call.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter, SearchAnswer, SearchRequest};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a"},{"id":"b"}]"#)?;
    /// let request = SearchRequest::new(Filter::all(engine.catalog())).with_limit(1).with_cursor(true);
    /// let found = engine.search(&request)?;
    /// let changed = SearchAnswer::of_documents(&request, None, [("a", "{}")]).with_next(found.next().cloned());
    /// assert!(changed.to_json().contains(r#""offset":0,"next":""#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_next(mut self, next: impl Into<Option<Cursor>>) -> Self {
        self.replace_next(next.into());
        self
    }
}
