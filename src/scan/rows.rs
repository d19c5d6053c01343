//! Blocks of rows: the results of a part of a source that has rows instead of documents, such as a Parquet file.
//!
//! The host of such a scan tests the filters on columns. It reads the values of a row only if the row is selected, and the document
//! of a row only if the row is on the page. The counts, the order and the page are those of a scan of documents.

use std::cell::Cell;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::block::{Block, FoundDocument, Kept, ReadBlock, RepeatedDocument, kept};
use super::count::{Counting, Counts};
use super::rank::{Rank, Ranking};
use super::row_notes::{NoteSubject, RowNotes};
use super::settings::Settings;
use super::top::Top;
use crate::batch::Row;
use crate::catalog::{Catalog, FieldId};
use crate::engine::{ImportMode, ImportReport};
use crate::error::Error;
use crate::facet::Facet;
use crate::filter::{Filter, PreparedFilter, SearchRequest};
use crate::limits::Limits;

/// The request of a scan of rows. All threads share it.
#[derive(Clone)]
pub(crate) struct RowRequest {
    pub(super) request: SearchRequest,
    pub(super) settings: Arc<Settings>,
    /// True if no other source can have the same ids.
    pub(super) is_sole_source: bool,
}

/// A row after which no row is on the page.
#[derive(Clone)]
pub(crate) struct RowBound(pub(super) Option<Arc<Rank>>);

/// The results of consecutive rows of one source, all of which are valid cases.
pub(crate) struct RowBlock<'s> {
    settings: &'s Settings,
    rows: usize,
    ids: Vec<u64>,
    selected: u64,
    top: Top<()>,
    /// The rows whose ids may be repeated.
    repeated: Vec<RepeatedDocument>,
    notes: RowNotes,
    sought: Vec<Box<str>>,
    counts: Option<Counts>,
    /// True if no row of the block can be on the page.
    is_behind: bool,
}

/// The results of a complete block of rows.
pub(crate) struct ReadRows(pub(super) ReadBlock, pub(super) RowNotes);

impl RowRequest {
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.settings.catalog
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// Returns true if no other source can have the same ids.
    pub(crate) fn is_sole_source(&self) -> bool {
        self.is_sole_source
    }

    pub(crate) fn mode(&self) -> ImportMode {
        self.settings.mode
    }

    /// Returns the filter of the search.
    pub(crate) fn filter(&self) -> &Filter {
        &self.request.filter
    }

    /// Returns true if the answer has a page with rows.
    pub(crate) fn has_page(&self) -> bool {
        self.settings.wanted > 0
    }

    /// Returns true if every filter selects every row.
    pub(crate) fn selects_all(&self) -> bool {
        self.count_filters().chain([self.filter()]).all(Filter::is_all)
    }

    /// Returns the ids that the scan looks for, whether the filter selects them or not.
    pub(crate) fn sought(&self) -> impl Iterator<Item = &str> {
        self.settings.sought.iter().map(|id| &**id)
    }

    /// Returns the filters of the counts by value. The number of a filter is its index in this iterator.
    pub(crate) fn count_filters(&self) -> impl Iterator<Item = &Filter> {
        self.settings.counting.iter().map(Arc::as_ref).flat_map(Counting::filters).map(PreparedFilter::filter)
    }

    /// Returns the fields by which the rows are ordered.
    pub(crate) fn sort_fields(&self) -> impl Iterator<Item = FieldId> {
        self.settings.ranking.keys().iter().map(|key| key.field)
    }

    /// Returns the fields whose values are counted.
    pub(crate) fn counted_fields(&self) -> impl Iterator<Item = FieldId> {
        let counting = self.settings.counting.iter();
        counting.flat_map(|counting| counting.request().facets.iter().map(Facet::field_id))
    }

    /// Checks the stop conditions of the search and of the counts.
    ///
    /// # Errors
    /// Returns an error if the search or the counts must stop.
    pub(crate) fn check_stop(&self) -> Result<(), Error> {
        self.request.stop.verdict_now()?;
        let counting = self.settings.counting.as_ref();
        counting.map_or(Ok(()), |counting| counting.request().stop.verdict_now())
    }

    /// Starts a block, with room for the hashes of `ids` ids. No row after `bound` is on the page.
    pub(crate) fn block(&self, bound: RowBound, ids: usize) -> RowBlock<'_> {
        let settings = &*self.settings;
        let RowBound(bound) = bound;
        let (top, is_behind) = settings.top_of_block(bound);
        RowBlock {
            settings,
            rows: 0,
            ids: Vec::with_capacity(ids),
            selected: 0,
            top,
            repeated: Vec::new(),
            notes: RowNotes::default(),
            sought: Vec::new(),
            counts: settings.counting.as_ref().map(|counting| counting.of_block(&settings.catalog)),
            is_behind,
        }
    }
}

impl RowBlock<'_> {
    /// Adds `rows` to the number of rows of the block.
    pub(crate) fn add_rows(&mut self, rows: usize) {
        self.rows = self.rows.saturating_add(rows);
    }

    /// Adds the id of a row. Returns true if an earlier pass has found that the id may be repeated. The caller then passes the row
    /// to [`push_repeated`](Self::push_repeated), instead of counting and offering it.
    #[inline]
    pub(crate) fn push_id(&mut self, id: &str) -> bool {
        let hash = self.settings.hasher.hash_one(id);
        self.note_id(id);
        if !self.settings.repeated.is_empty() && self.settings.repeated.contains(&hash) {
            return true;
        }
        self.ids.push(hash);
        false
    }

    /// Adds a row whose id may be repeated. `at` is the number of the row in the block. `selected` contains the values of the sort
    /// fields. It is `None` if the filter of the search does not select the row. `counted` contains the arguments of
    /// [`count`](Self::count). It is `None` if the values of the row are not counted.
    pub(crate) fn push_repeated(
        &mut self,
        at: usize,
        id: &str,
        selected: Option<&Row<'_>>,
        counted: Option<(&Row<'_>, &dyn Fn(usize) -> bool)>,
    ) {
        let document = || FoundDocument::Row(at as u64);
        let bound = self.top.bound().map(|bound| &**bound);
        let kept = selected.map_or(Kept::Nothing, |row| kept(self.settings, row, id, bound, document));
        let counts = self.settings.counting.as_ref().zip(counted).map(|(counting, (row, selects))| {
            let mut counts = counting.of_block(&self.settings.catalog);
            count(counting, &mut counts, row, &self.settings.limits, selects);
            counts
        });
        self.repeated.push(RepeatedDocument { at, id: id.into(), kept, counts });
    }

    /// Adds `count` rows to the note on a subject. `first` is the number of the first of these rows in the block.
    pub(crate) fn note(&mut self, subject: NoteSubject, count: u64, first: usize) {
        self.notes.add(subject, count, first as u64);
    }

    /// Records the id of a row if the scan looks for it.
    #[inline]
    pub(crate) fn note_id(&mut self, id: &str) {
        if !self.settings.sought.is_empty() && self.settings.sought.contains(id) {
            self.sought.push(id.into());
        }
    }

    /// Adds `rows` to the number of selected rows.
    pub(crate) fn add_selected(&mut self, rows: usize) {
        self.selected = self.selected.saturating_add(rows as u64);
    }

    /// Returns true if a later row of the block may be on the page.
    pub(crate) fn wants_rows(&self) -> bool {
        let is_full = self.settings.ranking.is_by_place() && self.top.bound().is_some();
        !self.is_behind && !is_full
    }

    /// Offers a selected row as a candidate for the page of results. `at` is the number of the row in the block. `row` has the
    /// values of the sort fields.
    #[inline]
    pub(crate) fn offer(&mut self, at: usize, id: &str, row: &Row<'_>) {
        let ranking: &Ranking = &self.settings.ranking;
        let keys = ranking.keys_of(row);
        if ranking.is_by_place() || ranking.takes_keys(&keys, id, self.top.bound().map(|bound| &**bound)) {
            self.top.push(ranking, Rank::new(&keys, id, at as u64), ());
        }
    }

    /// Counts the values of a row. `selects` takes the number of a filter (see [`count_filters`](RowRequest::count_filters)), and
    /// returns true if this filter selects the row.
    pub(crate) fn count(&mut self, row: &Row<'_>, selects: impl Fn(usize) -> bool) {
        if let (Some(counting), Some(counts)) = (&self.settings.counting, &mut self.counts) {
            count(counting, counts, row, &self.settings.limits, selects);
        }
    }

    pub(crate) fn finish(self) -> ReadRows {
        let Self { settings, rows, mut ids, selected, top, mut repeated, notes, sought, counts, .. } = self;
        ids.sort_unstable();
        // Rows are added in parts of the block, and the order of these parts is not fixed.
        repeated.sort_unstable_by_key(|row| row.at);
        let found = top.into_unsorted(&settings.ranking).into_iter();
        let mut found: Vec<(Rank, FoundDocument)> = found
            .map(|(rank, ())| {
                let row = FoundDocument::Row(rank.place);
                (rank, row)
            })
            .collect();
        found.sort_unstable_by_key(|(rank, _)| rank.place);
        let block = ReadBlock {
            accepted: rows,
            ids: ids.into(),
            selected,
            found,
            repeated,
            sought,
            counts,
            report: ImportReport::default(),
            failed: None,
            memory: Block::default(),
        };
        ReadRows(block, notes)
    }
}

/// Counts the values of a row. `selects` returns true if the filter with this number selects the row.
fn count(
    counting: &Counting,
    counts: &mut Counts,
    row: &Row<'_>,
    limits: &Limits,
    selects: impl Fn(usize) -> bool,
) {
    // `add` calls the function once for each filter, in the order of their numbers.
    let next = Cell::new(0_usize);
    counting.add(counts, row, limits, |_| {
        let number = next.get();
        next.set(number.saturating_add(1));
        selects(number)
    });
}
