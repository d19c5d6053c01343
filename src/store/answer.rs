//! The answer to a search in a store.

use crate::engine::write_page;

/// The page of cases that a search in a [`Store`](crate::Store) found, with their documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    pub(super) ids: Vec<String>,
    pub(super) documents: Vec<String>,
    pub(super) total: Option<u64>,
    pub(super) offset: u64,
    pub(super) limit: u64,
    pub(super) examined: u64,
}

impl StoredAnswer {
    /// How many cases are on the page.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// True when no case is on the page.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// How many cases were selected before paging, when the request asked for it.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// As [`Answer::examined`](crate::Answer::examined).
    #[must_use]
    pub fn examined(&self) -> u64 {
        self.examined
    }

    /// The ids of the cases on the page, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.ids.iter().map(String::as_str)
    }

    /// The documents of the cases on the page as stored, in order.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = &str> {
        self.documents.iter().map(String::as_str)
    }

    /// The same page with other documents in the place of those stored.
    #[cfg(feature = "service")]
    pub(crate) fn with_documents(self, documents: Vec<String>) -> Self {
        Self { documents, ..self }
    }

    /// The answer as the interface has it, the same bytes as those of [`Answer`](crate::Answer::to_json).
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        self.write_json(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Writes what [`to_json`](Self::to_json) gives behind what `out` holds.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        write_page(out, self.documents().zip(self.ids()), self.total, (self.offset, self.limit));
    }
}
