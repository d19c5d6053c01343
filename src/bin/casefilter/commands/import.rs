//! The command `import`: stores cases or records in a database.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use casefilter::{
    Catalog, DocumentNote, ImportError, ImportMode, ImportReport, Store, StoreError, StoreErrorKind,
    StoreOptions,
};
use serde::{Deserialize, Serialize};

use crate::commands::hints::print_notes;
#[cfg(feature = "service")]
use crate::commands::records;
use crate::input::admin::{Admin, Opened};
use crate::input::cases::Files;
use crate::input::catalog::CatalogFile;
use crate::input::database::close_written;
use crate::input::duration::{VALUE, with_unit};
use crate::input::kind::Kind;
use crate::input::service::Service;
use crate::input::taker::{CaseTaker, ServiceTaker};
use crate::output::ending::Contents;
use crate::output::failure::{Failure, failed};
use crate::output::figures::{counted, seconds, thousands};
use crate::output::interrupt;
use crate::output::overwrite::check_report;
use crate::output::progress::Working;
use crate::output::refusals::{Importing, case_refused, report_left_out, write_report};
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};

/// Store cases in a database; if one case is rejected, nothing is stored
///
/// If the database does not exist, the import creates it. The file appears when the import is complete, and only its owner can read
/// it. A case replaces the stored case that has the same id. If an import is interrupted or rejected, it stores nothing. If the
/// output is not a terminal, prints JSON: {"stored":…,"replaced":…,"incomplete":…,"skipped":…,"cases":…,"took_s":…}, with
/// "notes":[…] if there are any. For records, the object has three more members: "kept_changes", "overwritten_changes" and
/// "without_zone". It has neither "cases" nor "notes".
///
/// Standard error lists notes on cases, by field, with the place where each first occurs. The notes are about timestamps without a
/// time zone, and numbers that a double cannot represent. There are also notes about Unix milliseconds that look like a year, a
/// date or seconds. Members that are not fields, but look like a field, are noted too.
///
/// With --kind the files contain the other records that the service uses, as NDJSON or JSON arrays. A record can refer to records
/// that were imported before it. So import levels first, then applicants, then documents and AML cases. Ids may be numbers.
/// Countries may be written with the codes that travel documents use (XXA, RKS, D). Unknown steps are stored, and standard error
/// lists them.
///
/// Clients of the service change the info of an applicant by PATCH …/info. An import keeps such a change, unless the imported
/// applicant has a date (createdAt, review.createDate, review.reviewDate) that is later than the change. Standard error reports the
/// kept and the overwritten changes.
///
/// If two imports would create the same database, the later import ends at once. With --wait, it waits for the earlier import.
///
/// If a service has the database open, the service imports the cases. It continues to answer searches and updates.
///
/// While an import runs, it needs space for a second copy of its documents, in an unnamed temporary file in the folder of the
/// database. An import stores the new cases before it frees the pages of the replaced cases. Later writes use the free pages.
/// Therefore, `du` may show about twice the space of one import. `ls -l` may show up to twice the size that `du` shows, because the
/// file has holes. `compact` frees the unused pages and the holes.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter import --db cases.db cases.ndjson
  casefilter import --db cases.db monday.ndjson.zst tuesday.parquet --lenient --report left-out.json
  casefilter import --db orders.db --catalog orders.toml orders.ndjson
  casefilter import --db cases.db cases.csv --map 'Case ID=id' --map State=status
  casefilter import --db cases.db --kind applicants applicants.ndjson --lenient
  casefilter search cases.db --where 'status = open'")]
pub(crate) struct Args {
    #[command(flatten)]
    cases: Files,

    /// The database; it is created if it does not exist
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    #[command(flatten)]
    admin: Admin,

    #[command(flatten)]
    catalog: CatalogFile,

    /// Contents of the files
    #[arg(long, value_enum, default_value_t = Kind::Cases)]
    kind: Kind,

    /// Leave out malformed cases, and treat malformed fields as absent, instead of rejecting the files
    ///
    /// In records, a malformed optional member or list element is left out. The complete record is left out if the malformed member
    /// is required. It is also left out if the meaning would change without the member, as for `active` or the countries of a step.
    /// Standard error lists what was left out, and the exit status is 3.
    #[arg(long)]
    lenient: bool,

    /// Write a JSON report to FILE: the cases or records that were left out, the reasons, and the notes of the import
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// From now on, keep what is replaced or deleted for this long, such as 90d; with 0s, nothing is kept
    ///
    /// `search --as-of` then finds the cases as they were. The database keeps this setting, also for other commands and services.
    /// By default, it is not changed. Each write removes only some of what is older; `compact` removes all of it.
    #[arg(long, value_name = VALUE, value_parser = with_unit)]
    history: Option<Duration>,

    /// JSON or a sentence [default: a sentence on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

impl Args {
    fn options(&self) -> StoreOptions {
        let options = StoreOptions::default();
        self.history.map_or(options.clone(), |history| options.history(history))
    }

    fn mode(&self) -> ImportMode {
        if self.lenient { ImportMode::Lenient } else { ImportMode::Strict }
    }
}

#[derive(Serialize)]
struct Done<'n> {
    stored: u64,
    replaced: u64,
    incomplete: u64,
    skipped: u64,
    cases: u64,
    took_s: f64,
    #[serde(skip_serializing_if = "<[DocumentNote]>::is_empty")]
    notes: &'n [DocumentNote],
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    args.kind.check()?;
    args.cases.check()?;
    Contents::Database.check_output(&args.db)?;
    check_report(args.report.as_deref(), args.cases.paths().chain([args.db.as_path()]))?;
    let start = Instant::now();
    // A new database gets the catalogue of the first database among the imported files.
    let made_with = Some(args.db.as_path()).filter(|path| Store::exists(path));
    let catalog = args.catalog.or_stored(made_with.or_else(|| args.cases.first_database()), &args.admin)?;
    let opened = args.admin.open(&args.db, || match open(&args.db, &catalog, &args.options()) {
        Ok(store) => Ok(Ok(store)),
        Err(Unopened::Failed(failure)) => Ok(Err(failure)),
        Err(Unopened::Store(error)) => Err(error),
    })?;
    if args.history.is_some() && matches!(opened, Opened::Served(_)) {
        let message = "--history: a service has the database open; start it with `serve --history` instead";
        return Err(Failure::Failed(message.to_owned()));
    }
    #[cfg(feature = "service")]
    if let Some((kind, one)) = args.kind.records() {
        let import = records::RecordsImport {
            files: &args.cases,
            what: args.kind,
            records: (kind, one),
            mode: args.mode(),
            report: args.report.as_deref(),
            format: args.format,
            start,
        };
        return import.run(opened);
    }
    let (report, cases) = match opened {
        Opened::Local(store) => import_locally(store?, &catalog, args)?,
        Opened::Served(mut service) => {
            service.check_catalog(&catalog)?;
            import_by_service(service, &catalog, args)?
        }
    };
    let took_s = seconds(start.elapsed());
    let reported = args.report.as_deref().map_or(Ok(()), |path| write_report(path, &report));
    let ImportReport { stored, replaced, incomplete, skipped, .. } = report;
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => {
            let notes = &report.notes;
            out.json(&Done { stored, replaced, incomplete, skipped, cases, took_s, notes })?;
        }
        Format::Table => out.line(&format!(
            "{} stored, {} replaced · {} in the database · {took_s:.2} s",
            counted(stored, "case"),
            thousands(replaced),
            thousands(cases)
        ))?,
    }
    out.finish()?;
    print_notes(&report);
    let status = report_left_out(&report);
    reported.map(|()| status)
}

/// The answer of a service to an import of cases.
#[derive(Deserialize)]
struct ImportedCases {
    cases: u64,
    report: ImportReport,
}

/// Imports into a database that this process has opened. Returns the report, and the number of cases in the database. If the
/// database is new, its file appears at its path only after the import.
fn import_locally(store: Store, catalog: &Catalog, args: &Args) -> Result<(ImportReport, u64), Failure> {
    let report = import(&store, catalog, args)?;
    let cases = u64::try_from(store.len()).unwrap_or(u64::MAX);
    close_written(store)?;
    Ok((report, cases))
}

/// Imports into a database that a service has open.
fn import_by_service(
    service: Service,
    catalog: &Catalog,
    args: &Args,
) -> Result<(ImportReport, u64), Failure> {
    let mut upload = service.upload(&args.kind.import_route(args.mode()), Importing::Cases(args.mode()))?;
    let mut taker = ServiceTaker::new(&mut upload, false, args.mode());
    args.cases.read_all(catalog, &mut taker)?;
    let left_out = taker.left_out();
    let _working = Working::on("the service writes the database");
    let ImportedCases { cases, mut report } = upload.finish()?;
    report.skipped = report.skipped.saturating_add(left_out.len() as u64);
    if !left_out.is_empty() {
        report.errors.extend(left_out);
        let sources: Vec<String> = args.cases.paths().map(|path| path.display().to_string()).collect();
        let place = |error: &ImportError| sources.iter().position(|source| *source == error.source);
        report.errors.sort_by_key(|error| (place(error), error.line));
    }
    Ok((report, cases))
}

/// The reason why a database could not be opened.
enum Unopened {
    Store(StoreError),
    Failed(Failure),
}

impl From<StoreError> for Unopened {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Opens the database. If it does not exist, prepares a new database, whose file appears at `path` when the database is closed.
fn open(path: &Path, catalog: &Catalog, options: &StoreOptions) -> Result<Store, Unopened> {
    let open = || Store::open(path, catalog.clone(), options.clone());
    match open() {
        Err(error) if error.kind() == StoreErrorKind::NotFound => {}
        opened => return Ok(opened?),
    }
    interrupt::watch()
        .map_err(|error| Unopened::Failed(Failure::io("cannot listen for", "signals", &error)))?;
    match Store::prepare(path, catalog.clone(), options.clone()) {
        // Another import has just created it.
        Err(error) if error.kind() == StoreErrorKind::Exists => Ok(open()?),
        prepared => Ok(prepared?),
    }
}

fn import(store: &Store, catalog: &Catalog, args: &Args) -> Result<ImportReport, Failure> {
    let mode = args.mode();
    let mut import = store.import(mode).map_err(|error| failed(&error))?;
    let read = args.cases.read_all(catalog, &mut CaseTaker { import: import.import_mut(), mode });
    // If the store has an error, such as a full disk, it explains more than the error of the reader.
    import.check().map_err(|error| failed(&error))?;
    read?;
    let _working = Working::on("writing the database");
    import.commit().map_err(|error| match error.import_error() {
        Some(refusal) => case_refused(refusal, mode),
        None => failed(&error),
    })
}
