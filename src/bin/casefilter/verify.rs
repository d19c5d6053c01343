//! `verify`: whether a database is whole.

use std::path::{Path, PathBuf};

use casefilter::{Catalog, Store, StoreOptions, Verified};
use serde::Serialize;

use crate::Status;
use crate::admin::{Admin, Opened};
use crate::copy::Copy;
use crate::failure::Failure;
use crate::held::failed;
use crate::output::{Format, Output};
use crate::table::{counted, thousands};

/// Check a database whole
///
/// Every page and every checksum is checked, and every document is read again and compared with its columns.
/// In a pipe: {"cases":…,"batches":…,"records":…,"was_clean":…}; was_clean is false when a crash left something to repair,
/// which loses nothing. The exit status is 1 when the file is damaged.
///
/// Of a database that a service has open, a copy is checked that the service makes beside it, and that is removed then: all that is
/// stored, but not the pages that are free.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  casefilter verify --db cases.db")]
pub(crate) struct Args {
    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

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
    let verify = |path: &Path| Store::verify(path, &Catalog::cases(), &StoreOptions::default());
    let found = match args.admin.open(&args.db, || verify(&args.db))? {
        Opened::Here(found) => found,
        Opened::There(service) => {
            let copy = Copy::make(&args.db, service)?;
            verify(copy.path()).map_err(|error| failed(&error))?
        }
    };
    let mut out = Output::new();
    let Verified { cases, batches, records, was_clean, .. } = found;
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
