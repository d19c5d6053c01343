//! `backup`: a database into a new file.

use std::path::PathBuf;

use casefilter::Catalog;

use crate::input::admin::{Admin, Opened};
use crate::input::copy::back_up;
use crate::input::database::{Database, open_to_read};
use crate::output::dash::refuse_stdout;
use crate::output::ending::Contents;
use crate::output::failure::{Failure, failed, mention};
use crate::output::interrupt;
use crate::output::progress::Working;
use crate::output::status::Status;

/// Copy a database into a new file
///
/// The copy appears under its name whole, or not at all, and only its owner can read it. `casefilter verify` checks it.
///
/// It has what is stored, and no page that was freed before. Its length may be up to twice that, as files of databases grow by
/// doubling: the pages at its end were never written, and take no room where files may have holes. `compact` cuts them off.
///
/// The copy is a database. To restore it, check it by `casefilter verify`, stop the service, and copy it to the place of the old file;
/// nothing else belongs to a database.
///
/// If a service has the database open, the service makes the copy, as the user that it runs as, and goes on meanwhile.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  casefilter backup cases.db -o cases-monday.db
  casefilter verify cases-monday.db")]
pub(crate) struct Args {
    #[command(flatten)]
    database: Database,

    /// The copy, a name that is free
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    admin: Admin,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    refuse_stdout(&args.output, "a database is written here and there")?;
    Contents::Database.check_output(&args.output)?;
    let path = args.database.path()?;
    match args.admin.open(path, || open_to_read(path, &Catalog::cases()))? {
        Opened::Here(store) => {
            interrupt::watch()
                .map_err(|error| Failure::io("cannot write", &args.output.display().to_string(), &error))?;
            let _working = Working::on("copying the database");
            let copied = store.backup(&args.output).and_then(|()| store.close());
            copied.map_err(|error| failed(&error))?;
        }
        Opened::There(mut service) => back_up(&mut service, &args.output)?,
    }
    mention("copied\n");
    Ok(Status::Fine)
}
