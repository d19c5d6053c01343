//! What an endpoint is: where it is reached, what it takes to call it, and what answers.

use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::routing::MethodFilter;

use super::parameters::Parameters;
use crate::domain::Room;
use crate::service::auth::permission::Permission;
use crate::service::auth::tokens::AppToken;
use crate::service::http::errors::Failure;
use crate::service::http::transport::Due;
use crate::service::state::ServiceState;

/// One operation of the interface over HTTP.
pub(in crate::service) struct Endpoint {
    /// What logs and metrics call it; in the OpenAPI document it is the `operationId`.
    pub(in crate::service) name: &'static str,
    pub(in crate::service) method: MethodFilter,
    pub(in crate::service) path: &'static str,
    /// What a token needs for it.
    pub(in crate::service) permission: Permission,
    pub(in crate::service) parameters: Parameters,
    /// The failure for an applicant in the path who cannot be one, as it is written there.
    pub(in crate::service) no_applicant: fn(&str) -> Failure,
    pub(in crate::service) handler: Handler,
}

/// What answers a call, by how it does so.
#[derive(Clone, Copy)]
pub(in crate::service) enum Handler {
    /// Answers at once, without the file.
    Now(fn(&Call) -> Vec<u8>),
    /// Reads the file, on a thread that may wait.
    Read(Work),
    /// Changes the file, when its turn comes.
    Write(Work),
    /// Chooses its thread itself, and tells what is wrong with its parameters beside the errors of its body.
    Search(fn(Arc<ServiceState>, Call) -> Answering),
}

/// Reads or changes the file, within the room of the answer.
pub(in crate::service) type Work = fn(&ServiceState, &Call, &mut Room<'_>) -> Result<Vec<u8>, Failure>;

/// An answer that is being made.
pub(in crate::service) type Answering = Pin<Box<dyn Future<Output = Result<Body, Failure>> + Send>>;

/// A request that was signed by a token which may make it.
pub(in crate::service) struct Call {
    pub(in crate::service) token: Arc<AppToken>,
    /// The applicant in the path; empty where the path has none.
    pub(in crate::service) applicant_id: String,
    pub(in crate::service) query: Option<String>,
    pub(in crate::service) body: Bytes,
    /// When the answer has to be written, if it is sent in pieces.
    pub(in crate::service) due: Due,
}

impl Endpoint {
    /// Whether its path names an applicant.
    pub(in crate::service) fn is_of_an_applicant(&self) -> bool {
        self.path.contains(APPLICANT)
    }

    /// What a path of it has for the applicant, as it is written there.
    pub(in crate::service) fn written_applicant<'p>(&self, path: &'p str) -> &'p str {
        let mut segments = self.path.split('/').zip(path.split('/'));
        segments.find(|(own, _)| *own == APPLICANT).map_or("", |(_, written)| written)
    }

    /// Whether a call goes on to its end when its client leaves.
    pub(in crate::service) fn goes_on(&self) -> bool {
        matches!(self.handler, Handler::Write(_))
    }
}

const APPLICANT: &str = "{applicantId}";
