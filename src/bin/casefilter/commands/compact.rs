//! `compact`: a database without its free pages.

use std::fs;
use std::path::Path;

use casefilter::{Catalog, Store, StoreOptions};
use serde::{Deserialize, Serialize};

use crate::commands::leftovers;
use crate::input::admin::{Admin, Opened};
use crate::input::database::Database;
use crate::output::failure::{Failure, failed};
use crate::output::figures::thousands;
use crate::output::progress::Working;
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};

/// Give the free pages of a database back to the system
///
/// What is replaced or deleted leaves free pages in the file, which later writes use. This moves everything to the
/// front and cuts the file. In a pipe: {"bytes_before":…,"bytes_after":…}.
///
/// A database that a service has open is compacted by that service: it writes a copy without free pages beside the database, which takes
/// its place in one step, whatever happens meanwhile. The disk needs room for the copy. Searches go on; updates wait, for seconds for each
/// GB, and are told to come again (503) if that is longer than they may wait.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  casefilter compact cases.db")]
pub(crate) struct Args {
    #[command(flatten)]
    database: Database,

    #[command(flatten)]
    admin: Admin,

    /// JSON or a sentence [default: a sentence on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

/// What compacting did, here or in a service.
#[derive(Serialize, Deserialize)]
struct Compacted {
    bytes_before: u64,
    bytes_after: u64,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let path = args.database.path()?;
    let open = || Store::open(path, Catalog::cases(), StoreOptions::default());
    let Compacted { bytes_before, bytes_after } = match args.admin.open(path, open)? {
        Opened::Here(store) => compact(store, path)?,
        Opened::There(mut service) => {
            let _working = Working::on("a service compacts the database");
            service.post("/compactions", &Ask {})?
        }
    };
    leftovers::tell(path);
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

/// What a service is asked for.
#[derive(Serialize)]
struct Ask {}

fn compact(mut store: Store, path: &Path) -> Result<Compacted, Failure> {
    let size = || match fs::metadata(path) {
        Ok(found) => Ok(found.len()),
        Err(error) => Err(Failure::io("cannot read", &path.display().to_string(), &error)),
    };
    let bytes_before = size()?;
    let working = Working::on("compacting the database");
    let compacted = (|| {
        // What one pass moves may leave more to move.
        while store.compact()? {}
        store.close()
    })();
    drop(working);
    compacted.map_err(|error| failed(&error))?;
    Ok(Compacted { bytes_before, bytes_after: size()? })
}
