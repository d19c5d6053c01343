//! The command `verify`: checks a database.

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
/// The command checks every page and every checksum. It reads every document again, and compares it with its columns. In a
/// pipe: {"cases":…,"batches":…,"records":…,"was_clean":…}; was_clean is false if a crash left something to repair, which
/// loses no committed data. The exit status is 1 if the file is damaged. The file is only read: it need not be writable, and
/// other commands may read it at the same time.
///
/// Files of older versions of casefilter are read and written as they are: an upgrade needs no step of its own. A file of an
/// unknown format, or of other fields of cases, is rejected and stays unchanged; the version that wrote it can `export` its
/// cases.
///
/// If a service has the database open, it sends a copy, which is checked: everything that is stored, but not the free pages.
/// The copy has no name and ends with the command.
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
    let VerifyReport { documents: cases, batches, records, was_clean, .. } = found;
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&Whole { cases, batches, records, was_clean })?,
        Format::Table => {
            let batches = match batches {
                1 => "1 batch".to_owned(),
                batches => format!("{} batches", thousands(batches)),
            };
            let repaired = if was_clean { "" } else { ", after repairing what a crash left" };
            let records = match records {
                0 => String::new(),
                records => format!(", {} beside them", counted(records, "record")),
            };
            out.line(&format!("whole: {} in {batches}{records}{repaired}", counted(cases, "case")))?;
        }
    }
    out.finish()?;
    Ok(Status::Fine)
}
