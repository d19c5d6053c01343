//! Standing filters and events on the admin socket. The commands `filters` and `watch` use them if a running service has the
//! database open.
//!
//! | request | meaning |
//! |---|---|
//! | `GET /standing-filters` | `{"filters":[{"name","owner"?,"where","fields"?}]}`: all filters, also those of tokens |
//! | `POST /standing-filters` | `{"filters":[{"name","where","fields"}],"entering"}` stores filters without an owner, all or none; `where` is a normal form; `entering`: true to create an event for each case that a filter selects already |
//! | `POST /standing-filters/removals` | `{"owner"?,"names":[…]}` removes filters; stops at the first name that no filter has |
//! | `POST /events` | `{"after"?,"limit","wait_ms"}`: `{"events":[…],"last"}`, events of all owners; without `after`, from the oldest kept event on |

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::catalog::{Catalog, FieldId};
use crate::error::{Errors, quote};
use crate::filter::Filter;
use crate::service::events::line::EventLine;
use crate::service::http::errors::{Failure, json};
use crate::service::state::ServiceState;
use crate::standing::{Event, StandingFilter};
use crate::store::StoreError;

/// The maximum number of events in a response.
const MOST_EVENTS: usize = 10_000;

/// The maximum time that a request waits for events.
const MOST_WAIT: Duration = Duration::from_secs(60);

/// The minimum time from a request to its empty answer while the service drains. If the time limit of the request is shorter, the
/// answer is sent at that limit.
const DRAIN_PAUSE: Duration = Duration::from_secs(1);

/// A standing filter in JSON.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct AdminFilter {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(rename = "where")]
    text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fields: Vec<String>,
}

#[derive(Serialize)]
struct List {
    filters: Vec<AdminFilter>,
}

/// The JSON body of a request that stores filters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewFilters {
    filters: Vec<AdminFilter>,
    #[serde(default)]
    entering: bool,
}

#[derive(Serialize)]
struct Stored {
    replaced: usize,
    /// The number of filters in the database.
    filters: usize,
}

/// The JSON body of a request that removes filters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Removals {
    owner: Option<String>,
    names: Vec<String>,
}

#[derive(Serialize)]
struct Removed {
    removed: usize,
    /// The first name that no filter has.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<String>,
}

/// The JSON body of a request for events.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AdminEvents {
    after: Option<u64>,
    limit: usize,
    #[serde(default)]
    wait_ms: u64,
}

fn answer(value: &impl Serialize) -> Result<Response, Failure> {
    serde_json::to_vec(value).map(json).map_err(|error| Failure::internal(error.to_string()))
}

fn bad(errors: &Errors) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, errors.to_string())
}

/// Converts an error of the store.
fn failed(error: &StoreError) -> Failure {
    match (error.request_error(), error.events_gone()) {
        (None, None) => Failure::of_store(error),
        _ => Failure::new(StatusCode::BAD_REQUEST, error.to_string()).typed(error.kind().code()),
    }
}

/// Lists all filters, sorted by owner and name. Filters without an owner come first.
pub(super) async fn list(shared: &Arc<ServiceState>) -> Result<Response, Failure> {
    let list = shared.admin_read(|shared| {
        let catalog = shared.store.catalog();
        let mut filters: Vec<StandingFilter> = shared.store.standing_filters().collect();
        filters.sort_by(|a, b| (a.owner(), a.name()).cmp(&(b.owner(), b.name())));
        Ok(List { filters: filters.iter().map(|filter| shown(filter, catalog)).collect() })
    });
    answer(&list.await?)
}

fn shown(filter: &StandingFilter, catalog: &Catalog) -> AdminFilter {
    let name = |field: &FieldId| catalog.get(*field).map(|field| field.name().to_owned());
    AdminFilter {
        name: filter.name().to_owned(),
        owner: filter.owner().map(str::to_owned),
        text: filter.filter().to_text(),
        fields: filter.fields().iter().filter_map(name).collect(),
    }
}

/// Stores filters without an owner, all or none. With `entering`, also creates an event for each case that a filter selects
/// already.
pub(super) async fn store(shared: &Arc<ServiceState>, new: NewFilters) -> Result<Response, Failure> {
    let stored = shared.own_write(move |shared| {
        let catalog = shared.store.catalog();
        let filters = new.filters.iter().map(|filter| read(filter, catalog));
        let filters = filters.collect::<Result<Vec<StandingFilter>, Failure>>()?;
        let replaced = match new.entering {
            true => shared.store.insert_entering(filters),
            false => shared.store.insert_standing(filters),
        };
        let replaced = replaced.map_err(|error| failed(&error))?;
        Ok(Stored { replaced, filters: shared.store.standing_counts().0 })
    });
    answer(&stored.await?)
}

fn read(filter: &AdminFilter, catalog: &Catalog) -> Result<StandingFilter, Failure> {
    let wrong = |description: String| Failure::new(StatusCode::BAD_REQUEST, description);
    if filter.owner.is_some() {
        return Err(wrong("found `owner`, expected a filter without an owner".to_owned()));
    }
    let compiled = Filter::of_stored_text(catalog, &filter.text).map_err(|errors| bad(&errors))?;
    let field = |name: &String| {
        let unknown = || wrong(format!("fields: found {}, expected a field of the catalogue", quote(name)));
        catalog.find(name).ok_or_else(unknown)
    };
    let fields = filter.fields.iter().map(field).collect::<Result<Vec<FieldId>, Failure>>()?;
    Ok(StandingFilter::new(&filter.name, &compiled).with_fields(fields))
}

/// Removes filters in order. Stops at the first name that no filter has, and returns it; the filters before it stay removed.
pub(super) async fn remove(shared: &Arc<ServiceState>, removals: Removals) -> Result<Response, Failure> {
    let removed = shared.own_write(move |shared| {
        let mut removed = 0_usize;
        for name in &removals.names {
            let is_removed = match &removals.owner {
                Some(owner) => shared.store.remove_standing_of(owner, name),
                None => shared.store.remove_standing(name),
            };
            if !is_removed.map_err(|error| failed(&error))? {
                return Ok(Removed { removed, unknown: Some(name.clone()) });
            }
            removed = removed.saturating_add(1);
        }
        Ok(Removed { removed, unknown: None })
    });
    answer(&removed.await?)
}

/// Answers with events of all owners. If there are none, waits for them.
pub(super) async fn events(shared: &Arc<ServiceState>, asked: AdminEvents) -> Result<Response, Failure> {
    let AdminEvents { mut after, limit, wait_ms } = asked;
    let most = limit.clamp(1, MOST_EVENTS);
    let now = Instant::now();
    let wait = Duration::from_millis(wait_ms).min(MOST_WAIT);
    let end = now.checked_add(wait).unwrap_or(now);
    loop {
        // An event that happens during the reading has a greater number, so it is read next.
        let known = shared.store.last_event();
        let events = shared.admin_read(move |shared| read_events(shared, after, most)).await?;
        let last = events.last().map(|event| event.number);
        if last.is_none() && Instant::now() < end && !shared.is_draining() {
            let known = *after.get_or_insert(known);
            shared.wait_for_any_event(known, end).await;
            continue;
        }
        if last.is_none() && shared.is_draining() {
            // The client sends its next request directly after an empty answer.
            tokio::time::sleep_until(end.min(now.checked_add(DRAIN_PAUSE).unwrap_or(end))).await;
        }
        let lines: Vec<String> = events.iter().map(|event| EventLine::of_operator(event).to_json()).collect();
        let last = last.or(after).unwrap_or(known);
        let text = format!("{{\"events\":[{}],\"last\":{last}}}", lines.join(","));
        return Ok(json(text.into_bytes()));
    }
}

fn read_events(shared: &ServiceState, after: Option<u64>, most: usize) -> Result<Vec<Event>, Failure> {
    let mut events = shared.store.events_after(after.unwrap_or(0), most);
    if let (Err(error), None) = (&events, after)
        && let Some(gone) = error.events_gone()
    {
        events = shared.store.events_after(gone.oldest.saturating_sub(1), most);
    }
    events.map_err(|error| failed(&error))
}
