//! Merges the results of blocks in the order of the source: counts, the page, the report, and repeated ids.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::block::{Block, FoundDocument, Kept, ReadBlock, RepeatedDocument};
use super::count::Counts;
use super::id_hashes::IdHashes;
use super::rank::Rank;
use super::settings::Settings;
use super::top::Top;
use crate::engine::{ImportError, ImportReport};

/// The results of all blocks that were merged so far.
pub(super) struct Merged {
    /// The hashes of the ids that are not known to be repeated.
    ids: IdHashes,
    /// The insertion-order number of the next new id.
    next_place: u64,
    /// The number of accepted documents.
    documents: u64,
    /// The number of selected documents that are not in `repeated`.
    selected: u64,
    /// The first documents in the order of the answer, without the documents in `repeated`.
    top: Top<FoundDocument>,
    /// The documents whose ids may be repeated: the last document of each id.
    repeated: HashMap<Box<str>, LastDocument>,
    /// The counts by value of the documents that are not in `repeated`, if the scan counts values.
    counts: Option<Counts>,
    sought: HashSet<Box<str>>,
    pub(super) report: ImportReport,
}

/// The last document of an id that may be repeated: the parts of it that are kept until the end.
struct LastDocument {
    /// The insertion-order number of the first document with the id.
    place: u64,
    kept: Kept,
    counts: Option<Counts>,
}

/// The results of a pass in which every repeated id was known before the pass.
pub(super) struct Complete {
    /// The number of distinct ids.
    pub(super) documents: u64,
    pub(super) selected: u64,
    /// The first documents in the order of the answer.
    pub(super) top: Vec<(Rank, FoundDocument)>,
    pub(super) sought: HashSet<Box<str>>,
    pub(super) counts: Option<Counts>,
    pub(super) report: ImportReport,
}

impl Merged {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            ids: IdHashes::default(),
            next_place: 0,
            documents: 0,
            selected: 0,
            top: Top::new(settings.wanted, None),
            repeated: HashMap::new(),
            counts: settings.counting.as_ref().map(|counting| counting.none(&settings.catalog)),
            sought: HashSet::new(),
            report: ImportReport::default(),
        }
    }

    /// Returns the number of accepted documents.
    #[cfg(feature = "arrow")]
    pub(super) fn documents(&self) -> u64 {
        self.documents
    }

    /// Returns a document after which no document is on the page.
    pub(super) fn bound(&self) -> Option<Arc<Rank>> {
        self.top.bound().cloned()
    }

    /// Adds the results of the next block. Returns the memory of the block.
    ///
    /// # Errors
    /// Returns the error that ended the block.
    pub(super) fn add(&mut self, settings: &Settings, block: ReadBlock) -> Result<Block, Box<ImportError>> {
        let ReadBlock { accepted, ids, selected, found, repeated, sought, counts, report, failed, memory } =
            block;
        if let Some(failed) = failed {
            return Err(failed);
        }
        self.report.append(report);
        self.selected = self.selected.saturating_add(selected);
        self.sought.extend(sought);
        append(settings, &mut self.counts, counts);
        // The indexes of those documents in the block whose ids are not new, ascending.
        let mut replacing: Vec<usize> = Vec::new();
        let first = self.next_place;
        let place = |at: usize, replacing: &[usize]| {
            let before = replacing.partition_point(|other| *other < at);
            first.saturating_add(at.saturating_sub(before) as u64)
        };
        let before = self.documents;
        let among_all = |document: FoundDocument| match document {
            FoundDocument::Row(at) => FoundDocument::Row(before.saturating_add(at)),
            FoundDocument::Text(_) => document,
        };
        self.documents = before.saturating_add(accepted as u64);
        self.ids.add(ids);
        for RepeatedDocument { at, id, kept, counts } in repeated {
            let own = self.repeated.get(&id).map(|last| last.place);
            if own.is_some() {
                replacing.push(at);
            }
            let place = own.unwrap_or_else(|| place(at, &replacing));
            let kept = match kept {
                Kept::Document(rank, document) => Kept::Document(rank, among_all(document)),
                kept => kept,
            };
            let kept = self.without_document_behind(settings, place, kept);
            self.repeated.insert(id, LastDocument { place, kept, counts });
        }
        for (mut rank, document) in found {
            rank.place = place(usize::try_from(rank.place).unwrap_or(usize::MAX), &replacing);
            if settings.ranking.takes(&rank, self.top.bound().map(|bound| &**bound)) {
                self.top.push(&settings.ranking, rank, among_all(document));
            }
        }
        let new = accepted.saturating_sub(replacing.len()) as u64;
        self.next_place = first.saturating_add(new);
        self.report.stored = self.report.stored.saturating_add(new);
        self.report.replaced = self.report.replaced.saturating_add(replacing.len() as u64);
        Ok(memory)
    }

    /// Drops a document that cannot be on the page, now that its place is known.
    fn without_document_behind(&self, settings: &Settings, place: u64, kept: Kept) -> Kept {
        let Kept::Document(mut rank, document) = kept else { return kept };
        rank.place = place;
        match settings.ranking.takes(&rank, self.top.bound().map(|bound| &**bound)) {
            true => Kept::Document(rank, document),
            false => Kept::Selection,
        }
    }

    /// Ends the pass.
    ///
    /// # Errors
    /// Returns the hashes of the repeated ids that were not known before the pass, if there are any.
    pub(super) fn finish(mut self, settings: &Settings) -> Result<Complete, HashSet<u64>> {
        let again = std::mem::take(&mut self.ids).repeated();
        if !again.is_empty() {
            return Err(again);
        }
        let Self { next_place, mut selected, mut top, repeated, sought, mut counts, report, .. } = self;
        for LastDocument { kept, counts: own, .. } in repeated.into_values() {
            append(settings, &mut counts, own);
            let Kept::Document(rank, document) = kept else {
                selected = selected.saturating_add(u64::from(matches!(kept, Kept::Selection)));
                continue;
            };
            selected = selected.saturating_add(1);
            if settings.ranking.takes(&rank, top.bound().map(|bound| &**bound)) {
                top.push(&settings.ranking, rank, document);
            }
        }
        let top = top.into_sorted(&settings.ranking);
        Ok(Complete { documents: next_place, selected, top, sought, counts, report })
    }
}

/// Adds the counts of other documents, if there are any.
fn append(settings: &Settings, counts: &mut Option<Counts>, other: Option<Counts>) {
    if let (Some(counts), Some(other)) = (counts, other) {
        counts.append(other, &settings.limits);
    }
}
