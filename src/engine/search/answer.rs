//! Answers to searches.
#![expect(clippy::arithmetic_side_effects, reason = "sizes of documents in memory")]

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::batch::Batch;
use crate::batch::RowAddr;
use crate::engine::Snapshot;
use crate::engine::snapshot::View;
use crate::filter::Request;

/// A page of cases, the answer to a search.
///
/// It holds the snapshot that was searched. So documents are borrowed, not copied, and later writes do not change the answer.
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
    /// The view that was searched; `None` for an empty page.
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
    /// Creates the answer from rows of a view of the snapshot.
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

    /// Sets the number of examined rows.
    pub(crate) fn with_examined(self, examined: u64) -> Self {
        Self { examined, ..self }
    }

    /// Returns the number of cases on the page.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if no case is on the page.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of all selected cases, if the request asked for it.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// Returns the number of rows in the batches that the search had to evaluate, a measure of its work.
    #[must_use]
    pub fn examined(&self) -> u64 {
        self.examined
    }

    /// Returns the ids of the cases on the page, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.rows.iter().map(|at| self.id(*at))
    }

    /// Returns the id of a case on the page.
    #[cfg(feature = "service")]
    pub(crate) fn id_at(&self, place: usize) -> Option<&str> {
        self.rows.get(place).map(|at| self.id(*at))
    }

    /// Returns the number of the document of a case on the page, if documents are kept elsewhere.
    #[cfg(feature = "service")]
    pub(crate) fn document_number_at(&self, place: usize) -> Option<u64> {
        let at = self.rows.get(place)?;
        self.batch(*at)?.document_number(usize::from(at.row))
    }

    /// Returns the stored documents of the page, in order. They are empty if the engine keeps no documents.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = &str> {
        self.rows.iter().map(|at| self.batch(*at).map_or("", |batch| batch.document(usize::from(at.row))))
    }

    /// Returns the document numbers of the page, in order, if documents are kept elsewhere.
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

    /// Returns the answer as JSON: `{"list":{"items":[…],"totalItems":n,"pageInfo":{…}}}`.
    ///
    /// If the engine keeps no documents, each item is an object with an `id` only.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    /// Appends the JSON of [`to_json`](Self::to_json) to `out`.
    pub fn write_json(&self, out: &mut String) {
        let mut page = Page::begin(out);
        // All documents are located before the first is copied, so that the cache misses overlap. The buffer stays on the stack:
        // for a short answer, moving it would take longer than the rest.
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

/// The bytes reserved for the text around the documents.
pub(crate) const FRAME_BYTES: usize = 128;
/// The page size up to which no allocation is needed.
const USUAL_PAGE: usize = 128;

/// A writer of an answer's JSON, appended to a text.
///
/// The parts may be written to one text or to several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    is_empty: bool,
}

impl Page {
    pub(crate) fn begin(out: &mut String) -> Self {
        out.push_str("{\"list\":{\"items\":[");
        Self { is_empty: true }
    }

    /// Returns the bytes that a document takes, with its separator.
    #[cfg(feature = "service")]
    pub(crate) fn bytes(&self, document: &str) -> usize {
        document.len() + usize::from(!self.is_empty)
    }

    /// Like [`bytes`](Self::bytes), but more documents follow.
    #[cfg(feature = "service")]
    pub(crate) fn pass(&mut self, document: &str) -> usize {
        let bytes = self.bytes(document);
        self.is_empty = false;
        bytes
    }

    /// Appends a document, and returns its position.
    pub(crate) fn document(&mut self, out: &mut String, document: &str) -> Range<usize> {
        if !std::mem::take(&mut self.is_empty) {
            out.push(',');
        }
        let start = out.len();
        out.push_str(document);
        start..out.len()
    }

    /// Appends a case without a document.
    fn id(&mut self, out: &mut String, id: &str) {
        // Every string has a JSON form, so this cannot fail.
        let id = serde_json::to_string(id).unwrap_or_default();
        self.document(out, &format!("{{\"id\":{id}}}"));
    }

    /// Appends the end of the JSON: the total, if there is one, and the page's offset and limit.
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
