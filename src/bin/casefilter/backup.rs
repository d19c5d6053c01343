//! `backup`: a database into a new file.

use std::path::PathBuf;

use casefilter::Catalog;

use crate::Status;
use crate::admin::{Admin, Opened};
use crate::cases::open_to_read;
use crate::copy::back_up;
use crate::failure::{Failure, mention};
use crate::file::refuse_stdout;
use crate::held::failed;

/// Copy a database into a new file
///
/// The copy has no free pages; `casefilter verify` checks it. A database that a service has open is copied by that service, as the user
/// whom it runs as, while it goes on.
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

    #[command(flatten)]
    admin: Admin,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    refuse_stdout(&args.output, "a database is written here and there")?;
    match args.admin.open(&args.db, || open_to_read(&args.db, &Catalog::cases()))? {
        Opened::Here(store) => store.backup(&args.output).map_err(|error| failed(&error))?,
        Opened::There(mut service) => back_up(&mut service, &args.output)?,
    }
    mention("copied\n");
    Ok(Status::Fine)
}
