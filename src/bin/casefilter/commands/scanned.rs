//! Scans files of cases for a command: answers one request while the files are read.

#[cfg(feature = "arrow")]
use std::fs::File;
use std::time::{Duration, Instant};

use casefilter::{
    Catalog, Error, FacetsRequest, Field, ImportMode, Scan, ScanAnswer, ScanError, ScanOutcome, SearchRequest,
};

use crate::commands::hints::hints_on;
use crate::commands::unknown_ids as ids;
use crate::input::cases::{Cases, Documents};
use crate::input::load_reason::LoadReason;
use crate::input::syntax::unpaged;
use crate::input::taker::Taker;
use crate::output::failure::Failure;
use crate::output::figures::counted;
#[cfg(feature = "arrow")]
use crate::output::progress::Progress;
use crate::output::refusals::case_refused;
#[cfg(feature = "arrow")]
use crate::output::watched_file::WatchedFile;

/// The maximum number of cases that are loaded to find hints. Loading more would take much more memory and time than the scan.
const MOST_HINTED: u64 = 100_000;

/// The answer of a scan, and the time that it took.
pub(crate) struct ScannedFiles {
    pub(crate) answer: ScanAnswer,
    /// The number of ids in the filter.
    named: usize,
    pub(crate) took: Duration,
}

/// The result of an attempt to answer a request while the files are read.
pub(crate) enum Scanned {
    Answered(Box<ScannedFiles>),
    /// The files have to be loaded into an engine.
    Loads(LoadReason),
}

impl Scanned {
    /// Returns the answer. `None` if the files have to be loaded.
    pub(crate) fn answered(self) -> Option<ScannedFiles> {
        match self {
            Self::Answered(answer) => Some(*answer),
            Self::Loads(_) => None,
        }
    }
}

/// Answers a request while the files are read, and counts values if `facets` is given.
pub(crate) fn scan(
    cases: &Cases,
    (catalog, mode): (&Catalog, ImportMode),
    request: &SearchRequest,
    facets: Option<&FacetsRequest>,
    documents: Documents,
) -> Result<Scanned, Failure> {
    if let Some(reason) = cases.load_reason() {
        return Ok(Scanned::Loads(reason));
    }
    let sought = ids::sought(&request.filter);
    let named = sought.len();
    let scan = Scan::new(catalog, &unpaged(), mode, request).map(|scan| scan.seek_ids(sought));
    let scan = scan.map(|scan| if documents == Documents::Kept { scan } else { scan.without_documents() });
    let scan = scan.and_then(|scan| match facets {
        Some(facets) => scan.with_facets(facets),
        None => Ok(scan),
    });
    let Ok(mut scan) = scan else { return Ok(Scanned::Loads(LoadReason::Failed)) };
    if cases.paths().count() > 1 {
        scan = scan.with_several_sources();
    }
    let start = Instant::now();
    let mut taker = ScanTaker { scan, mode, needs_import: None, source: None };
    loop {
        let read = cases.read_all(catalog, &mut taker);
        if let Some(name) = taker.needs_import.take() {
            return Ok(Scanned::Loads(LoadReason::MalformedParquet(name)));
        }
        if let Err(failure) = read {
            return Err(taker.first_failure(failure));
        }
        match taker.scan.finish() {
            Ok(ScanOutcome::Answer(answer)) => {
                let took = start.elapsed();
                return Ok(Scanned::Answered(Box::new(ScannedFiles { answer, named, took })));
            }
            Ok(ScanOutcome::ReadAgain(scan)) => taker.scan = scan,
            Err(ScanError::ImportNeeded(name)) => {
                return Ok(Scanned::Loads(LoadReason::MalformedParquet(name)));
            }
            Err(ScanError::Search(error)) if !error.is_stop() => {
                return Ok(Scanned::Loads(LoadReason::Failed));
            }
            Err(error) => return Err(failure(error, mode)),
        }
    }
}

impl ScannedFiles {
    /// Prints on standard error the ids in the filter that do not belong to any case.
    pub(crate) fn note_unknown_ids(&self) {
        let unknown: Vec<&str> = self.answer.unknown_ids.iter().map(String::as_str).collect();
        ids::note_some(self.named, &unknown);
    }

    /// Returns possible reasons if the filter of the request selects no case. `selected` is the number of cases that it selects. To
    /// find the reasons, loads the files, if they have at most 100,000 cases. Loads only the fields of the filter if this is
    /// possible. `compile` compiles the filter for another catalogue.
    pub(crate) fn hints(
        &self,
        cases: &Cases,
        (catalog, mode): (&Catalog, ImportMode),
        (request, selected): (&SearchRequest, u64),
        compile: impl FnOnce(&Catalog) -> Result<SearchRequest, Failure>,
    ) -> Vec<String> {
        if selected > 0 || self.answer.documents == 0 || request.filter.is_all() {
            return Vec::new();
        }
        if self.answer.documents > MOST_HINTED {
            return vec![format!(
                "the files have more than {}, so hints on the filter are left out; for hints, search a \
                 database that `casefilter import` makes",
                counted(MOST_HINTED, "case")
            )];
        }
        // The answer is complete without hints, so an error that occurs here is ignored.
        let hints = |catalog: &Catalog, request: &SearchRequest| {
            let loaded = cases.load_files(catalog, mode, Documents::Forgotten).ok()?;
            Some(hints_on(&loaded.cases, request, || true))
        };
        let narrow = || {
            let fields = request.filter.fields();
            let names = fields.into_iter().filter_map(|field| catalog.get(field)).map(Field::name);
            let narrow = catalog.allow(names).ok()?;
            // If the filter also names other fields, such as fields that its normal form does not test, it does not compile.
            let own = compile(&narrow).ok().filter(|own| own.filter.to_json() == request.filter.to_json())?;
            hints(&narrow, &own)
        };
        narrow().or_else(|| hints(catalog, request)).unwrap_or_default()
    }
}

/// A scan that receives the cases of the files one file after another, as an import does.
struct ScanTaker {
    scan: Scan,
    mode: ImportMode,
    /// The name of the Parquet file that needs an import, if the scan has ended for this reason.
    needs_import: Option<String>,
    /// The name of the file that is being read. `None` between two files.
    source: Option<String>,
}

impl ScanTaker {
    fn note(&mut self, result: Result<(), ScanError>) -> Result<(), Failure> {
        if let Err(ScanError::ImportNeeded(name)) = &result {
            self.needs_import = Some(name.clone());
        }
        result.map_err(|error| failure(error, self.mode))
    }

    /// Returns the error with which the command ends. `failure` has ended the reading of the files, but other threads may still be
    /// reading earlier documents. Waits for these threads. Then returns the error of an earlier file, or `failure` if there is none.
    ///
    /// Ignores errors in the current file, because the scan sees an incomplete document at its end.
    fn first_failure(self, failure: Failure) -> Failure {
        match self.scan.finish() {
            Err(ScanError::Refused(refusal)) if self.source.as_ref() != Some(&refusal.source) => {
                case_refused(&refusal, self.mode)
            }
            _ => failure,
        }
    }
}

impl Taker for ScanTaker {
    fn takes_records(&self) -> bool {
        false
    }

    fn skips_bytes_of_parquet(&self) -> bool {
        true
    }

    fn end_source(&mut self) {
        self.source = None;
    }

    fn begin_source(&mut self, name: &str) -> Result<(), Failure> {
        let begun = self.scan.begin_source(name);
        self.note(begun)?;
        self.source = Some(name.to_owned());
        Ok(())
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let pushed = self.scan.push(bytes);
        self.note(pushed)
    }

    fn document(&mut self, line: u64, document: Result<&[u8], Error>) -> Result<(), Failure> {
        let pushed = self.scan.push_document(line, document);
        self.note(pushed)
    }

    #[cfg(feature = "arrow")]
    fn parquet(&mut self, name: &str, file: File, progress: &Progress) -> Result<(), Failure> {
        let read = self.scan.parquet(name, WatchedFile::new(file, progress));
        self.note(read)
    }
}

fn failure(error: ScanError, mode: ImportMode) -> Failure {
    match error {
        ScanError::Refused(refusal) => case_refused(&refusal, mode),
        ScanError::Search(error) => error.into(),
        error => Failure::Failed(error.to_string()),
    }
}
