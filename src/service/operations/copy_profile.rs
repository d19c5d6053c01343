//! The endpoint that copies the profile of a share token. It is not part of the interface document.

use axum::routing::MethodFilter;

use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::Parameters;
use crate::domain::{self, CopyIds, CopyRequest, DomainError, Room};
use crate::service::auth::permission::Permission;
use crate::service::http::errors::Failure;
use crate::service::state::{ServiceState, now};

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "copyProfile",
    method: MethodFilter::POST,
    path: "/resources/applicants/-/import",
    permission: Permission::CreateApplicants,
    parameters: Parameters { known: &["shareToken"], unsupported: None },
    invalid_id: |raw| DomainError::no_applicant(raw).into(),
    handler: Handler::Create(copy_profile),
};

fn copy_profile(shared: &ServiceState, call: &Call, room: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    let query = call.query.as_deref().unwrap_or_default();
    let tokens = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "shareToken");
    let request = CopyRequest {
        // Two tokens are rejected, so tokens after the second one need not be kept.
        query_tokens: tokens.map(|(_, token)| token.into_owned()).take(2).collect(),
        body: &call.body,
        clients: call.token.clients(),
        may_share: &|maker, client| shared.may_share(maker, client),
        now: now(),
    };
    let note = |ids: &CopyIds<'_>| {
        if let Some(note) = &call.note {
            note.copied(ids);
        }
    };
    Ok(domain::copy_profile_in(&shared.store, request, &note, room)?.into_bytes())
}
