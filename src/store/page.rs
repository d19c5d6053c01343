//! Pages of cases whose documents are read a part at a time.

use super::database::Store;
use super::documents::Documents;
use super::error::{Fault, StoreError};
use crate::engine::FoundRows;
use crate::filter::SearchRequest;

/// The page of cases that a search found, all of one moment, with documents that are still to be read.
///
/// Later writes do not change it. The file cannot use the pages of its documents again as long as there is one.
pub(crate) struct FoundPage {
    rows: FoundRows,
}

impl FoundPage {
    /// How many cases are on the page.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many cases were selected before paging, when the request asked for it.
    pub(crate) fn total(&self) -> Option<u64> {
        self.rows.total
    }

    /// As [`SearchAnswer::examined`](crate::SearchAnswer::examined).
    pub(crate) fn examined(&self) -> u64 {
        self.rows.examined
    }
}

impl Store {
    /// Finds the page of a request, and reads documents from its beginning as [`read_page`](Self::read_page) does; `new` is
    /// told how many cases are on the page.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub(crate) fn find_page<T>(
        &self,
        request: &SearchRequest,
        new: impl Fn(usize) -> T,
        take: impl Fn(&mut T, &str) -> bool,
    ) -> Result<(FoundPage, T), StoreError> {
        let (rows, part) = self.find(request, |rows, documents| {
            let mut part = new(rows.len());
            read(rows, documents, 0, &mut part, &take)?;
            Ok(part)
        })?;
        let part = part.unwrap_or_else(|| new(0));
        Ok((FoundPage { rows }, part))
    }

    /// Hands the documents of a page, from a place on and in order, to `take`, until that returns false or the page ends.
    ///
    /// When the file has to be opened again, reading begins once more, with another `new`.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged where the documents lie; when it was opened again, and a document was
    /// replaced in between.
    pub(crate) fn read_page<T>(
        &self,
        page: &FoundPage,
        from: usize,
        new: impl Fn() -> T,
        take: impl Fn(&mut T, &str) -> bool,
    ) -> Result<T, StoreError> {
        self.read_documents(&page.rows, |documents| {
            let mut part = new();
            read(&page.rows, documents, from, &mut part, &take)?;
            Ok(part)
        })
    }
}

/// Reads documents from a place on.
fn read<T>(
    rows: &FoundRows,
    documents: &Documents,
    from: usize,
    part: &mut T,
    take: &impl Fn(&mut T, &str) -> bool,
) -> Result<(), Fault> {
    for place in from..rows.len() {
        let number = rows.document_number(place);
        if !documents.read(number, |document| take(part, document))? {
            break;
        }
    }
    Ok(())
}
