//! Blocks: consecutive documents of one source, which one thread reads and tests.

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use super::count::Counts;
use super::rank::Rank;
use super::settings::{Reader, Settings};
use super::top::Top;
use crate::batch::{OwnedRow, Row};
use crate::engine::{DocumentReader, ImportError, ImportReport};
use crate::error::Error;
use crate::ingest::Piece;

/// The size, in bytes, at which a block of documents ends.
const BLOCK_BYTES: usize = 1 << 20;

/// The maximum number of documents of a block.
const BLOCK_DOCUMENTS: usize = 1 << 12;

/// Consecutive documents of one source.
#[derive(Default)]
pub(super) struct Block {
    /// The documents, concatenated.
    text: Vec<u8>,
    documents: Vec<SplitDocument>,
    source: Arc<str>,
}

/// A document that has not been read yet.
struct SplitDocument {
    line: u64,
    /// The position of the document in its source, counted from 1.
    number: u64,
    /// The end of the document in the text of the block, or the error of splitting it from the source.
    end: Result<usize, Box<Error>>,
}

/// The results of reading a block.
pub(super) struct ReadBlock {
    /// The number of accepted documents.
    pub(super) accepted: usize,
    /// The hashes of the ids of the accepted documents that are not in `repeated`, in ascending order.
    pub(super) ids: Box<[u64]>,
    /// The number of selected documents that are not in `repeated`.
    pub(super) selected: u64,
    /// The selected documents that may be on the page and are not in `repeated`, ascending by place.
    pub(super) found: Vec<(Rank, FoundDocument)>,
    /// The documents whose id may be repeated, in order.
    pub(super) repeated: Vec<RepeatedDocument>,
    /// The ids that the scan looks for and that were found.
    pub(super) sought: Vec<Box<str>>,
    /// The counts by value of the documents that are not in `repeated`, if the scan counts values.
    pub(super) counts: Option<Counts>,
    pub(super) report: ImportReport,
    /// The error that ends the scan.
    pub(super) failed: Option<Box<ImportError>>,
    /// The emptied block, whose memory is used again.
    pub(super) memory: Block,
}

/// A document whose id may be repeated.
pub(super) struct RepeatedDocument {
    /// The index of the document among the accepted documents of the block.
    pub(super) at: usize,
    pub(super) id: Box<str>,
    pub(super) kept: Kept,
    /// The counts of the document alone, if the scan counts values.
    pub(super) counts: Option<Counts>,
}

/// The data that is kept until the end for a document whose id may be repeated.
pub(super) enum Kept {
    /// The filter does not select the document.
    Nothing,
    /// The filter selects the document, but it cannot be on the page.
    Selection,
    /// The document may be on the page.
    Document(Rank, FoundDocument),
}

/// A document that may be on the page.
pub(super) enum FoundDocument {
    /// The text of the document. Empty if the answer has only ids.
    Text(Box<str>),
    /// The row number of the document: within its block until the block is merged, then across all sources. The document is read
    /// only if it is on the page.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "only Parquet files have rows"))]
    Row(u64),
}

impl FoundDocument {
    /// Returns the text of the document. Empty for a row that has not been read.
    pub(super) fn into_text(self) -> Box<str> {
        match self {
            Self::Text(text) => text,
            Self::Row(_) => "".into(),
        }
    }
}

impl Block {
    /// Sets the source of the documents that will be added. The block must be empty.
    pub(super) fn begin(&mut self, source: &Arc<str>) {
        self.source = Arc::clone(source);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= BLOCK_BYTES || self.documents.len() >= BLOCK_DOCUMENTS
    }

    /// Adds a document with its position in its source.
    pub(super) fn push(&mut self, piece: Piece<'_>, number: u64) {
        let end = piece.bytes.map_err(Box::new).map(|bytes| {
            self.text.extend_from_slice(bytes);
            self.text.len()
        });
        self.documents.push(SplitDocument { line: piece.line, number, end });
    }

    /// Reads the documents, and tests the filter on them. No document after `bound` is on the page.
    pub(super) fn read(self, settings: &Settings, bound: Option<Arc<Rank>>) -> ReadBlock {
        let mut reader = settings.take_reader();
        let read = self.read_with(settings, bound, &mut reader);
        settings.put_reader(reader);
        read
    }

    fn read_with(self, settings: &Settings, bound: Option<Arc<Rank>>, reader: &mut Reader) -> ReadBlock {
        let mut outcome = Outcome::new(settings, bound, self.documents.len());
        let documents =
            DocumentReader { catalog: &settings.catalog, limits: &settings.limits, mode: settings.mode };
        let Reader { template, row: spare, values } = reader;
        let mut row = std::mem::take(spare).recycle();
        let mut report = ImportReport::default();
        let (mut start, mut failed) = (0, None);
        for SplitDocument { line, number, end } in &self.documents {
            let bytes = match end {
                Ok(end) => Ok(self.text.get(std::mem::replace(&mut start, *end)..*end).unwrap_or_default()),
                Err(error) => Err((**error).clone()),
            };
            let piece = Piece { line: *line, bytes };
            match documents.read((piece, *number), &self.source, template, &mut row, &mut report) {
                Ok(None) => {}
                Ok(Some(text)) => outcome.document(&row, text, &self.text, values),
                Err(refusal) => {
                    failed = Some(refusal);
                    break;
                }
            }
        }
        *spare = row.recycle();
        outcome.finish(self, report, failed)
    }
}

/// The results of the documents of a block that were read so far.
struct Outcome<'s> {
    settings: &'s Settings,
    accepted: usize,
    /// The hashes of the ids of the documents that are not in `repeated`.
    ids: Vec<u64>,
    selected: u64,
    /// The documents that may be on the page: their ranges in the text of the block.
    top: Top<Range<usize>>,
    repeated: Vec<RepeatedDocument>,
    sought: Vec<Box<str>>,
    counts: Option<Counts>,
    /// True if no document of the block can be on the page, except documents with repeated ids.
    is_behind: bool,
}

impl<'s> Outcome<'s> {
    fn new(settings: &'s Settings, bound: Option<Arc<Rank>>, documents: usize) -> Self {
        let (top, is_behind) = settings.top_of_block(bound);
        Self {
            settings,
            accepted: 0,
            ids: Vec::with_capacity(documents),
            selected: 0,
            top,
            repeated: Vec::new(),
            sought: Vec::new(),
            counts: settings.counting.as_ref().map(|counting| counting.of_block(&settings.catalog)),
            is_behind,
        }
    }

    /// Adds an accepted document, which is a part of the text of the block.
    #[inline]
    fn document(&mut self, row: &Row<'_>, document: &str, text: &[u8], values: &mut OwnedRow) {
        let settings = self.settings;
        let at = self.accepted;
        self.accepted = at.saturating_add(1);
        let id = row.id();
        let hash = settings.hasher.hash_one(id);
        if !settings.sought.is_empty() && settings.sought.contains(id) {
            self.sought.push(id.into());
        }
        settings.fill(row, values);
        let is_selected = settings.selects(&settings.filter, values);
        if !settings.repeated.is_empty() && settings.repeated.contains(&hash) {
            let kept = if is_selected { self.kept(row, id, document) } else { Kept::Nothing };
            let mut counts = settings.counting.as_ref().map(|counting| counting.of_block(&settings.catalog));
            count(settings, &mut counts, row, values);
            return self.repeated.push(RepeatedDocument { at, id: id.into(), kept, counts });
        }
        self.ids.push(hash);
        count(settings, &mut self.counts, row, values);
        if !is_selected {
            return;
        }
        self.selected = self.selected.saturating_add(1);
        let ranking = &settings.ranking;
        if self.is_behind || ranking.is_by_place() && self.top.bound().is_some() {
            return;
        }
        let keys = ranking.keys_of(row);
        if ranking.is_by_place() || ranking.takes_keys(&keys, id, self.top.bound().map(|bound| &**bound)) {
            let start = document.as_ptr().addr().saturating_sub(text.as_ptr().addr());
            let range = start..start.saturating_add(document.len());
            self.top.push(ranking, Rank::new(&keys, id, at as u64), range);
        }
    }

    /// Returns the data to keep for a selected document whose id may be repeated.
    fn kept(&self, row: &Row<'_>, id: &str, document: &str) -> Kept {
        let bound = self.top.bound().map(|bound| &**bound);
        kept(self.settings, row, id, bound, || {
            FoundDocument::Text(if self.settings.keeps_documents { document.into() } else { "".into() })
        })
    }

    fn finish(self, mut block: Block, report: ImportReport, failed: Option<Box<ImportError>>) -> ReadBlock {
        let Self { settings, accepted, mut ids, selected, top, repeated, sought, counts, .. } = self;
        ids.sort_unstable();
        let document = |range: Range<usize>| {
            let bytes = block.text.get(range).filter(|_| settings.keeps_documents).unwrap_or_default();
            // The document was read, so it is valid UTF-8.
            FoundDocument::Text(std::str::from_utf8(bytes).unwrap_or_default().into())
        };
        let mut found: Vec<(Rank, FoundDocument)> = top
            .into_unsorted(&settings.ranking)
            .into_iter()
            .map(|(rank, range)| (rank, document(range)))
            .collect();
        found.sort_unstable_by_key(|(rank, _)| rank.place);
        block.text.clear();
        block.documents.clear();
        let ids = ids.into();
        ReadBlock { accepted, ids, selected, found, repeated, sought, counts, report, failed, memory: block }
    }
}

/// Returns the data to keep for a selected document whose id may be repeated. No document after `bound` is on the page. The bound
/// may be a document of the same block. The id of the bound is not repeated, so no other document replaces the bound.
pub(super) fn kept(
    settings: &Settings,
    row: &Row<'_>,
    id: &str,
    bound: Option<&Rank>,
    document: impl FnOnce() -> FoundDocument,
) -> Kept {
    let Settings { ranking, wanted, .. } = settings;
    let keys = ranking.keys_of(row);
    if *wanted == 0 || !ranking.is_by_place() && !ranking.takes_keys(&keys, id, bound) {
        return Kept::Selection;
    }
    Kept::Document(Rank::new(&keys, id, 0), document())
}

/// Adds a document to the counts by value, if there are any.
fn count(settings: &Settings, counts: &mut Option<Counts>, row: &Row<'_>, values: &OwnedRow) {
    if let (Some(counting), Some(counts)) = (&settings.counting, counts) {
        counting.add(counts, row, &settings.limits, |filter| settings.selects(filter, values));
    }
}
