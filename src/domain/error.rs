//! The errors of the operations.

use std::fmt;

use crate::error::{ErrorKind, Errors, quote};
use crate::store::StoreError;

/// The kind of a [`DomainError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DomainErrorKind {
    /// An unknown applicant, or an applicant without the requested record: 404.
    NotFound,
    /// A share token that is missing, unknown, expired or used: 401. The error is the same for all these cases.
    Unauthorized,
    /// An invalid request: 400.
    Invalid,
    /// A failure to read or write the store: 500.
    Store,
    /// Not enough memory for the answer at the moment: 503.
    Busy,
}

impl DomainErrorKind {
    /// Returns a stable name.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Unauthorized => "unauthorized",
            Self::Invalid => "invalid",
            Self::Store => "store",
            Self::Busy => "busy",
        }
    }
}

/// An error of an operation. It displays as the `description` of the error envelope.
///
/// An error of the store displays without the store's own message, which names files. For logs that message is in
/// [`source`](std::error::Error::source).
#[derive(Clone, Debug)]
pub struct DomainError {
    kind: DomainErrorKind,
    cause: Cause,
    description: String,
    source: Option<Box<StoreError>>,
}

/// The cause of an error, which is more specific than its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    NoApplicant,
    NoAmlCase,
    InvalidApplicant,
    ShareToken,
    /// An invalid body, with the kind of its first error.
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

    /// Returns the error for an unknown applicant, or for an applicant without an AML case.
    pub(crate) fn no_aml_case() -> Self {
        let description = "HTTP 404 Not Found";
        Self { cause: Cause::NoAmlCase, ..Self::new(DomainErrorKind::NotFound, description) }
    }

    /// Returns the error for an applicant that is unknown or does not fit the operation. `why` follows the id in the description.
    pub(crate) fn invalid_applicant(id: &str, why: &str) -> Self {
        let description = format!("Invalid applicant id {}{why}", quote(id));
        Self { cause: Cause::InvalidApplicant, ..Self::invalid(description) }
    }

    /// Returns the error for a bad share token, with the same description for every cause.
    pub(super) fn unauthorized() -> Self {
        let description = "the share token is invalid";
        Self { cause: Cause::ShareToken, ..Self::new(DomainErrorKind::Unauthorized, description) }
    }

    pub(super) fn invalid(description: impl Into<String>) -> Self {
        Self::new(DomainErrorKind::Invalid, description)
    }

    /// Returns the error for an answer that exceeds the available memory.
    pub(super) fn no_room() -> Self {
        Self::new(DomainErrorKind::Busy, "too many requests at once, try again in a moment")
    }

    /// Returns the error for a failure of the system's source of random numbers.
    pub(super) fn no_random_numbers() -> Self {
        Self::new(DomainErrorKind::Store, "the system gave no random numbers")
    }

    /// Returns the kind of this error.
    #[must_use]
    pub fn kind(&self) -> DomainErrorKind {
        self.kind
    }

    /// Returns the kind of the first error of an invalid body; `None` for any other error.
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
