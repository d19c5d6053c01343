//! The API of scans. Splits sources into blocks, and passes them to worker threads.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Read, Seek};
use std::sync::Arc;

use super::answer::{ScanAnswer, ScanError, answer};
use super::block::{Block, ReadBlock};
use super::count::Counting;
use super::failed::{Failed, SplitError};
use super::merge::Merged;
use super::rank::Ranking;
#[cfg(feature = "arrow")]
use super::row_sources::RowSources;
use super::settings::Settings;
use crate::catalog::Catalog;
use crate::engine::{Detached, ImportError, ImportMode, Queue, available_workers};
use crate::error::Error;
use crate::facet::FacetsRequest;
use crate::filter::{Cursor, SearchRequest};
use crate::ingest::{Piece, Splitter, stored_id};
use crate::limits::Limits;

/// The size of a read, in bytes. With this size, a chunk is still in the processor's second-level cache when it is split.
const CHUNK_BYTES: usize = 1 << 16;

/// A search that answers one request while documents are read.
///
/// The answer, the errors and the report are those of an [`Engine`](crate::Engine) that has imported the same sources. A scan is
/// for a single request. It takes a fraction of the time of an import. It needs a few megabytes of memory, 8 bytes for each
/// document, and memory for the documents of the page. For several requests, use an engine.
///
/// Sources have the layouts of an [`Import`](crate::Import). With the feature `parallel`, other threads read the documents.
///
/// ```
/// use casefilter::{Catalog, Filter, ImportMode, Limits, Order, Scan, SearchRequest};
/// let cases = Catalog::cases();
/// let request = SearchRequest::new(Filter::compile_text(&cases, "tags = vip")?)
///     .with_order(Order::parse(&cases, "-createdAt")?)
///     .with_limit(20);
/// let text = b"{\"id\":\"a\",\"tags\":[\"vip\"]}\n{\"id\":\"b\"}\n{\"id\":\"b\",\"tags\":[\"vip\",\"cash\"]}\n";
/// let scan = Scan::new(&cases, &Limits::default(), ImportMode::Strict, &request)?;
/// let found = scan.read(std::io::Cursor::new(text))?;
/// assert_eq!(found.answer.ids().collect::<Vec<_>>(), ["a", "b"]);
/// assert_eq!((found.documents, found.selected, found.report.replaced), (2, 2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Scan {
    pub(super) request: SearchRequest,
    pub(super) settings: Arc<Settings>,
    /// The ids that the scan looks for, as they were given.
    pub(super) sought: Vec<String>,
    pub(super) splitter: Splitter,
    pub(super) source: Arc<str>,
    /// The number of documents that were split off from the source.
    pub(super) split: u64,
    pub(super) bytes: u64,
    /// The block that is being filled.
    pub(super) filling: Block,
    pub(super) spare: Vec<Block>,
    pub(super) queue: Queue<'static, ReadBlock>,
    pub(super) merged: Merged,
    /// The error that ended the scan.
    pub(super) failed: Option<Failed>,
    /// The Parquet files of this pass.
    #[cfg(feature = "arrow")]
    pub(super) row_sources: RowSources,
}

/// The end of a pass over the sources of a [`Scan`].
#[derive(Debug)]
#[must_use]
#[expect(clippy::large_enum_variant, reason = "a scan ends once")]
pub enum ScanOutcome {
    /// The scan is complete.
    Answer(ScanAnswer),
    /// Ids may be repeated, so the scan needs the same sources once more. See [`Scan::finish`].
    ReadAgain(Scan),
}

impl Scan {
    /// Creates a scan of documents of this catalogue.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::search`](crate::Engine::search) for a request that does not fit the catalogue or the limits.
    pub fn new(
        catalog: &Catalog,
        limits: &Limits,
        mode: ImportMode,
        request: &SearchRequest,
    ) -> Result<Self, Error> {
        request.check_page(limits)?;
        let keys = request.check(catalog, "scan")?;
        let ranking = Ranking::new(catalog, keys, request.after.as_ref().map(Cursor::position));
        let end = request.offset.saturating_add(request.limit).saturating_add(u64::from(request.cursor));
        let wanted = if request.limit == 0 { 0 } else { usize::try_from(end).unwrap_or(usize::MAX) };
        let settings = Settings::new(
            (catalog.clone(), limits.clone(), mode),
            (request.filter.clone(), ranking, wanted),
            None,
            foldhash::quality::RandomState::default(),
        );
        Ok(Self::of_settings(request.clone(), settings, Vec::new()))
    }

    fn of_settings(request: SearchRequest, settings: Settings, sought: Vec<String>) -> Self {
        Self {
            request,
            splitter: new_splitter(&settings),
            merged: Merged::new(&settings),
            settings: Arc::new(settings),
            sought,
            source: Arc::from(""),
            split: 0,
            bytes: 0,
            filling: Block::default(),
            spare: Vec::new(),
            queue: Queue::new(available_workers()),
            failed: None,
            #[cfg(feature = "arrow")]
            row_sources: RowSources::default(),
        }
    }

    /// Makes the scan keep only the ids of the page, like
    /// [`EngineBuilder::without_documents`](crate::EngineBuilder::without_documents). A long page then takes less memory. Call this
    /// before the first source.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, ImportMode, Limits, Scan, SearchRequest};
    /// let request = SearchRequest::new(Filter::all(&Catalog::cases()));
    /// let scan = Scan::new(&Catalog::cases(), &Limits::default(), ImportMode::Strict, &request)?.without_documents();
    /// let found = scan.read(std::io::Cursor::new(b"{\"id\":\"a\",\"name\":\"x\"}\n"))?;
    /// assert!(found.answer.to_json().starts_with(r#"{"list":{"items":[{"id":"a"}],"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn without_documents(self) -> Self {
        let mut settings = self.settings.again(HashSet::new());
        settings.keeps_documents = false;
        Self::of_settings(self.request, settings, self.sought)
    }

    /// Makes the scan look for these ids, whether the filter selects them or not. The answer tells which of them
    /// [no document has](ScanAnswer::unknown_ids). Call this before the first source.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, ImportMode, Limits, Scan, SearchRequest};
    /// let request = SearchRequest::new(Filter::all(&Catalog::cases()));
    /// let scan = Scan::new(&Catalog::cases(), &Limits::default(), ImportMode::Strict, &request)?.seek_ids(["a", "x"]);
    /// let found = scan.read(std::io::Cursor::new(b"{\"id\":\"a\"}\n"))?;
    /// assert_eq!(found.unknown_ids, ["x"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn seek_ids<I: Into<String>>(self, ids: impl IntoIterator<Item = I>) -> Self {
        let sought: Vec<String> = ids.into_iter().map(Into::into).collect();
        let mut settings = self.settings.again(HashSet::new());
        settings.sought = sought.iter().map(|id| stored_id(&settings.catalog, id).into()).collect();
        Self::of_settings(self.request, settings, sought)
    }

    /// Makes the scan also count the values of fields, as [`Engine::facets`](crate::Engine::facets) does. The two requests may have
    /// different filters. For counts without a page, set the limit of the search to 0. Call this before the first source.
    ///
    /// ```
    /// use casefilter::{Catalog, Facet, FacetsRequest, Filter, ImportMode, Limits, Scan, SearchRequest};
    /// let cases = Catalog::cases();
    /// let facets = FacetsRequest::new(Filter::all(&cases)).with_facet(Facet::values(&cases, "tags")?);
    /// let search = SearchRequest::new(Filter::all(&cases)).with_limit(0);
    /// let scan = Scan::new(&cases, &Limits::default(), ImportMode::Strict, &search)?.with_facets(&facets)?;
    /// let found = scan.read(std::io::Cursor::new(b"{\"id\":\"a\",\"tags\":[\"vip\"]}\n"))?;
    /// assert_eq!(found.facets.map(|counts| counts.total), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Engine::facets`](crate::Engine::facets) for a request that does not fit the catalogue or the limits.
    pub fn with_facets(self, facets: &FacetsRequest) -> Result<Self, Error> {
        facets.check(&self.settings.catalog, &self.settings.limits, "scan")?;
        let settings = self.settings.with_counting(Some(Arc::new(Counting::new(facets)?)));
        Ok(Self::of_settings(self.request, settings, self.sought))
    }

    /// Tells the scan that several sources follow, which may have the same ids.
    ///
    /// Without this call, the scan of a Parquet file with the mark of `ParquetWriter::with_unique_ids` does not read ids that the
    /// request does not need. If another source follows, the scan then asks for [a second pass](ScanOutcome::ReadAgain). The answer
    /// is the same. Call this before the first source.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, ImportMode, Limits, Scan, ScanOutcome, SearchRequest};
    /// let request = SearchRequest::new(Filter::all(&Catalog::cases()));
    /// let scan = Scan::new(&Catalog::cases(), &Limits::default(), ImportMode::Strict, &request)?;
    /// let mut scan = scan.with_several_sources();
    /// for (name, text) in [("monday.ndjson", "{\"id\":\"a\"}"), ("tuesday.ndjson", "{\"id\":\"b\"}")] {
    ///     scan.begin_source(name)?;
    ///     scan.push(text.as_bytes())?;
    /// }
    /// let ScanOutcome::Answer(found) = scan.finish()? else { return Err("ids are repeated".into()) };
    /// assert_eq!(found.documents, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_several_sources(self) -> Self {
        let settings = self.settings.again(HashSet::new()).with_several_sources();
        Self::of_settings(self.request, settings, self.sought)
    }

    /// Starts another source, which has its own line numbers and layout. The name is part of the errors of its documents.
    ///
    /// # Errors
    /// Returns the errors of [`push`](Self::push), for the end of the previous source.
    pub fn begin_source(&mut self, name: &str) -> Result<(), ScanError> {
        self.finish_source()?;
        // A block has the documents of one source.
        if !self.filling.is_empty() {
            let started = self.start().map_err(SplitError::from);
            self.note(started)?;
        }
        self.source = name.into();
        self.split = 0;
        Ok(())
    }

    /// Scans the next bytes of the source. The caller may split a source at any byte.
    ///
    /// # Errors
    /// - [`ScanError::Refused`] in the cases in which [`Import::push`](crate::Import::push) returns an error.
    /// - [`ScanError::Search`] if the request was cancelled or its deadline has passed.
    ///
    /// The scan has then failed: every later call returns the same error. With the feature `parallel`, the error of a document may
    /// be returned by a later call.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ScanError> {
        self.check()?;
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        // The splitter calls `take`, which needs the rest of the scan.
        let next = new_splitter(&self.settings);
        let mut splitter = std::mem::replace(&mut self.splitter, next);
        let result = splitter.push(bytes, &mut |piece: Piece<'_>| self.take(piece).map_err(SplitError::from));
        self.splitter = splitter;
        self.note(result)
    }

    /// Scans one document of a source that the caller splits into documents; see
    /// [`Import::push_document`](crate::Import::push_document).
    ///
    /// # Errors
    /// Returns the errors of [`push`](Self::push).
    pub fn push_document(&mut self, line: u64, document: Result<&[u8], Error>) -> Result<(), ScanError> {
        self.check()?;
        self.bytes = self.bytes.saturating_add(document.as_ref().map_or(0, |bytes| bytes.len() as u64));
        let result = self.take(Piece { line, bytes: document }).map_err(SplitError::from);
        self.note(result)
    }

    /// Ends the pass over the sources.
    ///
    /// If a document may have the id of an earlier one, returns the scan. The caller then passes the same sources again, from the
    /// first byte of the first source, and calls this method again. This happens once, unless the sources change.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, ImportMode, Limits, Scan, ScanOutcome, SearchRequest};
    /// let request = SearchRequest::new(Filter::all(&Catalog::cases()));
    /// let mut scan = Scan::new(&Catalog::cases(), &Limits::default(), ImportMode::Lenient, &request)?;
    /// let found = loop {
    ///     scan.begin_source("monday.json")?;
    ///     scan.push(br#"[{"id":"a"},{"id":"b"},"#)?;
    ///     scan.push(br#"{"name":"no id"},{"id":"a","name":"the last one"}]"#)?;
    ///     match scan.finish()? {
    ///         ScanOutcome::Answer(found) => break found,
    ///         ScanOutcome::ReadAgain(again) => scan = again,
    ///     }
    /// };
    /// assert_eq!(found.answer.documents().next(), Some(r#"{"id":"a","name":"the last one"}"#));
    /// assert_eq!((found.documents, found.report.skipped), (2, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - The errors of [`push`](Self::push), for the end of the last source.
    /// - [`ScanError::Search`] if the cursor that the request asks for would be too long, or if a histogram has too many buckets.
    pub fn finish(mut self) -> Result<ScanOutcome, ScanError> {
        self.finish_source()?;
        let drained = self.drain().map_err(SplitError::from);
        self.note(drained)?;
        self.check_stop()?;
        #[cfg(feature = "arrow")]
        let row_sources = std::mem::take(&mut self.row_sources);
        let Self { request, settings, sought, merged, bytes, .. } = self;
        #[cfg(feature = "arrow")]
        if row_sources.has_missing_ids() {
            let settings = settings.again(settings.repeated.clone()).with_several_sources();
            return Ok(ScanOutcome::ReadAgain(Self::of_settings(request, settings, sought)));
        }
        let complete = match merged.finish(&settings) {
            Ok(complete) => complete,
            Err(mut repeated) => {
                repeated.extend(&settings.repeated);
                return Ok(ScanOutcome::ReadAgain(Self::of_settings(
                    request,
                    settings.again(repeated),
                    sought,
                )));
            }
        };
        #[cfg(feature = "arrow")]
        let (complete, row_groups) = row_sources.read_page(complete, &request, &settings)?;
        #[cfg(not(feature = "arrow"))]
        let row_groups = None;
        Ok(ScanOutcome::Answer(answer(&request, &settings, sought, complete, (bytes, row_groups))?))
    }

    /// Scans one source from its start to its end. Reads it again if ids are repeated.
    ///
    /// # Errors
    /// Returns the errors of [`push`](Self::push) and [`finish`](Self::finish), or the error of the reader.
    pub fn read(mut self, mut source: impl Read + Seek) -> Result<ScanAnswer, ScanError> {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            loop {
                match source.read(&mut chunk) {
                    Ok(0) => break,
                    Ok(length) => self.push(chunk.get(..length).unwrap_or_default())?,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error.into()),
                }
            }
            match self.finish()? {
                ScanOutcome::Answer(answer) => return Ok(answer),
                ScanOutcome::ReadAgain(again) => self = again,
            }
            source.rewind()?;
        }
    }

    /// Adds a document, or its error, to the block that is being filled. If the block is then full, starts to read it.
    fn take(&mut self, piece: Piece<'_>) -> Result<(), Failed> {
        self.split = self.split.saturating_add(1);
        #[cfg(feature = "arrow")]
        self.row_sources.begin_other();
        if self.filling.is_empty() {
            self.filling.begin(&self.source);
        }
        self.filling.push(piece, self.split);
        if self.filling.is_full() { self.start() } else { Ok(()) }
    }

    /// Passes the filled block to a worker, and merges the oldest block if too many are in memory. If there is only one worker,
    /// reads and merges the filled block on this thread.
    fn start(&mut self) -> Result<(), Failed> {
        self.check_stop()?;
        let block = std::mem::replace(&mut self.filling, self.spare.pop().unwrap_or_default());
        let (settings, bound) = (Arc::clone(&self.settings), self.merged.bound());
        if self.queue.workers() == 1 {
            return self.merge(block.read(&settings, bound));
        }
        self.queue.start(Detached, move || block.read(&settings, bound));
        match self.queue.next_if_full() {
            Some(read) => self.merge(read),
            None => Ok(()),
        }
    }

    /// Returns an error if the search or the counts must stop.
    pub(super) fn check_stop(&self) -> Result<(), Error> {
        self.request.stop.verdict_now()?;
        self.settings.counting.as_ref().map_or(Ok(()), |counting| counting.request().stop.verdict_now())
    }

    fn merge(&mut self, read: ReadBlock) -> Result<(), Failed> {
        self.spare.push(self.merged.add(&self.settings, read)?);
        Ok(())
    }

    /// Merges all blocks of the queue. Then reads the last block on this thread, and merges it too. So a short source needs no
    /// other thread.
    pub(super) fn drain(&mut self) -> Result<(), Failed> {
        while let Some(read) = self.queue.next() {
            self.merge(read)?;
        }
        if self.filling.is_empty() {
            return Ok(());
        }
        self.check_stop()?;
        let block = std::mem::take(&mut self.filling);
        let read = block.read(&self.settings, self.merged.bound());
        self.merge(read)
    }

    fn finish_source(&mut self) -> Result<(), ScanError> {
        self.check()?;
        let next = new_splitter(&self.settings);
        let splitter = std::mem::replace(&mut self.splitter, next);
        let result = splitter.finish(&mut |piece: Piece<'_>| self.take(piece).map_err(SplitError::from));
        self.note(result)
    }

    pub(super) fn check(&self) -> Result<(), ScanError> {
        self.failed.clone().map_or(Ok(()), |failed| Err(failed.into()))
    }

    /// Returns `result`, and records its error, which ends the scan. If the file itself has an error, first reads all documents
    /// that are before the error in the file. If one of these documents has an error, that error ends the scan instead.
    pub(super) fn note(&mut self, result: Result<(), SplitError>) -> Result<(), ScanError> {
        let failed = match result {
            Ok(()) => return Ok(()),
            Err(SplitError::Failed(failed)) => failed,
            Err(SplitError::File(fault)) => self.drain().err().unwrap_or_else(|| {
                Failed::Refused(Box::new(ImportError::new(&self.source, fault.line, fault.error)))
            }),
        };
        Err(self.failed.insert(failed).clone().into())
    }
}

fn new_splitter(settings: &Settings) -> Splitter {
    Splitter::new(&settings.limits).with_id(settings.catalog.id_name())
}

impl fmt::Debug for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan")
            .field("mode", &self.settings.mode)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}
