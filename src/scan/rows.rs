//! Sources of a scan that have rows instead of documents, such as Parquet files.
//!
//! The host of such a scan tests the filters on columns. It reads the values of a row only if the row is selected, and the document
//! of a row only if the row is on the page. The counts, the order and the page are those of a scan of documents.

use std::cell::Cell;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use super::answer::{RowGroups, ScanError};
use super::block::{Block, FoundDocument, Kept, ReadBlock, RepeatedDocument, kept};
use super::count::{Counting, Counts};
use super::failed::{Failed, SplitError};
use super::merge::Complete;
use super::rank::{Rank, Ranking};
use super::row_notes::{NoteSubject, RowNotes};
use super::run::Scan;
use super::settings::Settings;
use super::top::Top;
use crate::batch::Row;
use crate::catalog::{Catalog, FieldId};
use crate::engine::{DocumentNote, ImportError, ImportMode, ImportReport};
use crate::error::Error;
use crate::facet::Facet;
use crate::filter::{Filter, PreparedFilter, SearchRequest};
use crate::limits::Limits;

/// The request of a scan of rows. All threads share it.
#[derive(Clone)]
pub(crate) struct RowRequest {
    request: SearchRequest,
    settings: Arc<Settings>,
    is_sole_source: bool,
}

/// The rows of the source that is being scanned.
pub(crate) struct SourceRows {
    name: Arc<str>,
    /// The number of documents of all earlier sources.
    start: u64,
    /// The number of rows that were added so far.
    rows: u64,
    notes: RowNotes,
}

/// Reads documents of a source. Gets the numbers of rows of the source, in ascending order, counted from 0. Returns `None` if an
/// import has to read the source.
pub(crate) type ReadDocuments = Box<dyn Fn(&[u64]) -> Option<Vec<Box<str>>> + Send + Sync>;

/// The end of a source of rows.
pub(crate) struct SourceEnd {
    /// The number of bytes that were read.
    pub(crate) bytes: u64,
    pub(crate) row_groups: RowGroups,
    /// True if not all ids were read, because the ids of the source are unique.
    pub(crate) has_unread_ids: bool,
    pub(crate) documents: ReadDocuments,
}

/// The sources of rows of one pass.
#[derive(Default)]
pub(super) struct RowSources {
    sources: Vec<RowSource>,
    row_groups: Option<RowGroups>,
    /// True if not all ids of a source were read.
    has_unread_ids: bool,
    /// True if the unread ids may be repeated in another source.
    has_missing_ids: bool,
}

struct RowSource {
    name: Arc<str>,
    /// The numbers of its rows among the documents of all sources.
    range: Range<u64>,
    documents: ReadDocuments,
}

/// A row after which no row is on the page.
#[derive(Clone)]
pub(crate) struct RowBound(Option<Arc<Rank>>);

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
pub(crate) struct ReadRows(ReadBlock, RowNotes);

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

    /// Returns an error if the search or the counts must stop.
    ///
    /// # Errors
    /// See above.
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

/// Scans of sources of rows.
impl Scan {
    /// Begins a source of rows. The caller then adds all rows by [`add_rows`](Self::add_rows), and calls
    /// [`end_rows`](Self::end_rows).
    ///
    /// # Errors
    /// Returns the errors of [`begin_source`](Self::begin_source), and the error of an earlier document.
    pub(crate) fn begin_rows(&mut self, name: &str) -> Result<(RowRequest, SourceRows), ScanError> {
        self.begin_source(name)?;
        let drained = self.drain().map_err(SplitError::from);
        self.note(drained)?;
        self.row_sources.begin_other();
        let start = self.merged.documents();
        let request = RowRequest {
            request: self.request.clone(),
            settings: Arc::clone(&self.settings),
            is_sole_source: start == 0 && !self.settings.has_several_sources,
        };
        Ok((request, SourceRows { name: name.into(), start, rows: 0, notes: RowNotes::default() }))
    }

    /// Returns a row after which no row is on the page.
    pub(crate) fn row_bound(&self) -> RowBound {
        RowBound(self.merged.bound())
    }

    /// Adds an error to the report. The error does not end the scan.
    pub(crate) fn list(&mut self, error: ImportError) {
        self.merged.report.list(error);
    }

    /// Adds the next block of a source, in the order of its rows.
    pub(crate) fn add_rows(&mut self, rows: &mut SourceRows, ReadRows(block, notes): ReadRows) {
        rows.notes.append(notes, rows.rows);
        rows.rows = rows.rows.saturating_add(block.accepted as u64);
        // A block of valid rows has no error.
        let added = self.merged.add(&self.settings, block);
        debug_assert!(added.is_ok(), "all rows were valid");
    }

    /// Ends a source of rows. `notes` gets numbers of rows, like [`ReadDocuments`]. It returns the notes of an import of these rows.
    ///
    /// # Errors
    /// Returns an error if `notes` returns `None`.
    pub(crate) fn end_rows(
        &mut self,
        rows: SourceRows,
        end: SourceEnd,
        notes: impl FnOnce(&[u64]) -> Option<Vec<DocumentNote>>,
    ) -> Result<(), ScanError> {
        let first_rows = rows.notes.first_rows();
        if !first_rows.is_empty() {
            let notes = notes(&first_rows);
            let notes = notes.and_then(|notes| rows.notes.complete(notes, &self.settings.catalog));
            let Some(notes) = notes else { return Err(self.import_needed(&rows)) };
            self.merged.report.append(ImportReport { notes, ..ImportReport::default() });
        }
        let SourceEnd { bytes, row_groups, has_unread_ids, documents } = end;
        self.bytes = self.bytes.saturating_add(bytes);
        let range = rows.start..rows.start.saturating_add(rows.rows);
        self.row_sources.add(RowSource { name: rows.name, range, documents }, row_groups, has_unread_ids);
        self.begin_source("")
    }

    /// Ends the scan, because an import has to read the source. Returns the error.
    pub(crate) fn import_needed(&mut self, rows: &SourceRows) -> ScanError {
        self.failed.insert(Failed::ImportNeeded(Arc::clone(&rows.name))).clone().into()
    }

    /// Ends the scan, because it was stopped. Returns the error.
    pub(crate) fn stopped(&mut self, error: Error) -> ScanError {
        self.failed.insert(error.into()).clone().into()
    }
}

impl RowSources {
    /// Begins another source, whose ids may be those of earlier sources.
    pub(super) fn begin_other(&mut self) {
        self.has_missing_ids |= self.has_unread_ids;
    }

    /// Returns true if the scan needs another pass that reads all ids.
    pub(super) fn has_missing_ids(&self) -> bool {
        self.has_missing_ids
    }

    fn add(&mut self, source: RowSource, groups: RowGroups, has_unread_ids: bool) {
        self.sources.push(source);
        self.has_unread_ids |= has_unread_ids;
        let own = self.row_groups.get_or_insert_default();
        own.tested = own.tested.saturating_add(groups.tested);
        own.skipped = own.skipped.saturating_add(groups.skipped);
        own.excluded_rows = own.excluded_rows.saturating_add(groups.excluded_rows);
    }

    /// Reads the documents of the rows on the page, if the answer has documents. Also returns the numbers of row groups.
    ///
    /// # Errors
    /// Returns an error if an import has to read a source.
    pub(super) fn read_page(
        &self,
        mut complete: Complete,
        request: &SearchRequest,
        settings: &Settings,
    ) -> Result<(Complete, Option<RowGroups>), ScanError> {
        if !settings.keeps_documents {
            return Ok((complete, self.row_groups));
        }
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let found = complete.top.iter_mut().skip(number(request.offset)).take(number(request.limit));
        let mut page: Vec<(u64, &mut FoundDocument)> = found
            .filter_map(|(_, document)| match document {
                FoundDocument::Row(row) => Some((*row, document)),
                FoundDocument::Text(_) => None,
            })
            .collect();
        page.sort_unstable_by_key(|(row, _)| *row);
        let mut page = page.into_iter().peekable();
        for RowSource { name, range, documents } in &self.sources {
            let own: Vec<(u64, &mut FoundDocument)> =
                std::iter::from_fn(|| page.next_if(|(row, _)| *row < range.end)).collect();
            if own.is_empty() {
                continue;
            }
            let rows: Vec<u64> = own.iter().map(|(row, _)| row.saturating_sub(range.start)).collect();
            let texts = documents(&rows).filter(|texts| texts.len() == rows.len());
            let Some(texts) = texts else { return Err(Failed::ImportNeeded(Arc::clone(name)).into()) };
            own.into_iter()
                .zip(texts)
                .for_each(|((_, document), text)| *document = FoundDocument::Text(text));
        }
        Ok((complete, self.row_groups))
    }
}

impl RowBlock<'_> {
    /// Adds to the number of rows that were read.
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

    /// Adds a row whose id may be repeated. `at` is its number in the block. `selected` has the values of the sort fields if the
    /// filter of the search selects the row. `counted` has the values of the row if they may be counted, and a function as in
    /// [`count`](Self::count).
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

    /// Adds `count` rows to the note on a subject. `first` is the number of the first of them in the block.
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

    /// Counts selected rows.
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

    /// Counts the values of a row. `selects` gets the number of a filter (see [`count_filters`](RowRequest::count_filters)), and
    /// returns true if this filter selects the row.
    pub(crate) fn count(&mut self, row: &Row<'_>, selects: impl Fn(usize) -> bool) {
        if let (Some(counting), Some(counts)) = (&self.settings.counting, &mut self.counts) {
            count(counting, counts, row, &self.settings.limits, selects);
        }
    }

    pub(crate) fn finish(self) -> ReadRows {
        let Self { settings, rows, mut ids, selected, top, mut repeated, notes, sought, counts, .. } = self;
        ids.sort_unstable();
        // Rows are added by parts of the block, which need not be in order.
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
