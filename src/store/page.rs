//! Pages of cases whose documents are read a part at a time.

use super::database::Store;
use super::documents::Documents;
use super::error::{Fault, StoreError};
use crate::engine::Answer;
use crate::filter::Request;

/// The page of cases that a search found, all of one moment, with documents that are still to be read.
///
/// Later writes do not change it. The file cannot use the pages of its documents again as long as there is one.
pub(crate) struct FoundPage {
    answer: Answer,
}

impl FoundPage {
    /// How many cases are on the page.
    pub(crate) fn len(&self) -> usize {
        self.answer.len()
    }

    /// How many cases were selected before paging, when the request asked for it.
    pub(crate) fn total(&self) -> Option<u64> {
        self.answer.total()
    }

    /// As [`Answer::examined`].
    pub(crate) fn examined(&self) -> u64 {
        self.answer.examined()
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
        request: &Request,
        new: impl Fn(usize) -> T,
        take: impl Fn(&mut T, &str) -> bool,
    ) -> Result<(FoundPage, T), StoreError> {
        let (answer, part) = self.find(request, |answer, documents| {
            let mut part = new(answer.len());
            read(answer, documents, 0, &mut part, &take)?;
            Ok(part)
        })?;
        let part = part.unwrap_or_else(|| new(0));
        Ok((FoundPage { answer }, part))
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
        self.read_documents(&page.answer, |documents| {
            let mut part = new();
            read(&page.answer, documents, from, &mut part, &take)?;
            Ok(part)
        })
    }
}

/// Reads documents from a place on.
fn read<T>(
    answer: &Answer,
    documents: &Documents,
    from: usize,
    part: &mut T,
    take: &impl Fn(&mut T, &str) -> bool,
) -> Result<(), Fault> {
    for place in from..answer.len() {
        let number = answer.document_number_at(place);
        if !documents.read(number, |document| take(part, document))? {
            break;
        }
    }
    Ok(())
}
