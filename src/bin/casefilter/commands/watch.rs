//! The command `watch`: prints the events of standing filters, and waits for further events.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use casefilter::{Catalog, Event, EventKind, Store, StoreError, StoreErrorKind};
use chrono::{DateTime, SecondsFormat};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::input::admin::Socket;
use crate::input::database::open_to_read;
use crate::input::service::Service;
use crate::output::ending::{AS_IMPORTED, check_database};
use crate::output::failure::{Failure, failed, note};
use crate::output::status::Status;
use crate::output::stdout::Output;

/// The time between two checks of the file.
const PAUSE: Duration = Duration::from_millis(500);

/// The route of a service for events.
const EVENTS_ROUTE: &str = "/events";

/// The maximum number of events in an answer of a service.
const SERVED_EVENTS: usize = 1_000;

/// The maximum time that a service waits for an event before it answers, in milliseconds.
const WAIT_MS: u64 = 20_000;

/// The maximum number of events that are read each time the file is opened.
const EVENTS: usize = 10_000;

/// Print the events of standing filters, and wait for further events
///
/// Prints the events that the database keeps, one line of JSON each: {"number":…,"time":…,"filter":…,"id":…,"kind":…}. The kind is
/// "entered", "left" or "changed"; a changed case also has "fields":[…]. An event of a filter that belongs to a token of a service
/// also has "owner":…. The id is empty if the case was erased. It is also empty in an event with the filter "restrictions changed":
/// the service adds this event when the restrictions of a token change. After the kept events, the command waits for further
/// events, until it is interrupted.
///
/// If a service has the database open, the service sends the events, as soon as they happen. While any other process has the
/// database open for writing, waits until it closes the database.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter watch --db cases.db
  casefilter watch --db cases.db --after 17 --once | jq -r 'select(.kind == \"entered\" and .id != \"\") | .id'")]
pub(crate) struct Args {
    /// The database
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    /// Print only events with greater numbers [default: all events that are kept]
    #[arg(long, value_name = "NUMBER")]
    after: Option<u64>,

    /// End after the events that the database keeps, instead of waiting for further events
    #[arg(long)]
    once: bool,

    #[command(flatten)]
    socket: Socket,
}

/// The body of a request for the events of a service.
#[derive(Serialize)]
struct Asked {
    after: Option<u64>,
    limit: usize,
    wait_ms: u64,
}

/// The answer of a service.
#[derive(Deserialize)]
struct Told {
    events: Vec<Box<RawValue>>,
    last: u64,
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
                    // The file is closed now. So a slow reader of the output does not delay processes that write to the database.
                    print(&events, &mut after, &mut out)?;
                    is_told = false;
                    if events.len() >= EVENTS {
                        seen = None;
                        continue;
                    }
                    seen = state;
                }
                Err(error) if error.kind() == StoreErrorKind::InUse => {
                    if let Ok(mut service) = Service::connect(&args.db, args.socket.path.as_deref()) {
                        follow(&mut service, args, &mut after, &mut out)?;
                        if args.once {
                            out.finish()?;
                            return Ok(Status::Fine);
                        }
                        continue;
                    }
                    if args.once {
                        return Err(failed(&error));
                    }
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

/// Prints the events that a service sends, until the service ends. With `--once`, prints the events that the database keeps.
fn follow(
    service: &mut Service,
    args: &Args,
    after: &mut Option<u64>,
    out: &mut Output,
) -> Result<(), Failure> {
    let wait_ms = if args.once { 0 } else { WAIT_MS };
    loop {
        let told = service.post(EVENTS_ROUTE, &Asked { after: *after, limit: SERVED_EVENTS, wait_ms });
        let Told { events, last } = match told {
            Ok(told) => told,
            // The service has ended, unless it answers the next request.
            Err(_) if !args.once && service.get::<IgnoredAny>("/").is_err() => return Ok(()),
            Err(failure) => return Err(failure),
        };
        let is_end = events.is_empty();
        for event in events {
            out.json(&event)?;
        }
        out.flush()?;
        *after = Some(last);
        if is_end && args.once {
            return Ok(());
        }
    }
}

/// Returns the time of the last write and the length of a file.
fn state_of(path: &Path) -> Option<(SystemTime, u64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// Opens the file, reads at most [`EVENTS`] events after a number, and closes the file. Without a number, begins with the oldest
/// event.
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
