//! The description of an endpoint: path, permission, query parameters and handler.

use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::routing::MethodFilter;

use super::parameters::Parameters;
use crate::domain::Room;
use crate::service::auth::permission::Permission;
use crate::service::auth::tokens::AppToken;
use crate::service::http::client_watch::ClientWatch;
use crate::service::http::errors::Failure;
use crate::service::http::write_timeout::ResponseDeadline;
use crate::service::state::ServiceState;

/// An endpoint of the HTTP interface.
pub(in crate::service) struct Endpoint {
    /// The name in logs and metrics, and the `operationId` in the OpenAPI document.
    pub(in crate::service) name: &'static str,
    pub(in crate::service) method: MethodFilter,
    pub(in crate::service) path: &'static str,
    /// The permission that the token needs.
    pub(in crate::service) permission: Permission,
    pub(in crate::service) parameters: Parameters,
    /// Creates the error for an applicant id in the path that does not decode to UTF-8. Takes the raw path segment.
    pub(in crate::service) invalid_applicant_id: fn(&str) -> Failure,
    pub(in crate::service) handler: Handler,
}

/// The handler of an endpoint. The variant states the resources that it needs.
#[derive(Clone, Copy)]
pub(in crate::service) enum Handler {
    /// A handler that answers at once, without the file.
    Now(fn(&Call) -> Vec<u8>),
    /// A handler that reads the file, on a blocking thread.
    Read(BlockingHandler),
    /// A handler that changes the file, on a blocking thread, one at a time.
    Write(BlockingHandler),
    /// A handler that chooses its thread, and reports errors of parameters together with errors of the body.
    Search(fn(Arc<ServiceState>, Call) -> BodyFuture),
}

/// A function that reads or changes the file, and reserves memory for its response.
pub(in crate::service) type BlockingHandler =
    fn(&ServiceState, &Call, &mut Room<'_>) -> Result<Vec<u8>, Failure>;

/// The future of a response body.
pub(in crate::service) type BodyFuture = Pin<Box<dyn Future<Output = Result<Body, Failure>> + Send>>;

/// An authenticated and authorized request.
pub(in crate::service) struct Call {
    pub(in crate::service) token: Arc<AppToken>,
    /// The applicant id in the path; empty if the path has none.
    pub(in crate::service) applicant_id: String,
    pub(in crate::service) query: Option<String>,
    pub(in crate::service) body: Bytes,
    /// The deadline of the response, which a response in chunks starts.
    pub(in crate::service) deadline: ResponseDeadline,
    /// The state of the client.
    pub(in crate::service) client: ClientWatch,
}

impl Endpoint {
    /// Returns true if the path has an applicant id.
    pub(in crate::service) fn names_applicant(&self) -> bool {
        self.path.contains(APPLICANT)
    }

    /// Returns the undecoded segment of a request path that has the applicant id.
    pub(in crate::service) fn raw_applicant<'p>(&self, path: &'p str) -> &'p str {
        let mut segments = self.path.split('/').zip(path.split('/'));
        segments.find(|(own, _)| *own == APPLICANT).map_or("", |(_, raw)| raw)
    }

    /// Returns true if a call continues after its client has disconnected.
    pub(in crate::service) fn survives_disconnect(&self) -> bool {
        matches!(self.handler, Handler::Write(_))
    }
}

const APPLICANT: &str = "{applicantId}";
