//! Operation 4: AML case.

use axum::routing::MethodFilter;

use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::Parameters;
use crate::domain::{self, DomainError};
use crate::service::auth::permission::Permission;
use crate::service::http::errors::Failure;
use crate::service::state::ServiceState;

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "amlCase",
    method: MethodFilter::GET,
    path: "/resources/api/applicants/{applicantId}/amlCase",
    permission: Permission::ViewAmlScreening,
    parameters: Parameters::NONE,
    invalid_applicant_id: |_| DomainError::no_aml_case().into(),
    handler: Handler::Read(aml_case),
};

fn aml_case(shared: &ServiceState, call: &Call) -> Result<Vec<u8>, Failure> {
    let sees_personal_data = call.token.may(Permission::ViewPersonalData);
    Ok(domain::aml_case(&shared.store, &call.applicant_id, sees_personal_data)?.into_bytes())
}
