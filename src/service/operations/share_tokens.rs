//! The endpoint that creates a share token for the profile of an applicant. It is not part of the interface document.

use axum::routing::MethodFilter;

use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::Parameters;
use crate::domain::{self, DomainError, Room};
use crate::service::auth::permission::Permission;
use crate::service::http::errors::Failure;
use crate::service::state::{ServiceState, now};

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "createShareToken",
    method: MethodFilter::POST,
    path: "/resources/applicants/{applicantId}/shareTokens",
    permission: Permission::ShareApplicants,
    parameters: Parameters::NONE,
    invalid_id: |raw| DomainError::no_applicant(raw).into(),
    handler: Handler::Create(create_share_token),
};

fn create_share_token(shared: &ServiceState, call: &Call, _: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    let note = |client: &str| {
        if let Some(note) = &call.note {
            note.for_client(client);
        }
    };
    let caller = (call.token.clients(), call.token.owner.of_token());
    let body = (&*call.body, now());
    Ok(domain::share_profile_in(&shared.store, &call.path_id, caller, body, &note)?.into_bytes())
}
