//! The endpoint of operation 2 (required documents status): returns the required documents status of an applicant.

use axum::routing::MethodFilter;

use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::Parameters;
use crate::domain::{self, DomainError, Room};
use crate::service::auth::permission::Permission;
use crate::service::http::errors::Failure;
use crate::service::state::ServiceState;

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "requiredIdDocsStatus",
    method: MethodFilter::GET,
    path: "/resources/applicants/{applicantId}/requiredIdDocsStatus",
    permission: Permission::ViewApplicants,
    parameters: Parameters::NONE,
    invalid_id: |raw| DomainError::no_applicant(raw).into(),
    handler: Handler::Read(step_status),
};

fn step_status(shared: &ServiceState, call: &Call, room: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    Ok(domain::step_status_in(&shared.store, &call.path_id, call.token.clients(), room)?.into_bytes())
}
