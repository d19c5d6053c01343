//! Answers whose documents are not in memory.

use std::ops::Range;

use super::answer::{FRAME_BYTES, Page};
use crate::filter::Request;

/// A page of cases that were found in a file or on a server, already written as JSON.
///
/// Each document was copied once, into the JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenAnswer {
    json: String,
    /// All ids, concatenated.
    ids: String,
    items: Vec<Item>,
    total: Option<u64>,
    page: (u64, u64),
    examined: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    /// Its range in `ids`.
    id: Range<usize>,
    /// Its range in `json`.
    document: Range<usize>,
}

/// A writer of a [`WrittenAnswer`].
pub(crate) struct AnswerWriter {
    answer: WrittenAnswer,
    page: Page,
    expected: usize,
}

impl AnswerWriter {
    /// Begins the answer to a request. `expected` is the number of documents to come.
    pub(crate) fn new(request: &Request, total: Option<u64>, examined: u64, expected: usize) -> Self {
        let page = (request.offset, request.limit);
        let mut json = String::with_capacity(FRAME_BYTES);
        let writer = Page::begin(&mut json);
        let items = Vec::with_capacity(expected);
        let answer = WrittenAnswer { json, ids: String::new(), items, total, page, examined };
        Self { answer, page: writer, expected }
    }

    /// Appends a case.
    pub(crate) fn push(&mut self, id: &str, document: &str) {
        let WrittenAnswer { json, ids, items, .. } = &mut self.answer;
        if items.is_empty() {
            // Documents usually have about the same size.
            let size = document.len().saturating_add(document.len() / 8).saturating_mul(self.expected);
            json.reserve(size.min(MOST_RESERVED).saturating_add(FRAME_BYTES));
            ids.reserve(id.len().saturating_mul(self.expected).min(MOST_RESERVED));
        }
        let id_start = ids.len();
        ids.push_str(id);
        let document = self.page.document(json, document);
        items.push(Item { id: id_start..ids.len(), document });
    }

    /// Sets the number of all selected cases, if it is known only after the page.
    #[cfg(feature = "postgres")]
    pub(crate) fn set_total(&mut self, total: Option<u64>) {
        self.answer.total = total;
    }

    pub(crate) fn finish(mut self) -> WrittenAnswer {
        let answer = &mut self.answer;
        self.page.end(&mut answer.json, answer.total, answer.page);
        self.answer
    }
}

/// The most bytes that are reserved in advance.
const MOST_RESERVED: usize = 1 << 20;

impl WrittenAnswer {
    /// Creates the answer to a request from the ids and documents of cases found elsewhere, in order.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, Request, WrittenAnswer};
    /// let request = Request::new(Filter::all(&Catalog::cases())).limit(1);
    /// let answer = WrittenAnswer::of_cases(&request, Some(2), [("a", r#"{"id":"a"}"#)]);
    /// assert!(answer.as_json().starts_with(r#"{"list":{"items":[{"id":"a"}],"#));
    /// assert_eq!((answer.len(), answer.total()), (1, Some(2)));
    /// ```
    pub fn of_cases<I: AsRef<str>, D: AsRef<str>>(
        request: &Request,
        total: Option<u64>,
        cases: impl IntoIterator<Item = (I, D)>,
    ) -> Self {
        let mut writer = AnswerWriter::new(request, total, 0, 0);
        for (id, document) in cases {
            writer.push(id.as_ref(), document.as_ref());
        }
        writer.finish()
    }

    /// Returns the number of cases on the page.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if no case is on the page.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the number of all selected cases, if the request asked for it.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// Like [`Answer::examined`](crate::Answer::examined); 0 for the rows of a server.
    #[must_use]
    pub fn examined(&self) -> u64 {
        self.examined
    }

    /// Returns the ids of the cases on the page, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.items.iter().map(|item| self.ids.get(item.id.clone()).unwrap_or_default())
    }

    /// Returns the stored documents of the page, in order.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = &str> {
        self.items.iter().map(|item| self.json.get(item.document.clone()).unwrap_or_default())
    }

    /// Returns the answer as JSON, in the form of [`Answer::to_json`](crate::Answer::to_json).
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.json
    }

    /// Like [`as_json`](Self::as_json), without a copy.
    #[must_use]
    pub fn into_json(self) -> String {
        self.json
    }
}
