//! The endpoint that reviews a hit of an AML case. It is not part of the interface document.

use axum::routing::MethodFilter;

use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::Parameters;
use crate::domain::{self, DomainError, ReviewRequest, Room};
use crate::service::auth::permission::Permission;
use crate::service::http::errors::Failure;
use crate::service::state::{ServiceState, now};

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "reviewAmlHit",
    method: MethodFilter::PATCH,
    path: "/resources/api/applicants/{applicantId}/amlCase/hitReview",
    permission: Permission::ReviewAmlHits,
    parameters: Parameters::NONE,
    invalid_id: |_| DomainError::no_aml_case().into(),
    handler: Handler::Write(review_hit),
};

fn review_hit(shared: &ServiceState, call: &Call, room: &mut Room<'_>) -> Result<Vec<u8>, Failure> {
    let request = ReviewRequest {
        applicant_id: &call.path_id,
        clients: call.token.clients(),
        body: &call.body,
        token_name: &call.token.name,
        sees_personal_data: call.token.may(Permission::ViewPersonalData),
        now: now(),
    };
    let note = |aml_case: &str, hit: &str| {
        if let Some(note) = &call.note {
            note.hit(aml_case, hit);
        }
    };
    Ok(domain::review_hit_in(&shared.store, &request, &note, room)?.into_bytes())
}
