//! Pages of cases, read a part at a time.
//!
//! A search reads up to [`PIECE_BYTES`] of its page at once. When the page is longer, the other documents are measured: the
//! length of the answer is known then, and a page over [`answer_bytes`](crate::service::ServiceOptions::answer_bytes) is
//! refused. The rest is read in pieces. The page is of one moment; later writes do not change it.

#[cfg(feature = "postgres")]
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::engine::Page;
use crate::envelope::error_codes;
use crate::error::{Error, ErrorKind, Errors, quote};
use crate::filter::Request;
#[cfg(feature = "postgres")]
use crate::postgres::PostgresSource;
use crate::service::auth::projection::Projection;
use crate::service::auth::tokens::AppToken;
#[cfg(feature = "postgres")]
use crate::service::http::budget::Hold;
use crate::service::http::errors::Failure;
#[cfg(feature = "postgres")]
use crate::service::http::outgoing::Outgoing;
use crate::store::{FoundPage, Store};

/// The size of a piece in bytes, unless one document is larger.
pub(super) const PIECE_BYTES: usize = 256 << 10;

/// Documents are measured in slices of so many bytes, after each of which others have their turn.
const SLICE_BYTES: usize = 1 << 20;
/// A slice has no more documents.
const SLICE_DOCUMENTS: usize = 1024;

/// Room for what stands around the documents.
const FRAME_BYTES: usize = 128;

/// What a search found.
pub(super) enum Found {
    /// The whole answer.
    Whole(String),
    /// The beginning of an answer, and what the rest is read from.
    Begun { first: String, rest: Rest },
}

/// What is left of a page.
pub(super) struct Rest {
    page: FoundPage,
    token: Arc<AppToken>,
    /// What is written after the last document.
    end: String,
    frame: Page,
    /// The place of the next document.
    next: usize,
}

/// A page that a token asks for.
pub(super) struct NewPage<'r> {
    pub(super) request: &'r Request,
    pub(super) token: &'r Arc<AppToken>,
    /// The largest answer, in bytes.
    pub(super) most: usize,
}

impl NewPage<'_> {
    /// Searches, and reads the page, or its beginning; also returns how many rows were examined.
    pub(super) fn begin(&self, store: &Store) -> Result<(Found, u64), Failure> {
        let room = self.most.saturating_sub(FRAME_BYTES).min(PIECE_BYTES);
        let new = |len| Part::first(self.token.projection.as_ref(), room, len);
        let (page, part) = store.find_page(self.request, new, Part::take)?;
        let end = self.end(part.frame, page.total());
        let examined = page.examined();
        let rest = Rest { page, token: Arc::clone(self.token), end, frame: part.frame, next: part.next };
        let mut first = part.into_text()?;
        if rest.is_read() {
            first.push_str(&rest.end);
            return Ok((Found::Whole(first), examined));
        }
        Ok((Found::Begun { first, rest }, examined))
    }

    /// Returns what is written after the last document.
    fn end(&self, frame: Page, total: Option<u64>) -> String {
        let mut end = String::with_capacity(FRAME_BYTES);
        frame.end(&mut end, total, (self.request.offset, self.request.limit));
        end
    }

    /// Searches PostgreSQL. The page is in memory whole, since its connection is for others then; `hold` grows with it.
    #[cfg(feature = "postgres")]
    pub(super) fn fetch(&self, source: &PostgresSource, hold: &mut Hold) -> Result<Found, Failure> {
        let room = self.most.saturating_sub(FRAME_BYTES);
        let mut part = Part::first(self.token.projection.as_ref(), room, 0);
        // A page of one case is always answered: its client cannot ask for less.
        part.may_be_larger = true;
        let mut has_room = true;
        let mut is_whole = true;
        let rows = source.search_each(self.request, |_, document| {
            is_whole = part.take(document);
            has_room = is_whole && Outgoing::has_room(hold, part.text.len());
            if has_room { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let total = tokio::runtime::Handle::current().block_on(rows)?;
        let (frame, next) = (part.frame, part.next);
        let mut text = part.into_text()?;
        match (is_whole, has_room) {
            (true, true) => {}
            (true, false) => return Err(Failure::overloaded()),
            (false, _) => return Err(too_large(next, self.most)),
        }
        text.push_str(&self.end(frame, total));
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

    /// Returns the size of an answer that begins with so many bytes.
    pub(super) fn size(&self, first_bytes: usize) -> Size {
        let bytes = first_bytes.saturating_add(self.end.len());
        Size { bytes, largest: 0, frame: self.frame, next: self.next, passes: false }
    }

    /// Whether all documents of the page were measured.
    pub(super) fn is_measured(&self, size: &Size) -> bool {
        size.next >= self.page.len()
    }

    /// Measures some more documents.
    pub(super) fn measure(&self, store: &Store, before: Size, most: usize) -> Result<Size, Failure> {
        let new = || Slice {
            projection: self.projection(),
            size: before,
            most,
            taken: 0,
            read_bytes: 0,
            failure: None,
        };
        let slice = store.read_page(&self.page, before.next, new, Slice::take)?;
        slice.failure.map_or(Ok(slice.size), Err)
    }

    /// Reads the next piece.
    pub(super) fn piece(&mut self, store: &Store) -> Result<String, Failure> {
        let new = || Part::next(self.projection(), self.frame, self.next);
        let part = store.read_page(&self.page, self.next, new, Part::take)?;
        let (frame, next) = (part.frame, part.next);
        let mut text = part.into_text()?;
        (self.frame, self.next) = (frame, next);
        if self.is_read() {
            text.push_str(&self.end);
        }
        Ok(text)
    }
}

/// Returns the refusal of a page that passes the bound at one of its items.
pub(super) fn too_large(place: usize, most: usize) -> Failure {
    let found = format!("a page that passes {most} bytes at `list.items[{place}]`");
    let expected = format!("a smaller one, such as {}", quote(&format!("limit={place}")));
    let error = Error::new(ErrorKind::PageTooLarge, 0, found, expected).at("limit");
    Failure::from(Errors::from(error)).coded(error_codes::ANSWER_TOO_LARGE)
}

/// Documents of a page that are being read into one text.
struct Part<'t> {
    projection: Option<&'t Projection>,
    text: String,
    frame: Page,
    /// The place of the next document.
    next: usize,
    /// The text has no more bytes than this, unless it may have one document in any case.
    room: usize,
    may_be_larger: bool,
    /// How many documents are expected at most.
    expected: usize,
    failure: Option<Failure>,
}

impl<'t> Part<'t> {
    /// The beginning of a page of so many cases.
    fn first(projection: Option<&'t Projection>, room: usize, expected: usize) -> Self {
        let mut text = String::with_capacity(FRAME_BYTES);
        let frame = Page::begin(&mut text);
        Self { projection, text, frame, next: 0, room, may_be_larger: false, expected, failure: None }
    }

    /// A part in the midst of a page.
    fn next(projection: Option<&'t Projection>, frame: Page, next: usize) -> Self {
        let text = String::with_capacity(PIECE_BYTES.saturating_add(FRAME_BYTES));
        Self {
            projection,
            text,
            frame,
            next,
            room: PIECE_BYTES,
            may_be_larger: true,
            expected: 0,
            failure: None,
        }
    }

    /// Takes a document; false when it is to be in the next part.
    fn take(&mut self, document: &str) -> bool {
        let mut cut = Vec::new();
        let document = match seen(self.projection, document, &mut cut) {
            Ok(document) => document,
            Err(failure) => {
                self.failure = Some(failure);
                return false;
            }
        };
        let bytes = self.frame.bytes(document);
        if self.text.len().saturating_add(bytes) > self.room && !self.may_be_larger {
            return false;
        }
        if self.expected > 0 {
            // Documents are of about the same size, most times.
            let size = document.len().saturating_add(document.len() / 8).saturating_mul(self.expected);
            self.text.reserve(size.min(self.room).saturating_add(FRAME_BYTES));
            self.expected = 0;
        }
        let (len, capacity) = (self.text.len(), self.text.capacity());
        if capacity.saturating_sub(len) < bytes {
            // Twice as much as was needed is too much for large texts.
            let more = if len < SLICE_BYTES { len } else { len / 8 };
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

/// What of a document a token sees.
fn seen<'d>(
    projection: Option<&Projection>,
    document: &'d str,
    cut: &'d mut Vec<u8>,
) -> Result<&'d str, Failure> {
    let Some(projection) = projection else { return Ok(document) };
    let written = projection.write(document, cut);
    written.map_err(|error| Failure::internal(format!("a stored case is not JSON: {error}")))?;
    std::str::from_utf8(cut).map_err(|_| Failure::internal("a stored case was cut apart"))
}

/// How large an answer is, as far as it was measured.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// Of the whole answer, without the documents that are not measured yet.
    pub(super) bytes: usize,
    /// The largest document that was measured.
    pub(super) largest: usize,
    frame: Page,
    /// The place of the next document.
    pub(super) next: usize,
    /// The next document is beyond what an answer may have.
    pub(super) passes: bool,
}

/// Documents that are being measured.
struct Slice<'t> {
    projection: Option<&'t Projection>,
    size: Size,
    most: usize,
    taken: usize,
    read_bytes: usize,
    failure: Option<Failure>,
}

impl Slice<'_> {
    /// Takes a document; false when it is not in the slice.
    fn take(&mut self, document: &str) -> bool {
        let mut cut = Vec::new();
        let bytes = match seen(self.projection, document, &mut cut) {
            Ok(document) => self.size.frame.pass(document),
            Err(failure) => {
                self.failure = Some(failure);
                return false;
            }
        };
        let all = self.size.bytes.saturating_add(bytes);
        // A page of one case is always answered: its client cannot ask for less.
        if all > self.most && self.size.next > 0 {
            self.size.passes = true;
            return false;
        }
        self.size.bytes = all;
        self.size.largest = self.size.largest.max(bytes);
        self.size.next = self.size.next.saturating_add(1);
        self.taken = self.taken.saturating_add(1);
        self.read_bytes = self.read_bytes.saturating_add(document.len());
        self.taken < SLICE_DOCUMENTS && self.read_bytes < SLICE_BYTES
    }
}
