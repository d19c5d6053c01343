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
/// The copy gets its name once it is whole and synced, and only its owner can read it. `casefilter verify` checks it.
///
/// The copy has only what is stored, without free pages. But files of databases grow by doubling: up to half of the file may be pages
/// at its end that were never written. They take no disk space where the file system supports sparse files. `compact` cuts
/// them off.
///
/// The copy is a database. To restore it, check it by `casefilter verify`, stop the service, and copy it to the place of the
/// old file; nothing else belongs to a database.
///
/// If a service has the database open, the service makes the copy, as the user that it runs as, and keeps answering requests.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  casefilter backup cases.db -o cases-monday.db
  casefilter verify cases-monday.db")]
pub(crate) struct Args {
    #[command(flatten)]
    database: Database,

    /// The copy; no file may have this name yet
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    admin: Admin,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    refuse_stdout(&args.output, "a database is not written from front to end")?;
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
