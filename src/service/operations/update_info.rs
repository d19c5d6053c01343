//! Operation 5: update of extracted info.

use axum::routing::MethodFilter;

use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::{Parameters, Refused};
use crate::domain::{self, DomainError, Room};
use crate::service::auth::permission::Permission;
use crate::service::http::errors::Failure;
use crate::service::state::{ServiceState, now};

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "updateInfo",
    method: MethodFilter::PATCH,
    path: "/resources/applicants/{applicantId}/info",
    permission: Permission::ChangePersonalData,
    parameters: PARAMETERS,
    no_applicant: |written| DomainError::invalid_applicant(written, ": not UTF-8 when it is decoded").into(),
    handler: Handler::Write(update_info),
};

/// The parameter of other services by which a client clears members. Here `null` in the body does.
pub(super) const PARAMETERS: Parameters = Parameters {
    known: &[],
    refused: Some(Refused {
        name: "unsetFields",
        expected: "no query parameters: a member that is `null` in the body, as in `{\"lastName\":null}`, is cleared",
    }),
};

fn update_info(shared: &ServiceState, call: &Call, room: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    Ok(domain::update_info_in(&shared.store, &call.applicant_id, &call.body, now(), room)?.into_bytes())
}
