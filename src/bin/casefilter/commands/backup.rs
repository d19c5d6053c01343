//! The command `backup`: copies a database into a new file.

use std::path::PathBuf;

use crate::input::admin::{Admin, Opened};
use crate::input::catalog::stored;
use crate::input::copy::back_up;
use crate::input::database::{Database, open_to_read};
use crate::output::dash::refuse_stdout;
use crate::output::ending::Contents;
use crate::output::failure::{Failure, failed, note_on_terminal};
use crate::output::interrupt;
use crate::output::progress::Working;
use crate::output::status::Status;

/// Copy a database into a new file
///
/// The copy gets its name once it is complete and synced to disk, and only its owner can read it. `casefilter verify` checks it.
///
/// The copy contains only what is stored, without free pages. The file of a database is larger, because it grows by doubling its
/// length. Up to half of the file may be pages at its end that were never written. These pages take no disk space if the file
/// system supports sparse files. `compact` removes them.
///
/// The copy is itself a database. To restore it, check it with `casefilter verify`, stop the service, and copy it to the path of
/// the old file. A database consists of this one file only.
///
/// If a service has the database open, the service makes the copy and continues to answer requests. The copy belongs to the user
/// that the service runs as.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  casefilter backup cases.db -o cases-monday.db
  casefilter verify cases-monday.db")]
pub(crate) struct Args {
    #[command(flatten)]
    database: Database,

    /// The path of the copy; there must be no file with this name
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    admin: Admin,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    refuse_stdout(&args.output, "a database cannot be written as a stream")?;
    Contents::Database.check_output(&args.output)?;
    let path = args.database.path()?;
    let catalog = stored(path, &args.admin)?;
    match args.admin.open(path, || open_to_read(path, &catalog))? {
        Opened::Local(store) => {
            interrupt::watch()
                .map_err(|error| Failure::io("cannot write", &args.output.display().to_string(), &error))?;
            let _working = Working::on("copying the database");
            let copied = store.backup(&args.output).and_then(|()| store.close());
            copied.map_err(|error| failed(&error))?;
        }
        Opened::Served(mut service) => back_up(&mut service, &args.output)?,
    }
    note_on_terminal("copied\n");
    Ok(Status::Fine)
}
