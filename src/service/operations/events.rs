//! The endpoints for the events of a token's standing filters. One endpoint returns the events after a given event number. The
//! other returns a stream of events.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::MethodFilter;
use tokio::time::Instant;

use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::Parameters;
use crate::error::{Error, ErrorKind, Errors, quote};
use crate::service::auth::permission::Permission;
use crate::service::events::line::EventLine;
use crate::service::events::reader::Waited;
use crate::service::events::stream::NewStream;
use crate::service::http::errors::{Failure, json};
use crate::service::http::outgoing::Outgoing;
use crate::service::state::ServiceState;
use crate::standing::Event;

pub(super) const EVENTS: Endpoint = Endpoint {
    name: "caseEvents",
    method: MethodFilter::GET,
    path: "/resources/api/caseManagement/v2/cases/events",
    permission: Permission::ManageFilters,
    parameters: Parameters { known: &[AFTER, WAIT, LIMIT], unsupported: None },
    invalid_id: |_| Failure::new(StatusCode::NOT_FOUND, "unknown path"),
    handler: Handler::Events(|state, call| Box::pin(events(state, call))),
};

pub(super) const STREAM: Endpoint = Endpoint {
    name: "caseEventStream",
    path: "/resources/api/caseManagement/v2/cases/events/stream",
    parameters: Parameters { known: &[AFTER], unsupported: None },
    handler: Handler::Events(|state, call| Box::pin(stream(state, call))),
    ..EVENTS
};

const AFTER: &str = "after";
const WAIT: &str = "wait";
const LIMIT: &str = "limit";

/// The name of the header `Last-Event-ID`, in errors.
const LAST_EVENT_ID: &str = "Last-Event-ID";

/// The header that tells nginx and other proxies to forward each piece of the response at once.
const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The time that a request for events waits if it begins while the service drains, unless `wait` is shorter. Without this wait, its
/// client would ask again at once.
const DRAIN_PAUSE: Duration = Duration::from_secs(1);

/// The maximum of `limit`, and its default.
const MOST_EVENTS: u64 = 1_000;
const DEFAULT_EVENTS: u64 = 100;

/// The maximum of `wait`, in seconds.
const MOST_WAIT_S: u64 = 60;

/// Answers with the token's events that have greater numbers than the parameter `after`. If there are no such events, waits for
/// one, but at most for the time in the parameter `wait`. Without `after`, answers only with the number of the last event.
async fn events(shared: Arc<ServiceState>, call: Call) -> Result<Response, Failure> {
    shared.check_standing()?;
    let query = Query::parse(call.query.as_deref().unwrap_or_default(), None)?;
    let _listener = shared.events.listen(&call.token, &shared.options)?;
    let Some(after) = query.after else {
        let last = shared.last_event(&call.token).await?;
        return answer(&shared, &call, &[], last);
    };
    if let Some(note) = &call.note {
        note.after_event(after);
    }
    let reading = read(&shared, &call, after, &query);
    let (events, last) = tokio::select! {
        biased;
        read = reading => read?,
        // The client has disconnected.
        () = call.client.gone_while_waiting() => (Vec::new(), after),
    };
    answer(&shared, &call, &events, last)
}

async fn read(
    shared: &Arc<ServiceState>,
    call: &Call,
    mut after: u64,
    query: &Query,
) -> Result<(Vec<Event>, u64), Failure> {
    let now = Instant::now();
    let end = now.checked_add(query.wait).unwrap_or(now);
    let most = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let (signer, mut signal) = (call.signer(), shared.events.subscribe());
    let was_draining = shared.is_draining();
    loop {
        // The first reading also checks that the events after this number are kept.
        let found = shared.read_events(&call.token, after, most).await?;
        // Reading may wait for other requests, and the token may have been revoked or restricted meanwhile.
        if !shared.is_in_force(&signer) {
            return Ok((Vec::new(), after));
        }
        after = found.last;
        if !found.events.is_empty() {
            return Ok((found.events, after));
        }
        if !found.is_all && Instant::now() < end {
            continue;
        }
        match shared.wait_for_events(&mut signal, &signer, after, end).await {
            Waited::Events if Instant::now() < end => {}
            Waited::Events => return Ok((Vec::new(), after)),
            Waited::Ended { last } if was_draining => {
                tokio::time::sleep_until(end.min(now.checked_add(DRAIN_PAUSE).unwrap_or(now))).await;
                return Ok((Vec::new(), last));
            }
            Waited::Time { last } | Waited::Ended { last } => return Ok((Vec::new(), last)),
        }
    }
}

/// Returns the response with these events. `last` is the number that the client gives as `after` in its next request.
fn answer(shared: &ServiceState, call: &Call, events: &[Event], last: u64) -> Result<Response, Failure> {
    let mut reservation = shared.outgoing.reserve(&call.token, &call.in_flight);
    let mut text = "{\"events\":[".to_owned();
    for (at, event) in events.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&EventLine::of_client(event).to_json());
        if !Outgoing::grow_to(&mut reservation, text.len()) {
            return Err(Failure::overloaded());
        }
    }
    text.push_str(&format!("],\"last\":{last}}}"));
    let body = Outgoing::body(reservation, text.into_bytes())?;
    if let Some(note) = &call.note {
        note.events(events);
    }
    shared.events.count_told(events.len());
    Ok(json(body))
}

/// Answers with a stream of events.
async fn stream(shared: Arc<ServiceState>, call: Call) -> Result<Response, Failure> {
    shared.check_standing()?;
    let query = Query::parse(call.query.as_deref().unwrap_or_default(), call.last_event_id.as_deref())?;
    if shared.is_draining() {
        return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, "the service is shutting down").closing());
    }
    let listener = shared.events.listen(&call.token, &shared.options)?;
    let after = match query.after {
        None => shared.last_event(&call.token).await?,
        Some(after) => {
            // If events are gone, the client gets an error here.
            shared.read_events(&call.token, after, 1).await?;
            after
        }
    };
    if let Some(note) = &call.note {
        note.after_event(after);
    }
    let (signer, id) = (call.signer(), call.id);
    let client = call.client.clone();
    let stream = NewStream { shared, signer, operation: STREAM.name, id, after, client };
    let mut response = json(stream.body(listener));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(NO_BUFFERING, HeaderValue::from_static("no"));
    Ok(response)
}

/// The parameters of a request for events.
struct Query {
    after: Option<u64>,
    wait: Duration,
    limit: u64,
}

impl Query {
    /// Reads the query of a request, and the header `Last-Event-ID` of a stream.
    fn parse(query: &str, last_event_id: Option<&str>) -> Result<Self, Errors> {
        let mut own = Self { after: None, wait: Duration::ZERO, limit: DEFAULT_EVENTS };
        let mut errors = Vec::new();
        let mut seen = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let Some(known) = [AFTER, WAIT, LIMIT].into_iter().find(|known| *known == name) else { continue };
            if seen.contains(&known) {
                let found = format!("{} again", quote(&value));
                errors.push(Error::new(ErrorKind::DuplicateKey, 0, found, "the parameter once").at(known));
                continue;
            }
            seen.push(known);
            let range = match known {
                WAIT => 0..=MOST_WAIT_S,
                LIMIT => 1..=MOST_EVENTS,
                _ => 0..=u64::MAX,
            };
            match (known, number(known, &value, range)) {
                (WAIT, Ok(wait)) => own.wait = Duration::from_secs(wait),
                (LIMIT, Ok(limit)) => own.limit = limit,
                (_, Ok(after)) => own.after = Some(after),
                (_, Err(error)) => errors.push(error),
            }
        }
        // A client that connects again sends the same query, and the number of the last event that it has received in this header.
        if let Some(id) = last_event_id.filter(|id| !id.is_empty()) {
            match number(LAST_EVENT_ID, id, 0..=u64::MAX) {
                Ok(after) => own.after = Some(after),
                Err(error) => errors.push(error),
            }
        }
        Errors::in_order(errors).map_or(Ok(own), Err)
    }
}

/// Reads the number in a parameter.
fn number(name: &str, text: &str, range: RangeInclusive<u64>) -> Result<u64, Error> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let expected = match range.end() {
        &u64::MAX => "a non-negative decimal integer".to_owned(),
        most => format!("a decimal integer from {} to {most}", range.start()),
    };
    let number = text.parse().ok().filter(|number| is_digits && range.contains(number));
    number.ok_or_else(|| Error::new(ErrorKind::BadInteger, 0, quote(text).to_string(), expected).at(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbers_within_their_limits() {
        let read = |query: &str, id: Option<&str>| {
            let read = Query::parse(query, id).map(|query| (query.after, query.wait.as_secs(), query.limit));
            read.map_err(|errors| errors.to_string())
        };
        assert_eq!(read("", None), Ok((None, 0, 100)));
        assert_eq!(read("after=7&wait=60&limit=1000&x=1", None), Ok((Some(7), 60, 1_000)));
        assert_eq!(read("after=7", Some("9")), Ok((Some(9), 0, 100)));
        assert_eq!(read("after=7", Some("")), Ok((Some(7), 0, 100)));
        assert_eq!(read("limit=1&wait=0", None), Ok((None, 0, 1)));
        for (query, id, expected) in [
            ("after=-1", None, "after (byte 0): found `-1`, expected a non-negative decimal integer"),
            ("after=", None, "after (byte 0)"),
            ("after=%2B1", None, "found `+1`"),
            ("after=18446744073709551616", None, "after"),
            ("wait=61", None, "wait (byte 0): found `61`, expected a decimal integer from 0 to 60"),
            ("limit=1001", None, "limit (byte 0): found `1001`, expected a decimal integer from 1 to 1000"),
            ("limit=0", None, "limit (byte 0): found `0`"),
            ("wait=1&wait=2", None, "wait (byte 0): found `2` again"),
            ("after=1", Some("x"), "Last-Event-ID (byte 0): found `x`"),
        ] {
            let error = read(query, id).unwrap_err();
            assert!(error.contains(expected), "{query}: {error}");
        }
    }
}
