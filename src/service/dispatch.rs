//! Handles a request for an endpoint: reads the body, verifies the signature, checks the permission, and runs the handler.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::{HeaderName, StatusCode};
use axum::response::Response;

use super::auth::in_flight::RequestBytes;
use super::auth::replays::ReplayCache;
use super::auth::signature::{SignatureCheck, Verified};
use super::http::body;
use super::http::budget::{Account, Reservation};
use super::http::correlation::CorrelationId;
use super::http::encoding::Accepted;
use super::http::errors::{Failure, json};
use super::http::outgoing::Outgoing;
use super::http::peers::Peer;
use super::http::request_log::{Caller, Origin, RequestLog};
use super::http::streams::OpenRequest;
use super::http::write_timeout::ResponseDeadline;
use super::operations::endpoint::{BlockingHandler, Call, Endpoint, Handler};
use super::operations::parameters;
use super::state::{ServiceState, now};
use crate::domain::Room;

/// The header in which a client of server-sent events sends the id of the last event that it has received.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The id in the path of a request. Empty if the path of the endpoint has no id. If the segment does not decode to UTF-8,
/// `Err` contains the raw segment.
pub(super) type PathId = Result<String, String>;

/// Runs a request for an endpoint, logs it, and returns its response.
pub(super) async fn answer(
    shared: Arc<ServiceState>,
    endpoint: &'static Endpoint,
    id: PathId,
    request: Request,
) -> Response {
    if !endpoint.survives_disconnect() {
        return answer_and_log(&shared, endpoint, id, request).await;
    }
    let origin = Origin::of(request.headers(), request.extensions());
    // A write runs in a separate task, so that it is completed and logged even if the connection fails.
    let (start, own) = (Instant::now(), Arc::clone(&shared));
    // On HTTP/2, the client may reset this request and send another one. So this request keeps its place until its write has ended.
    let place = request.extensions().get::<Arc<OpenRequest>>().cloned();
    let write = async move {
        let _place = place;
        let _change = own.changes.acquire().await;
        answer_and_log(&own, endpoint, id, request).await
    };
    match tokio::spawn(write).await {
        Ok(response) => response,
        Err(error) => {
            let log = RequestLog::since(start, &shared).from(origin).of(endpoint.name);
            log.end(Err(Failure::internal(error.to_string()))).await
        }
    }
}

async fn answer_and_log(
    shared: &Arc<ServiceState>,
    endpoint: &'static Endpoint,
    id: PathId,
    request: Request,
) -> Response {
    let origin = Origin::of(request.headers(), request.extensions());
    let mut log = RequestLog::since(Instant::now(), shared).from(origin).of(endpoint.name);
    if shared.is_unrecorded() {
        return log.end(Err(Failure::unrecorded().closing())).await;
    }
    let accepted = request.extensions().get::<Accepted>().copied();
    log.caller.note = shared.audit.as_ref().map(|_| Arc::default());
    let correlation_id = log.id();
    let result = call(shared, endpoint, (id, correlation_id), request, &mut log.caller).await;
    let is_refused = log.caller.in_flight.as_ref().is_some_and(|in_flight| in_flight.is_refused());
    let result = result.map_err(|failure| match failure.is_overload() && is_refused {
        true => Failure::too_many_bytes(shared.options.bytes_in_flight),
        false => failure,
    });
    let result = match (result, accepted, &log.caller.token) {
        (Ok(response), Some(mut accepted), Some(token)) => {
            // The change is already made, so its response is sent uncompressed if there is no free encoder.
            accepted.identity |= endpoint.survives_disconnect();
            let account = Account { token: token.address(), peer: None };
            shared.compressor.reserve(response, accepted, account)
        }
        (result, ..) => result,
    };
    log.end(result).await
}

async fn call(
    shared: &Arc<ServiceState>,
    endpoint: &'static Endpoint,
    (id, correlation_id): (PathId, CorrelationId),
    request: Request,
    caller: &mut Caller,
) -> Result<Response, Failure> {
    let (head, body) = request.into_parts();
    // A change of the tokens affects only later requests.
    let tokens = shared.tokens.load();
    let begun_s = now().timestamp();
    let mut signed = SignatureCheck::new(&tokens, &head, shared.options.clock_window, begun_s);
    let can_be_valid = signed.can_be_valid(begun_s);
    let peer = Peer::of_request(&head.extensions);
    let spooled = shared.spool.begin(Account { token: signed.token_address(), peer: Some(peer) });
    let keeping = body::Keeping { is_kept: can_be_valid, allowance: shared.body_allowance, spooled };
    let received = body::receive(body, &head.headers, &shared.options, keeping, &mut signed).await?;
    if !can_be_valid {
        // The request is rejected only after its whole body has been read. An earlier 401 would reveal which tokens exist.
        return Err(signed.reject(begun_s));
    }
    // The timestamp is checked again, because reading the body takes time.
    let verified_s = now().timestamp();
    let Verified { token, signature, is_previous } = signed.verify(verified_s)?;
    token.note_use(verified_s);
    caller.token = Some(Arc::clone(token));
    let in_flight = RequestBytes::new(&token.state.in_flight, shared.options.bytes_in_flight);
    caller.in_flight = Some(Arc::clone(&in_flight));
    let most = shared.options.requests_per_second;
    if !token.state.rate.take(Instant::now(), most) {
        return Err(Failure::too_fast(most));
    }
    if let (Some(note), true, Ok(id) | Err(id)) = (&caller.note, endpoint.names_applicant(), &id) {
        note.applicant(id);
    }
    let account = Account { token: token.address(), peer: None };
    let memory = shared.bodies.reserve_within(account, &in_flight);
    let body = received.into_memory(memory, shared.body_allowance).await?;
    if shared.options.reject_replays {
        let new = || ReplayCache::new(shared.options.clock_window, shared.options.remembered_signatures);
        token.state.replays.get_or_init(new).insert(signature, Instant::now())?;
    }
    if !token.may(endpoint.permission) {
        return Err(Failure::forbidden(endpoint.permission));
    }
    let path_id = id.map_err(|raw| (endpoint.invalid_id)(&raw))?;
    if !matches!(endpoint.handler, Handler::Search(_)) {
        // A search reports errors in its query parameters itself, together with the errors in its body.
        parameters::check(&endpoint.parameters, head.uri.query())?;
    }
    let deadline = head.extensions.get().cloned();
    let deadline = deadline.unwrap_or_else(|| ResponseDeadline::new(shared.options.write_timeout));
    let mut call = Call {
        token: Arc::clone(token),
        in_flight: Arc::clone(&in_flight),
        is_previous,
        path_id,
        query: head.uri.query().map(str::to_owned),
        body: body.bytes.clone(),
        deadline,
        note: caller.note.clone(),
        last_event_id: head
            .headers
            .get(LAST_EVENT_ID)
            .map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned()),
        id: correlation_id,
        client: head.extensions.get().cloned().unwrap_or_default(),
    };
    let answer = match endpoint.handler {
        Handler::Search(search) => return search(Arc::clone(shared), call).await.map(json),
        Handler::Events(events) => {
            // The request may wait for a long time. It no longer needs its body, so the memory is freed.
            call.body = Bytes::new();
            drop(body);
            return events(Arc::clone(shared), call).await;
        }
        Handler::Now(answer) => (answer(&call), shared.outgoing.reserve(token, &in_flight)),
        Handler::Read(read) => {
            shared.run_on_worker(token, move |shared| answer_within_room(shared, &call, read)).await??
        }
        Handler::Write(write) | Handler::Create(write) => {
            shared.write(token, move |shared| answer_within_room(shared, &call, write)).await??
        }
    };
    let (answer, reservation) = answer;
    let mut response = Outgoing::body(reservation, answer).map(json)?;
    if let Handler::Create(_) = endpoint.handler {
        *response.status_mut() = StatusCode::CREATED;
    }
    Ok(response)
}

/// A response body, and the memory reservation for it.
type ReservedAnswer = (Vec<u8>, Reservation);

/// Calls a handler. The handler reserves memory for its response from the share of the token.
///
/// If there is not enough memory, returns the failure as the inner error. For a handler that writes, an outer error is counted as a
/// failed write of the database file.
fn answer_within_room(
    shared: &ServiceState,
    call: &Call,
    handler: BlockingHandler,
) -> Result<Result<ReservedAnswer, Failure>, Failure> {
    let mut reservation = shared.outgoing.reserve(&call.token, &call.in_flight);
    let (mut had_room, mut needed) = (true, 0);
    let mut has_room = |bytes| {
        had_room = Outgoing::grow_to(&mut reservation, bytes);
        needed = bytes;
        had_room
    };
    let answer = handler(shared, call, &mut Room::new(&mut has_room));
    match answer {
        Ok(answer) => Ok(Ok((answer, reservation))),
        Err(failure) if had_room => Err(failure),
        // The response would never fit, so the client must not try again.
        Err(_) if needed > shared.outgoing.most() => {
            Ok(Err(Failure::records_too_large(needed, shared.outgoing.most())))
        }
        Err(failure) => Ok(Err(failure)),
    }
}
