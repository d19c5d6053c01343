//! Answers a request on the public port: checks its head, passes it to the router, and compresses and logs the response.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Method, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

use super::encoding::{Accepted, Coding, accepted};
use super::errors::Failure;
use super::peers::Peer;
use super::request_log::{Origin, RequestLog};
use super::router::router;
use super::write_timeout::ResponseDeadline;
use crate::service::state::ServiceState;

/// The coding of the error response for a client that accepts no coding.
const NO_CODING: Accepted = Accepted { best: Coding::Identity, identity: true };

/// Answers the requests of all connections of the public port.
pub(super) struct Responder {
    shared: Arc<ServiceState>,
    router: TowerToHyperService<Router>,
}

impl Responder {
    pub(super) fn new(shared: Arc<ServiceState>) -> Self {
        let router = TowerToHyperService::new(router(Arc::clone(&shared)));
        Self { shared, router }
    }

    pub(super) fn shared(&self) -> &Arc<ServiceState> {
        &self.shared
    }

    /// Answers a request. If its connection is not admitted, the response has the status 503.
    pub(super) async fn respond(
        &self,
        mut request: hyper::Request<Incoming>,
        is_admitted: bool,
    ) -> Result<Response, Infallible> {
        let asked = accepted(request.headers());
        // A response to HEAD has no body.
        let accepted = asked.filter(|_| request.method() != Method::HEAD).unwrap_or(NO_CODING);
        request.extensions_mut().insert(accepted);
        let deadline = request.extensions().get::<ResponseDeadline>().cloned();
        let peer = Peer::of_request(request.extensions());
        let response = self.answer(request, is_admitted, asked.is_some()).await?;
        let mut response = self.shared.compressor.compress(response, accepted, peer, deadline).await;
        if self.shared.is_draining() {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response)
    }

    async fn answer(
        &self,
        request: hyper::Request<Incoming>,
        is_admitted: bool,
        has_coding: bool,
    ) -> Result<Response, Infallible> {
        let start = Instant::now();
        let origin = Origin::of(request.headers(), request.extensions());
        let mut response = if !is_admitted {
            Failure::overloaded().closing().into_response()
        } else if !has_one_host(&request) {
            let description = match request.version() {
                Version::HTTP_2 => "the request must name one host, by `:authority` or `Host`",
                _ => "an HTTP/1.1 request must have exactly one `Host` header",
            };
            Failure::new(StatusCode::BAD_REQUEST, description).closing().into_response()
        } else if let Some(failure) = framing_error(&request) {
            failure.closing().into_response()
        } else if !has_coding {
            let description = "`Accept-Encoding` accepts none of `gzip`, `zstd` and `identity`";
            Failure::new(StatusCode::BAD_REQUEST, description).closing().into_response()
        } else {
            self.router.call(request.map(Body::new)).await?
        };
        if RequestLog::is_ended(&response) {
            return Ok(response);
        }
        // The request did not reach an endpoint, so it has not been logged yet and has no correlation id.
        let allowed = response.headers_mut().remove(header::ALLOW);
        let result = match response.extensions_mut().remove::<Failure>() {
            Some(failure) => Err(failure),
            None => Ok(response),
        };
        let mut response = RequestLog::since(start, &self.shared).from(origin).end(result).await;
        if let Some(allowed) = allowed {
            response.headers_mut().insert(header::ALLOW, allowed);
        }
        Ok(response)
    }
}

/// Returns true if the request names exactly one host. Over HTTP/1.1, it does so by the header `Host` (RFC 9112, section 3.2). Over
/// HTTP/2, it does so by `:authority`, by the header, or by both with the same host (RFC 9113, section 8.3.1). Always returns true
/// for HTTP/1.0, which requires no host.
fn has_one_host(request: &hyper::Request<Incoming>) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (host, has_another) = (hosts.next(), hosts.next().is_some());
    match (request.version(), request.uri().authority()) {
        (Version::HTTP_11, _) | (Version::HTTP_2, None) => host.is_some() && !has_another,
        (Version::HTTP_2, Some(authority)) => {
            let is_same =
                |host: &HeaderValue| host.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes());
            host.is_none_or(is_same) && !has_another
        }
        _ => true,
    }
}

/// Returns an error if the request has a `Transfer-Encoding` other than a single `chunked`.
///
/// A proxy in front of the service could interpret other encodings differently. This would allow request smuggling (RFC 9112,
/// section 6.1).
fn framing_error(request: &hyper::Request<Incoming>) -> Option<Failure> {
    let mut codings = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    let coding = codings.next()?.as_bytes().trim_ascii();
    let is_chunked = coding.eq_ignore_ascii_case(b"chunked");
    if is_chunked && codings.next().is_none() {
        return None;
    }
    let is_other =
        !coding.split(|byte| *byte == b',').all(|one| one.trim_ascii().eq_ignore_ascii_case(b"chunked"));
    let status = if is_other { StatusCode::NOT_IMPLEMENTED } else { StatusCode::BAD_REQUEST };
    Some(Failure::new(status, "unsupported `Transfer-Encoding`, expected `chunked` once, or no such header"))
}
