//! The answer to a search whose documents are not in memory.

use std::ops::Range;

use super::answer::{FRAME_BYTES, Page};
use crate::filter::Request;

/// The page of cases that a search found in a file or on a server, written as the interface has it.
///
/// Each document was copied once, into the text of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenAnswer {
    json: String,
    /// All ids, one behind the other.
    ids: String,
    items: Vec<Item>,
    total: Option<u64>,
    page: (u64, u64),
    examined: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    /// In `ids`.
    id: Range<usize>,
    /// In `json`.
    document: Range<usize>,
}

/// A [`WrittenAnswer`] that is being written.
pub(crate) struct AnswerWriter {
    answer: WrittenAnswer,
    page: Page,
    expected: usize,
}

impl AnswerWriter {
    /// The answer to a request, with no document yet of those expected.
    pub(crate) fn new(request: &Request, total: Option<u64>, examined: u64, expected: usize) -> Self {
        let page = (request.offset, request.limit);
        let mut json = String::with_capacity(FRAME_BYTES);
        let writer = Page::begin(&mut json);
        let items = Vec::with_capacity(expected);
        let answer = WrittenAnswer { json, ids: String::new(), items, total, page, examined };
        Self { answer, page: writer, expected }
    }

    /// Adds a case.
    pub(crate) fn push(&mut self, id: &str, document: &str) {
        let WrittenAnswer { json, ids, items, .. } = &mut self.answer;
        if items.is_empty() {
            // Documents are of about the same size, most times.
            let size = document.len().saturating_add(document.len() / 8).saturating_mul(self.expected);
            json.reserve(size.min(MOST_RESERVED).saturating_add(FRAME_BYTES));
            ids.reserve(id.len().saturating_mul(self.expected).min(MOST_RESERVED));
        }
        let id_start = ids.len();
        ids.push_str(id);
        let document = self.page.document(json, document);
        items.push(Item { id: id_start..ids.len(), document });
    }

    /// Sets how many cases were selected, when that is known only after the page.
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

/// More bytes than this are only taken as documents come.
const MOST_RESERVED: usize = 1 << 20;

impl WrittenAnswer {
    /// The answer to a request, of cases that were found elsewhere: ids and documents, in order.
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

    /// How many cases are on the page.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True when no case is on the page.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How many cases were selected before paging, when the request asked for it.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// As [`Answer::examined`](crate::Answer::examined); 0 for the rows of a server.
    #[must_use]
    pub fn examined(&self) -> u64 {
        self.examined
    }

    /// The ids of the cases on the page, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.items.iter().map(|item| self.ids.get(item.id.clone()).unwrap_or_default())
    }

    /// The documents of the cases on the page as stored, in order.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = &str> {
        self.items.iter().map(|item| self.json.get(item.document.clone()).unwrap_or_default())
    }

    /// The answer as the interface has it, the same text as that of [`Answer`](crate::Answer::to_json).
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.json
    }

    /// As [`as_json`](Self::as_json), without a copy.
    #[must_use]
    pub fn into_json(self) -> String {
        self.json
    }
}
