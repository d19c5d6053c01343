//! The type of an endpoint: its path, permission, query parameters and handler.

use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::response::Response;
use axum::routing::MethodFilter;

use super::parameters::Parameters;
use crate::domain::Room;
use crate::service::audit::record::Note;
use crate::service::auth::in_flight::RequestBytes;
use crate::service::auth::permission::Permission;
use crate::service::auth::tokens::AppToken;
use crate::service::events::reader::Signer;
use crate::service::http::client_watch::ClientWatch;
use crate::service::http::correlation::CorrelationId;
use crate::service::http::errors::Failure;
use crate::service::http::write_timeout::ResponseDeadline;
use crate::service::state::ServiceState;

/// An endpoint of the public port.
pub(in crate::service) struct Endpoint {
    /// The name in logs and metrics, and the `operationId` in the OpenAPI document.
    pub(in crate::service) name: &'static str,
    pub(in crate::service) method: MethodFilter,
    pub(in crate::service) path: &'static str,
    /// The permission that the token needs.
    pub(in crate::service) permission: Permission,
    pub(in crate::service) parameters: Parameters,
    /// Creates the error for a path whose id does not decode to UTF-8. The argument is the raw path segment.
    pub(in crate::service) invalid_id: fn(&str) -> Failure,
    pub(in crate::service) handler: Handler,
}

/// The handler of an endpoint. The variant determines on which thread the handler runs, and which locks it needs.
#[derive(Clone, Copy)]
pub(in crate::service) enum Handler {
    /// A handler that returns its response immediately, without reading the file.
    Now(fn(&Call) -> Vec<u8>),
    /// A handler that reads the file. It runs on a blocking thread.
    Read(BlockingHandler),
    /// A handler that changes the file. It runs on a blocking thread, and only one such handler runs at a time.
    Write(BlockingHandler),
    /// Like [`Write`](Self::Write), but the status of the response is 201.
    Create(BlockingHandler),
    /// The handler of searches. It decides whether a search runs on the connection's thread or on a blocking thread. It reports the
    /// errors in the query parameters together with the errors in the body.
    Search(fn(Arc<ServiceState>, Call) -> BodyFuture),
    /// The handler of events, which may wait for a long time without a thread. It also sets the content type.
    Events(fn(Arc<ServiceState>, Call) -> ResponseFuture),
}

/// A function that reads or changes the file, and reserves memory for its response.
pub(in crate::service) type BlockingHandler =
    fn(&ServiceState, &Call, &mut Room<'_>) -> Result<Vec<u8>, Failure>;

/// The future of a response body.
pub(in crate::service) type BodyFuture = Pin<Box<dyn Future<Output = Result<Body, Failure>> + Send>>;

/// The future of a response.
pub(in crate::service) type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response, Failure>> + Send>>;

/// An authenticated and authorized request.
pub(in crate::service) struct Call {
    pub(in crate::service) token: Arc<AppToken>,
    /// The bytes of the request that are in flight.
    pub(in crate::service) in_flight: Arc<RequestBytes>,
    /// True if the request is signed with the previous secret of the token.
    pub(in crate::service) is_previous: bool,
    /// The id in the path: the id of an applicant, or the name of a standing filter. Empty if the path of the endpoint has no id.
    pub(in crate::service) path_id: String,
    pub(in crate::service) query: Option<String>,
    pub(in crate::service) body: Bytes,
    /// The deadline for sending the response. If the response is sent in chunks, the deadline starts when the response body is
    /// created.
    pub(in crate::service) deadline: ResponseDeadline,
    /// The note for the audit log. `None` if the service has no audit log.
    pub(in crate::service) note: Option<Arc<Note>>,
    /// The value of `Last-Event-ID`, which clients of server-sent events send when they connect again.
    pub(in crate::service) last_event_id: Option<String>,
    /// The correlation id.
    pub(in crate::service) id: CorrelationId,
    /// The state of the client's connection, to detect that the client has disconnected.
    pub(in crate::service) client: ClientWatch,
}

impl Call {
    /// Returns the token, and the secret with which the request is signed.
    pub(in crate::service) fn signer(&self) -> Signer {
        Signer { token: Arc::clone(&self.token), secret: self.token.secret(self.is_previous) }
    }
}

impl Endpoint {
    /// Returns true if the path of the endpoint has an applicant id.
    pub(in crate::service) fn names_applicant(&self) -> bool {
        self.path.contains(APPLICANT)
    }

    /// Returns true if the path of the endpoint has an id: the id of an applicant, or the name of a standing filter.
    pub(in crate::service) fn has_id(&self) -> bool {
        IDS.iter().any(|id| self.path.contains(id))
    }

    /// Returns the segment of a request path that contains the id, without decoding it.
    pub(in crate::service) fn raw_id<'p>(&self, path: &'p str) -> &'p str {
        let mut segments = self.path.split('/').zip(path.split('/'));
        segments.find(|(own, _)| IDS.contains(own)).map_or("", |(_, raw)| raw)
    }

    /// Returns true if a request must be completed after its client has disconnected.
    pub(in crate::service) fn survives_disconnect(&self) -> bool {
        matches!(self.handler, Handler::Write(_) | Handler::Create(_))
    }
}

const APPLICANT: &str = "{applicantId}";

/// The placeholders for ids in the paths of endpoints. A path has at most one of them.
const IDS: [&str; 2] = [APPLICANT, "{name}"];
