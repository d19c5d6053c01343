//! The group stage of an import of documents: collects the documents of one batch.

use std::sync::Arc;

use super::group::{BuiltGroup, GroupBuilder, Settings, Text};
use crate::batch::{BatchBuilder, Row};
use crate::error::Error;
use crate::ingest::{DocumentTemplate, Piece};

/// The size, in bytes, at which a group of documents ends, even if it has few documents.
const GROUP_BYTES: usize = 1 << 27;

/// A collector that divides documents into groups.
pub(super) struct Documents<'t> {
    group: Option<DocumentGroup<'t>>,
    source: Arc<str>,
    /// The bytes that the caller keeps in memory. Documents that are slices of these bytes are not copied.
    borrowed: &'t [u8],
    /// The maximum number of rows of a group.
    group_rows: usize,
    /// The text buffers of groups that have been stored. They are reused.
    spare: Vec<Vec<u8>>,
    most_spare: usize,
}

/// A group of documents, which become one batch.
#[derive(Default)]
pub(super) struct DocumentGroup<'t> {
    /// The batch that the group continues, with its first rows.
    filling: Option<Box<BatchBuilder>>,
    /// The documents that were copied, concatenated.
    text: Vec<u8>,
    text_bytes: usize,
    /// The sources of the documents.
    sources: Vec<GroupSource>,
    pending: Vec<PendingDocument<'t>>,
    /// The document number of the first document, if documents are stored outside the engine.
    first_number: u64,
}

/// A source of documents of a group.
struct GroupSource {
    name: Arc<str>,
    /// The index, in the group, of the first document of the source.
    first: usize,
    /// The position of this document in the source, counted from 1.
    first_in_source: u64,
}

/// A document that has not been read yet.
struct PendingDocument<'t> {
    line: u64,
    /// The document, or the error of splitting it from the source.
    text: Result<Text<'t>, Box<Error>>,
}

impl<'t> Documents<'t> {
    /// Creates an empty collector. `group_rows` is the maximum number of rows of a group.
    pub(super) fn new(group_rows: usize, workers: usize) -> Self {
        let (group, source, borrowed) = (None, Arc::from(""), [].as_slice());
        Self { group, source, borrowed, group_rows, spare: Vec::new(), most_spare: workers }
    }

    /// Creates an empty collector for documents that may be slices of `borrowed`. It continues the source of `self`.
    pub(super) fn over<'b>(&self, borrowed: &'b [u8]) -> Documents<'b> {
        let source = Arc::clone(&self.source);
        Documents { source, borrowed, ..Documents::new(self.group_rows, self.most_spare) }
    }

    /// Starts another source.
    pub(super) fn source(&mut self, name: &str) {
        self.source = name.into();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.group.is_none()
    }

    /// Starts a group that continues a batch.
    pub(super) fn begin(&mut self, filling: Box<BatchBuilder>) {
        self.group = Some(DocumentGroup { filling: Some(filling), ..DocumentGroup::default() });
    }

    /// Sets the number of rows of a group so that `workers` threads share about `documents` documents evenly. This matters if the
    /// documents fill only a few batches.
    ///
    /// The number of rows is chosen so that batches are at least half full.
    pub(super) fn share(&mut self, documents: usize, workers: usize, batch_rows: usize) {
        let most = documents.checked_div(batch_rows / 2).unwrap_or(documents);
        let batches = documents.div_ceil(batch_rows);
        let shared = batches.next_multiple_of(workers).min(most).max(batches);
        self.group_rows = documents.div_ceil(shared.max(1)).clamp(1, batch_rows);
    }

    /// Adds a document with its position in its source. If its group is now full, returns the group.
    ///
    /// `number` is the document number, if documents are stored outside the engine.
    pub(super) fn push(&mut self, piece: (Piece<'_>, u64), number: u64) -> Option<DocumentGroup<'t>> {
        let Self { group, source, borrowed, group_rows, spare, .. } = self;
        let open = group.get_or_insert_with(|| DocumentGroup {
            text: spare.pop().unwrap_or_default(),
            ..DocumentGroup::default()
        });
        if open.pending.is_empty() {
            open.first_number = number;
        }
        open.push(piece, source, borrowed);
        if open.is_full(*group_rows) { group.take() } else { None }
    }

    /// Removes and returns the unfinished group.
    pub(super) fn take(&mut self) -> Option<DocumentGroup<'t>> {
        self.group.take()
    }

    /// Keeps a text buffer, so that a later group can reuse it.
    pub(super) fn recycle(&mut self, mut text: Vec<u8>) {
        text.clear();
        if self.spare.len() < self.most_spare {
            self.spare.push(text);
        }
    }
}

impl<'t> DocumentGroup<'t> {
    fn push(&mut self, (piece, in_source): (Piece<'_>, u64), source: &Arc<str>, borrowed: &'t [u8]) {
        let text = piece.bytes.map_err(Box::new).map(|bytes| {
            self.text_bytes += bytes.len();
            part_of(bytes, borrowed).map_or_else(|| self.copy(bytes), Text::Borrowed)
        });
        // All documents of a source share one reference to its name. An atomic reference count for each document would slow the
        // threads down.
        if self.sources.last().is_none_or(|last| !Arc::ptr_eq(&last.name, source)) {
            let (name, first) = (Arc::clone(source), self.pending.len());
            self.sources.push(GroupSource { name, first, first_in_source: in_source });
        }
        self.pending.push(PendingDocument { line: piece.line, text });
    }

    fn copy(&mut self, bytes: &[u8]) -> Text<'t> {
        let start = self.text.len();
        self.text.extend_from_slice(bytes);
        Text::Copied(start..self.text.len())
    }

    fn is_full(&self, rows: usize) -> bool {
        let known = self.filling.as_ref().map_or(0, |filling| filling.rows());
        known + self.pending.len() >= rows || self.text_bytes >= GROUP_BYTES
    }

    /// Reads the documents of the group into batches.
    pub(super) fn build(self, settings: Settings) -> BuiltGroup<'t> {
        let Self { filling, text, text_bytes, sources, pending, first_number } = self;
        let mut cases = GroupBuilder::new(settings, filling, first_number, pending.len(), text_bytes);
        let mut row = Row::default();
        let mut template = DocumentTemplate::default();
        // The name of the current source. The sum of `before` and the index of a document in the group is its position in this
        // source.
        let (mut source, mut before) = ("", 0_u64);
        let mut sources = sources.iter().peekable();
        let mut failed = None;
        for (at, document) in pending.iter().enumerate() {
            while let Some(next) = sources.next_if(|next| next.first <= at) {
                source = &next.name;
                before = next.first_in_source.wrapping_sub(next.first as u64);
            }
            let in_source = before.wrapping_add(at as u64);
            let bytes = match &document.text {
                Ok(place) => Ok(place.bytes(&text)),
                Err(error) => Err((**error).clone()),
            };
            let piece = Piece { line: document.line, bytes };
            let number = cases.take_number();
            let (reader, report) = (cases.settings.reader(), &mut cases.report);
            match reader.read((piece, in_source), source, &mut template, &mut row, report) {
                Ok(None) => {}
                Ok(Some(read)) => {
                    if let Ok(place) = &document.text {
                        cases.push(&row, number, read, || place.clone());
                    }
                }
                Err(refusal) => {
                    failed = Some(refusal);
                    break;
                }
            }
        }
        drop(row);
        cases.finish(text, failed)
    }
}

/// Returns the slice of `bytes` at the address of `part`. Returns `None` if `part` is not inside `bytes`.
fn part_of<'t>(part: &[u8], bytes: &'t [u8]) -> Option<&'t [u8]> {
    let start = part.as_ptr().addr().checked_sub(bytes.as_ptr().addr())?;
    bytes.get(start..start.checked_add(part.len())?)
}
