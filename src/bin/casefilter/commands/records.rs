//! Imports and exports records, such as levels and applicants, and prints the results.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::Instant;

use casefilter::domain::{ImportNote, RecordImportReport, RecordKind, export_records, import_records_in};
use casefilter::{Catalog, ImportMode, Store, StoreError, StoreOptions};
use serde::Serialize;

use crate::input::admin::{Admin, Opened};
use crate::input::cases::Files;
use crate::input::catalog::stored;
use crate::input::copy::Copy;
use crate::input::database::{close_written, open_to_read};
use crate::input::kind::Kind;
use crate::input::taker::{RecordTaker, ServiceTaker};
use crate::output::escape::{escape, one_line};
use crate::output::failure::{Failure, failed, note};
use crate::output::figures::{counted, seconds, thousands};
use crate::output::file::{Columns, cannot_write, from_database};
use crate::output::refusals::{Importing, LISTED, line_of, write_report};
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};

#[derive(Serialize)]
struct Done {
    stored: u64,
    replaced: u64,
    incomplete: u64,
    skipped: u64,
    kept_changes: u64,
    overwritten_changes: u64,
    without_zone: u64,
    took_s: f64,
}

/// An import of records.
pub(super) struct RecordsImport<'a> {
    pub(super) files: &'a Files,
    pub(super) what: Kind,
    /// The kind of the records, and the noun for one record in messages.
    pub(super) records: (RecordKind, &'static str),
    pub(super) mode: ImportMode,
    /// The file to which the report is written.
    pub(super) report: Option<&'a Path>,
    pub(super) format: Option<Format>,
    pub(super) start: Instant,
}

impl RecordsImport<'_> {
    /// Imports into a database that this process or a service has open. Prints the result.
    pub(super) fn run(&self, opened: Opened<Result<Store, Failure>>) -> Result<Status, Failure> {
        let (kind, one) = self.records;
        let imported = match opened {
            Opened::Local(store) => self.import_locally(store?, kind)?,
            Opened::Served(service) => {
                let route = self.what.import_route(self.mode);
                let mut upload = service.upload(&route, Importing::Records(self.mode))?;
                self.files
                    .read_all(&Catalog::cases(), &mut ServiceTaker::new(&mut upload, true, self.mode))?;
                upload.finish()?
            }
        };
        let took_s = seconds(self.start.elapsed());
        // The result is printed even if writing the report failed.
        let reported = self.report.map_or(Ok(()), |path| write_report(path, &imported));
        let status = print(&imported, one, took_s, self.format)?;
        reported.map(|()| status)
    }

    fn import_locally(&self, store: Store, kind: RecordKind) -> Result<RecordImportReport, Failure> {
        let mode = self.mode;
        let imported = import_records_in(&store, kind, mode, |import| {
            self.files
                .read_all(&Catalog::cases(), &mut RecordTaker { import, mode })
                .map_err(ImportStop::Told)
        });
        let imported = imported.map_err(|stop| match stop {
            ImportStop::Told(failure) => failure,
            ImportStop::Store(error) => Importing::Records(mode).failed(&error),
        })?;
        close_written(store)?;
        Ok(imported)
    }
}

/// The reason why an import of records stopped.
enum ImportStop {
    Told(Failure),
    Store(StoreError),
}

impl From<StoreError> for ImportStop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Prints the result of an import of records. `one` is the noun for one record.
fn print(
    imported: &RecordImportReport,
    one: &str,
    took_s: f64,
    format: Option<Format>,
) -> Result<Status, Failure> {
    let RecordImportReport { stored, replaced, incomplete, skipped, .. } = *imported;
    let RecordImportReport { kept_changes, overwritten_changes, times_without_zone, .. } = *imported;
    let mut out = Output::new();
    match Format::or_fitting(format) {
        Format::Json => out.json(&Done {
            stored,
            replaced,
            incomplete,
            skipped,
            kept_changes,
            overwritten_changes,
            without_zone: times_without_zone,
            took_s,
        })?,
        Format::Table => {
            out.line(&format!(
                "{} stored, {} replaced · {took_s:.2} s",
                counted(stored, one),
                thousands(replaced)
            ))?;
        }
    }
    out.finish()?;
    Ok(report_left_out(imported, one))
}

/// Prints on standard error what an import left out or changed. Returns the exit status.
fn report_left_out(imported: &RecordImportReport, one: &str) -> Status {
    let has_left_out = imported.skipped > 0 || imported.incomplete > 0;
    let mut text = String::new();
    let listed = if io::stderr().is_terminal() { LISTED } else { usize::MAX };
    if has_left_out {
        text.push_str(&format!(
            "{} left out, {} kept without the malformed part\n",
            counted(imported.skipped, one),
            thousands(imported.incomplete)
        ));
        for refusal in imported.errors.iter().take(listed) {
            let what = if refusal.kept { "kept" } else { "left out" };
            text.push_str(&format!("  {what}: {}\n", line_of(refusal)));
        }
    }
    let counts = [
        (imported.kept_changes, "kept", "value", " that clients had set: the import has no later data"),
        (
            imported.overwritten_changes,
            "overwrote",
            "value",
            " that clients had set: the import has later data",
        ),
        (imported.times_without_zone, "read", "time", " without an offset as UTC"),
    ];
    for (count, verb, noun, rest) in counts.into_iter().filter(|(count, ..)| *count > 0) {
        text.push_str(&format!("{verb} {}{rest}\n", counted(count, noun)));
    }
    for note in imported.notes.iter().take(listed) {
        let ImportNote { source, line, message, .. } = note;
        text.push_str(&format!("  {}\n", escape(&format!("{source}:{line}: {message}"))));
    }
    let passed = |len: usize| len.saturating_sub(listed) as u64;
    let more = passed(imported.errors.len()).saturating_add(passed(imported.notes.len()));
    let more = more.saturating_add(imported.unlisted);
    if more > 0 {
        let hint = if listed == LISTED { "; 2> FILE writes more of them" } else { "" };
        text.push_str(&format!("  … and {} more{hint}\n", thousands(more)));
    }
    if !text.is_empty() {
        note(text);
    }
    if has_left_out { Status::LeftOut } else { Status::Fine }
}

/// Writes all records of one kind to a file, one per line.
pub(crate) fn export<'p>(
    mut paths: impl Iterator<Item = &'p Path>,
    kind: RecordKind,
    output: &Path,
    admin: &Admin,
) -> Result<Status, Failure> {
    let database = paths.next().filter(|path| Store::exists(path));
    let (Some(database), None) = (database, paths.next()) else {
        return Err(Failure::Usage("records are exported from one database, made by import".to_owned()));
    };
    let catalog = stored(database, admin)?;
    let store = match admin.open(database, || open_to_read(database, &catalog))? {
        Opened::Local(store) => store,
        Opened::Served(service) => {
            let Copy { file, name } = Copy::make(database, service)?;
            let store = Store::open_file(file, &name, catalog.clone(), StoreOptions::default());
            store.map_err(|error| failed(&error))?
        }
    };
    let mut store = Some(store);
    let (mut failure, mut closed) = (None, Ok(()));
    let written = from_database(database, output, Columns { catalog: &catalog, order: None }, &mut |out| {
        let Some(store) = store.take() else { return Ok(()) };
        let result = export_records(&store, kind, |record| {
            let mut line = record.to_owned();
            one_line(&mut line);
            line.push('\n');
            out.write_all(line.as_bytes()).map_err(|error| WriteFailure(cannot_write(output, &error)))
        });
        // Close the database before the rest is written, so that other processes can write to it.
        closed = store.close().map_err(|error| failed(&error));
        result.map_err(|WriteFailure(fault)| {
            failure = Some(fault);
            io::Error::other("stopped")
        })
    });
    match failure {
        Some(failure) => Err(failure),
        None => closed.and(written).map(|()| Status::Fine),
    }
}

/// The reason why records could not be written.
struct WriteFailure(Failure);

impl From<StoreError> for WriteFailure {
    fn from(error: StoreError) -> Self {
        Self(failed(&error))
    }
}
