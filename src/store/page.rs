//! Finds a page of cases, and reads its documents in several parts. The service streams long pages with it.

use super::database::Store;
use super::documents::Documents;
use super::error::{Fault, StoreError};
use super::snapshot::StoreSnapshot;
use crate::engine::FoundRows;
use crate::filter::{Cursor, SearchRequest};
use crate::stop::StopConditions;

/// A page of cases that a search found. Its documents have not been read yet.
///
/// Later writes do not change the page. While it exists, the file cannot reuse the disk pages of its documents.
pub(crate) struct FoundPage {
    rows: FoundRows,
}

impl FoundPage {
    /// Returns the number of cases on the page.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of selected cases, if the request asks for the count.
    pub(crate) fn total(&self) -> Option<u64> {
        self.rows.total
    }

    /// Returns the cursor for the next page, if the request asks for it and the page is not the last page.
    pub(crate) fn next(&self) -> Option<&Cursor> {
        self.rows.next.as_ref()
    }

    /// Passes the ids of the cases on the page to `take`, in order.
    ///
    /// # Errors
    /// Returns an error if the ids cannot be read.
    pub(crate) fn each_id(&self, store: &Store, mut take: impl FnMut(&str)) -> Result<(), StoreError> {
        store.with_columns(|| self.rows.read_ids())?;
        self.rows.ids().for_each(&mut take);
        Ok(())
    }

    /// Returns the number of the last write before the search, if the file counts writes.
    pub(crate) fn last_write(&self, store: &Store) -> Option<u64> {
        store.counted(self.rows.last_write)
    }

    /// Returns the value of [`SearchAnswer::examined`](crate::SearchAnswer::examined) for this search.
    pub(crate) fn examined(&self) -> u64 {
        self.rows.examined
    }
}

impl Store {
    /// Finds the page of a request. Then reads documents from the start of the page, like [`read_page`](Self::read_page). `new`
    /// takes the number of cases on the page, and creates the empty part that `take` fills.
    ///
    /// # Errors
    /// Returns the errors of [`search`](Self::search).
    pub(crate) fn find_page<T>(
        &self,
        request: &SearchRequest,
        new: impl Fn(usize) -> T,
        take: impl Fn(&mut T, &str) -> bool,
    ) -> Result<(FoundPage, T), StoreError> {
        let (rows, part) =
            self.find(request, |rows, documents| first_part(rows, documents, request, &new, &take))?;
        let part = part.unwrap_or_else(|| new(0));
        Ok((FoundPage { rows }, part))
    }

    /// Passes the documents of a page to `take`, in order, starting at index `from`. Ends when `take` returns false, and returns
    /// the part that `take` has filled. Returns an error if the stop conditions `stop` say that the search must stop.
    ///
    /// If the file has to be reopened, reads the page again from index `from`, into another part that `new` creates.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if a document is damaged. Also returns an error if the file was reopened,
    /// and a document of the page had been replaced or deleted before.
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

impl StoreSnapshot<'_> {
    /// Does the same as [`Store::find_page`], in the snapshot.
    ///
    /// # Errors
    /// Returns the errors of [`search`](Self::search).
    pub(crate) fn find_page<T>(
        &self,
        request: &SearchRequest,
        new: impl Fn(usize) -> T,
        take: impl Fn(&mut T, &str) -> bool,
    ) -> Result<(FoundPage, T), StoreError> {
        let (rows, part) =
            self.find_and_read(request, |rows, documents| first_part(rows, documents, request, &new, &take))?;
        let part = part.unwrap_or_else(|| new(0));
        Ok((FoundPage { rows }, part))
    }
}

/// Creates a part, and passes the documents of a page to `take`, starting with the first.
fn first_part<T>(
    rows: &FoundRows,
    documents: &Documents,
    request: &SearchRequest,
    new: &impl Fn(usize) -> T,
    take: &impl Fn(&mut T, &str) -> bool,
) -> Result<T, Fault> {
    let mut part = new(rows.len());
    read(rows, documents, 0, &mut part, take, &request.stop)?;
    Ok(part)
}

/// Passes the documents of a page to `take`, starting at index `from`.
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
