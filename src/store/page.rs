//! Pages of cases whose documents are read in parts.

use super::database::Store;
use super::documents::Documents;
use super::error::{Fault, StoreError};
use crate::engine::FoundRows;
use crate::filter::SearchRequest;
use crate::stop::StopConditions;

/// The page of cases that a search found. Their documents are not read yet.
///
/// Later writes do not change it. While it exists, the file cannot reuse the pages of its documents.
pub(crate) struct FoundPage {
    rows: FoundRows,
}

impl FoundPage {
    /// Returns the number of cases on the page.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of selected cases, if the request counts them.
    pub(crate) fn total(&self) -> Option<u64> {
        self.rows.total
    }

    /// Returns the same number as [`SearchAnswer::examined`](crate::SearchAnswer::examined).
    pub(crate) fn examined(&self) -> u64 {
        self.rows.examined
    }
}

impl Store {
    /// Finds the page of a request, and reads its first documents like [`read_page`](Self::read_page). `new` gets the number of cases
    /// on the page.
    ///
    /// # Errors
    /// Returns the errors of [`search`](Self::search).
    pub(crate) fn find_page<T>(
        &self,
        request: &SearchRequest,
        new: impl Fn(usize) -> T,
        take: impl Fn(&mut T, &str) -> bool,
    ) -> Result<(FoundPage, T), StoreError> {
        let (rows, part) = self.find(request, |rows, documents| {
            let mut part = new(rows.len());
            read(rows, documents, 0, &mut part, &take, &request.stop)?;
            Ok(part)
        })?;
        let part = part.unwrap_or_else(|| new(0));
        Ok((FoundPage { rows }, part))
    }

    /// Passes the documents of a page to `take`, in order, starting at index `from`. Stops when `take` returns false. Returns an error if
    /// `stop` is to stop it.
    ///
    /// If the file has to be reopened, reading starts again with another value of `new`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, if a document is damaged, or if the file was reopened and a document was replaced in
    /// between.
    pub(crate) fn read_page<T>(
        &self,
        page: &FoundPage,
        from: usize,
        new: impl Fn() -> T,
        take: impl Fn(&mut T, &str) -> bool,
        stop: &StopConditions,
    ) -> Result<T, StoreError> {
        self.read_documents(&page.rows, |documents| {
            let mut part = new();
            read(&page.rows, documents, from, &mut part, &take, stop)?;
            Ok(part)
        })
    }
}

/// Reads documents, starting at index `from`.
fn read<T>(
    rows: &FoundRows,
    documents: &Documents,
    from: usize,
    part: &mut T,
    take: &impl Fn(&mut T, &str) -> bool,
    stop: &StopConditions,
) -> Result<(), Fault> {
    for place in from..rows.len() {
        stop.verdict_now().map_err(Fault::stopped)?;
        let number = rows.document_number(place);
        if !documents.read(number, |document| take(part, document))? {
            break;
        }
    }
    Ok(())
}
