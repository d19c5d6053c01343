//! `import`: cases, and the records beside them, into a database.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use casefilter::domain::{Imported, import_records_in};
use casefilter::{Catalog, Mode, Report, Store, StoreError, StoreErrorKind, StoreOptions};
use serde::{Deserialize, Serialize};

use crate::Status;
use crate::admin::{Admin, Opened, Service};
use crate::cases::{Cases, Taker, refused, tell_left_out, write_report};
use crate::failure::Failure;
use crate::file::check_report;
use crate::held::failed;
use crate::interrupt::Unfinished;
use crate::kind::Kind;
use crate::output::{Format, Output};
use crate::records::{self, Importing};
use crate::table::{counted, thousands};

/// Store cases in a database: all of them, or none
///
/// The database is made if it is not there. A case whose id it has already replaces that one. Interrupted or
/// refused, the import leaves nothing. In a pipe:
/// {"stored":…,"replaced":…,"incomplete":…,"skipped":…,"cases":…,"took_s":…}; of records the same without cases, and with
/// kept_changes, overwritten_changes and without_zone.
///
/// With --kind the files hold what the service answers from beside the cases, as NDJSON or JSON arrays. What a record
/// refers to is imported before it: levels, then applicants, then documents and AML cases. Ids may be numbers, countries codes of
/// travel documents (XXA, RKS, D); steps that are not known are kept, and listed. Members of an applicant's info that the service
/// changed by PATCH …/info stay as they are, unless the latest date of the applicant (createdAt, review.createDate,
/// review.reviewDate) is later than that change; standard error tells of both.
///
/// A database that a service has open is imported into by that service, while it answers searches.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter import --db cases.db cases.ndjson
  casefilter import --db cases.db monday.ndjson.zst tuesday.parquet --lenient --report left-out.json
  casefilter import --db cases.db --kind applicants applicants.ndjson --lenient
  casefilter search cases.db --where 'status = open'")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Cases,

    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    #[command(flatten)]
    admin: Admin,

    /// What the files hold
    #[arg(long, value_enum, default_value_t = Kind::Cases)]
    kind: Kind,

    /// Leave out malformed cases, and count malformed fields as absent, instead of refusing the files
    ///
    /// Records likewise: an optional member or an element of a list that is at fault is left out, and the whole record where the
    /// fault lies in what it needs, or in what decides by its absence, such as active or the countries of a step.
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

impl Args {
    fn mode(&self) -> Mode {
        if self.lenient { Mode::Lenient } else { Mode::Strict }
    }
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
    check_report(args.report.as_deref(), args.cases.paths().chain([args.db.as_path()]))?;
    let start = Instant::now();
    let catalog = Catalog::cases();
    let opened = args.admin.open(&args.db, || match open(&args.db, &catalog) {
        Ok(opened) => Ok(Ok(opened)),
        Err(Unopened::Failed(failure)) => Ok(Err(failure)),
        Err(Unopened::Store(error)) => Err(error),
    })?;
    let (outcome, cases) = match opened {
        Opened::Here(opened) => {
            let (store, new) = opened?;
            import_here(store, new, args)?
        }
        Opened::There(service) => import_there(service, args)?,
    };
    let took_s = (start.elapsed().as_secs_f64() * 1e3).round() / 1e3;
    let report = match outcome {
        Outcome::Cases(report) => report,
        Outcome::Records(imported, one) => {
            if let Some(path) = &args.report {
                write_report(path, &imported)?;
            }
            return records::tell(&imported, one, took_s, args.format);
        }
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

/// What a service says of an import of cases.
#[derive(Deserialize)]
struct ImportedCases {
    cases: u64,
    report: Report,
}

/// Imports into a database that is open here, and `new` if this run made it; says also how many cases it has then.
fn import_here(store: Store, new: Option<Unfinished>, args: &Args) -> Result<(Outcome, u64), Failure> {
    let outcome = match args.kind.records() {
        None => import(&store, args).map(Outcome::Cases),
        Some((kind, one)) => import_records_in(&store, kind, args.mode(), |import| {
            args.cases.read_all(&mut Taker::Records(import, args.mode())).map_err(Stop::Told)
        })
        .map(|imported| Outcome::Records(imported, one))
        .map_err(|stop| stop.failure(args.mode())),
    };
    let is_new = new.is_some();
    // What is in it now is whole, and stays, whatever ends the run from here on.
    let new = new.filter(|_| outcome.is_err());
    let cases = u64::try_from(store.len()).unwrap_or(u64::MAX);
    let closed = store.close().map_err(|error| failed(&error));
    match (outcome, closed) {
        (Ok(outcome), Ok(())) => Ok((outcome, cases)),
        (Err(failure), _) | (Ok(_), Err(failure)) => {
            if is_new {
                // Nothing is in it; whoever tries again makes it again.
                let _ = fs::remove_file(&args.db);
                drop(new);
            }
            Err(failure)
        }
    }
}

/// Imports into a database that a service has open.
fn import_there(service: Service, args: &Args) -> Result<(Outcome, u64), Failure> {
    let mode = args.mode();
    let query = if mode == Mode::Lenient { "?mode=lenient" } else { "" };
    let records = args.kind.records();
    let importing = if records.is_none() { Importing::Cases(mode) } else { Importing::Records(mode) };
    let mut upload = service.upload(&format!("/imports/{}{query}", args.kind.name()), importing)?;
    args.cases.read_all(&mut Taker::Service(&mut upload, records.is_some()))?;
    match records {
        None => {
            let ImportedCases { cases, report } = upload.finish()?;
            Ok((Outcome::Cases(report), cases))
        }
        Some((_, one)) => Ok((Outcome::Records(upload.finish()?, one), 0)),
    }
}

/// Why an import of records ended.
enum Stop {
    Told(Failure),
    Store(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Stop {
    fn failure(self, mode: Mode) -> Failure {
        match self {
            Self::Told(failure) => failure,
            Self::Store(error) => Importing::Records(mode).failed(&error),
        }
    }
}

/// Why a database is not open.
enum Unopened {
    Store(StoreError),
    Failed(Failure),
}

impl From<StoreError> for Unopened {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The database, which goes again, should the run be interrupted, if it was made just now.
fn open(path: &Path, catalog: &Catalog) -> Result<(Store, Option<Unfinished>), Unopened> {
    match Store::open(path, catalog.clone(), StoreOptions::default()) {
        Ok(store) => Ok((store, None)),
        Err(error) if error.kind() == StoreErrorKind::NotFound => {
            let new = Unfinished::new(path.to_owned())
                .map_err(|error| Unopened::Failed(Failure::io("cannot listen for", "signals", &error)))?;
            Ok((Store::create(path, catalog.clone(), StoreOptions::default())?, Some(new)))
        }
        Err(error) => Err(error.into()),
    }
}

fn import(store: &Store, args: &Args) -> Result<Report, Failure> {
    let mode = args.mode();
    let mut import = store.import(mode).map_err(|error| failed(&error))?;
    let read = args.cases.read_all(&mut Taker::Cases(import.cases(), mode));
    // That the disk is full says more than what came of it.
    import.check().map_err(|error| failed(&error))?;
    read?;
    import.commit().map_err(|error| match error.refusal() {
        Some(refusal) => refused(refusal, mode),
        None => failed(&error),
    })
}
