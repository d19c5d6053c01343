//! The errors of operations 2 to 5 (see the [module docs](super)), and of the operations on share tokens, companies, comparisons,
//! copies and reviews of hits.

use std::fmt;

use crate::error::{ErrorKind, Errors, quote};
use crate::store::StoreError;

/// The kind of a [`DomainError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DomainErrorKind {
    /// The applicant is unknown, or does not have the requested record: status 404.
    NotFound,
    /// The share token is missing, unknown, expired or used: status 401. The error is the same in all these cases.
    Unauthorized,
    /// The request is invalid: status 400.
    Invalid,
    /// The store could not be read or written, or the system returned no random numbers: status 500.
    Store,
    /// There is not enough memory for the answer at the moment: status 503.
    Busy,
    /// A limit on the number of records is reached: status 429.
    TooMany,
    /// The review of the hit has another version than the request expects: status 409.
    Conflict,
}

impl DomainErrorKind {
    /// Returns the stable name of this kind, in snake case.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Unauthorized => "unauthorized",
            Self::Invalid => "invalid",
            Self::Store => "store",
            Self::Busy => "busy",
            Self::TooMany => "too_many",
            Self::Conflict => "conflict",
        }
    }
}

/// An error of an operation. Its `Display` form is the `description` of the error envelope.
///
/// The message of a [`StoreError`] is not displayed, because it contains file names. For logs, it is available through
/// [`source`](std::error::Error::source).
#[derive(Clone, Debug)]
pub struct DomainError {
    kind: DomainErrorKind,
    cause: Cause,
    description: String,
    source: Option<Box<StoreError>>,
}

/// The cause of an error. It is more specific than the kind of the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    NoApplicant,
    NoAmlCase,
    InvalidApplicant,
    NoHit,
    OtherVersion,
    ShareToken,
    /// An invalid body. Contains the kind of the first error in the body.
    Body(ErrorKind),
    Other,
}

impl DomainError {
    fn new(kind: DomainErrorKind, description: impl Into<String>) -> Self {
        Self { kind, cause: Cause::Other, description: description.into(), source: None }
    }

    /// Returns the error for an unknown applicant.
    pub(crate) fn no_applicant(id: &str) -> Self {
        let description = format!("no applicant with the id {}", quote(id));
        Self { cause: Cause::NoApplicant, ..Self::new(DomainErrorKind::NotFound, description) }
    }

    /// Returns the error for an applicant that is not a company.
    pub(super) fn no_company(id: &str) -> Self {
        let description = format!("the applicant with the id {} is not a company", quote(id));
        Self { cause: Cause::NoApplicant, ..Self::new(DomainErrorKind::NotFound, description) }
    }

    /// Returns the error for an applicant that is unknown or has no active AML case.
    pub(crate) fn no_aml_case() -> Self {
        let description = "HTTP 404 Not Found";
        Self { cause: Cause::NoAmlCase, ..Self::new(DomainErrorKind::NotFound, description) }
    }

    /// Returns the error for a hit that the AML case does not have.
    pub(super) fn no_hit(id: &str) -> Self {
        let description = format!("the AML case has no hit with the id {}", quote(id));
        Self { cause: Cause::NoHit, ..Self::new(DomainErrorKind::NotFound, description) }
    }

    /// Returns the error for a review whose version is not the expected one.
    pub(super) fn other_version(id: &str, expected: u64, found: u64) -> Self {
        let description = format!(
            "the review of the hit {} has the version {found}, expected {expected}; read the AML case again, then review the hit",
            quote(id)
        );
        Self { cause: Cause::OtherVersion, ..Self::new(DomainErrorKind::Conflict, description) }
    }

    /// Returns the error for an applicant that is unknown or that the operation does not accept. `why` follows the id in the
    /// description.
    pub(crate) fn invalid_applicant(id: &str, why: &str) -> Self {
        let description = format!("Invalid applicant id {}{why}", quote(id));
        Self { cause: Cause::InvalidApplicant, ..Self::invalid(description) }
    }

    /// Returns the error for an invalid share token. The description is the same for every cause.
    pub(super) fn unauthorized() -> Self {
        let description = "the share token is invalid";
        Self { cause: Cause::ShareToken, ..Self::new(DomainErrorKind::Unauthorized, description) }
    }

    /// Returns the error for an app token that already has `most` share tokens. Share tokens count if they have not expired, or if
    /// they were used and were created in the last 24 hours.
    pub(super) fn too_many_share_tokens(most: usize) -> Self {
        let description = format!(
            "the app token has {most} share tokens that have not expired, or that are used and were created in the last 24 hours, which is the maximum; try again later"
        );
        Self::new(DomainErrorKind::TooMany, description)
    }

    /// Returns the error for a change that would make a record larger than an import accepts.
    pub(super) fn record_too_large(bytes: usize, most: usize) -> Self {
        Self::invalid(format!(
            "the record would have {bytes} bytes, and may have at most {most}; nothing was changed, send shorter texts"
        ))
    }

    pub(super) fn invalid(description: impl Into<String>) -> Self {
        Self::new(DomainErrorKind::Invalid, description)
    }

    /// Returns the error for an answer that needs more memory than is available.
    pub(super) fn no_room() -> Self {
        Self::new(DomainErrorKind::Busy, "too many requests at once, try again in a moment")
    }

    /// Returns the error for a failure of the system's source of random numbers.
    pub(super) fn no_random_numbers() -> Self {
        Self::new(DomainErrorKind::Store, "the system returned no random numbers")
    }

    /// Returns the kind of this error.
    #[must_use]
    pub fn kind(&self) -> DomainErrorKind {
        self.kind
    }

    /// Returns the kind of the first error in an invalid body. Returns `None` for any other error.
    #[must_use]
    pub fn error_kind(&self) -> Option<ErrorKind> {
        match self.cause {
            Cause::Body(kind) => Some(kind),
            _ => None,
        }
    }

    /// Returns the cause of this error.
    pub(crate) fn cause(&self) -> Cause {
        self.cause
    }
}

impl fmt::Display for DomainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}

impl std::error::Error for DomainError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<StoreError> for DomainError {
    fn from(error: StoreError) -> Self {
        let source = Some(Box::new(error));
        Self { source, ..Self::new(DomainErrorKind::Store, "the database could not be read or written") }
    }
}

impl From<Errors> for DomainError {
    fn from(errors: Errors) -> Self {
        let cause = errors.as_slice().first().map_or(Cause::Other, |error| Cause::Body(error.kind));
        Self { cause, ..Self::invalid(errors.message()) }
    }
}
