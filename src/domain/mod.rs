//! Applicants, their verification steps, documents and AML cases: what four of the five operations answer from.

mod error;

pub use error::{DomainError, DomainErrorKind};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

use crate::store::Store;

/// The result of each step of an applicant's level, as JSON: required documents status.
///
/// # Errors
/// [`NotFound`](DomainErrorKind::NotFound) for an unknown applicant; faults of the store.
pub fn step_status(store: &Store, applicant_id: &str) -> Result<String, DomainError> {
    let _ = (store, applicant_id);
    todo!()
}

/// The profile that a share token leads to, as JSON. The token is not used up.
///
/// # Errors
/// [`Unauthorized`](DomainErrorKind::Unauthorized) when the token is empty, unknown, expired or used; faults of
/// the store.
pub fn preview(store: &Store, share_token: &str, now: DateTime<Utc>) -> Result<String, DomainError> {
    let _ = (store, share_token, now);
    todo!()
}

/// The latest active AML case of an applicant, as JSON; without `reviewerName`, `attributes` and
/// `clusteredLinks` for whoever may not see personal data.
///
/// # Errors
/// [`NotFound`](DomainErrorKind::NotFound) when there is none, or no such applicant; faults of the store.
pub fn aml_case(store: &Store, applicant_id: &str, sees_personal_data: bool) -> Result<String, DomainError> {
    let _ = (store, applicant_id, sees_personal_data);
    todo!()
}

/// Changes the extracted info of an applicant, durably, and gives all of it as JSON.
///
/// # Errors
/// [`Invalid`](DomainErrorKind::Invalid) for an unknown applicant or a company, which it names, and for a body
/// that is none; faults of the store.
pub fn update_info(
    store: &Store,
    applicant_id: &str,
    body: &[u8],
    today: NaiveDate,
) -> Result<String, DomainError> {
    let _ = (store, applicant_id, body, today);
    todo!()
}

/// Makes a share token for the profile of an applicant, good for one copy within `lifetime`.
///
/// # Errors
/// [`NotFound`](DomainErrorKind::NotFound) for an unknown applicant; faults of the store.
pub fn mint_share_token(
    store: &Store,
    applicant_id: &str,
    lifetime: TimeDelta,
    now: DateTime<Utc>,
) -> Result<String, DomainError> {
    let _ = (store, applicant_id, lifetime, now);
    todo!()
}

/// Uses a share token up, as the copy of a profile does, and gives the id of its applicant.
///
/// # Errors
/// As [`preview`].
pub fn use_share_token(store: &Store, share_token: &str, now: DateTime<Utc>) -> Result<String, DomainError> {
    let _ = (store, share_token, now);
    todo!()
}
