//! The command `filters`: adds, lists and removes the standing filters of a database.

use std::path::{Path, PathBuf};

use casefilter::{Catalog, StandingFilter, Store, StoreOptions};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::input::admin::{Admin, Opened};
use crate::input::catalog::stored;
use crate::input::database::{close_written, open_to_read};
use crate::input::service::Service;
use crate::input::standing::read_filters;
use crate::input::syntax::Dialect;
use crate::output::ending::{AS_IMPORTED, check_database};
use crate::output::escape::{escape, quote};
use crate::output::failure::{Failure, failed};
use crate::output::figures::counted;
use crate::output::status::Status;
use crate::output::stdout::{Format, Output};

/// Add, list and remove the standing filters of a database
///
/// Each write to a database with standing filters creates events. An event says which filter a case enters or leaves. `casefilter
/// watch` prints the events. If a service has the database open, these commands send their requests to the service, which executes
/// them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter filters add --db cases.db filters.ndjson
  casefilter filters list --db cases.db
  casefilter filters remove --db cases.db urgent 'no tags'

A file of filters:
  {\"name\": \"urgent\", \"where\": \"status = open and priority = high\"}
  {\"name\": \"vip\", \"where\": \"tags = vip\", \"fields\": [\"caseReview.status\"]}")]
pub(crate) struct Args {
    #[command(subcommand)]
    filters: Filters,
}

#[derive(clap::Subcommand)]
enum Filters {
    Add(Add),
    List(ListArgs),
    Remove(Remove),
}

/// Add standing filters, or replace filters with the same names; if one filter is rejected, nothing is stored
///
/// FILE contains one standing filter per line, as for `casefilter match`. A filter with "fields":[…] also gives an event when the
/// values of these fields change while it selects the case. If the output is not a terminal, prints JSON: {"added":…,"replaced":…}.
#[derive(clap::Args)]
struct Add {
    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    /// The standing filters, one per line
    #[arg(value_name = "FILE|-")]
    filters: PathBuf,

    /// Also give an event for each case that a filter selects already
    #[arg(long)]
    entering: bool,

    #[command(flatten)]
    dialect: Dialect,

    #[command(flatten)]
    admin: Admin,

    /// JSON or a sentence [default: a sentence on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

/// List the standing filters, one line of JSON each, as `add` reads them
///
/// The filters of a service's tokens come last. They also have "owner":…, which `remove --owner` takes and `add` does not.
#[derive(clap::Args)]
struct ListArgs {
    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    #[command(flatten)]
    admin: Admin,
}

/// Remove standing filters by their names
///
/// Stops at the first name that no filter has. When a token is revoked, its filters stay in the database: remove them by --owner.
/// If the output is not a terminal, prints JSON: {"removed":…}.
#[derive(clap::Args)]
struct Remove {
    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    /// The owner of the filters, as `list` prints it [default: filters without an owner]
    #[arg(long)]
    owner: Option<String>,

    /// The names
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,

    #[command(flatten)]
    admin: Admin,

    /// JSON or a sentence [default: a sentence on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

#[derive(Serialize)]
struct Added {
    added: usize,
    replaced: usize,
}

#[derive(Serialize)]
struct Removed {
    removed: usize,
}

/// A standing filter, as a line of the list or in a request to a service.
#[derive(Serialize)]
struct Line<'f> {
    name: &'f str,
    /// The owner, if the filter belongs to a token of a service.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'f str>,
    #[serde(rename = "where")]
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<&'f str>,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    match &args.filters {
        Filters::Add(args) => add(args),
        Filters::List(args) => list(args),
        Filters::Remove(args) => remove(args),
    }
}

fn catalog_of(database: &Path, admin: &Admin) -> Result<Catalog, Failure> {
    check_database(database, AS_IMPORTED)?;
    stored(database, admin)
}

/// Returns a line for each filter, in the same order.
fn lines<'f>(filters: &'f [StandingFilter], catalog: &'f Catalog) -> Vec<Line<'f>> {
    let field = |id: &casefilter::FieldId| catalog.get(*id).map(casefilter::Field::name);
    let line = |filter: &'f StandingFilter| Line {
        name: filter.name(),
        owner: filter.owner(),
        text: filter.filter().to_text(),
        fields: filter.fields().iter().filter_map(field).collect(),
    };
    filters.iter().map(line).collect()
}

/// The route of the standing filters of a service.
const FILTERS: &str = "/standing-filters";
/// The route that removes standing filters of a service.
const REMOVALS: &str = "/standing-filters/removals";

/// The body of a request that stores filters.
#[derive(Serialize)]
struct NewFilters<'f> {
    filters: Vec<Line<'f>>,
    entering: bool,
}

#[derive(Deserialize)]
struct Stored {
    replaced: usize,
    filters: usize,
}

#[derive(Serialize)]
struct Removals<'r> {
    owner: Option<&'r str>,
    names: &'r [String],
}

#[derive(Deserialize)]
struct ByService {
    unknown: Option<String>,
}

#[derive(Deserialize)]
struct List {
    filters: Vec<Box<RawValue>>,
}

fn add(args: &Add) -> Result<Status, Failure> {
    let catalog = catalog_of(&args.db, &args.admin)?;
    // The builder knows the present time, so that the error for `now` explains why a standing filter cannot contain `now`.
    let builder = args.dialect.builder(&args.dialect.extend(catalog.clone()));
    let filters: Vec<StandingFilter> =
        read_filters(&args.filters, builder.catalog(), &builder)?.iter().collect();
    let all = filters.len();
    let open = || Store::open(&args.db, catalog.clone(), StoreOptions::default());
    let (replaced, count) = match args.admin.open(&args.db, open)? {
        Opened::Local(store) => {
            let replaced = match args.entering {
                true => store.insert_entering(filters),
                false => store.insert_standing(filters),
            };
            let replaced = replaced.map_err(|error| failed(&error))?;
            let count = store.standing_filters().count();
            close_written(store)?;
            (replaced, count)
        }
        Opened::Served(mut service) => {
            service.check_catalog(&catalog)?;
            let new = NewFilters { filters: lines(&filters, &catalog), entering: args.entering };
            let Stored { replaced, filters } = service.post(FILTERS, &new)?;
            (replaced, filters)
        }
    };
    let added = Added { added: all.saturating_sub(replaced), replaced };
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&added)?,
        Format::Table => out.line(&format!(
            "{} added · {} replaced · {count} in the database",
            counted(added.added as u64, "filter"),
            added.replaced
        ))?,
    }
    out.finish()?;
    Ok(Status::Fine)
}

fn list(args: &ListArgs) -> Result<Status, Failure> {
    let catalog = catalog_of(&args.db, &args.admin)?;
    let mut out = Output::new();
    match args.admin.open(&args.db, || open_to_read(&args.db, &catalog))? {
        Opened::Local(store) => {
            let mut filters: Vec<StandingFilter> = store.standing_filters().collect();
            store.close().map_err(|error| failed(&error))?;
            filters.sort_by(|a, b| (a.owner(), a.name()).cmp(&(b.owner(), b.name())));
            for line in lines(&filters, &catalog) {
                out.json(&line)?;
            }
        }
        Opened::Served(mut service) => {
            let List { filters } = service.get(FILTERS)?;
            for filter in filters {
                out.json(&filter)?;
            }
        }
    }
    out.finish()?;
    Ok(Status::Fine)
}

fn remove(args: &Remove) -> Result<Status, Failure> {
    let catalog = catalog_of(&args.db, &args.admin)?;
    let open = || Store::open(&args.db, catalog.clone(), StoreOptions::default());
    let unknown = match args.admin.open(&args.db, open)? {
        Opened::Local(store) => {
            let unknown = remove_locally(&store, args)?;
            close_written(store)?;
            unknown
        }
        Opened::Served(mut service) => remove_by_service(&mut service, args)?,
    };
    if let Some(name) = unknown {
        let database = args.db.display().to_string();
        return Err(Failure::Failed(format!("{}: no standing filter {}", escape(&database), quote(&name))));
    }
    let removed = args.names.len();
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&Removed { removed })?,
        Format::Table => out.line(&format!("{} removed", counted(removed as u64, "filter")))?,
    }
    out.finish()?;
    Ok(Status::Fine)
}

/// Removes filters in the given order, up to the first name that no filter has. Returns this name.
fn remove_locally(store: &Store, args: &Remove) -> Result<Option<String>, Failure> {
    for name in &args.names {
        let removed = match &args.owner {
            Some(owner) => store.remove_standing_of(owner, name),
            None => store.remove_standing(name),
        };
        if !removed.map_err(|error| failed(&error))? {
            return Ok(Some(name.clone()));
        }
    }
    Ok(None)
}

fn remove_by_service(service: &mut Service, args: &Remove) -> Result<Option<String>, Failure> {
    let removals = Removals { owner: args.owner.as_deref(), names: &args.names };
    let ByService { unknown } = service.post(REMOVALS, &removals)?;
    Ok(unknown)
}
