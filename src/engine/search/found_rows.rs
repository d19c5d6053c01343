//! The rows of a page, with the view that was searched. Writes the page as JSON.

use std::io;
use std::sync::Arc;

use smallvec::SmallVec;

use super::frame::{AnswerFrame, FRAME_BYTES, IdMember, PageInfo};
use super::strategy::SearchOutcome;
use crate::batch::{Batch, RowAddr};
use crate::catalog::Catalog;
use crate::engine::Snapshot;
use crate::engine::snapshot::View;
use crate::error::Error;
use crate::filter::Cursor;
use crate::filter::order::{Position, SortKey};
use crate::topk::Key;

/// The rows of a page, and the view that keeps their documents unchanged.
#[derive(Clone)]
pub(crate) struct FoundRows {
    /// The searched view. `None` for a page without rows, so that an empty answer keeps no documents in memory.
    view: Option<Arc<View>>,
    rows: Vec<RowAddr>,
    /// The total, if the request asks for it.
    pub(crate) total: Option<u64>,
    /// The number of rows in the batches that were evaluated.
    pub(crate) examined: u64,
    /// The number of the last write before the snapshot that was searched.
    pub(crate) last_write: u64,
    /// The cursor for the next page, if the request asks for it and the page is not the last page.
    pub(crate) next: Option<Cursor>,
    member: IdMember,
    #[cfg(feature = "store")]
    attachment: Option<crate::engine::snapshot::Attachment>,
}

impl FoundRows {
    /// Returns the page that a search found in a view of the snapshot, in the order of the sort keys.
    ///
    /// # Errors
    /// Returns an error if the cursor for the next page would be too long.
    pub(super) fn new(
        catalog: &Catalog,
        (snapshot, view): (&Snapshot, &Arc<View>),
        keys: &[SortKey],
        outcome: SearchOutcome,
    ) -> Result<Self, Error> {
        let SearchOutcome { rows, has_next, total, examined, .. } = outcome;
        let has_rows = !rows.is_empty();
        let last = rows.last().filter(|_| has_next);
        let next = last.map(|row| Cursor::new(catalog, keys, position(catalog, view, keys, *row)));
        Ok(Self {
            next: next.transpose()?,
            view: has_rows.then(|| Arc::clone(view)),
            rows,
            total,
            examined,
            last_write: snapshot.write(),
            member: IdMember::of(catalog),
            #[cfg(feature = "store")]
            attachment: has_rows.then(|| snapshot.attachment.load().as_deref().cloned()).flatten(),
        })
    }

    /// Returns the number of rows on the page.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the id of the document at index `place` of the page. Returns an empty string if the page has no such index.
    pub(crate) fn id(&self, place: usize) -> &str {
        let row = self.rows.get(place).zip(self.view.as_ref());
        row.map_or("", |(at, view)| view.id(*at))
    }

    /// Returns the document at index `place` of the page, as it was inserted. Returns an empty string if the page has no such
    /// index, or if the engine does not keep documents.
    pub(crate) fn document(&self, place: usize) -> &str {
        self.batch(place).map_or("", |(batch, row)| batch.document(row))
    }

    /// Returns the document number of a row on the page, if documents are stored outside the engine.
    #[cfg_attr(
        not(any(test, feature = "store")),
        expect(dead_code, reason = "the durable store builds on it")
    )]
    pub(crate) fn document_number(&self, place: usize) -> Option<u64> {
        let (batch, row) = self.batch(place)?;
        batch.document_number(row)
    }

    fn batch(&self, place: usize) -> Option<(&Batch, usize)> {
        let at = self.rows.get(place)?;
        Some((self.view.as_ref()?.batch(*at)?, usize::from(at.row)))
    }

    /// Returns the ids of the documents on the page, in the order of the page.
    #[cfg(feature = "store")]
    pub(crate) fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|place| self.id(place))
    }

    /// Reads the ids of the documents on the page, if they are not in memory yet.
    #[cfg(feature = "store")]
    pub(crate) fn read_ids(&self) {
        let Some(view) = &self.view else { return };
        let mut last = None;
        for at in &self.rows {
            if last.replace(at.batch) != Some(at.batch) {
                view.id(*at);
            }
        }
    }

    /// Returns the attachment of the snapshot that was searched. Returns `None` if the page is empty.
    #[cfg(feature = "store")]
    pub(crate) fn attachment<T: 'static>(&self) -> Option<&T> {
        self.attachment.as_ref()?.downcast_ref()
    }

    /// Writes the answer in its JSON form, document by document.
    pub(super) fn write_json(&self, mut out: impl io::Write, (offset, limit): (u64, u64)) -> io::Result<()> {
        let mut frame = AnswerFrame::new();
        out.write_all(AnswerFrame::START.as_bytes())?;
        for (place, document) in self.located_documents().iter().enumerate() {
            out.write_all(frame.separator().as_bytes())?;
            if document.is_empty() {
                out.write_all(self.member.only_id(self.id(place)).as_bytes())?;
            } else {
                out.write_all(document.as_bytes())?;
            }
        }
        let mut result = Ok(());
        let info = PageInfo { total: self.total, offset, limit, next: self.next.as_ref() };
        frame.end_in_pieces(info, |piece| {
            if result.is_ok() {
                result = out.write_all(piece.as_bytes());
            }
        });
        result
    }

    /// Returns the answer in its JSON form.
    pub(super) fn to_json(&self, offset_and_limit: (u64, u64)) -> String {
        let mut json = String::new();
        let out = &mut json;
        let mut frame = AnswerFrame::begin(out);
        let documents = self.located_documents();
        let bytes = documents.iter().map(|document| document.len().saturating_add(1));
        out.reserve(bytes.fold(FRAME_BYTES, usize::saturating_add));
        for (place, document) in documents.iter().enumerate() {
            if document.is_empty() {
                frame.id(out, &self.member, self.id(place));
            } else {
                frame.document(out, document);
            }
        }
        let (offset, limit) = offset_and_limit;
        frame.end(out, PageInfo { total: self.total, offset, limit, next: self.next.as_ref() });
        json
    }

    /// Returns the documents on the page.
    ///
    /// This finds the address of each document before the first document is copied, so that their cache misses overlap. The list is
    /// on the stack, because allocating it would take longer than the rest of a short answer.
    fn located_documents(&self) -> SmallVec<[&str; USUAL_PAGE]> {
        let mut documents = SmallVec::new();
        documents.extend((0..self.len()).map(|place| self.document(place)));
        documents
    }
}

impl std::fmt::Debug for FoundRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FoundRows")
            .field("len", &self.len())
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}

/// Returns the position directly after a row.
fn position(catalog: &Catalog, view: &View, keys: &[SortKey], at: RowAddr) -> Position {
    let row = usize::from(at.row);
    let Some(batch) = view.batch(at) else { return Position::Inserted(0) };
    if keys.is_empty() {
        return Position::Inserted(batch.place(row));
    }
    let value = |key: &SortKey| Key::of_row(batch, row, catalog.field(key.field), key.field).value();
    Position::Sorted { values: keys.iter().map(value).collect(), id: batch.id(row).into() }
}

/// The maximum length of a list of documents on the stack. Longer lists are on the heap. Few pages have more documents.
const USUAL_PAGE: usize = 128;
