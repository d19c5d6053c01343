//! The command `verify`: checks that a database is intact.

use casefilter::{Store, StoreOptions, VerifyReport};
use serde::Serialize;

use crate::commands::leftovers;
use crate::input::admin::{Admin, Opened};
use crate::input::catalog::stored;
use crate::input::copy::Copy;
use crate::input::database::Database;
use crate::output::failure::{Failure, failed};
use crate::output::figures::{counted, thousands};
use crate::output::progress::Working;
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};

/// Check every page and every document of a database
///
/// The command checks every page and every checksum. It parses every document, and compares the values with the columns that
/// searches read. If the output is not a terminal, prints JSON:
/// {"cases":…,"batches":…,"records":…,"standing_filters":…,"events":…,"was_clean":…}. was_clean is false if a crash left something
/// to repair; no committed data is lost by this. The exit status is 1 if the file is damaged. The command only reads the file: the
/// file need not be writable, and other commands may read it at the same time.
///
/// Files of older versions of casefilter are read and written in their own format, so an upgrade needs no conversion. A file of an
/// unknown format is rejected and stays unchanged. The same applies to a file whose fields of cases differ from those that this
/// version defines. To read the cases of such a file, run `export` with the version that wrote it.
///
/// If a service has the database open, the service sends a copy, which is checked. The copy contains everything that is stored, but
/// not the free pages. The copy is an unnamed temporary file, which is removed when the command ends.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  casefilter verify cases.db")]
pub(crate) struct Args {
    #[command(flatten)]
    database: Database,

    #[command(flatten)]
    admin: Admin,

    /// JSON or a sentence [default: a sentence on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

#[derive(Serialize)]
struct Whole {
    cases: u64,
    batches: u64,
    records: u64,
    standing_filters: u64,
    events: u64,
    was_clean: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let (path, options) = (args.database.path()?, StoreOptions::default());
    let catalog = stored(path, &args.admin)?;
    let working = Working::on("checking the database");
    let found = match args.admin.open(path, || Store::verify(path, &catalog, &options))? {
        Opened::Local(found) => found,
        Opened::Served(service) => {
            let Copy { file, name } = Copy::make(path, service)?;
            Store::verify_file(file, &name, &catalog, &options).map_err(|error| failed(&error))?
        }
    };
    drop(working);
    leftovers::warn(path);
    let mut out = Output::new();
    let VerifyReport { documents: cases, batches, records, standing_filters, events, was_clean, .. } = found;
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&Whole { cases, batches, records, standing_filters, events, was_clean })?,
        Format::Table => {
            let batches = match batches {
                1 => "1 batch".to_owned(),
                batches => format!("{} batches", thousands(batches)),
            };
            let repaired = if was_clean { "" } else { ", after repairing the effects of a crash" };
            let records = match records {
                0 => String::new(),
                records => format!(", {}", counted(records, "record")),
            };
            let standing = match (standing_filters, events) {
                (0, 0) => String::new(),
                _ => format!(
                    ", {} with {} kept",
                    counted(standing_filters, "standing filter"),
                    counted(events, "event")
                ),
            };
            out.line(&format!(
                "whole: {} in {batches}{records}{standing}{repaired}",
                counted(cases, "case")
            ))?;
        }
    }
    out.finish()?;
    Ok(Status::Fine)
}
