//! The command `erase`: removes an applicant or cases so that no byte of them is left in the database.

use std::fmt;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

#[cfg(feature = "service")]
use casefilter::domain::{copies_of_applicant, erasure_of_applicant};
use casefilter::{Catalog, Erasure, ErasureReport, StandingFilter, Store, StoreOptions};
use serde::{Deserialize, Serialize};

use crate::commands::leftovers;
use crate::input::admin::{Admin, Opened};
use crate::input::catalog::stored;
use crate::input::database::close_written;
use crate::input::ids::ids_of;
use crate::output::ending::{AS_IMPORTED, check_database};
use crate::output::escape::escape;
use crate::output::failure::{Failure, failed, note};
use crate::output::figures::counted;
use crate::output::part::Part;
use crate::output::progress::Working;
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};

/// The route of a service for erasures.
const ERASURES: &str = "/erasures";

/// Erase an applicant or cases, so that no byte of them is left in the database
///
/// With --applicant, erases the record of the applicant with this id. Also erases the documents, AML cases and share tokens of the
/// applicant, and all cases with this id in applicantReference.applicantId. With --case, erases the case with this id. Each flag
/// also removes earlier versions of the cases (see `--history`), and the ids of the cases in the events of standing filters.
///
/// `delete` leaves bytes of the cases in the columns and free pages of the file. So this command writes the whole file again from
/// what remains, and replaces it in one step. It needs space for a second file, and about the time of an import of all cases. It
/// does this even if it finds nothing to erase, because the file may contain bytes of a case that was deleted before.
///
/// A service first waits until the imports, backups and copies that are in progress have ended. The command cannot reach earlier
/// backups and copies, or exports, even an export that is still being written. Nor can it reach the logs of the service, blocks
/// that the file system has freed, or the audit log. The audit log contains filters and ids of applicants.
///
/// Standing filters that contain one of the given ids, in their name or their criteria, are listed, but not changed. Copies of the
/// applicant that were made with a share token are also listed, but not erased, because they belong to other clients. To erase a
/// copy, give its id by --applicant. A value that other cases have too, such as a shared address, stays in those cases. The events
/// of a case that was deleted before keep its id, unless --case names it.
///
/// If the output is not a terminal, prints JSON:
/// {"cases":…,"records":…,"history":…,"events":…,"standing_filters":[…],"copies":[…]}. If a service has the database open, the
/// service erases the data. Its audit log then gets a record with the numbers of this JSON and with hashes of the ids.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter erase --db cases.db --applicant 6512f0
  casefilter erase --db cases.db --case c-17 --case c-18 --yes
  casefilter erase --db cases.db --cases-from erased.ids --yes")]
pub(crate) struct Args {
    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    /// The id of an applicant
    #[arg(long, value_name = "ID", required_unless_present_any = ["cases", "cases_from"])]
    applicant: Option<String>,

    /// The id of a case; can be given several times
    #[arg(long = "case", value_name = "ID")]
    cases: Vec<String>,

    /// A file with ids of cases, one per line, as `search --format ids` writes them
    #[arg(long, value_name = "FILE|-", conflicts_with = "cases")]
    cases_from: Option<PathBuf>,

    /// Erase without asking
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    admin: Admin,

    /// JSON or a sentence [default: a sentence on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

/// An erasure that a service executes.
#[derive(Serialize)]
struct Question<'a> {
    applicant: Option<&'a str>,
    cases: &'a [String],
}

/// The result, which is printed as JSON.
#[derive(Serialize, Deserialize)]
struct Done {
    #[serde(flatten)]
    erased: ErasureReport,
    standing_filters: Vec<Named>,
    /// The ids of the copies of the applicant. The copies are not erased.
    #[serde(default)]
    copies: Vec<String>,
}

/// A standing filter that contains an erased id.
#[derive(Serialize, Deserialize)]
struct Named {
    name: String,
    /// The owner, if the filter belongs to a token of a service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
}

impl From<StandingFilter> for Named {
    fn from(filter: StandingFilter) -> Self {
        Self { name: filter.name().to_owned(), owner: filter.owner().map(str::to_owned) }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.owner {
            Some(owner) => write!(f, "{} (of {})", escape(&self.name), escape(owner)),
            None => f.write_str(&escape(&self.name)),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    check_database(&args.db, AS_IMPORTED)?;
    if args.applicant.is_some() {
        Part::Service.require("`erase --applicant`")?;
    }
    let cases = args.all_cases()?;
    let catalog = stored(&args.db, &args.admin)?;
    let open = || Store::open(&args.db, catalog.clone(), StoreOptions::default());
    let opened = args.admin.open(&args.db, open)?;
    args.confirm(&cases)?;
    let working = Working::on("writing the database again");
    let done = match opened {
        Opened::Local(store) => {
            let erased = store.erase(&args.erasure(&catalog, &cases)?).map_err(|error| failed(&error))?;
            let ids = args.applicant.iter().chain(&cases).map(String::as_str);
            let naming = store.standing_filters_naming(ids).map_err(|error| failed(&error))?;
            let standing_filters = naming.into_iter().map(Named::from).collect();
            let copies = args.copies(&store)?;
            close_written(store)?;
            Done { erased, standing_filters, copies }
        }
        Opened::Served(mut service) => {
            let question = Question { applicant: args.applicant.as_deref(), cases: &cases };
            service.post(ERASURES, &question)?
        }
    };
    drop(working);
    leftovers::warn(&args.db);
    if !done.standing_filters.is_empty() {
        let names: Vec<String> = done.standing_filters.iter().map(Named::to_string).collect();
        note(format!("warning: these standing filters contain an erased id: {}\n", names.join(", ")));
    }
    if !done.copies.is_empty() {
        let ids: Vec<String> = done.copies.iter().map(|id| escape(id).to_string()).collect();
        note(format!(
            "warning: these applicants are copies of the erased one, and were not erased: {}\n",
            ids.join(", ")
        ));
    }
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&done)?,
        Format::Table => {
            let ErasureReport { cases, records, history, events, .. } = done.erased;
            out.line(&format!(
                "{}, {}, {} and the ids of {} erased",
                counted(cases, "case"),
                counted(records, "record"),
                counted(history, "earlier document"),
                counted(events, "event")
            ))?;
        }
    }
    out.finish()?;
    Ok(Status::Fine)
}

impl Args {
    #[cfg(feature = "service")]
    fn erasure(&self, catalog: &Catalog, cases: &[String]) -> Result<Erasure, Failure> {
        let erasure = match &self.applicant {
            Some(id) => erasure_of_applicant(&catalog.extended(), id).map_err(|errors| {
                Failure::Failed(format!(
                    "{}; nothing was erased: name the cases of the applicant by --case",
                    errors.message()
                ))
            })?,
            None => Erasure::new(),
        };
        Ok(erasure.with_ids(cases.iter().cloned()))
    }

    #[cfg(not(feature = "service"))]
    fn erasure(&self, _: &Catalog, cases: &[String]) -> Result<Erasure, Failure> {
        Ok(Erasure::new().with_ids(cases.iter().cloned()))
    }

    /// Returns the ids of the copies of the applicant.
    #[cfg(feature = "service")]
    fn copies(&self, store: &Store) -> Result<Vec<String>, Failure> {
        let copies = self.applicant.as_deref().map(|id| copies_of_applicant(store, id));
        Ok(copies.transpose().map_err(|error| failed(&error))?.unwrap_or_default())
    }

    #[cfg(not(feature = "service"))]
    fn copies(&self, _: &Store) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }

    /// Returns the ids of --case, or the ids in the file of --cases-from. An empty id is an error.
    fn all_cases(&self) -> Result<Vec<String>, Failure> {
        let cases = match &self.cases_from {
            Some(path) => ids_of(path)?,
            None => self.cases.clone(),
        };
        match cases.iter().any(String::is_empty) {
            true => {
                Err(Failure::Usage("--case: expected the id of a case, and not an empty text".to_owned()))
            }
            false => Ok(cases),
        }
    }

    /// Asks for confirmation, unless --yes was given.
    fn confirm(&self, cases: &[String]) -> Result<(), Failure> {
        if self.yes {
            return Ok(());
        }
        let what = match (&self.applicant, cases.len() as u64) {
            (Some(id), 0) => format!("the applicant {}", escape(id)),
            (Some(id), cases) => format!("the applicant {} and {}", escape(id), counted(cases, "case")),
            (None, cases) => counted(cases, "case"),
        };
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            let message =
                "nothing was erased: --yes is required, because there is no terminal on which to ask";
            return Err(Failure::Usage(message.to_owned()));
        }
        let database = escape(&self.db.display().to_string()).into_owned();
        let _ = write!(io::stderr().lock(), "Erase {what} from {database}? It cannot be undone. [y/N] ");
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        read.map_err(|error| Failure::io("cannot read", "standard input", &error))?;
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(Failure::Failed("nothing was erased".to_owned())),
        }
    }
}
