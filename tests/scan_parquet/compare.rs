//! Compares a scan with an engine that has imported the same files.

use bytes::Bytes;
use casefilter::{
    Catalog, Engine, FacetsRequest, ImportError, ImportMode, ImportReport, Limits, Scan, ScanAnswer,
    ScanError, ScanOutcome, SearchAnswer, SearchRequest,
};

pub(crate) const MODES: [ImportMode; 2] = [ImportMode::Strict, ImportMode::Lenient];

/// Gives each file its own name.
fn named(files: &[Bytes]) -> impl Iterator<Item = (String, Bytes)> {
    files.iter().enumerate().map(|(number, file)| (format!("file {number}"), file.clone()))
}

fn is_parquet(file: &Bytes) -> bool {
    file.starts_with(b"PAR1")
}

/// Scans Parquet files and NDJSON files. Returns `None` if a file needs an import.
pub(crate) fn by_scan(mut scan: Scan, files: &[Bytes]) -> Result<Option<ScanAnswer>, ScanError> {
    loop {
        let read = named(files).try_for_each(|(name, file)| {
            if is_parquet(&file) {
                return scan.parquet(&name, file);
            }
            scan.begin_source(&name)?;
            file.chunks(1000).try_for_each(|chunk| scan.push(chunk))
        });
        match read.and_then(|()| scan.finish()) {
            Ok(ScanOutcome::Answer(answer)) => return Ok(Some(answer)),
            Ok(ScanOutcome::ReadAgain(again)) => scan = again,
            Err(ScanError::ImportNeeded(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

pub(crate) fn by_engine(
    catalog: &Catalog,
    mode: ImportMode,
    files: &[Bytes],
) -> Result<(Engine, ImportReport), ImportError> {
    let engine = Engine::new(catalog.clone());
    let mut import = engine.import(mode);
    for (name, file) in named(files) {
        if is_parquet(&file) {
            import.parquet(&name, file)?;
        } else {
            import.begin_source(&name)?;
            import.push(&file)?;
        }
    }
    let report = import.commit()?;
    Ok((engine, report))
}

/// Returns all parts of an answer but the number of examined rows.
fn parts(answer: &SearchAnswer) -> (Vec<&str>, Vec<&str>, Option<u64>, Option<String>, String) {
    let next = answer.next().map(ToString::to_string);
    (answer.ids().collect(), answer.documents().collect(), answer.total(), next, answer.to_json())
}

/// Checks a scan against an engine. Returns the answer of the scan, if there is one.
#[track_caller]
pub(crate) fn check(
    catalog: &Catalog,
    mode: ImportMode,
    files: &[Bytes],
    request: &SearchRequest,
    counts: Option<&FacetsRequest>,
) -> Option<ScanAnswer> {
    let scan = || {
        let scan = Scan::new(catalog, &Limits::default(), mode, request).unwrap();
        match counts {
            Some(counts) => scan.with_facets(counts).unwrap(),
            None => scan,
        }
    };
    let scanned = by_scan(scan(), files);
    if files.len() > 1 {
        let several = by_scan(scan().with_several_sources(), files);
        let parts_of = |scanned: &Result<Option<ScanAnswer>, ScanError>| match scanned {
            Ok(Some(found)) => format!("{:?}", (parts(&found.answer), &found.report, &found.facets)),
            other => format!("{other:?}"),
        };
        assert_eq!(parts_of(&several), parts_of(&scanned));
    }
    let (engine, report) = match by_engine(catalog, mode, files) {
        Ok(loaded) => loaded,
        Err(refusal) => {
            match scanned {
                Ok(None) => {}
                Err(ScanError::Refused(own)) => assert_eq!(own.to_string(), refusal.to_string()),
                scanned => panic!("{scanned:?}, but an import fails: {refusal}"),
            }
            return None;
        }
    };
    let expected = match counts {
        None => engine.search(request).map(|answer| (answer, None)),
        Some(counts) => {
            engine.search_with_facets(request, counts).map(|(answer, counts)| (answer, Some(counts)))
        }
    };
    let is_accepted = report.skipped == 0 && report.errors.iter().all(|error| error.line == 0);
    match (scanned, expected) {
        (Ok(Some(own)), Ok((answer, counts))) => {
            assert_eq!(parts(&own.answer), parts(&answer), "{request:?}");
            assert_eq!(own.facets, counts);
            assert_eq!(own.report, report);
            assert_eq!(own.documents, engine.len() as u64);
            assert_eq!(own.selected, engine.count(&request.filter).unwrap());
            Some(own)
        }
        (Ok(None), _) => {
            assert!(!is_accepted, "an import has no error of a case to report");
            None
        }
        (Err(ScanError::Search(own)), Err(expected)) => {
            assert_eq!(own, expected);
            None
        }
        (own, expected) => panic!("{own:?}, expected {expected:?}"),
    }
}
