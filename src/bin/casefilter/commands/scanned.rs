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
#[cfg(feature = "arrow")]
use crate::input::reading::name_of;
use crate::input::syntax::unpaged;
use crate::input::taker::Taker;
#[cfg(feature = "arrow")]
use crate::output::escape::escape;
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
    #[cfg(feature = "arrow")]
    let are_parquet = cases.are_parquet()?;
    #[cfg(not(feature = "arrow"))]
    let are_parquet = false;
    if !are_parquet && let Some(reason) = cases.load_reason()? {
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
    let Ok(scan) = scan else { return Ok(Scanned::Loads(LoadReason::Failed)) };
    let start = Instant::now();
    let answered =
        |answer| Scanned::Answered(Box::new(ScannedFiles { answer, named, took: start.elapsed() }));
    #[cfg(feature = "arrow")]
    if are_parquet {
        return Ok(match scan_parquet(cases, scan)? {
            Ok(answer) => answered(answer),
            Err(reason) => Scanned::Loads(reason),
        });
    }
    let mut taker = ScanTaker { scan, mode };
    loop {
        cases.read_all(catalog, &mut taker)?;
        match taker.scan.finish() {
            Ok(ScanOutcome::Answer(answer)) => return Ok(answered(answer)),
            Ok(ScanOutcome::ReadAgain(scan)) => taker.scan = scan,
            Err(ScanError::Search(error)) if !error.is_stop() => {
                return Ok(Scanned::Loads(LoadReason::Failed));
            }
            Err(error) => return Err(failure(error, mode)),
        }
    }
}

/// Answers a request from Parquet files.
#[cfg(feature = "arrow")]
fn scan_parquet(cases: &Cases, scan: Scan) -> Result<Result<ScanAnswer, LoadReason>, Failure> {
    // If a file cannot be opened, the files have to be loaded, and loading reports the error.
    let files = cases.paths().map(|path| File::open(path).map(|file| (name_of(path), file)));
    let Ok(files) = files.collect::<Result<Vec<(String, File)>, _>>() else {
        return Ok(Err(LoadReason::Failed));
    };
    // Only some of the bytes are read, so a total is not known.
    let progress = Progress::of_bytes(None);
    progress.say("scanning".to_owned());
    match scan.parquet(files.into_iter().map(|(name, file)| (name, WatchedFile::new(file, &progress)))) {
        Ok(answer) => Ok(answer.ok_or(LoadReason::MalformedParquet)),
        Err(ScanError::Search(error)) if error.is_stop() => Err(error.into()),
        Err(_) => Ok(Err(LoadReason::Failed)),
    }
}

impl ScannedFiles {
    /// Prints on standard error the ids in the filter that do not belong to any case.
    pub(crate) fn note_unknown_ids(&self) {
        let unknown: Vec<&str> = self.answer.unknown_ids.iter().map(String::as_str).collect();
        ids::note_some(self.named, &unknown);
    }

    /// Returns possible reasons if the filter of the request selects no case. `selected` is the number of cases that it selects. Up
    /// to 100,000 cases are loaded to find the reasons, if possible only with the fields of the filter. `compile` compiles the
    /// filter for another catalogue.
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
                "the files have more than {}, so no reasons are looked for; `casefilter import` makes a database, \
                 which has them",
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

/// A scan as a target: it receives the files one by one, as an import does.
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
        Err(Failure::Failed(format!("cannot scan {}: it became a Parquet file", escape(name))))
    }
}

fn failure(error: ScanError, mode: ImportMode) -> Failure {
    match error {
        ScanError::Refused(refusal) => case_refused(&refusal, mode),
        ScanError::Search(error) => error.into(),
        error => Failure::Failed(error.to_string()),
    }
}
