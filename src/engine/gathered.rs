//! Documents of an import that wait to be read on several threads, a batch each.

use std::ops::Range;
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::Engine;
use super::import::{Mode, Reading, Refusal, Report};
use crate::batch::{Batch, BatchBuilder, Document, Keep};
use crate::error::Error;
use crate::ingest::{Habits, Piece};

/// A group is read when its documents reach this size, in bytes, however few they are.
const GROUP_BYTES: usize = 1 << 27;
/// More groups than this are not read at once, since they wait in memory.
const MOST_GROUPS: usize = 8;

/// Documents that wait, in groups that become a batch each.
pub(super) struct Gathered {
    groups: Vec<Group>,
    /// How many groups are read at once.
    wanted: usize,
    source: Arc<str>,
}

/// The documents of a batch.
#[derive(Default)]
struct Group {
    /// What the batch has already.
    builder: Option<Box<BatchBuilder>>,
    text: Vec<u8>,
    waiting: Vec<Waiting>,
}

/// A document that waits.
struct Waiting {
    source: Arc<str>,
    line: u64,
    /// Where it lies in the group's text, or what is wrong with it.
    bytes: Result<Range<usize>, Box<Error>>,
    /// Under which it is kept elsewhere, if it is.
    number: u64,
}

/// A batch that was read, whose rows have no places yet but for the first ones.
pub(super) struct Built {
    pub(super) batch: Batch,
    /// How many rows the batch had before.
    pub(super) known: usize,
    pub(super) report: Report,
    /// Why the import ends here.
    pub(super) failed: Option<Box<Refusal>>,
    /// For each row that is new, the number of its document, and where that lies in the text.
    documents: Vec<(u64, Range<usize>)>,
    text: Vec<u8>,
}

impl Gathered {
    /// None when there is but one thread to read on.
    pub(super) fn new() -> Option<Self> {
        let threads = rayon::current_num_threads();
        (threads > 1).then(|| Self {
            groups: Vec::new(),
            wanted: threads.min(MOST_GROUPS),
            source: "".into(),
        })
    }

    /// The documents to come are of another source.
    pub(super) fn source(&mut self, name: &str) {
        self.source = name.into();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Begins a batch that has rows already.
    pub(super) fn begin(&mut self, builder: Box<BatchBuilder>) {
        self.groups.push(Group { builder: Some(builder), ..Group::default() });
    }

    /// Adds a document to a batch of so many rows; true when it is time to [`build`](Self::build).
    pub(super) fn push(&mut self, piece: Piece<'_>, number: u64, batch_rows: usize) -> bool {
        if self.groups.last().is_none_or(|group| group.is_full(batch_rows)) {
            self.groups.push(Group::default());
        }
        if let Some(group) = self.groups.last_mut() {
            let bytes = piece.bytes.map_err(Box::new).map(|bytes| {
                let start = group.text.len();
                group.text.extend_from_slice(bytes);
                start..group.text.len()
            });
            group.waiting.push(Waiting { source: Arc::clone(&self.source), line: piece.line, bytes, number });
        }
        self.groups.len() >= self.wanted && self.groups.last().is_some_and(|group| group.is_full(batch_rows))
    }

    /// Reads all that waits, a group on each thread. The batches are in the order of the documents.
    pub(super) fn build(&mut self, engine: &Engine, mode: Mode) -> Vec<Built> {
        let groups = std::mem::take(&mut self.groups);
        groups.into_par_iter().map(|group| group.build(engine, mode)).collect()
    }
}

impl Group {
    fn is_full(&self, batch_rows: usize) -> bool {
        let known = self.builder.as_ref().map_or(0, |builder| builder.rows());
        known.saturating_add(self.waiting.len()) >= batch_rows || self.text.len() >= GROUP_BYTES
    }

    fn build(mut self, engine: &Engine, mode: Mode) -> Built {
        let builder = self.builder.take().map(|builder| *builder);
        let mut builder =
            builder.unwrap_or_else(|| BatchBuilder::new(&engine.catalog, engine.keep, self.waiting.len()));
        let known = builder.rows();
        let reading = Reading { catalog: &engine.catalog, limits: &engine.limits, mode };
        let mut report = Report::default();
        // Others are not asked for.
        let keeps_numbers = engine.keep == Keep::Numbers;
        let mut documents = Vec::with_capacity(if keeps_numbers { self.waiting.len() } else { 0 });
        let mut failed = None;
        let mut row = crate::batch::Row::default();
        let mut habits = Habits::default();
        for waiting in &self.waiting {
            let bytes = match &waiting.bytes {
                Ok(range) => Ok(self.text.get(range.clone()).unwrap_or_default()),
                Err(error) => Err((**error).clone()),
            };
            let piece = Piece { line: waiting.line, bytes };
            match reading.read(piece, &waiting.source, &mut habits, &mut row, &mut report) {
                Ok(None) => {}
                Ok(Some(text)) => {
                    let document = match engine.keep {
                        Keep::Numbers => Document::Number { number: waiting.number, size_bytes: text.len() },
                        Keep::Nothing | Keep::Text => Document::Text(text),
                    };
                    // The place is found when it is known which ids there were before.
                    builder.push(&row, document, 0);
                    if let (true, Ok(range)) = (keeps_numbers, &waiting.bytes) {
                        documents.push((waiting.number, range.clone()));
                    }
                }
                Err(refusal) => {
                    failed = Some(refusal);
                    break;
                }
            }
        }
        drop(row);
        Built { batch: builder.seal(), known, report, failed, documents, text: self.text }
    }
}

impl Built {
    /// A batch of rows of a source, with the documents of those that are new, when they are kept elsewhere.
    #[cfg(feature = "arrow")]
    pub(super) fn of_rows(
        batch: Batch,
        known: usize,
        report: Report,
        documents: Vec<(u64, Range<usize>)>,
        text: Vec<u8>,
    ) -> Self {
        Self { batch, known, report, failed: None, documents, text }
    }

    /// The number and the text of the document of a row that is new, when it is kept elsewhere.
    pub(super) fn document(&self, row: usize) -> Option<(u64, &str)> {
        let (number, range) = self.documents.get(row.checked_sub(self.known)?)?;
        let text = self.text.get(range.clone())?;
        // What was read as a case is UTF-8.
        Some((*number, std::str::from_utf8(text.trim_ascii()).ok()?))
    }
}
