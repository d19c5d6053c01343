//! `compact`: a database without its free pages.

use std::fs;

use casefilter::{Catalog, Store, StoreOptions};
use serde::Serialize;

use crate::Status;
use crate::args::Database;
use crate::failure::Failure;
use crate::held::failed;
use crate::output::{Format, Output};
use crate::progress::Working;
use crate::table::thousands;

/// Give the free pages of a database back to the system
///
/// What is replaced or deleted leaves free pages in the file, which later writes use. This moves everything to the
/// front and cuts the file. In a pipe: {"bytes_before":…,"bytes_after":…}.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  casefilter compact cases.db")]
pub(crate) struct Args {
    #[command(flatten)]
    database: Database,

    /// JSON or a sentence [default: a sentence on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

#[derive(Serialize)]
struct Compacted {
    bytes_before: u64,
    bytes_after: u64,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let size = || match fs::metadata(args.database.path()) {
        Ok(found) => Ok(found.len()),
        Err(error) => Err(Failure::io("cannot read", &args.database.path().display().to_string(), &error)),
    };
    let bytes_before = size()?;
    let store = Store::open(args.database.path(), Catalog::cases(), StoreOptions::default());
    let working = Working::on("compacting the database");
    let compacted = store.and_then(|mut store| {
        // What one pass moves may leave more to move.
        while store.compact()? {}
        store.close()
    });
    drop(working);
    compacted.map_err(|error| failed(&error))?;
    let bytes_after = size()?;
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&Compacted { bytes_before, bytes_after })?,
        Format::Table => {
            out.line(&format!("{} bytes, before {}", thousands(bytes_after), thousands(bytes_before)))?;
        }
    }
    out.finish()?;
    Ok(Status::Fine)
}
