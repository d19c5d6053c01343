//! The type [`FilterMatches`]: the names of the filters that select a document.

use std::fmt;
use std::sync::Arc;

use super::segment::Scratch;
use super::snapshot::{Place, Snapshot};

/// The names of the standing filters that select a document.
///
/// [`FilterSet::matching`](crate::FilterSet::matching) creates one for each document. To test many documents,
/// [`FilterSet::matching_into`](crate::FilterSet::matching_into) reuses the memory of one `FilterMatches`.
///
/// The names are in no particular order, and none is repeated.
#[derive(Default)]
pub struct FilterMatches {
    snapshot: Arc<Snapshot>,
    found: Vec<Place>,
    scratch: Scratch,
}

impl FilterMatches {
    /// Creates an empty `FilterMatches`, to be filled by [`FilterSet::matching_into`](crate::FilterSet::matching_into).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the names. The function `find` adds the places of the new names in `snapshot` to its last argument.
    pub(super) fn fill(
        &mut self,
        snapshot: Arc<Snapshot>,
        find: impl FnOnce(&Snapshot, &mut Scratch, &mut Vec<Place>),
    ) {
        self.snapshot = snapshot;
        self.found.clear();
        find(&self.snapshot, &mut self.scratch, &mut self.found);
    }

    /// Returns the number of names.
    ///
    /// ```
    /// use casefilter::FilterMatches;
    /// assert_eq!((FilterMatches::new().len(), FilterMatches::new().is_empty()), (0, true));
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Returns true if no filter selects the document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the names, in no particular order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.found.iter().map(|place| self.snapshot.name(*place))
    }

    /// Returns the names, ascending.
    ///
    /// ```
    /// use casefilter::{Catalog, Document, Filter, FilterSet, StandingFilter};
    /// let cases = Catalog::cases();
    /// let set = FilterSet::new(&cases);
    /// for name in ["b", "a"] {
    ///     set.insert(StandingFilter::new(name, &Filter::all(&cases)))?;
    /// }
    /// let matches = set.matching(&Document::parse(&cases, br#"{"id":"1"}"#)?)?;
    /// assert_eq!(matches.sorted(), ["a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn sorted(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.iter().collect();
        names.sort_unstable();
        names
    }
}

impl fmt::Debug for FilterMatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
