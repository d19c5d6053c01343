//! Builds the response text of a page of cases, in one piece or in chunks.
//!
//! The search itself reads up to [`CHUNK_BYTES`] of documents. If the page is longer, all its remaining documents are measured
//! first. Then the length of the response is known. A page over
//! [`max_response_bytes`](crate::service::ServiceOptions::max_response_bytes) is rejected. Otherwise, the rest is read in chunks.
//! All chunks come from one snapshot, so later writes do not change the page.

#[cfg(feature = "postgres")]
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::engine::{AnswerFrame, PageInfo};
use crate::envelope::error_codes;
use crate::error::{Error, ErrorKind, Errors, quote};
use crate::filter::{Cursor, SearchRequest};
#[cfg(feature = "postgres")]
use crate::postgres::{Ending, PostgresSource};
use crate::service::audit::record::{IdDigest, Note};
use crate::service::auth::projection::Projection;
use crate::service::auth::tokens::AppToken;
use crate::service::http::budget::Reservation;
use crate::service::http::errors::Failure;
use crate::service::http::outgoing::Outgoing;
use crate::stop::StopConditions;
use crate::store::{FoundPage, Store, StoreSnapshot};

/// The size of a chunk in bytes. A chunk is larger if a single document is larger.
pub(super) const CHUNK_BYTES: usize = 256 << 10;

/// The total size of the documents that one measuring step reads, in bytes. Other requests can run between the steps.
const MEASURE_BYTES: usize = 1 << 20;
/// The maximum number of documents that one measuring step reads.
const MEASURE_DOCUMENTS: usize = 1024;

/// The size that is reserved for the JSON text around the documents, in bytes.
const FRAME_BYTES: usize = 128;

/// The result of a search.
pub(super) enum Found {
    /// The complete response text.
    Whole(String),
    /// The start of the response text, and the rest of the page.
    Begun { first: String, rest: Rest },
}

/// The part of a page that has not been read yet.
pub(super) struct Rest {
    page: FoundPage,
    token: Arc<AppToken>,
    /// The response text after the last document.
    end: String,
    frame: AnswerFrame,
    /// The index of the next document.
    next: usize,
    /// The conditions that stop the search.
    pub(super) stop: StopConditions,
}

/// A page that is to be searched for.
pub(super) struct NewPage<'r> {
    pub(super) request: &'r SearchRequest,
    pub(super) token: &'r Arc<AppToken>,
    /// The maximum size of a response in bytes.
    pub(super) max_bytes: usize,
    /// The note for the audit log, if the service has one.
    pub(super) note: Option<&'r Note>,
}

impl NewPage<'_> {
    /// Searches the current cases of the store or, if `moment` is given, the cases as of this earlier moment. Reads the page, or
    /// the start of a long page. Also returns the number of rows that the search examined.
    pub(super) fn begin(
        &self,
        store: &Store,
        moment: Option<&StoreSnapshot<'_>>,
    ) -> Result<(Found, u64), Failure> {
        let max_bytes = self.max_bytes.saturating_sub(FRAME_BYTES).min(CHUNK_BYTES);
        let new = |len| Part::first(self.token.projection.as_ref(), max_bytes, len);
        let (page, part) = match moment {
            None => store.find_page(self.request, new, Part::push)?,
            Some(moment) => moment.find_page(self.request, new, Part::push)?,
        };
        if let Some(note) = self.note {
            let mut ids = IdDigest::default();
            page.each_id(store, |id| ids.add(id))?;
            note.page(page.last_write(store), page.total(), &ids);
        }
        let end = self.end(part.frame, page.total(), page.next());
        let examined = page.examined();
        let rest = Rest {
            page,
            token: Arc::clone(self.token),
            end,
            frame: part.frame,
            next: part.next,
            stop: self.request.stop.clone(),
        };
        let mut first = part.into_text()?;
        if rest.is_read() {
            first.push_str(&rest.end);
            return Ok((Found::Whole(first), examined));
        }
        Ok((Found::Begun { first, rest }, examined))
    }

    /// Reads the rest of a page whose start was read. `reservation` grows to the size of the page.
    pub(super) fn finish(
        &self,
        store: &Store,
        found: Found,
        reservation: &mut Reservation,
    ) -> Result<Found, Failure> {
        let (mut text, mut rest) = match found {
            Found::Begun { first, rest } => (first, rest),
            whole @ Found::Whole(_) => return Ok(whole),
        };
        let mut size = rest.size(text.len());
        while !rest.is_measured(&size) {
            size = rest.measure(store, size, self.max_bytes)?;
            if size.is_over {
                return Err(too_large(size.next, self.max_bytes));
            }
        }
        if !Outgoing::grow_to(reservation, size.bytes) {
            return Err(Failure::overloaded());
        }
        text.reserve_exact(size.bytes.saturating_sub(text.len()));
        while !rest.is_read() {
            text.push_str(&rest.next_chunk(store)?);
        }
        Ok(Found::Whole(text))
    }

    /// Returns the response text after the last document.
    fn end(&self, frame: AnswerFrame, total: Option<u64>, next: Option<&Cursor>) -> String {
        let mut end = String::with_capacity(FRAME_BYTES);
        let (offset, limit) = (self.request.offset, self.request.limit);
        frame.end(&mut end, PageInfo { total, offset, limit, next });
        end
    }

    /// Searches PostgreSQL. Buffers the whole page, so that the database connection is free for other searches. `reservation` grows
    /// with the page.
    #[cfg(feature = "postgres")]
    pub(super) fn fetch(
        &self,
        source: &PostgresSource,
        reservation: &mut Reservation,
    ) -> Result<Found, Failure> {
        let max_bytes = self.max_bytes.saturating_sub(FRAME_BYTES);
        let mut part = Part::first(self.token.projection.as_ref(), max_bytes, 0);
        // A page of one case is always returned, because no smaller page is possible.
        part.may_be_larger = true;
        let mut has_memory = true;
        let mut is_whole = true;
        let mut ids = IdDigest::default();
        let rows = source.search_each(self.request, |id, document| {
            is_whole = part.push(document);
            if self.note.is_some() {
                ids.add(id);
            }
            has_memory = is_whole && Outgoing::grow_to(reservation, part.text.len());
            if has_memory { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let Ending { total, next: cursor } = tokio::runtime::Handle::current().block_on(rows)?;
        let (frame, next) = (part.frame, part.next);
        let mut text = part.into_text()?;
        match (is_whole, has_memory) {
            (true, true) => {}
            (true, false) => return Err(Failure::overloaded()),
            (false, _) => return Err(too_large(next, self.max_bytes)),
        }
        if let Some(note) = self.note {
            note.page(None, total, &ids);
        }
        text.push_str(&self.end(frame, total, cursor.as_ref()));
        Ok(Found::Whole(text))
    }
}

impl Rest {
    pub(super) fn is_read(&self) -> bool {
        self.next >= self.page.len()
    }

    fn projection(&self) -> Option<&Projection> {
        self.token.projection.as_ref()
    }

    /// Returns the size of the response text without the documents that have not been read yet. `first_bytes` is the length of the
    /// text that was already read.
    pub(super) fn size(&self, first_bytes: usize) -> Size {
        let bytes = first_bytes.saturating_add(self.end.len());
        Size { bytes, largest: 0, frame: self.frame, next: self.next, is_over: false }
    }

    /// Returns true if all documents of the page have been measured.
    pub(super) fn is_measured(&self, size: &Size) -> bool {
        size.next >= self.page.len()
    }

    /// Measures the next documents: up to [`MEASURE_BYTES`] or [`MEASURE_DOCUMENTS`]. Measuring is part of the search, so it may be
    /// stopped.
    pub(super) fn measure(&self, store: &Store, before: Size, max_bytes: usize) -> Result<Size, Failure> {
        let new = || Measuring {
            projection: self.projection(),
            size: before,
            max_bytes,
            documents: 0,
            read_bytes: 0,
            failure: None,
        };
        let measured = store.read_page(&self.page, before.next, new, Measuring::push, &self.stop)?;
        measured.failure.map_or(Ok(measured.size), Err)
    }

    /// Reads the next chunk.
    pub(super) fn next_chunk(&mut self, store: &Store) -> Result<String, Failure> {
        let new = || Part::next(self.projection(), self.frame, self.next);
        let part = store.read_page(&self.page, self.next, new, Part::push, &StopConditions::default())?;
        let (frame, next) = (part.frame, part.next);
        let mut text = part.into_text()?;
        (self.frame, self.next) = (frame, next);
        if self.is_read() {
            text.push_str(&self.end);
        }
        Ok(text)
    }
}

/// Returns the error for a page that exceeds the size limit. `index` is the index of the first item that does not fit.
pub(super) fn too_large(index: usize, max_bytes: usize) -> Failure {
    let found = format!("a page that exceeds {max_bytes} bytes at `list.items[{index}]`");
    let expected = format!("a smaller page, such as {}", quote(&format!("limit={index}")));
    let error = Error::new(ErrorKind::PageTooLarge, 0, found, expected).at("limit");
    Failure::from(Errors::from(error)).coded(error_codes::ANSWER_TOO_LARGE)
}

/// A part of a page whose text is being written.
struct Part<'t> {
    projection: Option<&'t Projection>,
    text: String,
    frame: AnswerFrame,
    /// The index of the next document.
    next: usize,
    /// The maximum size of the text in bytes.
    max_bytes: usize,
    /// True if the next document is written even if it makes the text longer than `max_bytes`.
    may_be_larger: bool,
    /// The number of documents for which memory is to be reserved. 0 after the memory has been reserved.
    expected: usize,
    failure: Option<Failure>,
}

impl<'t> Part<'t> {
    /// Starts the text of a page of `expected` cases.
    fn first(projection: Option<&'t Projection>, max_bytes: usize, expected: usize) -> Self {
        let mut text = String::with_capacity(FRAME_BYTES);
        let frame = AnswerFrame::begin(&mut text);
        Self { projection, text, frame, next: 0, max_bytes, may_be_larger: false, expected, failure: None }
    }

    /// Continues the text of a page with the document at index `next`.
    fn next(projection: Option<&'t Projection>, frame: AnswerFrame, next: usize) -> Self {
        let text = String::with_capacity(CHUNK_BYTES.saturating_add(FRAME_BYTES));
        Self {
            projection,
            text,
            frame,
            next,
            max_bytes: CHUNK_BYTES,
            may_be_larger: true,
            expected: 0,
            failure: None,
        }
    }

    /// Writes a document to the text. Returns false if the document belongs to the next part, or after a failure.
    fn push(&mut self, document: &str) -> bool {
        let mut projected = Vec::new();
        let document = match visible(self.projection, document, &mut projected) {
            Ok(document) => document,
            Err(failure) => {
                self.failure = Some(failure);
                return false;
            }
        };
        let bytes = self.frame.bytes(document);
        if self.text.len().saturating_add(bytes) > self.max_bytes && !self.may_be_larger {
            return false;
        }
        if self.expected > 0 {
            // The documents of a page usually have similar sizes.
            let size = document.len().saturating_add(document.len() / 8).saturating_mul(self.expected);
            self.text.reserve(size.min(self.max_bytes).saturating_add(FRAME_BYTES));
            self.expected = 0;
        }
        let (len, capacity) = (self.text.len(), self.text.capacity());
        if capacity.saturating_sub(len) < bytes {
            // A large text grows by an eighth of its length, because doubling it would waste memory.
            let more = if len < MEASURE_BYTES { len } else { len / 8 };
            self.text.reserve_exact(more.max(bytes).saturating_add(FRAME_BYTES));
        }
        self.frame.document(&mut self.text, document);
        self.next = self.next.saturating_add(1);
        self.may_be_larger = false;
        true
    }

    fn into_text(self) -> Result<String, Failure> {
        self.failure.map_or(Ok(self.text), Err)
    }
}

/// Returns the part of a document that the token may see. If this is not the whole document, the part is written to `projected`.
fn visible<'d>(
    projection: Option<&Projection>,
    document: &'d str,
    projected: &'d mut Vec<u8>,
) -> Result<&'d str, Failure> {
    let Some(projection) = projection else { return Ok(document) };
    let written = projection.write(document, projected);
    written.map_err(|error| Failure::internal(format!("a stored case is not JSON: {error}")))?;
    std::str::from_utf8(projected).map_err(|_| Failure::internal("a projected case is not UTF-8"))
}

/// The size of a response. It is computed document by document.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// The size of the response in bytes, without the documents that have not been measured yet.
    pub(super) bytes: usize,
    /// The size of the largest document measured so far, in bytes.
    pub(super) largest: usize,
    frame: AnswerFrame,
    /// The index of the next document to measure.
    pub(super) next: usize,
    /// True if the next document would make the response exceed its size limit.
    pub(super) is_over: bool,
}

/// A running measurement of documents.
struct Measuring<'t> {
    projection: Option<&'t Projection>,
    size: Size,
    max_bytes: usize,
    documents: usize,
    read_bytes: usize,
    failure: Option<Failure>,
}

impl Measuring<'_> {
    /// Measures a document. Returns false if this measuring step must end.
    fn push(&mut self, document: &str) -> bool {
        let mut projected = Vec::new();
        let bytes = match visible(self.projection, document, &mut projected) {
            Ok(document) => self.size.frame.pass(document),
            Err(failure) => {
                self.failure = Some(failure);
                return false;
            }
        };
        let all = self.size.bytes.saturating_add(bytes);
        // A page of one case is always returned, because no smaller page is possible.
        if all > self.max_bytes && self.size.next > 0 {
            self.size.is_over = true;
            return false;
        }
        self.size.bytes = all;
        self.size.largest = self.size.largest.max(bytes);
        self.size.next = self.size.next.saturating_add(1);
        self.documents = self.documents.saturating_add(1);
        self.read_bytes = self.read_bytes.saturating_add(document.len());
        self.documents < MEASURE_DOCUMENTS && self.read_bytes < MEASURE_BYTES
    }
}
