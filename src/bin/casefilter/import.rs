//! `import`: cases, and the records beside them, into a database.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use casefilter::domain::{Imported, RecordKind, import_records};
use casefilter::{Catalog, Mode, Report, Store, StoreError, StoreErrorKind, StoreOptions};
use serde::Serialize;

use crate::Status;
use crate::cases::{Cases, tell_left_out, write_report};
use crate::failure::Failure;
use crate::held::failed;
use crate::output::{Format, Output};
use crate::table::{counted, thousands};

/// Store cases in a database: all of them, or none
///
/// The database is made if it is not there. A case whose id it has already replaces that one. Interrupted or
/// refused, the import leaves nothing. In a pipe:
/// {"stored":…,"replaced":…,"incomplete":…,"skipped":…,"cases":…,"took_s":…}.
///
/// With --kind the files hold what the service answers from beside the cases, as NDJSON or JSON arrays. What a record
/// refers to is imported before it: levels, then applicants, then documents and AML cases.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter import --db cases.db cases.ndjson
  casefilter import --db cases.db monday.ndjson.zst tuesday.parquet --lenient --report left-out.json
  casefilter import --db cases.db --kind applicants applicants.ndjson
  casefilter search cases.db --where 'status = open'")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Cases,

    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    /// What the files hold
    #[arg(long, value_enum, default_value_t = Kind::Cases)]
    kind: Kind,

    /// Leave out malformed cases, and count malformed fields as absent, instead of refusing the files
    ///
    /// What was left out is told on standard error; the exit status is 3 then.
    #[arg(long)]
    lenient: bool,

    /// Write what was left out, and why, to FILE as JSON
    #[arg(long, value_name = "FILE", requires = "lenient")]
    report: Option<PathBuf>,

    /// JSON or a sentence [default: a sentence on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

/// What can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// Cases
    Cases,
    /// Levels with their steps
    Levels,
    /// Applicants, individuals and companies
    Applicants,
    /// Documents with their images
    Documents,
    /// AML cases with their hits
    AmlCases,
}

impl Kind {
    /// The kind of records, and one of them in words; none for cases.
    fn records(self) -> Option<(RecordKind, &'static str)> {
        match self {
            Self::Cases => None,
            Self::Levels => Some((RecordKind::Levels, "level")),
            Self::Applicants => Some((RecordKind::Applicants, "applicant")),
            Self::Documents => Some((RecordKind::Documents, "document")),
            Self::AmlCases => Some((RecordKind::AmlCases, "AML case")),
        }
    }
}

#[derive(Serialize)]
struct DoneRecords {
    stored: u64,
    replaced: u64,
    took_s: f64,
}

#[derive(Serialize)]
struct Done {
    stored: u64,
    replaced: u64,
    incomplete: u64,
    skipped: u64,
    cases: u64,
    took_s: f64,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    args.cases.check()?;
    if args.lenient && args.kind != Kind::Cases {
        return Err(Failure::Usage(
            "--lenient is for cases; records are imported whole or not at all".to_owned(),
        ));
    }
    let start = Instant::now();
    let catalog = Catalog::cases();
    let (store, is_new) = open(&args.db, &catalog)?;
    let outcome = match args.kind.records() {
        None => import(&store, args).map(Outcome::Cases),
        Some((kind, one)) => {
            import_records(&store, kind, |import| args.cases.read_records(import).map_err(Stop))
                .map(|imported| Outcome::Records(imported, one))
                .map_err(|stop| stop.0)
        }
    };
    let cases = u64::try_from(store.len()).unwrap_or(u64::MAX);
    let closed = store.close().map_err(|error| failed(&error));
    let outcome = match (outcome, closed) {
        (Ok(outcome), Ok(())) => outcome,
        (Err(failure), _) | (Ok(_), Err(failure)) => {
            if is_new {
                // Nothing is in it; whoever tries again makes it again.
                let _ = fs::remove_file(&args.db);
            }
            return Err(failure);
        }
    };
    let took_s = (start.elapsed().as_secs_f64() * 1e3).round() / 1e3;
    let report = match outcome {
        Outcome::Cases(report) => report,
        Outcome::Records(imported, one) => return tell_records(args, imported, one, took_s),
    };
    if let Some(path) = &args.report {
        write_report(path, &report)?;
    }
    let Report { stored, replaced, incomplete, skipped, .. } = report;
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&Done { stored, replaced, incomplete, skipped, cases, took_s })?,
        Format::Table => out.line(&format!(
            "{} stored, {} replaced · {} in the database · {took_s:.2} s",
            counted(stored, "case"),
            thousands(replaced),
            thousands(cases)
        ))?,
    }
    out.finish()?;
    Ok(tell_left_out(&report))
}

/// What came of an import.
enum Outcome {
    Cases(Report),
    Records(Imported, &'static str),
}

/// Why an import of records ended.
struct Stop(Failure);

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self(failed(&error))
    }
}

fn tell_records(args: &Args, imported: Imported, one: &str, took_s: f64) -> Result<Status, Failure> {
    let Imported { stored, replaced, .. } = imported;
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&DoneRecords { stored, replaced, took_s })?,
        Format::Table => {
            out.line(&format!(
                "{} stored, {} replaced · {took_s:.2} s",
                counted(stored, one),
                thousands(replaced)
            ))?;
        }
    }
    out.finish()?;
    Ok(Status::Fine)
}

/// The database, and whether it was made just now.
fn open(path: &Path, catalog: &Catalog) -> Result<(Store, bool), Failure> {
    match Store::open(path, catalog.clone(), StoreOptions::default()) {
        Ok(store) => Ok((store, false)),
        Err(error) if error.kind() == StoreErrorKind::NotFound => {
            let store = Store::create(path, catalog.clone(), StoreOptions::default());
            Ok((store.map_err(|error| failed(&error))?, true))
        }
        Err(error) => Err(failed(&error)),
    }
}

fn import(store: &Store, args: &Args) -> Result<Report, Failure> {
    let mode = if args.lenient { Mode::Lenient } else { Mode::Strict };
    let mut import = store.import(mode).map_err(|error| failed(&error))?;
    let read = args.cases.read_all(import.cases(), mode);
    // That the disk is full says more than what came of it.
    import.check().map_err(|error| failed(&error))?;
    read?;
    import.commit().map_err(|error| failed(&error))
}

/// The failure to write a report.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::io("cannot write", &path.display().to_string(), error)
}
