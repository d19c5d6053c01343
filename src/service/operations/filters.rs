//! Operation 1: the fields that filters may name.

use axum::routing::MethodFilter;

use super::endpoint::{Call, Endpoint, Handler};
use super::parameters::Parameters;
use crate::domain::DomainError;
use crate::service::auth::permission::Permission;

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "caseFilters",
    method: MethodFilter::GET,
    path: "/resources/api/caseManagement/v2/cases/filters",
    permission: Permission::ViewCases,
    parameters: Parameters::NONE,
    no_applicant: |written| DomainError::no_applicant(written).into(),
    handler: Handler::Now(filters),
};

/// The fields that the token's filters may name.
fn filters(call: &Call) -> Vec<u8> {
    let names: Vec<&str> = call.token.cache.catalog().names().collect();
    // Every list of strings has a JSON form.
    serde_json::to_vec(&names).unwrap_or_default()
}
