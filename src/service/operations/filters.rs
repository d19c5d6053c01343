//! The endpoint that lists the fields that criteria may use (for operation 1, cases by filters). Its path ends in `filters`, but it
//! does not list saved filters.

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
    invalid_id: |raw| DomainError::no_applicant(raw).into(),
    handler: Handler::Now(filters),
};

/// Returns the names of the fields that the token may see.
fn filters(call: &Call) -> Vec<u8> {
    let names: Vec<&str> = call.token.cache.catalog().names().collect();
    // Serialising a list of strings cannot fail.
    serde_json::to_vec(&names).unwrap_or_default()
}
