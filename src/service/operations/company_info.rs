//! The endpoints that read and change the extracted data of a company. They are not part of the interface document.

use axum::routing::MethodFilter;

use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::Parameters;
use super::update_info;
use crate::domain::{self, DomainError, Room};
use crate::service::auth::permission::Permission;
use crate::service::http::errors::Failure;
use crate::service::state::{ServiceState, now};

const PATH: &str = "/resources/applicants/{applicantId}/companyInfo";

pub(super) const GET: Endpoint = Endpoint {
    name: "companyInfo",
    method: MethodFilter::GET,
    path: PATH,
    permission: Permission::ViewApplicants,
    parameters: Parameters::NONE,
    invalid_id: |raw| DomainError::no_applicant(raw).into(),
    handler: Handler::Read(company_info),
};

pub(super) const PATCH: Endpoint = Endpoint {
    name: "updateCompanyInfo",
    method: MethodFilter::PATCH,
    path: PATH,
    permission: Permission::ChangePersonalData,
    parameters: update_info::PARAMETERS,
    invalid_id: |raw| DomainError::invalid_applicant(raw, ": it does not decode to UTF-8").into(),
    handler: Handler::Write(update_company_info),
};

fn company_info(shared: &ServiceState, call: &Call, room: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    let sees_personal_data = call.token.may(Permission::ViewPersonalData);
    let clients = call.token.clients();
    Ok(domain::company_info_in(&shared.store, &call.path_id, clients, sees_personal_data, room)?.into_bytes())
}

fn update_company_info(shared: &ServiceState, call: &Call, room: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    let reader = (call.token.clients(), call.token.may(Permission::ViewPersonalData));
    let change = (&*call.body, now());
    Ok(domain::update_company_info_in(&shared.store, &call.path_id, reader, change, room)?.into_bytes())
}
