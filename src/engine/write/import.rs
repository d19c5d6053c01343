//! The import type: a bulk write that stores all of its documents, or none.

use std::fmt;

#[cfg(feature = "arrow")]
use super::pipeline::{Cases, RowBound, RowGroup};
use super::pipeline::{Pipeline, SourceError, StoreDocument};
use super::reading::ImportMode;
use super::report::{ImportError, ImportReport};
use super::transaction::{StagedWrite, WriteTxn};
use crate::engine::handle::Engine;
use crate::error::Error;
#[cfg(feature = "arrow")]
use crate::ingest::FileFault;
use crate::ingest::{Piece, Splitter};

/// An import in progress. Searches do not see its documents until [`commit`](Import::commit). Dropping the import discards its
/// documents.
///
/// An import is `Send`. Until it commits, it only reads documents and fills batches. So other writes do not have to wait for it.
///
/// A source has one of three layouts. The first lines of the source determine the layout:
///
/// - NDJSON: one document per line;
/// - documents that each take several lines, one document after the other;
/// - JSON arrays of documents, or search answers, one after the other.
///
/// A UTF-8 byte-order mark is skipped. For another encoding, the error names the encoding.
///
/// ```
/// use casefilter::{Catalog, Engine, ImportMode};
/// let engine = Engine::new(Catalog::cases());
/// let mut import = engine.import(ImportMode::Lenient);
/// import.push(br#"[{"id":"a","createdAt":"yesterday"},{"name":"no id"}]"#)?;
/// let report = import.commit()?;
/// assert_eq!((report.stored, report.incomplete, report.skipped), (1, 1, 1));
/// assert_eq!(report.errors[0].error.path, "createdAt");
/// # Ok::<(), casefilter::ImportError>(())
/// ```
pub struct Import<'e> {
    splitter: Splitter,
    pipeline: Pipeline<'e>,
    /// The error that ended the import. A failed import cannot be committed.
    failed: Option<ImportError>,
}

impl<'e> Import<'e> {
    pub(crate) fn new(engine: &'e Engine, mode: ImportMode, store: Option<StoreDocument<'e>>) -> Self {
        let pipeline = Pipeline::new(engine, mode, store);
        let splitter = Splitter::new(&engine.limits).with_id(engine.catalog().id_name());
        Self { splitter, pipeline, failed: None }
    }

    /// Starts another source, which has its own line numbers and layout.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, ImportMode};
    /// let engine = Engine::new(Catalog::cases());
    /// let mut import = engine.import(ImportMode::Strict);
    /// import.begin_source("monday.ndjson")?;
    /// import.push(b"{\"id\":\"a\"}\n")?;
    /// import.begin_source("tuesday.json")?;
    /// let pushed = import.push(b"[{\"id\":\"b\"}, {\"id\":2}]");
    /// let refused = pushed.and_then(|()| import.commit()).unwrap_err();
    /// assert!(refused.to_string().starts_with("tuesday.json: line 1, document 2: id"));
    /// assert!(engine.is_empty());
    /// # Ok::<(), casefilter::ImportError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the same errors as [`push`](Self::push), for the end of the previous source.
    pub fn begin_source(&mut self, name: &str) -> Result<(), ImportError> {
        self.finish_source()?;
        self.pipeline.begin_source(name);
        Ok(())
    }

    /// Imports the next bytes of the source. The caller may split a source at any byte.
    ///
    /// An unfinished part is kept until the next call. This may be a line of NDJSON, a document or an element of an array. It may
    /// also be the text before or after the array of a search answer. Its size is at most the [maximum size of a
    /// document](crate::Limits::document_bytes) plus some whitespace. A longer line or element counts as a malformed document, and
    /// the rest of it is skipped.
    ///
    /// With the feature `parallel`, other threads read the documents. Each thread reads the documents of one batch. Up to nine
    /// batches of documents are then in memory. A batch ends when it has 65,536 documents or 128 MiB of text.
    ///
    /// # Errors
    /// In [`ImportMode::Strict`], returns an error if a document is malformed. In both modes, returns an error if the source has
    /// another format, or too much text around its array. The import has then failed: every later call returns the same error.
    ///
    /// With the feature `parallel`, the error of a document may be returned by a later call than the call that passed the document.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        self.check()?;
        let Self { splitter, pipeline, .. } = self;
        let result = pipeline.push(|mut sink| splitter.push(bytes, &mut sink));
        self.note(result)
    }

    /// Imports one document of a source whose documents the caller finds itself, such as the rows of a CSV file. The document
    /// begins at `line` of the source. If the caller cannot create the document, it passes the error, which then counts as a
    /// malformed document.
    ///
    /// A source that is imported by this method must not also be imported by [`push`](Self::push).
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Error, ErrorKind, ImportMode};
    /// let engine = Engine::new(Catalog::cases());
    /// let mut import = engine.import(ImportMode::Lenient);
    /// import.begin_source("monday.csv")?;
    /// import.push_document(2, Ok(br#"{"id":"a"}"#))?;
    /// import.push_document(3, Err(Error::new(ErrorKind::Syntax, 0, "3 cells", "1 cell")))?;
    /// let report = import.commit()?;
    /// assert_eq!((report.stored, report.skipped, report.errors[0].line), (1, 1, 3));
    /// # Ok::<(), casefilter::ImportError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the same errors as [`push`](Self::push).
    pub fn push_document(&mut self, line: u64, document: Result<&[u8], Error>) -> Result<(), ImportError> {
        self.check()?;
        let result = self.pipeline.push(|sink| sink(Piece { line, bytes: document }));
        self.note(result)
    }

    /// Imports `bytes`, which are all bytes of the import, and makes the documents visible.
    pub(crate) fn commit_all(mut self, bytes: &[u8]) -> Result<ImportReport, ImportError> {
        let mut splitter = self.new_splitter();
        let result = self.pipeline.push_all(bytes, |mut sink| {
            splitter.push(bytes, &mut sink)?;
            splitter.finish(&mut sink)
        });
        self.note(result)?;
        self.commit()
    }

    /// Makes all documents visible, atomically. They replace stored documents with the same `id`.
    ///
    /// # Errors
    /// Returns the same errors as [`push`](Self::push), for the end of the last source. No document becomes visible then.
    pub fn commit(self) -> Result<ImportReport, ImportError> {
        let (staged, report) = self.stage()?;
        staged.publish();
        Ok(report)
    }

    /// Does everything that can fail or take time before the documents become visible.
    fn stage(self) -> Result<(StagedWrite<'e>, ImportReport), ImportError> {
        let (txn, report) = self.finish()?.attach()?;
        Ok((txn.stage(), report))
    }

    /// Ends the last source, and does all work that does not need the writer lock.
    ///
    /// # Errors
    /// Returns the same errors as [`commit`](Self::commit).
    pub(crate) fn finish(mut self) -> Result<FinishedImport<'e>, ImportError> {
        self.finish_source()?;
        self.pipeline.drain().map_err(|refusal| *refusal)?;
        let source = self.pipeline.source().into();
        let (mut txn, report) = self.pipeline.into_parts();
        txn.prepare();
        Ok(FinishedImport { txn, report, source })
    }

    fn finish_source(&mut self) -> Result<(), ImportError> {
        self.check()?;
        let next = self.new_splitter();
        let splitter = std::mem::replace(&mut self.splitter, next);
        let result = self.pipeline.push(|mut sink| splitter.finish(&mut sink));
        self.note(result)
    }

    fn new_splitter(&self) -> Splitter {
        let engine = self.pipeline.engine();
        Splitter::new(&engine.limits).with_id(engine.catalog().id_name())
    }

    fn check(&self) -> Result<(), ImportError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn note(&mut self, result: Result<(), SourceError>) -> Result<(), ImportError> {
        result.map_err(|error| {
            let refusal = match error {
                SourceError::Refused(refusal) => *refusal,
                SourceError::File(fault) => ImportError::new(self.pipeline.source(), fault.line, fault.error),
            };
            self.failed.insert(refusal).clone()
        })
    }
}

/// An import whose sources have been read to their ends. It does not hold the writer lock yet, so other writes can run.
pub(crate) struct FinishedImport<'e> {
    txn: WriteTxn<'e>,
    report: ImportReport,
    source: Box<str>,
}

impl<'e> FinishedImport<'e> {
    /// Adds `first` to the number of each document. Before this call, the numbers start at 0.
    #[cfg(feature = "store")]
    pub(crate) fn number_from(&mut self, first: u64) {
        self.txn.shift_document_numbers(first);
    }

    /// Takes the writer lock, and finds the stored documents that the import replaces.
    ///
    /// # Errors
    /// Returns an error if the engine cannot hold all batches of the import.
    pub(crate) fn attach(self) -> Result<(WriteTxn<'e>, ImportReport), ImportError> {
        let Self { mut txn, mut report, source } = self;
        let replaced = txn.attach().map_err(|error| ImportError::new(&source, 0, *error))?;
        // A detached transaction counts a case as new if its id is new within the import, even if the engine has a case with this
        // id.
        debug_assert!(replaced <= report.stored, "{replaced} of {} stored cases replace one", report.stored);
        report.stored -= replaced;
        report.replaced += replaced;
        Ok((txn, report))
    }
}

/// Methods for sources that consist of rows, such as Parquet files. [`begin_source`](Import::begin_source) starts such a source.
#[cfg(feature = "arrow")]
impl<'e> Import<'e> {
    pub(crate) fn engine(&self) -> &'e Engine {
        self.pipeline.engine()
    }

    /// Returns the minimum number of rows that each group of a source should have.
    pub(crate) fn rows_at_once(&self) -> usize {
        self.pipeline.rows_at_once()
    }

    /// Imports all row groups of a source. Calls `read` to read each group. Passes the group, the line of its first row, and the
    /// destination of its cases.
    ///
    /// # Errors
    /// Returns the first error, in the order of the source, that ends the import.
    pub(crate) fn push_rows<G: Send>(
        &mut self,
        groups: impl Iterator<Item = RowGroup<G>>,
        bound: RowBound,
        read: impl Fn(G, u64, &mut dyn Cases) -> Result<(), ImportError> + Sync,
    ) -> Result<(), ImportError> {
        self.check()?;
        let result = self.pipeline.push_rows(groups, bound, read);
        result.map_err(|failed| self.failed.insert(failed).clone())
    }

    /// Reports an error about a column of the source. This error ends a strict import.
    ///
    /// # Errors
    /// Returns the error of the column in [`ImportMode::Strict`]. In both modes, if an error of an earlier source ends the import,
    /// returns that error instead.
    pub(crate) fn leave_out(&mut self, column: &Error) -> Result<(), ImportError> {
        if self.pipeline.mode() == ImportMode::Strict {
            return self.fail(0, column.clone());
        }
        let result = self.pipeline.leave_out(column.clone());
        self.note(result.map_err(SourceError::Refused))
    }

    /// Ends the import, because the rest of its source cannot be read.
    ///
    /// # Errors
    /// Returns the error of an earlier source if there is such an error, otherwise `error`.
    pub(crate) fn fail(&mut self, line: u64, error: Error) -> Result<(), ImportError> {
        let earlier = self.pipeline.drain().map_err(SourceError::Refused);
        self.note(earlier.and(Err(SourceError::File(FileFault { line, error }))))
    }
}

impl fmt::Debug for Import<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Import").field("mode", &self.pipeline.mode()).finish_non_exhaustive()
    }
}
