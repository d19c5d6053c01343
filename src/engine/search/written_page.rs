//! A page whose documents were read from a file or a server, stored as the JSON of an answer.

use std::ops::Range;

use super::frame::{AnswerFrame, FRAME_BYTES, IdMember, PageInfo};
use crate::catalog::Catalog;
use crate::filter::Cursor;

/// The JSON of an answer, and the ranges of its documents. Each document was copied once, into this JSON.
#[derive(Clone)]
pub(super) struct WrittenPage {
    pub(super) json: String,
    /// All ids, concatenated.
    ids: String,
    items: Vec<Item>,
    pub(super) total: Option<u64>,
    pub(super) examined: u64,
    /// The number of the last write before the search, if it is known.
    pub(super) last_write: Option<u64>,
    pub(super) next: Option<Cursor>,
    member: IdMember,
}

#[derive(Clone)]
struct Item {
    /// The range of the id in `ids`.
    id: Range<usize>,
    /// The range of the document in `json`.
    document: Range<usize>,
}

impl WrittenPage {
    /// Creates a page without documents, with memory for `expected` documents.
    pub(super) fn new(
        catalog: &Catalog,
        total: Option<u64>,
        examined: u64,
        expected: usize,
    ) -> (Self, AnswerFrame) {
        let mut json = String::with_capacity(FRAME_BYTES);
        let frame = AnswerFrame::begin(&mut json);
        let (items, member) = (Vec::with_capacity(expected), IdMember::of(catalog));
        (
            Self { json, ids: String::new(), items, total, examined, last_write: None, next: None, member },
            frame,
        )
    }

    /// Appends a document. `expected` is an estimate of the number of documents on the page.
    pub(super) fn push(&mut self, frame: &mut AnswerFrame, expected: usize, id: &str, document: &str) {
        if self.items.is_empty() {
            // Documents of one page usually have similar sizes.
            let size = document.len().saturating_add(document.len() / 8).saturating_mul(expected);
            self.json.reserve(size.min(MOST_RESERVED).saturating_add(FRAME_BYTES));
            self.ids.reserve(id.len().saturating_mul(expected).min(MOST_RESERVED));
        }
        let id_start = self.ids.len();
        self.ids.push_str(id);
        let document = if document.is_empty() {
            frame.id(&mut self.json, &self.member, id);
            self.json.len()..self.json.len()
        } else {
            frame.document(&mut self.json, document)
        };
        self.items.push(Item { id: id_start..self.ids.len(), document });
    }

    /// Replaces the cursor for the next page, also in the JSON.
    pub(super) fn replace_next(&mut self, next: Option<Cursor>, (offset, limit): (u64, u64)) {
        let end = |next: Option<&Cursor>| {
            let mut end = String::new();
            AnswerFrame::new().end(&mut end, PageInfo { total: self.total, offset, limit, next });
            end
        };
        let own = self.json.len().saturating_sub(end(self.next.as_ref()).len());
        self.json.truncate(own);
        self.json.push_str(&end(next.as_ref()));
        self.next = next;
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the id of the document at index `place` of the page, or an empty string if the page has no such index.
    pub(super) fn id(&self, place: usize) -> &str {
        self.items.get(place).and_then(|item| self.ids.get(item.id.clone())).unwrap_or_default()
    }

    /// Returns the document at index `place` of the page, or an empty string if the page has no such index.
    pub(super) fn document(&self, place: usize) -> &str {
        self.items.get(place).and_then(|item| self.json.get(item.document.clone())).unwrap_or_default()
    }
}

/// The maximum memory, in bytes, that is reserved for documents that have not been pushed yet. For more documents, the buffer grows
/// when they are pushed.
const MOST_RESERVED: usize = 1 << 20;
