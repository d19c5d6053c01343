//! The settings of a scan, which its threads share.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::count::Counting;
use super::rank::{Rank, Ranking};
use super::top::Top;
use crate::batch::{OwnedRow, Row};
use crate::catalog::{Catalog, FieldId};
use crate::engine::ImportMode;
use crate::filter::{Filter, PreparedFilter};
use crate::ingest::DocumentTemplate;
use crate::limits::Limits;

/// The settings of a scan, and the [readers](Reader) that no thread uses at the moment. All threads share them.
pub(super) struct Settings {
    pub(super) catalog: Catalog,
    pub(super) limits: Limits,
    pub(super) mode: ImportMode,
    pub(super) filter: PreparedFilter,
    pub(super) ranking: Ranking,
    /// The maximum number of documents that the scan keeps: the offset plus the limit of the request, plus 1 if it asks for a
    /// cursor. 0 if the limit is 0.
    pub(super) wanted: usize,
    /// True if the answer has the documents of the page. False if it has only their ids.
    pub(super) keeps_documents: bool,
    /// The counts by value that the scan makes, if any.
    pub(super) counting: Option<Arc<Counting>>,
    /// For each field, by its number: true if a filter tests the field. Ends at the last tested field.
    tested: Vec<bool>,
    tests_elements: bool,
    /// True if every filter selects every document.
    is_all: bool,
    pub(super) hasher: foldhash::quality::RandomState,
    /// The hashes of ids that an earlier pass has found more than once.
    pub(super) repeated: HashSet<u64>,
    /// The ids that the scan looks for, whether the filter selects them or not.
    pub(super) sought: HashSet<Box<str>>,
    /// True if several sources may have the same ids.
    pub(super) has_several_sources: bool,
    spare: Mutex<Vec<Reader>>,
}

/// The document template and the buffers of a thread that reads blocks. Later blocks reuse them.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) template: DocumentTemplate,
    pub(super) row: Row<'static>,
    pub(super) values: OwnedRow,
}

impl Settings {
    pub(super) fn new(
        (catalog, limits, mode): (Catalog, Limits, ImportMode),
        (filter, ranking, wanted): (Filter, Ranking, usize),
        counting: Option<Arc<Counting>>,
        hasher: foldhash::quality::RandomState,
    ) -> Self {
        let filter = PreparedFilter::new(&filter);
        let (tested, tests_elements, is_all) = {
            let of_counts = counting.iter().flat_map(|counting| counting.filters());
            let filters: Vec<&Filter> = of_counts.chain([&filter]).map(PreparedFilter::filter).collect();
            let has_elements = |filter: &&Filter| filter.predicate().has_elements();
            (tested(&filters), filters.iter().any(has_elements), filters.iter().all(|filter| filter.is_all()))
        };
        let (repeated, sought, spare) = Default::default();
        Self {
            catalog,
            limits,
            mode,
            filter,
            ranking,
            wanted,
            keeps_documents: true,
            counting,
            tested,
            tests_elements,
            is_all,
            hasher,
            repeated,
            sought,
            has_several_sources: false,
            spare,
        }
    }

    /// Returns the settings of the same scan, but with these counts by value, or without counts for `None`. The result has no
    /// `repeated` ids.
    pub(super) fn with_counting(&self, counting: Option<Arc<Counting>>) -> Self {
        let source = (self.catalog.clone(), self.limits.clone(), self.mode);
        let request = (self.filter.filter().clone(), self.ranking.clone(), self.wanted);
        Self {
            sought: self.sought.clone(),
            has_several_sources: self.has_several_sources,
            keeps_documents: self.keeps_documents,
            ..Self::new(source, request, counting, self.hasher.clone())
        }
    }

    /// Returns the settings of another pass over the same source, in which the ids with these hashes may be repeated.
    pub(super) fn again(&self, repeated: HashSet<u64>) -> Self {
        Self { repeated, ..self.with_counting(self.counting.clone()) }
    }

    /// Returns the settings for several sources, which may have the same ids.
    pub(super) fn with_several_sources(self) -> Self {
        Self { has_several_sources: true, ..self }
    }

    fn is_tested(&self, field: FieldId) -> bool {
        self.tested.get(field.index()).copied().unwrap_or(false)
    }

    /// Copies the values that the filters test.
    pub(super) fn fill(&self, row: &Row<'_>, values: &mut OwnedRow) {
        if !self.is_all {
            values.refill(row, |field| self.is_tested(field), self.tested.len(), self.tests_elements);
        }
    }

    pub(super) fn selects(&self, filter: &PreparedFilter, values: &OwnedRow) -> bool {
        filter.filter().is_all() || filter.selects(values, &self.catalog)
    }

    /// Returns an empty collector and a flag. The collector takes those documents of one block that can be on the page. No document
    /// after `bound` can be on the page. The flag is true if only documents with repeated ids can be on the page.
    pub(super) fn top_of_block<T>(&self, bound: Option<Arc<Rank>>) -> (Top<T>, bool) {
        let ranking = &self.ranking;
        // In insertion order, every later document comes after the bound. Insertion-order numbers are only known when the block is
        // merged.
        let is_behind = self.wanted == 0 || ranking.is_by_place() && bound.is_some();
        let bound = bound.filter(|_| !ranking.is_by_place());
        let wanted = if ranking.is_behind_place() { usize::MAX } else { self.wanted };
        (Top::new(wanted, bound), is_behind)
    }

    pub(super) fn take_reader(&self) -> Reader {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(super) fn put_reader(&self, reader: Reader) {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
    }
}

/// Returns, for each field by its number, true if a filter tests the field. The list ends at the last tested field.
fn tested(filters: &[&Filter]) -> Vec<bool> {
    let mut tested = Vec::new();
    for field in filters.iter().flat_map(|filter| filter.predicate().fields()) {
        let len = field.index().saturating_add(1).max(tested.len());
        tested.resize(len, false);
        if let Some(tested) = tested.get_mut(field.index()) {
            *tested = true;
        }
    }
    tested
}
