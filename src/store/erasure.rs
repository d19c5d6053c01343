//! The types of an erasure: the cases and records to remove, and the counts of what was removed.

use std::collections::HashSet;

use crate::filter::Filter;

/// A function that returns true for a record to erase, given its kind, key and text.
pub(super) type RecordTest = Box<dyn Fn(&str, &str, &str) -> bool + Send + Sync>;

/// The cases and records that [`Store::erase`](super::Store::erase) removes. A new value selects none.
///
/// ```
/// use casefilter::{Catalog, Erasure, Filter};
/// let of_anna = Filter::compile_text(&Catalog::cases(), "applicantReference.applicantId = anna")?;
/// let erasure = Erasure::new().with_cases(of_anna).with_ids(["c-17"]).with_records(|kind, key, _| (kind, key) == ("note", "anna"));
/// # let _ = erasure;
/// # Ok::<(), casefilter::Errors>(())
/// ```
#[derive(Default)]
pub struct Erasure {
    pub(super) filter: Option<Filter>,
    pub(super) ids: HashSet<String>,
    pub(super) records: Option<RecordTest>,
}

impl Erasure {
    /// Creates an erasure that removes nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Erases the cases that a filter selects, and the documents of the [history](super::Store::set_history) that it selects.
    /// Replaces the filter of an earlier call.
    #[must_use]
    pub fn with_cases(self, filter: Filter) -> Self {
        Self { filter: Some(filter), ..self }
    }

    /// Erases the cases with these ids, their earlier documents, and their ids in events. Adds to the ids of earlier calls. Ignores
    /// empty ids, which no case has.
    #[must_use]
    pub fn with_ids<I: Into<String>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
        self.ids.extend(ids.into_iter().map(Into::into).filter(|id| !id.is_empty()));
        self
    }

    /// Erases the records for which a function returns true, given their kind, key and text. Replaces the function of an earlier
    /// call.
    #[must_use]
    pub fn with_records(self, is_erased: impl Fn(&str, &str, &str) -> bool + Send + Sync + 'static) -> Self {
        Self { records: Some(Box::new(is_erased)), ..self }
    }
}

impl std::fmt::Debug for Erasure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Erasure").field("ids", &self.ids.len()).finish_non_exhaustive()
    }
}

/// The numbers of items that an erasure has removed; see [`Store::erase`](super::Store::erase).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ErasureReport {
    /// The number of cases.
    pub cases: u64,
    /// The number of records.
    pub records: u64,
    /// The number of documents in the history: earlier documents of the erased cases, and other earlier documents that the filter
    /// selects.
    pub history: u64,
    /// The number of events of standing filters about the erased cases. Such an event keeps its number, time, filter and kind, and
    /// loses the id of its case: [`Event::id`](crate::Event::id) is then empty.
    pub events: u64,
}
