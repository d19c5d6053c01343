//! A page whose documents were read from a file or a server, as the JSON of an answer.

use std::ops::Range;

use super::answer::SearchAnswer;
use super::frame::{AnswerFrame, FRAME_BYTES};
use crate::filter::SearchRequest;

/// The JSON of an answer, with the ranges of its documents. Each document was copied once, into that text.
#[derive(Clone)]
pub(super) struct WrittenPage {
    pub(super) json: String,
    /// All ids, one after the other.
    ids: String,
    items: Vec<Item>,
    pub(super) total: Option<u64>,
    pub(super) examined: u64,
}

#[derive(Clone)]
struct Item {
    /// A range of `ids`.
    id: Range<usize>,
    /// A range of `json`.
    document: Range<usize>,
}

impl WrittenPage {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the id of a document on the page; empty past its end.
    pub(super) fn id(&self, place: usize) -> &str {
        self.items.get(place).and_then(|item| self.ids.get(item.id.clone())).unwrap_or_default()
    }

    /// Returns a document on the page; empty past its end.
    pub(super) fn document(&self, place: usize) -> &str {
        self.items.get(place).and_then(|item| self.json.get(item.document.clone())).unwrap_or_default()
    }
}

/// A writer of an answer from documents that come one by one.
pub(crate) struct AnswerWriter {
    page: WrittenPage,
    frame: AnswerFrame,
    expected: usize,
    offset_and_limit: (u64, u64),
}

impl AnswerWriter {
    /// Begins the answer to a request, without a document yet of those expected.
    pub(crate) fn new(request: &SearchRequest, total: Option<u64>, examined: u64, expected: usize) -> Self {
        let mut json = String::with_capacity(FRAME_BYTES);
        let frame = AnswerFrame::begin(&mut json);
        let items = Vec::with_capacity(expected);
        let page = WrittenPage { json, ids: String::new(), items, total, examined };
        Self { page, frame, expected, offset_and_limit: (request.offset, request.limit) }
    }

    /// Appends a document.
    pub(crate) fn push(&mut self, id: &str, document: &str) {
        let WrittenPage { json, ids, items, .. } = &mut self.page;
        if items.is_empty() {
            // Documents of one page are of similar sizes.
            let size = document.len().saturating_add(document.len() / 8).saturating_mul(self.expected);
            json.reserve(size.min(MOST_RESERVED).saturating_add(FRAME_BYTES));
            ids.reserve(id.len().saturating_mul(self.expected).min(MOST_RESERVED));
        }
        let id_start = ids.len();
        ids.push_str(id);
        let document = self.frame.document(json, document);
        items.push(Item { id: id_start..ids.len(), document });
    }

    /// Sets the number of selected documents, when it becomes known only after the page.
    #[cfg(feature = "postgres")]
    pub(crate) fn set_total(&mut self, total: Option<u64>) {
        self.page.total = total;
    }

    pub(crate) fn finish(mut self) -> SearchAnswer {
        self.frame.end(&mut self.page.json, self.page.total, self.offset_and_limit);
        SearchAnswer::of_written(self.page, self.offset_and_limit)
    }
}

/// The largest reservation for documents that are only expected, in bytes.
const MOST_RESERVED: usize = 1 << 20;
