//! Operations 2 to 5: what the service knows of applicants.

use crate::domain;
use crate::service::auth::tokens::Permission;
use crate::service::http::errors::Failure;
use crate::service::state::{Call, Shared, now};

/// Operation 2.
pub(in crate::service) fn step_status(shared: &Shared, call: &Call) -> Result<Vec<u8>, Failure> {
    Ok(domain::step_status(&shared.store, &call.applicant_id)?.into_bytes())
}

/// Operation 3.
pub(in crate::service) fn preview(shared: &Shared, call: &Call) -> Result<Vec<u8>, Failure> {
    let query = call.query.as_deref().unwrap_or_default();
    let mut tokens = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "shareToken");
    let token = tokens.next().map(|(_, token)| token).unwrap_or_default();
    // Of two tokens none is the right one.
    let token = if tokens.next().is_none() { &*token } else { "" };
    Ok(domain::preview(&shared.store, token, now())?.into_bytes())
}

/// Operation 4.
pub(in crate::service) fn aml_case(shared: &Shared, call: &Call) -> Result<Vec<u8>, Failure> {
    let sees_personal_data = call.token.may(Permission::ViewPersonalData);
    Ok(domain::aml_case(&shared.store, &call.applicant_id, sees_personal_data)?.into_bytes())
}

/// Operation 5.
pub(in crate::service) fn update_info(shared: &Shared, call: &Call) -> Result<Vec<u8>, Failure> {
    Ok(domain::update_info(&shared.store, &call.applicant_id, &call.body, now())?.into_bytes())
}
