//! Documents of an import that wait to be read on several threads, a batch each.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Weak};

use super::lookup::Lookup;
use super::reading::{Mode, Reading};
use super::report::{Refusal, Report};
use super::sizes::Sizes;
use super::threads::{Scope, Task, Turns};
use crate::batch::{Batch, BatchBuilder, Document, Keep};
use crate::catalog::Catalog;
use crate::engine::handle::Engine;
use crate::engine::snapshot::View;
use crate::error::Error;
use crate::ingest::{Checked, Habits, Piece, trim};
use crate::limits::Limits;

/// A group is read when its documents reach this size, in bytes, however few they are.
const GROUP_BYTES: usize = 1 << 27;
/// More groups than this are not read at once, since they wait in memory.
const MOST_GROUPS: usize = 8;

/// Documents that wait, in groups that become a batch each.
///
/// Full groups are read ahead while further documents come. Those that lie in bytes which stay until the end of the import
/// are read where they lie, on [threads that end before it does](Self::read_ahead_in). Others are copied, and read on
/// [threads](Self::read_ahead) that may see several calls.
pub(crate) struct Gathered<'t, 's> {
    reader: Arc<Reader>,
    groups: Vec<Group<'t>>,
    /// Groups that are being read, before those that wait.
    ahead: VecDeque<Task<'s, Built<'t>>>,
    /// How many groups are read at once.
    wanted: usize,
    source: Arc<str>,
    /// Documents that lie in these bytes are not copied.
    given: &'t [u8],
    /// How many rows a group is to have at most.
    group_rows: usize,
    /// Memory of texts that were read.
    spare: Vec<Vec<u8>>,
}

/// How groups are read.
struct Reader {
    /// For as many groups as are read at once.
    turns: Turns,
    /// The sealed batches of before the import, which other writes may replace meanwhile, and which a thread that outlives the import
    /// must not hold.
    base: Weak<View>,
    hasher: foldhash::quality::RandomState,
    sizes: Sizes,
    catalog: Catalog,
    limits: Limits,
    keep: Keep,
    mode: Mode,
}

/// The documents of a batch.
#[derive(Default)]
struct Group<'t> {
    /// What the batch has already.
    builder: Option<Box<BatchBuilder>>,
    /// The documents that were copied.
    text: Vec<u8>,
    text_bytes: usize,
    /// From which of the documents on they are of which source.
    sources: Vec<(usize, Arc<str>)>,
    waiting: Vec<Waiting<'t>>,
}

/// A document that waits.
struct Waiting<'t> {
    line: u64,
    /// Where it lies, or what is wrong with it.
    text: Result<Text<'t>, Box<Error>>,
    /// Under which it is kept elsewhere, if it is.
    number: u64,
}

/// Where a document lies.
#[derive(Clone)]
enum Text<'t> {
    Given(&'t [u8]),
    /// In the text of its group.
    Copied(Range<usize>),
}

impl<'t> Text<'t> {
    fn bytes<'s>(&self, copied: &'s [u8]) -> &'s [u8]
    where
        't: 's,
    {
        match self {
            Self::Given(bytes) => bytes,
            Self::Copied(range) => copied.get(range.clone()).unwrap_or_default(),
        }
    }
}

/// The part that lies in the bytes, where it does.
fn part_of<'t>(part: &[u8], bytes: &'t [u8]) -> Option<&'t [u8]> {
    let start = part.as_ptr().addr().checked_sub(bytes.as_ptr().addr())?;
    bytes.get(start..start.checked_add(part.len())?)
}

/// A batch that was read, whose rows have no places yet but for the first ones.
pub(crate) struct Built<'t> {
    pub(crate) batch: Batch,
    /// How many rows the batch had before.
    pub(crate) known: usize,
    pub(crate) report: Report,
    /// Why the import ends here.
    pub(crate) failed: Option<Box<Refusal>>,
    /// What is known of its rows already.
    pub(crate) lookup: Lookup,
    /// For each row that is new, the number of its document, and where that lies.
    documents: Vec<(u64, Text<'t>)>,
    pub(crate) text: Vec<u8>,
}

impl<'t, 's> Gathered<'t, 's> {
    /// None when there is but one thread to read on.
    pub(crate) fn new(engine: &Engine, mode: Mode) -> Option<Self> {
        let threads = rayon::current_num_threads();
        let (catalog, limits, keep) = (engine.catalog.clone(), engine.limits.clone(), engine.keep);
        let base = Arc::clone(&engine.current.load().base);
        (threads > 1).then(|| Self {
            reader: Arc::new(Reader {
                turns: Turns::new(threads.min(MOST_GROUPS)),
                base: Arc::downgrade(&base),
                hasher: base.directory().hasher().clone(),
                sizes: engine.sizes,
                catalog,
                limits,
                keep,
                mode,
            }),
            groups: Vec::new(),
            ahead: VecDeque::new(),
            wanted: threads.min(MOST_GROUPS),
            source: "".into(),
            given: &[],
            group_rows: engine.sizes.batch,
            spare: Vec::new(),
        })
    }

    /// Documents to come may lie in these bytes, which stay until all are stored; none came before.
    pub(crate) fn giving<'b, 'c>(self, bytes: &'b [u8]) -> Gathered<'b, 'c>
    where
        't: 'b,
    {
        let Self { reader, groups, ahead: _, wanted, source, given: _, group_rows, spare } = self;
        Gathered { reader, groups, ahead: VecDeque::new(), wanted, source, given: bytes, group_rows, spare }
    }

    /// The documents to come are of another source.
    pub(crate) fn source(&mut self, name: &str) {
        self.source = name.into();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.ahead.is_empty()
    }

    /// Begins a batch that has rows already.
    pub(crate) fn begin(&mut self, builder: Box<BatchBuilder>) {
        self.groups.push(Group { builder: Some(builder), ..Group::default() });
    }

    /// So many documents come, about, and no more: if they make few batches, all threads are to have as many of them.
    ///
    /// Batches are at least half full for it.
    pub(crate) fn share(&mut self, documents: usize, batch_rows: usize) {
        let most = documents.checked_div(batch_rows / 2).unwrap_or(documents);
        let batches = documents.div_ceil(batch_rows);
        let shared = batches.next_multiple_of(self.wanted).min(most).max(batches);
        self.group_rows = documents.div_ceil(shared.max(1)).clamp(1, batch_rows);
    }

    /// Adds a document; true when the group that it was added to is full.
    pub(crate) fn push(&mut self, piece: Piece<'_>, number: u64) -> bool {
        if self.groups.last().is_none_or(|group| group.is_full(self.group_rows)) {
            self.groups.push(Group { text: self.spare.pop().unwrap_or_default(), ..Group::default() });
        }
        let Some(group) = self.groups.last_mut() else { return false };
        let text = piece.bytes.map_err(Box::new).map(|bytes| {
            group.text_bytes = group.text_bytes.saturating_add(bytes.len());
            part_of(bytes, self.given).map_or_else(|| group.copy(bytes), Text::Given)
        });
        // One for all, since threads that count the users of a text wait for each other.
        if group.sources.last().is_none_or(|(_, source)| !Arc::ptr_eq(source, &self.source)) {
            group.sources.push((group.waiting.len(), Arc::clone(&self.source)));
        }
        group.waiting.push(Waiting { line: piece.line, text, number });
        group.is_full(self.group_rows)
    }

    /// The group read ahead that is next in order, once it is read.
    pub(crate) fn next_ahead(&mut self) -> Option<Built<'t>> {
        self.ahead.pop_front()?.finish()
    }

    /// Keeps the memory of a text for a group to come.
    pub(crate) fn recycle(&mut self, mut text: Vec<u8>) {
        text.clear();
        if self.spare.len() < self.wanted {
            self.spare.push(text);
        }
    }
}

impl Gathered<'static, 'static> {
    /// Begins to read the groups that wait, each on a thread of its own; true when all threads have one and one more
    /// waits for its turn, so that [the first](Self::next_ahead) is to be waited for.
    pub(crate) fn read_ahead(&mut self) -> bool {
        for group in self.groups.drain(..) {
            let reader = Arc::clone(&self.reader);
            self.ahead.push_back(Task::start(move || group.build(&reader)));
        }
        self.ahead.len() > self.wanted
    }
}

impl<'t: 's, 's> Gathered<'t, 's> {
    /// As [`read_ahead`](Self::read_ahead), on threads of the scope.
    pub(crate) fn read_ahead_in(&mut self, scope: &'s Scope<'s, '_>) -> bool {
        for group in self.groups.drain(..) {
            let reader = Arc::clone(&self.reader);
            self.ahead.push_back(Task::start_in(scope, move || group.build(&reader)));
        }
        self.ahead.len() > self.wanted
    }
}

impl<'t> Group<'t> {
    fn copy(&mut self, bytes: &[u8]) -> Text<'t> {
        let start = self.text.len();
        self.text.extend_from_slice(bytes);
        Text::Copied(start..self.text.len())
    }

    fn is_full(&self, rows: usize) -> bool {
        let known = self.builder.as_ref().map_or(0, |builder| builder.rows());
        known.saturating_add(self.waiting.len()) >= rows || self.text_bytes >= GROUP_BYTES
    }

    fn build(mut self, reader: &Reader) -> Built<'t> {
        let Reader { turns, base, hasher, sizes, catalog, limits, keep, mode } = reader;
        let _turn = turns.take();
        let builder = self.builder.take().map(|builder| *builder);
        let mut builder = builder.unwrap_or_else(|| BatchBuilder::new(catalog, *keep, self.waiting.len()));
        let known = builder.rows();
        let document_bytes = builder.document_bytes().saturating_add(self.text_bytes);
        builder.reserve(known.saturating_add(self.waiting.len()), document_bytes);
        let reading = Reading { catalog, limits, mode: *mode };
        let mut report = Report::default();
        // Others are not asked for.
        let keeps_numbers = *keep == Keep::Numbers;
        let mut documents = Vec::with_capacity(if keeps_numbers { self.waiting.len() } else { 0 });
        let mut failed = None;
        let mut row = crate::batch::Row::default();
        let mut habits = Habits::default();
        let mut checked = Checked::new(&self.text);
        let (mut source, mut sources) = ("", self.sources.iter().peekable());
        for (at, waiting) in self.waiting.iter().enumerate() {
            while let Some((_, next)) = sources.next_if(|(from, _)| *from <= at) {
                source = next;
            }
            let bytes = match &waiting.text {
                Ok(text) => Ok(text.bytes(&self.text)),
                Err(error) => Err((**error).clone()),
            };
            let piece = Piece { line: waiting.line, bytes };
            match reading.read(piece, &mut checked, source, &mut habits, &mut row, &mut report) {
                Ok(None) => {}
                Ok(Some(text)) => {
                    let document = match keep {
                        Keep::Numbers => Document::Number { number: waiting.number, size_bytes: text.len() },
                        Keep::Nothing | Keep::Text => Document::Text(text),
                    };
                    // The place is found when it is known which ids there were before.
                    builder.push(&row, document, 0);
                    if let (true, Ok(text)) = (keeps_numbers, &waiting.text) {
                        documents.push((waiting.number, text.clone()));
                    }
                }
                Err(refusal) => {
                    failed = Some(refusal);
                    break;
                }
            }
        }
        drop(row);
        let batch = builder.seal();
        let lookup = Lookup::new(catalog, *sizes, hasher, base.upgrade().as_ref(), &batch);
        Built { batch, known, report, failed, lookup, documents, text: self.text }
    }
}

#[cfg(feature = "arrow")]
impl Built<'static> {
    /// A batch of rows of a source, with the documents of those that are new, when they are kept elsewhere.
    pub(crate) fn of_rows(
        (batch, lookup): (Batch, Lookup),
        known: usize,
        report: Report,
        documents: Vec<(u64, Range<usize>)>,
        text: Vec<u8>,
    ) -> Self {
        let documents = documents.into_iter().map(|(number, range)| (number, Text::Copied(range)));
        let documents = documents.collect();
        Self { batch, known, report, failed: None, lookup, documents, text }
    }
}

impl Built<'_> {
    /// The number and the text of the document of a row that is new, when it is kept elsewhere.
    pub(crate) fn document(&self, row: usize) -> Option<(u64, &str)> {
        let (number, text) = self.documents.get(row.checked_sub(self.known)?)?;
        // What was read as a case is UTF-8.
        Some((*number, std::str::from_utf8(trim(text.bytes(&self.text))).ok()?))
    }
}

#[cfg(test)]
mod tests;
