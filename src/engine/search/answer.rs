//! The answer to a search.
#![expect(clippy::arithmetic_side_effects, reason = "sizes of documents in memory")]

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::batch::Batch;
use crate::batch::RowAddr;
use crate::engine::Snapshot;
use crate::engine::snapshot::View;
use crate::filter::Request;

/// The page of cases that a search found.
///
/// It keeps the cases as they were when it was found, so that documents are borrowed, never copied, and
/// later writes do not change it.
///
/// ```
/// use casefilter::{Catalog, Engine, Filter, Mode, Request};
/// let engine = Engine::new(Catalog::cases());
/// let mut import = engine.import(Mode::Strict);
/// import.push(br#"{"id":"a","amount":1.0}"#)?;
/// import.commit()?;
/// let answer = engine.search(&Request::new(Filter::all(engine.catalog())).limit(1).count(true))?;
/// assert_eq!(answer.documents().collect::<Vec<_>>(), [r#"{"id":"a","amount":1.0}"#]);
/// assert_eq!(
///     answer.to_json(),
///     r#"{"list":{"items":[{"id":"a","amount":1.0}],"totalItems":1,"pageInfo":{"limit":1,"offset":0}}}"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Answer {
    /// The cases as they were; nothing, where the page has none of them.
    view: Option<Arc<View>>,
    rows: Vec<RowAddr>,
    total: Option<u64>,
    offset: u64,
    limit: u64,
    examined: u64,
    #[cfg(feature = "store")]
    pub(crate) attachment: Option<crate::engine::snapshot::Attachment>,
}

impl Answer {
    /// Of these rows of a view of the snapshot.
    pub(crate) fn new(
        snapshot: &Snapshot,
        view: &Arc<View>,
        rows: Vec<RowAddr>,
        total: Option<u64>,
        request: &Request,
    ) -> Self {
        #[cfg(not(feature = "store"))]
        let _ = snapshot;
        let has_rows = !rows.is_empty();
        Self {
            view: has_rows.then(|| Arc::clone(view)),
            rows,
            total,
            offset: request.offset,
            limit: request.limit,
            examined: 0,
            #[cfg(feature = "store")]
            attachment: has_rows.then(|| snapshot.attachment.load().as_deref().cloned()).flatten(),
        }
    }

    /// With how many rows were in the batches that were asked.
    pub(crate) fn with_examined(self, examined: u64) -> Self {
        Self { examined, ..self }
    }

    /// How many cases are on the page.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True when no case is on the page.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many cases were selected before paging, when the request asked for it.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// How many rows lie in the batches that had to be asked: a measure of the work, for hosts that watch it.
    #[must_use]
    pub fn examined(&self) -> u64 {
        self.examined
    }

    /// The ids of the cases on the page, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.rows.iter().map(|at| self.id(*at))
    }

    /// The id of a case on the page.
    #[cfg(feature = "service")]
    pub(crate) fn id_at(&self, place: usize) -> Option<&str> {
        self.rows.get(place).map(|at| self.id(*at))
    }

    /// The number of the document of a case on the page, when documents are kept elsewhere.
    #[cfg(feature = "service")]
    pub(crate) fn document_number_at(&self, place: usize) -> Option<u64> {
        let at = self.rows.get(place)?;
        self.batch(*at)?.document_number(usize::from(at.row))
    }

    /// The documents of the cases on the page as stored, in order; empty texts when the engine keeps none.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = &str> {
        self.rows.iter().map(|at| self.batch(*at).map_or("", |batch| batch.document(usize::from(at.row))))
    }

    /// The numbers of the documents of the cases on the page, in order, when documents are kept elsewhere.
    #[cfg_attr(
        not(any(test, feature = "store")),
        expect(dead_code, reason = "the durable store builds on it")
    )]
    pub(crate) fn document_numbers(&self) -> impl ExactSizeIterator<Item = Option<u64>> {
        self.rows
            .iter()
            .map(|at| self.batch(*at).and_then(|batch| batch.document_number(usize::from(at.row))))
    }

    fn batch(&self, at: RowAddr) -> Option<&Batch> {
        self.view.as_ref()?.batch(at)
    }

    fn id(&self, at: RowAddr) -> &str {
        self.view.as_ref().map_or("", |view| view.id(at))
    }

    /// The answer as the interface has it: `{"list":{"items":[…],"totalItems":n,"pageInfo":{…}}}`.
    ///
    /// Of an engine without documents, the items are objects with an `id` alone.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    /// Writes what [`to_json`](Self::to_json) gives behind what `out` holds.
    pub fn write_json(&self, out: &mut String) {
        let mut page = Page::begin(out);
        // Finding them all before the first is copied has the misses of the cache overlap. They are gathered where they stay:
        // moving room for a page takes longer than all else of a short answer.
        let mut documents: SmallVec<[&str; USUAL_PAGE]> = SmallVec::new();
        documents.extend(self.documents());
        out.reserve(FRAME_BYTES + documents.iter().map(|document| document.len() + 1).sum::<usize>());
        for (document, at) in documents.iter().zip(&self.rows) {
            if document.is_empty() {
                page.id(out, self.id(*at));
            } else {
                page.document(out, document);
            }
        }
        page.end(out, self.total, (self.offset, self.limit));
    }
}

/// Room for what stands around the documents.
pub(crate) const FRAME_BYTES: usize = 128;
/// Few pages are longer.
const USUAL_PAGE: usize = 128;

/// An answer as the interface has it, being written behind what a text holds.
///
/// Its parts may go to one text or to several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    is_empty: bool,
}

impl Page {
    pub(crate) fn begin(out: &mut String) -> Self {
        out.push_str("{\"list\":{\"items\":[");
        Self { is_empty: true }
    }

    /// Returns how many bytes a document takes, with what stands before it.
    #[cfg(feature = "service")]
    pub(crate) fn bytes(&self, document: &str) -> usize {
        document.len() + usize::from(!self.is_empty)
    }

    /// As [`bytes`](Self::bytes), of a document after which others follow.
    #[cfg(feature = "service")]
    pub(crate) fn pass(&mut self, document: &str) -> usize {
        let bytes = self.bytes(document);
        self.is_empty = false;
        bytes
    }

    /// Adds a document; gives where it lies.
    pub(crate) fn document(&mut self, out: &mut String, document: &str) -> Range<usize> {
        if !std::mem::take(&mut self.is_empty) {
            out.push(',');
        }
        let start = out.len();
        out.push_str(document);
        start..out.len()
    }

    /// Adds a case without a document.
    fn id(&mut self, out: &mut String, id: &str) {
        // Every string has a JSON form.
        let id = serde_json::to_string(id).unwrap_or_default();
        self.document(out, &format!("{{\"id\":{id}}}"));
    }

    /// With the number of all cases selected, if it was asked for, and the page's offset and limit.
    pub(crate) fn end(self, out: &mut String, total: Option<u64>, (offset, limit): (u64, u64)) {
        out.push(']');
        let mut digits = itoa::Buffer::new();
        let mut member = |name: &str, number: u64| {
            out.push_str(name);
            out.push_str(digits.format(number));
        };
        if let Some(total) = total {
            member(",\"totalItems\":", total);
        }
        member(",\"pageInfo\":{\"limit\":", limit);
        member(",\"offset\":", offset);
        out.push_str("}}}");
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer")
            .field("ids", &self.ids().collect::<Vec<_>>())
            .field("total", &self.total)
            .finish()
    }
}
