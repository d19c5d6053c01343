//! The endpoint of operation 5 (update of extracted info): changes the extracted data of an applicant.

use axum::routing::MethodFilter;

use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::{Parameters, Unsupported};
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
    invalid_id: |raw| DomainError::invalid_applicant(raw, ": it does not decode to UTF-8").into(),
    handler: Handler::Write(update_info),
};

/// The endpoint has no parameters. `unsetFields` is an error: in other services, it clears members. Here, `null` in the body clears
/// a member.
pub(super) const PARAMETERS: Parameters = Parameters {
    known: &[],
    unsupported: Some(Unsupported {
        name: "unsetFields",
        expected: "no query parameters: to clear a member, set it to `null` in the body, as in `{\"lastName\":null}`",
    }),
};

fn update_info(shared: &ServiceState, call: &Call, room: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    let (clients, change) = (call.token.clients(), (&*call.body, now()));
    Ok(domain::update_info_in(&shared.store, &call.path_id, clients, change, room)?.into_bytes())
}
