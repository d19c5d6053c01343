//! The command `delete`: deletes cases from a database.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use casefilter::{Catalog, Durability, Filter, FilterBuilder, Limits, SearchRequest, Store, StoreOptions};
use serde::{Deserialize, Serialize};

use crate::commands::hints::{hint, warn};
use crate::commands::unknown_ids as ids;
use crate::input::admin::{Admin, Opened};
use crate::input::database::close_written;
use crate::input::ids::ids_of;
use crate::input::loaded::LoadedCases;
use crate::input::selection::Criteria;
use crate::input::service::Service;
use crate::output::dash::{ONE_STDIN, is_stdin};
use crate::output::ending::{AS_IMPORTED, check_database};
use crate::output::escape::escape;
use crate::output::failure::{Failure, failed, note};
use crate::output::figures::{counted, thousands};
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};

/// The route of a service for deletions.
const DELETIONS: &str = "/deletions";

/// Delete the selected cases from a database, either all of them or none
///
/// First prints the number of selected cases. On a terminal, then asks for confirmation. Elsewhere, --yes is required. If the
/// output is not a terminal, prints JSON: {"deleted":…,"cases":…}. "cases" is the number of cases that remain.
///
/// If a service has the database open, the service deletes the cases. If the filter then selects another number of cases than was
/// printed, nothing is deleted.
///
/// The file may still contain bytes of deleted cases, even after `casefilter compact`: `casefilter erase` removes them. With a
/// history, the cases can still be found by `search --as-of`. Earlier backups still contain the cases.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter delete --db cases.db --ids c-17,c-18
  casefilter delete --db cases.db --where 'createdAt < 2019-01-01 and not status = open'
  casefilter search cases.db --where 'tags in (test)' --format ids --limit all > test.ids
  casefilter delete --db cases.db --ids-from test.ids --yes
  casefilter compact cases.db")]
pub(crate) struct Args {
    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    /// The ids of the cases
    #[arg(long, value_name = "ID,…", value_delimiter = ',', conflicts_with_all = ["ids_from", "body", "text", "all"])]
    ids: Vec<String>,

    /// A file with the ids of the cases, one per line, as `search --format ids` writes them
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["body", "text", "all"])]
    ids_from: Option<PathBuf>,

    #[command(flatten)]
    criteria: Criteria,

    /// Delete every case of the database
    #[arg(long, conflicts_with_all = ["body", "text"])]
    all: bool,

    /// Delete without asking
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    admin: Admin,

    /// JSON or a sentence [default: a sentence on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

/// The result, which is printed as JSON.
#[derive(Serialize)]
struct Done {
    deleted: u64,
    cases: u64,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let has_ids = !args.ids.is_empty() || args.ids_from.is_some();
    if !has_ids && !args.criteria.is_given() && !args.all {
        let message =
            "expected the cases to delete: --ids, --ids-from, --where or --body; --all deletes every case";
        return Err(Failure::Usage(message.to_owned()));
    }
    check_database(&args.db, AS_IMPORTED)?;
    if args.criteria.uses_stdin() && args.ids_from.as_deref().is_some_and(is_stdin) {
        return Err(Failure::Usage(ONE_STDIN.to_owned()));
    }
    let catalog = args.criteria.catalog(Some(&args.db), &args.admin)?;
    let request = match has_ids {
        true => SearchRequest::new(filter_of_ids(&catalog, &args.all_ids()?)?).with_limit(u64::MAX),
        false => args.criteria.request(&catalog, None)?,
    };
    warn(&request);
    let open = || Store::open(&args.db, catalog.clone(), StoreOptions::default());
    let done = match args.admin.open(&args.db, open)? {
        Opened::Local(store) => delete_locally(store, &request, args)?,
        Opened::Served(mut service) => {
            service.check_catalog(&catalog)?;
            delete_by_service(&mut service, &request, args)?
        }
    };
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&done)?,
        Format::Table => out.line(&format!(
            "{} deleted · {} in the database",
            counted(done.deleted, "case"),
            thousands(done.cases)
        ))?,
    }
    out.finish()?;
    Ok(Status::Fine)
}

impl Args {
    /// Returns the ids of --ids, or the ids in the file of --ids-from. The two arguments exclude each other.
    fn all_ids(&self) -> Result<Vec<String>, Failure> {
        let Some(path) = &self.ids_from else { return Ok(self.ids.clone()) };
        ids_of(path)
    }

    /// Asks for confirmation, unless --yes was given.
    fn confirm(&self, selected: u64, cases: u64) -> Result<(), Failure> {
        let database = self.db.display().to_string();
        let are = if selected == 1 { "is" } else { "are" };
        let counts = format!(
            "{} of {} in {} {are} selected",
            thousands(selected),
            counted(cases, "case"),
            escape(&database)
        );
        if self.yes {
            note(format!("{counts}\n"));
            return Ok(());
        }
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            note(format!("{counts}\n"));
            let message =
                "nothing was deleted: --yes is required, because there is no terminal on which to ask";
            return Err(Failure::Usage(message.to_owned()));
        }
        let _ = write!(
            io::stderr().lock(),
            "{counts}. Delete {}? [y/N] ",
            if selected == 1 { "it" } else { "them" }
        );
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        read.map_err(|error| Failure::io("cannot read", "standard input", &error))?;
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(Failure::Failed("nothing was deleted".to_owned())),
        }
    }
}

/// Returns the filter that selects the cases with these ids.
fn filter_of_ids(catalog: &Catalog, ids: &[String]) -> Result<Filter, Failure> {
    if ids.is_empty() {
        return Err(Failure::Usage("found no ids, expected one on each line".to_owned()));
    }
    let body = serde_json::json!({ "ids": ids }).to_string();
    let limits = Limits::default().with_ids(usize::MAX);
    let limits = limits.with_body_bytes(usize::MAX).with_string_bytes(usize::MAX);
    let filter = FilterBuilder::new(catalog).with_limits(limits).json(body.as_bytes());
    filter.map_err(|errors| Failure::Usage(escape(&errors.to_string()).into_owned()))
}

/// Deletes from a database that this process has opened.
fn delete_locally(store: Store, request: &SearchRequest, args: &Args) -> Result<Done, Failure> {
    let cases = LoadedCases::Database(Box::new(store));
    ids::note_unknown(&cases, &request.filter)?;
    let mut selected = Vec::new();
    cases.each_id(request, |id| {
        selected.push(id.to_owned());
        Ok(())
    })?;
    let count = u64::try_from(selected.len()).unwrap_or(u64::MAX);
    hint(&cases, request, &casefilter::ImportReport::default(), || count == 0);
    let LoadedCases::Database(store) = cases else { return Ok(Done { deleted: 0, cases: 0 }) };
    let len = |store: &Store| u64::try_from(store.len()).unwrap_or(u64::MAX);
    if count > 0 {
        args.confirm(count, len(&store))?;
        store.delete_many(&selected, Durability::Synced).map_err(|error| failed(&error))?;
    }
    let done = Done { deleted: count, cases: len(&store) };
    close_written(*store).map(|()| done)
}

/// A deletion. If `expected` is set, the service executes it. Otherwise, the service only counts the selected cases.
#[derive(Serialize)]
struct Deletion {
    body: Option<String>,
    expected: Option<u64>,
}

#[derive(Deserialize)]
struct Deleted {
    selected: u64,
    cases: u64,
}

/// Deletes from a database that a service has open.
fn delete_by_service(service: &mut Service, request: &SearchRequest, args: &Args) -> Result<Done, Failure> {
    let body = (!request.filter.is_all()).then(|| request.filter.to_json());
    let mut deletion = Deletion { body, expected: None };
    let Deleted { selected, cases } = service.post(DELETIONS, &deletion)?;
    if selected == 0 {
        return Ok(Done { deleted: 0, cases });
    }
    args.confirm(selected, cases)?;
    deletion.expected = Some(selected);
    let Deleted { selected, cases } = service.post(DELETIONS, &deletion)?;
    Ok(Done { deleted: selected, cases })
}
