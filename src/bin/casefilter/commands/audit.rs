//! The command `audit`: lists and verifies the audit log of a service, and answers recorded requests again.

mod lines;
mod replay;

use std::io::BufReader;
use std::path::PathBuf;

use casefilter::service::{
    AuditBeginning, AuditErrorKind, AuditHead, AuditReport, open_audit_files, verify_audit_log,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::commands::audit::lines::next_line;
use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::figures::{counted, thousands};
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};
use crate::output::table::{Column, Fit, TableWriter};

/// List and verify the audit log of a service, and answer recorded requests again
///
/// `serve --audit FILE` writes the log. Rotated files beside it, FILE.000000000123, belong to it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter audit verify audit.ndjson
  casefilter audit list audit.ndjson --token acme --operation casesByFilter
  casefilter audit replay audit.ndjson 1204 --db cases.db")]
pub(crate) struct Args {
    #[command(subcommand)]
    audit: Audit,
}

#[derive(clap::Subcommand)]
enum Audit {
    List(List),
    Verify(Verify),
    Replay(replay::Replay),
}

/// Print the records of an audit log, oldest first
///
/// In a pipe, prints the lines of the log as they are. The command does not check the log: see `audit verify`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter audit list audit.ndjson
  casefilter audit list audit.ndjson --applicant 6512f0 --format json | jq -r .token")]
struct List {
    /// The audit log
    file: PathBuf,

    /// Only the requests of the token with this name
    #[arg(long, value_name = "NAME")]
    token: Option<String>,

    /// Only the requests for this operation, such as casesByFilter or updateInfo
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,

    /// Only the requests on the applicant with this id
    #[arg(long, value_name = "ID")]
    applicant: Option<String>,

    /// JSON or a table [default: table on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

/// Check that no record of an audit log was changed, removed or inserted
///
/// If one was, the exit status is 1, and the message names the first such record. The hashes have no key, so a user who can write
/// the files can change records and compute new hashes. The command detects such a change only with --head, which names a record
/// that was noted earlier in another place. The same applies to records that were removed from the end. When the service starts and
/// stops, it logs the last record of the audit log. This command also prints that record.
///
/// The log must begin with record 1. If you have moved the oldest files away, note the number of the first remaining record, and
/// give it by --first. With --older-removed, any number of complete files may be missing at the beginning.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter audit verify audit.ndjson
  casefilter audit verify audit.ndjson --head 1204:7d0c…
  casefilter audit verify audit.ndjson --first 1205")]
struct Verify {
    /// The audit log
    file: PathBuf,

    /// A record that the log must have: its number and its hash
    #[arg(long, value_name = "NUMBER:HASH")]
    head: Option<AuditHead>,

    /// The number of the first record, if older files were moved away
    #[arg(long, value_name = "NUMBER", conflicts_with = "older_removed")]
    first: Option<u64>,

    /// Accept a log whose oldest files are missing
    #[arg(long)]
    older_removed: bool,

    /// JSON or a sentence [default: a sentence on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    match &args.audit {
        Audit::List(args) => list(args),
        Audit::Verify(args) => verify(args),
        Audit::Replay(args) => replay::run(args),
    }
}

/// The names of the columns of the table. For each record, a column shows the member with the name of the column.
const COLUMNS: [&str; 9] =
    ["n", "time", "token", "operation", "applicant", "status", "items", "total", "filter"];

impl List {
    fn wants(&self, record: &Map<String, Value>) -> bool {
        let is = |name: &str, wanted: &Option<String>| {
            wanted.as_deref().is_none_or(|wanted| record.get(name).and_then(Value::as_str) == Some(wanted))
        };
        is("token", &self.token) && is("operation", &self.operation) && is("applicant", &self.applicant)
    }
}

fn list(args: &List) -> Result<Status, Failure> {
    let unreadable = |path: &PathBuf, error: &std::io::Error| {
        Failure::io("cannot read", &path.display().to_string(), error)
    };
    let files = open_audit_files(&args.file).map_err(|error| unreadable(&args.file, &error))?;
    let columns = COLUMNS.map(Column::text);
    let mut table = TableWriter::new(&columns, ROWS_FOR_WIDTHS, Fit::LeaveOut);
    let is_table = Format::or_fitting(args.format) == Format::Table;
    let mut out = Output::new();
    for (path, file) in files {
        let mut file = BufReader::new(file.map_err(|error| unreadable(&path, &error))?);
        let mut line = Vec::new();
        while next_line(&mut file, &mut line).map_err(|error| unreadable(&path, &error))? {
            // A line that is only a part of a record is not valid JSON, and is skipped.
            if let Ok(record) = serde_json::from_slice::<Map<String, Value>>(&line)
                && args.wants(&record)
            {
                if is_table {
                    table.push(row(&record), &mut |text| out.escaped_lines(text))?;
                } else {
                    out.json_line(String::from_utf8_lossy(&line).trim_end())?;
                }
            }
            line.clear();
        }
    }
    if is_table {
        table.finish(&mut |text| out.escaped_lines(text))?;
    }
    out.finish()?;
    Ok(Status::Fine)
}

/// The number of rows that determine the widths of the columns.
const ROWS_FOR_WIDTHS: usize = 100;

fn row(record: &Map<String, Value>) -> Vec<String> {
    let text = |name: &str| match record.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        // A record about the log has no operation. The record of a request on the admin socket has none either.
        None if name == "operation" => {
            let other = record.get("request").or(record.get("event"));
            other.and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        None => String::new(),
    };
    COLUMNS.into_iter().map(text).collect()
}

/// The result of a verification, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Whole {
    first: u64,
    head: String,
    files: usize,
    torn: u64,
    is_closed: bool,
    ends_torn: bool,
}

fn verify(args: &Verify) -> Result<Status, Failure> {
    let beginning = match args.first {
        Some(first) => AuditBeginning::At(first),
        None if args.older_removed => AuditBeginning::OlderRemoved,
        None => AuditBeginning::Complete,
    };
    let report = verify_audit_log(&args.file, args.head, beginning);
    let report = report.map_err(|error| {
        let advice = match error.kind() {
            AuditErrorKind::Beginning if beginning == AuditBeginning::Complete => {
                "; if older files were moved away, give --older-removed or --first"
            }
            _ => "",
        };
        Failure::Failed(format!("{}{advice}", escape(&error.to_string())))
    })?;
    let AuditReport { first, head, files, torn, is_closed, ends_torn, .. } = report;
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => {
            out.json(&Whole { first, head: head.to_string(), files, torn, is_closed, ends_torn })?;
        }
        Format::Table => {
            let (last, files) = (thousands(head.number()), counted(files as u64, "file"));
            out.line(&format!("whole: records {} to {last} in {files}", thousands(first)))?;
            if first > 1 {
                out.line("older records are not in these files")?;
            }
            if torn > 0 {
                out.line(&format!("{} that a crash or a full disk left", counted(torn, "part of a record")))?;
            }
            if !is_closed {
                out.line(
                    "the last record is not about a shutdown: the log is in use, the service was killed, or records at the end were removed",
                )?;
            }
            out.line(&format!("the last record, to compare by --head: {head}"))?;
        }
    }
    out.finish()?;
    Ok(Status::Fine)
}
