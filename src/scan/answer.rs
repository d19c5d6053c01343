//! The answer of a scan, and its errors.

use std::fmt;
use std::io;

use super::merge::Complete;
use super::settings::Settings;
use crate::engine::{ImportError, ImportReport, SearchAnswer};
use crate::error::{Error, escaped};
use crate::facet::FacetsAnswer;
use crate::filter::{Cursor, SearchRequest};
use crate::ingest::stored_id;

/// The answer of a [`Scan`](crate::Scan): the page, and what the scan has learned about all documents.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScanAnswer {
    /// The page, with the total if the request asks for it.
    pub answer: SearchAnswer,
    /// The report, as an import of the same sources returns it.
    pub report: ImportReport,
    /// The number of documents with distinct ids. Documents with the same id count as one.
    pub documents: u64,
    /// The number of documents that the filter selects.
    pub selected: u64,
    /// The number of bytes that the last pass read from the sources.
    pub bytes: u64,
    /// The counts of row groups of Parquet files. `None` for other sources.
    pub row_groups: Option<RowGroups>,
    /// The counts by value of [`Scan::with_facets`](crate::Scan::with_facets), if the scan makes them.
    pub facets: Option<FacetsAnswer>,
    /// The ids of [`Scan::seek_ids`](crate::Scan::seek_ids) that no document has, in the order in which they were given.
    pub unknown_ids: Vec<String>,
}

/// Counts of the row groups of Parquet files in a scan; see [`Scan::parquet`](crate::Scan).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowGroups {
    /// The number of row groups on which the filters were tested.
    pub tested: u64,
    /// The number of row groups in which the filters select no case, by the statistics or the dictionaries of their columns. In
    /// these row groups, the scan read at most the ids, and the columns whose values may be malformed or noted in the report.
    pub skipped: u64,
    /// The number of rows that the statistics of Parquet pages exclude, within the tested row groups.
    pub excluded_rows: u64,
}

/// The error of a [`Scan`](crate::Scan).
#[derive(Debug)]
#[non_exhaustive]
pub enum ScanError {
    /// A document or a source was rejected. An [`Import`](crate::Import) rejects it for the same reason.
    Refused(ImportError),
    /// The search was stopped, the cursor after its page would be too long, or a histogram has too many buckets.
    Search(Error),
    /// The source could not be read.
    Read(io::Error),
    /// The scan ended at a Parquet file, because it cannot find all errors and notes that an import may report about the file.
    /// Contains the name of the file. Import all sources into an engine instead.
    ImportNeeded(String),
}

impl From<ImportError> for ScanError {
    fn from(error: ImportError) -> Self {
        Self::Refused(error)
    }
}

impl From<Error> for ScanError {
    fn from(error: Error) -> Self {
        Self::Search(error)
    }
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Search(error) => error.fmt(f),
            Self::Read(error) => write!(f, "cannot read the source: {error}"),
            Self::ImportNeeded(name) => {
                let name = if name.is_empty() { "the file" } else { &*escaped(name) };
                write!(f, "{name} may be malformed; an import reports its errors")
            }
        }
    }
}

impl std::error::Error for ScanError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(error) => Some(error),
            Self::Search(error) => Some(error),
            Self::Read(error) => Some(error),
            Self::ImportNeeded(_) => None,
        }
    }
}

/// Returns the answer of a complete scan.
///
/// # Errors
/// Returns an error if the cursor after the page would be too long, or if a histogram has too many buckets.
pub(super) fn answer(
    request: &SearchRequest,
    settings: &Settings,
    sought: Vec<String>,
    complete: Complete,
    (bytes, row_groups): (u64, Option<RowGroups>),
) -> Result<ScanAnswer, Error> {
    let Complete { documents, selected, top, sought: found, counts, report } = complete;
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let (offset, limit) = (number(request.offset), number(request.limit));
    let has_next = request.cursor && limit > 0 && top.len() > offset.saturating_add(limit);
    let last = top.iter().skip(offset).take(limit).next_back().filter(|_| has_next);
    let next = last.map(|(rank, _)| Cursor::new(&settings.catalog, settings.ranking.keys(), rank.position()));
    let next = next.transpose()?;
    let total = request.count.then_some(selected);
    // The answer copies the documents. Each is dropped after its copy, so that a long page is not in memory twice.
    let page = top.into_iter().skip(offset).take(limit);
    let texts = page.map(|(rank, document)| (rank.id, document.into_text()));
    let answer = SearchAnswer::of_documents(request, total, texts).with_next(next);
    let is_unknown = |id: &String| !found.contains(&*stored_id(&settings.catalog, id));
    let unknown_ids = sought.into_iter().filter(is_unknown).collect();
    let counted = settings.counting.as_ref().zip(counts);
    let facets =
        counted.map(|(counting, counts)| counting.finish(counts, &settings.catalog, &settings.limits));
    let facets = facets.transpose()?;
    Ok(ScanAnswer { answer, report, documents, selected, bytes, row_groups, facets, unknown_ids })
}
