//! From a request for an endpoint to its answer.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;

use super::auth::replays::Seen;
use super::auth::signature::Signed;
use super::auth::tokens::AppToken;
use super::http::body;
use super::http::budget::{Account, Hold};
use super::http::errors::{Failure, json};
use super::http::exchange::Exchange;
use super::http::outgoing::Outgoing;
use super::http::peers::Peer;
use super::http::transport::Due;
use super::operations::endpoint::{Call, Endpoint, Handler, Work};
use super::operations::parameters;
use super::state::{ServiceState, now};
use crate::domain::Room;

/// The applicant in the path, empty where the path has none; or what is written there, if that is no text.
pub(super) type PathId = Result<String, String>;

/// Answers a request for an endpoint.
pub(super) async fn answer(
    shared: Arc<ServiceState>,
    endpoint: &'static Endpoint,
    applicant: PathId,
    request: Request,
) -> Response {
    if !endpoint.goes_on() {
        return exchange(&shared, endpoint, applicant, request).await;
    }
    // What changes something goes on to its end, and is logged, even if its connection fails.
    let (start, own) = (Instant::now(), Arc::clone(&shared));
    let exchange = async move { exchange(&own, endpoint, applicant, request).await };
    tokio::spawn(exchange).await.unwrap_or_else(|error| {
        Exchange::since(start, &shared).of(endpoint.name).end(Err(Failure::internal(error.to_string())))
    })
}

async fn exchange(
    shared: &Arc<ServiceState>,
    endpoint: &'static Endpoint,
    applicant: PathId,
    request: Request,
) -> Response {
    let mut exchange = Exchange::since(Instant::now(), shared).of(endpoint.name);
    let result = call(shared, endpoint, applicant, request, &mut exchange.caller.token).await;
    exchange.end(result.map(json))
}

async fn call(
    shared: &Arc<ServiceState>,
    endpoint: &'static Endpoint,
    applicant: PathId,
    request: Request,
    client: &mut Option<Arc<AppToken>>,
) -> Result<Body, Failure> {
    let (head, body) = request.into_parts();
    let mut signed = Signed::new(&shared.tokens, &head, shared.options.clock_window);
    let is_kept = signed.may_be_right(now().timestamp());
    let peer = head.extensions.get::<Peer>().copied().unwrap_or(Peer::of(Ipv4Addr::UNSPECIFIED.into()));
    let hold = shared.bodies.hold(Account { token: signed.token_address(), peer: Some(peer) });
    let room = body::Room { is_kept, allowance: shared.body_allowance, hold };
    let body = body::read(body, &head.headers, &shared.options, room, &mut signed).await?;
    if !is_kept {
        // Whoever sends what is refused in any case is not to take the room of others, nor to learn of it any sooner.
        return Err(signed.refuse());
    }
    // Once more, since the body may have taken a while.
    let (token, signature) = signed.verify(now().timestamp())?;
    *client = Some(Arc::clone(token));
    if shared.options.refuses_replays {
        let new = || Seen::new(shared.options.clock_window, shared.options.remembered_signatures);
        token.seen.get_or_init(new).note(signature, Instant::now())?;
    }
    if !token.may(endpoint.permission) {
        return Err(Failure::forbidden(endpoint.permission));
    }
    let applicant_id = applicant.map_err(|written| (endpoint.no_applicant)(&written))?;
    if !matches!(endpoint.handler, Handler::Search(_)) {
        // A search tells these beside the errors of its body.
        parameters::check(&endpoint.parameters, head.uri.query())?;
    }
    let call = Call {
        token: Arc::clone(token),
        applicant_id,
        query: head.uri.query().map(str::to_owned),
        body: body.bytes.clone(),
        due: head.extensions.get().cloned().unwrap_or_else(|| Due::new(shared.options.write_timeout)),
    };
    let answer = match endpoint.handler {
        Handler::Search(search) => return search(Arc::clone(shared), call).await,
        Handler::Now(answer) => (answer(&call), shared.outgoing.hold(token)),
        Handler::Read(read) => shared.work(token, move |shared| within_room(shared, &call, read)).await??,
        Handler::Write(write) => {
            shared.write(token, move |shared| within_room(shared, &call, write)).await??
        }
    };
    let (answer, hold) = answer;
    Outgoing::whole(hold, answer)
}

/// An answer, and the room that it has.
type Held = (Vec<u8>, Hold);

/// Makes an answer within the room that its token has for answers on their way out. An answer without room is no fault of the file, and is
/// returned as the inner error.
fn within_room(shared: &ServiceState, call: &Call, work: Work) -> Result<Result<Held, Failure>, Failure> {
    let mut hold = shared.outgoing.hold(&call.token);
    let mut had_room = true;
    let mut has_room = |bytes| {
        had_room = Outgoing::has_room(&mut hold, bytes);
        had_room
    };
    let made = work(shared, call, &mut Room::new(&mut has_room));
    match made {
        Ok(answer) => Ok(Ok((answer, hold))),
        Err(failure) if had_room => Err(failure),
        Err(failure) => Ok(Err(failure)),
    }
}
