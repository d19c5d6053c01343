//! The command `compact`: returns the free pages of a database to the file system.

use std::fs;
use std::path::Path;

use casefilter::{Store, StoreOptions};
use serde::{Deserialize, Serialize};

use crate::commands::leftovers;
use crate::input::admin::{Admin, Opened};
use crate::input::catalog::stored;
use crate::input::database::Database;
use crate::output::failure::{Failure, failed};
use crate::output::figures::thousands;
use crate::output::progress::Working;
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};

/// Give the free pages of a database back to the file system
///
/// Replaced and deleted cases leave free pages in the file, and later writes use these pages. When a file is too short, its length
/// is doubled. The part that has not been written yet is a hole, which takes no disk space: `ls -l` shows the length, `du` shows
/// the disk space. This command moves all pages to the front of the file and cuts off the rest. If the output is not a terminal, it
/// prints the lengths in bytes as JSON: {"bytes_before":…,"bytes_after":…}.
///
/// If a service has the database open, the service compacts it. The service writes a copy without free pages beside the database.
/// The copy then replaces the database in one step, so a crash leaves either the old file or the new file. The disk needs space for
/// the copy. Searches continue. Updates wait, for some seconds per GB. An update that would have to wait longer than its timeout
/// gets status 503.
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

/// The result of a compaction.
#[derive(Serialize, Deserialize)]
struct Compacted {
    bytes_before: u64,
    bytes_after: u64,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let path = args.database.path()?;
    let catalog = stored(path, &args.admin)?;
    let open = || Store::open(path, catalog.clone(), StoreOptions::default());
    let Compacted { bytes_before, bytes_after } = match args.admin.open(path, open)? {
        Opened::Local(store) => compact(store, path)?,
        Opened::Served(mut service) => {
            let _working = Working::on("a service compacts the database");
            service.post("/compactions", &Compaction {})?
        }
    };
    leftovers::warn(path);
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

/// The body of the request to a service.
#[derive(Serialize)]
struct Compaction {}

fn compact(mut store: Store, path: &Path) -> Result<Compacted, Failure> {
    let size = || match fs::metadata(path) {
        Ok(found) => Ok(found.len()),
        Err(error) => Err(Failure::io("cannot read", &path.display().to_string(), &error)),
    };
    let bytes_before = size()?;
    let working = Working::on("compacting the database");
    let compacted = (|| {
        // One pass does not always move all pages, so it is repeated until there are no more pages to move.
        while store.compact()? {}
        store.close()
    })();
    drop(working);
    compacted.map_err(|error| failed(&error))?;
    Ok(Compacted { bytes_before, bytes_after: size()? })
}
