//! The command `filters`: adds, lists and removes the standing filters of a database.

use std::path::{Path, PathBuf};

use casefilter::{Catalog, StandingFilter, Store, StoreOptions};
use serde::Serialize;

use crate::input::database::{close_written, open_to_read};
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
/// Each write to a database with standing filters gives events: which of them a case enters and leaves. `casefilter watch` prints
/// them. No other process may have the database open.
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
    List(List),
    Remove(Remove),
}

/// Add standing filters, or replace those of the same names, all or none
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

    /// JSON or a sentence [default: a sentence on a terminal, json in a pipe]
    #[arg(long)]
    format: Option<Format>,
}

/// List the standing filters, one line of JSON each, as `add` reads them
///
/// The filters of a service's tokens come last. They also have "owner":…, which `remove --owner` takes and `add` does not.
#[derive(clap::Args)]
struct List {
    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,
}

/// Remove standing filters by their names
///
/// Stops at the first name that no filter has. A token that was revoked leaves its filters: remove them by --owner. If the output is not a terminal, prints JSON: {"removed":…}.
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

/// A line of the list.
#[derive(Serialize)]
struct Line<'f> {
    name: &'f str,
    /// The owner, for a filter of a token of a service.
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

fn catalog_of(database: &Path) -> Result<Catalog, Failure> {
    check_database(database, AS_IMPORTED)?;
    Store::catalog_of(database).map_err(|error| failed(&error))
}

fn add(args: &Add) -> Result<Status, Failure> {
    let catalog = catalog_of(&args.db)?;
    // The present time lets the error for `now` say why a standing filter cannot have it.
    let builder = args.dialect.builder(&args.dialect.extend(catalog.clone()));
    let filters: Vec<StandingFilter> =
        read_filters(&args.filters, builder.catalog(), &builder)?.iter().collect();
    let all = filters.len();
    let store = Store::open(&args.db, catalog, StoreOptions::default()).map_err(|error| failed(&error))?;
    let replaced = match args.entering {
        true => store.insert_entering(filters),
        false => store.insert_standing(filters),
    };
    let replaced = replaced.map_err(|error| failed(&error))?;
    let count = store.standing_filters().count();
    close_written(store)?;
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

fn list(args: &List) -> Result<Status, Failure> {
    let catalog = catalog_of(&args.db)?;
    let store = open_to_read(&args.db, &catalog).map_err(|error| failed(&error))?;
    let mut filters: Vec<StandingFilter> = store.standing_filters().collect();
    store.close().map_err(|error| failed(&error))?;
    filters.sort_by(|a, b| (a.owner(), a.name()).cmp(&(b.owner(), b.name())));
    let mut out = Output::new();
    for filter in &filters {
        let field = |id: &casefilter::FieldId| catalog.get(*id).map(casefilter::Field::name);
        let fields = filter.fields().iter().filter_map(field).collect();
        out.json(&Line {
            name: filter.name(),
            owner: filter.owner(),
            text: filter.filter().to_text(),
            fields,
        })?;
    }
    out.finish()?;
    Ok(Status::Fine)
}

fn remove(args: &Remove) -> Result<Status, Failure> {
    let catalog = catalog_of(&args.db)?;
    let store = Store::open(&args.db, catalog, StoreOptions::default()).map_err(|error| failed(&error))?;
    for name in &args.names {
        let removed = match &args.owner {
            Some(owner) => store.remove_standing_of(owner, name),
            None => store.remove_standing(name),
        };
        if !removed.map_err(|error| failed(&error))? {
            let database = args.db.display().to_string();
            let message = format!("{}: no standing filter {}", escape(&database), quote(name));
            close_written(store)?;
            return Err(Failure::Failed(message));
        }
    }
    close_written(store)?;
    let removed = args.names.len();
    let mut out = Output::new();
    match Format::or_fitting(args.format) {
        Format::Json => out.json(&Removed { removed })?,
        Format::Table => out.line(&format!("{} removed", counted(removed as u64, "filter")))?,
    }
    out.finish()?;
    Ok(Status::Fine)
}
