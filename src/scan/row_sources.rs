//! Reads the documents of the rows on the page from the Parquet files of a pass.

use std::ops::Range;
use std::sync::Arc;

use super::answer::{RowGroups, ScanError};
use super::block::FoundDocument;
use super::failed::Failed;
use super::merge::Complete;
use super::settings::Settings;
use crate::filter::SearchRequest;

/// A function that reads documents of a source. Its argument is a list of row numbers, in ascending order, counted from 0 within
/// the source. Returns `None` if it cannot read the documents. The host then has to import the source.
pub(crate) type ReadDocuments = Box<dyn Fn(&[u64]) -> Option<Vec<Box<str>>> + Send + Sync>;

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

/// A source of rows that was scanned.
pub(super) struct RowSource {
    pub(super) name: Arc<str>,
    /// The range of the row numbers of this source. The documents of all sources are numbered consecutively, from 0.
    pub(super) range: Range<u64>,
    pub(super) documents: ReadDocuments,
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

    pub(super) fn add(&mut self, source: RowSource, groups: RowGroups, has_unread_ids: bool) {
        self.sources.push(source);
        self.has_unread_ids |= has_unread_ids;
        let own = self.row_groups.get_or_insert_default();
        own.tested = own.tested.saturating_add(groups.tested);
        own.skipped = own.skipped.saturating_add(groups.skipped);
        own.excluded_rows = own.excluded_rows.saturating_add(groups.excluded_rows);
    }

    /// Reads the documents of the rows on the page, if the answer has documents. Also returns the counts of row groups.
    ///
    /// # Errors
    /// Returns an error if the scan cannot read the documents of a source, so that the host has to import it.
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
