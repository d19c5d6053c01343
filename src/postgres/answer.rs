//! The answer to a search.

use crate::engine::write_page;

/// The page of cases that a search in a [`PostgresSource`](super::PostgresSource) found, with their documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresAnswer {
    /// Each an id and a document.
    pub(super) cases: Vec<(String, String)>,
    pub(super) total: Option<u64>,
    pub(super) offset: u64,
    pub(super) limit: u64,
}

impl PostgresAnswer {
    /// How many cases are on the page.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cases.len()
    }

    /// True when no case is on the page.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// How many cases were selected before paging, when the request asked for it.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// The ids of the cases on the page, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.cases.iter().map(|(id, _)| id.as_str())
    }

    /// The documents of the cases on the page as stored, in order.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = &str> {
        self.cases.iter().map(|(_, document)| document.as_str())
    }

    /// The same page with other documents in the place of those stored.
    #[cfg(feature = "service")]
    pub(crate) fn with_documents(self, documents: Vec<String>) -> Self {
        let ids = self.cases.into_iter().map(|(id, _)| id);
        Self { cases: ids.zip(documents).collect(), ..self }
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
