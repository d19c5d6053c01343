//! Scans files of cases: answers one request while the files are read.

#[cfg(feature = "arrow")]
use std::fs::File;
use std::time::{Duration, Instant};

use casefilter::{Catalog, Error, ImportMode, Scan, ScanAnswer, ScanError, Scanned, SearchRequest};

use crate::input::cases::Cases;
use crate::input::selection::unpaged;
use crate::input::taker::Taker;
use crate::output::failure::Failure;
#[cfg(feature = "arrow")]
use crate::output::progress::Progress;
use crate::output::refusals::case_refused;

/// The maximum number of cases of a page, together with the cases before it. A scan keeps all of them in memory.
const MOST_KEPT: u64 = 100_000;

/// The answer of a scan, and the time that it took.
pub(crate) struct ScannedFiles {
    pub(crate) answer: ScanAnswer,
    pub(crate) took: Duration,
}

impl Cases {
    /// Answers a request while the files are read, and looks for the cases with the ids `sought`.
    ///
    /// Returns `None` if the files or the request need an engine: databases, Parquet files, streams that cannot be read twice, and
    /// requests for long pages. Also for a request that an engine rejects, so that the caller gets its error.
    pub(crate) fn scan(
        &self,
        catalog: &Catalog,
        mode: ImportMode,
        request: &SearchRequest,
        sought: Vec<String>,
    ) -> Result<Option<ScannedFiles>, Failure> {
        if request.offset.saturating_add(request.limit) > MOST_KEPT || !self.are_scannable()? {
            return Ok(None);
        }
        let Ok(scan) = Scan::new(catalog, &unpaged(), mode, request) else { return Ok(None) };
        let start = Instant::now();
        let mut taker = ScanTaker { scan: scan.seek_ids(sought), mode };
        loop {
            self.read_all(catalog, &mut taker)?;
            match taker.scan.finish().map_err(|error| failure(error, mode))? {
                Scanned::Answer(answer) => return Ok(Some(ScannedFiles { answer, took: start.elapsed() })),
                Scanned::ReadAgain(scan) => taker.scan = scan,
            }
        }
    }
}

/// The target of files that are scanned.
struct ScanTaker {
    scan: Scan,
    mode: ImportMode,
}

impl Taker for ScanTaker {
    fn takes_records(&self) -> bool {
        false
    }

    fn begin_source(&mut self, name: &str) -> Result<(), Failure> {
        self.scan.begin_source(name).map_err(|error| failure(error, self.mode))
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.scan.push(bytes).map_err(|error| failure(error, self.mode))
    }

    fn document(&mut self, line: u64, document: Result<&[u8], Error>) -> Result<(), Failure> {
        self.scan.push_document(line, document).map_err(|error| failure(error, self.mode))
    }

    #[cfg(feature = "arrow")]
    fn parquet(&mut self, name: &str, _file: File, _progress: &Progress) -> Result<(), Failure> {
        Err(Failure::Failed(format!(
            "cannot scan {}: it became a Parquet file",
            crate::output::escape::escape(name)
        )))
    }
}

fn failure(error: ScanError, mode: ImportMode) -> Failure {
    match error {
        ScanError::Refused(refusal) => case_refused(&refusal, mode),
        ScanError::Search(error) => error.into(),
        error => Failure::Failed(error.to_string()),
    }
}
