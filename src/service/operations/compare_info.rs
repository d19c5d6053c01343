//! The endpoint that compares the extracted data of an applicant with the data that the applicant has given. It is not part of the
//! interface document.

use axum::routing::MethodFilter;

use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::Parameters;
use crate::domain::{self, DomainError, Room};
use crate::service::auth::permission::Permission;
use crate::service::http::errors::Failure;
use crate::service::state::ServiceState;

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "compareInfo",
    method: MethodFilter::GET,
    path: "/resources/applicants/{applicantId}/infoComparison",
    permission: Permission::ViewApplicants,
    parameters: Parameters { known: &["fields"], unsupported: None },
    invalid_id: |raw| DomainError::no_applicant(raw).into(),
    handler: Handler::Read(compare_info),
};

fn compare_info(shared: &ServiceState, call: &Call, room: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    let query = call.query.as_deref().unwrap_or_default();
    let fields = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "fields");
    // A repeated parameter is an error, so values after the second one need not be kept.
    let fields: Vec<String> = fields.map(|(_, list)| list.into_owned()).take(2).collect();
    let reader = (call.token.clients(), call.token.may(Permission::ViewPersonalData));
    Ok(domain::compare_info_in(&shared.store, &call.path_id, reader, &fields, room)?.into_bytes())
}
