//! The command `watch`: prints the events of standing filters, and follows them.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use casefilter::{Catalog, Event, EventKind, Store, StoreError, StoreErrorKind};
use chrono::{DateTime, SecondsFormat};
use serde::Serialize;

use crate::input::database::open_to_read;
use crate::output::ending::{AS_IMPORTED, check_database};
use crate::output::failure::{Failure, failed, note};
use crate::output::status::Status;
use crate::output::stdout::Output;

/// The time between two looks at the file.
const PAUSE: Duration = Duration::from_millis(500);

/// The number of events that are read by one opening of the file.
const EVENTS: usize = 10_000;

/// Print which standing filters cases enter and leave, and follow
///
/// Prints the events that the database keeps, one line of JSON each: {"number":…,"time":…,"filter":…,"id":…,"kind":…}. The kind is
/// "entered", "left" or "changed"; a changed case also has "fields":[…]. An event of a token of a service also has "owner":…. Then waits for further events, until it is interrupted.
///
/// While another process has the database open for writing, waits until it closes the database. So this command does not follow the
/// writes of a running service.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter watch --db cases.db
  casefilter watch --db cases.db --after 17 --once | jq -r 'select(.kind == \"entered\") | .id'")]
pub(crate) struct Args {
    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    /// Print only events with greater numbers [default: all events that are kept]
    #[arg(long, value_name = "NUMBER")]
    after: Option<u64>,

    /// End after the events that there are
    #[arg(long)]
    once: bool,
}

/// The line of an event.
#[derive(Serialize)]
struct Line<'e> {
    number: u64,
    time: Option<String>,
    filter: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'e str>,
    id: &'e str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<&'e [String]>,
}

impl<'e> Line<'e> {
    fn new(event: &'e Event) -> Self {
        let time = DateTime::from_timestamp_millis(event.time.as_millis());
        Self {
            number: event.number,
            time: time.map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true)),
            filter: &event.filter,
            owner: event.owner.as_deref(),
            id: &event.id,
            kind: event.kind.name(),
            fields: match &event.kind {
                EventKind::Changed(fields) => Some(fields),
                _ => None,
            },
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    check_database(&args.db, AS_IMPORTED)?;
    let mut out = Output::new();
    let mut after = args.after;
    let mut catalog = None;
    let mut seen = None;
    let mut is_told = false;
    loop {
        let state = state_of(&args.db);
        if seen.is_none() || state != seen {
            match read(&args.db, &mut catalog, after) {
                Ok(events) => {
                    // The file is closed now. So a slow reader of the output does not hold up its writers.
                    print(&events, &mut after, &mut out)?;
                    is_told = false;
                    if events.len() >= EVENTS {
                        seen = None;
                        continue;
                    }
                    seen = state;
                }
                Err(error) if error.kind() == StoreErrorKind::InUse && !args.once => {
                    if !is_told {
                        note("another process has the database open; waiting until it closes the database\n");
                        is_told = true;
                    }
                }
                Err(error) => return Err(failed(&error)),
            }
        }
        if args.once {
            out.finish()?;
            return Ok(Status::Fine);
        }
        sleep(PAUSE);
    }
}

/// Returns the time of the last write and the length of a file.
fn state_of(path: &Path) -> Option<(SystemTime, u64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// Opens the file, reads at most [`EVENTS`] events after a number, and closes the file. Without a number, begins with the oldest event.
fn read(path: &Path, catalog: &mut Option<Catalog>, after: Option<u64>) -> Result<Vec<Event>, StoreError> {
    let catalog = match catalog {
        Some(catalog) => catalog,
        None => catalog.insert(Store::catalog_of(path)?),
    };
    let store = open_to_read(path, catalog)?;
    let mut events = store.events_after(after.unwrap_or(0), EVENTS);
    if let (Err(error), None) = (&events, after)
        && let Some(gone) = error.events_gone()
    {
        events = store.events_after(gone.oldest.saturating_sub(1), EVENTS);
    }
    store.close()?;
    events
}

/// Prints events. Sets `after` to the number of the last one.
fn print(events: &[Event], after: &mut Option<u64>, out: &mut Output) -> Result<(), Failure> {
    for event in events {
        out.json(&Line::new(event))?;
        *after = Some(event.number);
    }
    out.flush()
}
