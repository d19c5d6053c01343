//! The endpoint of operation 3 (preview by share token): returns the preview of a profile for a share token.

use axum::routing::MethodFilter;

use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::Parameters;
use crate::domain::{self, DomainError, Room};
use crate::service::auth::permission::Permission;
use crate::service::http::errors::Failure;
use crate::service::state::{ServiceState, now};

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "previewProfile",
    method: MethodFilter::GET,
    path: "/resources/applicants/-/import/preview",
    permission: Permission::CreateApplicants,
    parameters: Parameters { known: &["shareToken"], unsupported: None },
    invalid_id: |raw| DomainError::no_applicant(raw).into(),
    handler: Handler::Read(preview),
};

fn preview(shared: &ServiceState, call: &Call, room: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    let query = call.query.as_deref().unwrap_or_default();
    let mut tokens = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "shareToken");
    let token = tokens.next().map(|(_, token)| token).unwrap_or_default();
    // A request with two share tokens is rejected like a request without a share token.
    let token = if tokens.next().is_none() { &*token } else { "" };
    let note = |id: &str| {
        if let Some(note) = &call.note {
            note.applicant(id);
        }
    };
    let may_share = |maker: &str, client: &str| shared.may_share(maker, client);
    let caller = (call.token.clients(), &may_share as _);
    Ok(domain::preview_in(&shared.store, token, caller, now(), &note, room)?.into_bytes())
}
