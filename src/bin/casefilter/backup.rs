//! `backup`: a database into a new file.

use std::path::PathBuf;

use casefilter::{Catalog, Store, StoreOptions};

use crate::Status;
use crate::failure::{Failure, note};
use crate::held::failed;

/// Copy a database into a new file
///
/// Everything that is copied is read through its checksums, and the copy has no free pages. Nobody else may have the
/// database open: a service that has it copies it by itself, through casefilter::Store::backup.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  casefilter backup --db cases.db -o cases-monday.db")]
pub(crate) struct Args {
    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    /// The copy, a file that must not be there
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let store = Store::open(&args.db, Catalog::cases(), StoreOptions::default());
    let copied = store.and_then(|store| {
        store.backup(&args.output)?;
        store.close()
    });
    copied.map_err(|error| failed(&error))?;
    note("copied");
    Ok(Status::Fine)
}
