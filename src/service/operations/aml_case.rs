//! The endpoint of operation 4 (AML case): returns the AML case of an applicant.

use axum::routing::MethodFilter;

use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::Parameters;
use crate::domain::{self, DomainError, Room};
use crate::service::auth::permission::Permission;
use crate::service::http::errors::Failure;
use crate::service::state::ServiceState;

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "amlCase",
    method: MethodFilter::GET,
    path: "/resources/api/applicants/{applicantId}/amlCase",
    permission: Permission::ViewAmlScreening,
    parameters: Parameters::NONE,
    invalid_id: |_| DomainError::no_aml_case().into(),
    handler: Handler::Read(aml_case),
};

fn aml_case(shared: &ServiceState, call: &Call, room: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    let sees_personal_data = call.token.may(Permission::ViewPersonalData);
    let clients = call.token.clients();
    let case = domain::aml_case_in(&shared.store, &call.path_id, sees_personal_data, clients, room)?;
    Ok(case.into_bytes())
}
