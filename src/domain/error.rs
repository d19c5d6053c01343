//! Why an operation has no answer.

use std::fmt;

use crate::error::{ErrorKind, Errors, quote};
use crate::store::StoreError;

/// What sort of fault a [`DomainError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DomainErrorKind {
    /// There is no such applicant, or nothing of what was asked for: 404.
    NotFound,
    /// A share token that is missing, unknown, expired or used: 401, which of them is not said.
    Unauthorized,
    /// A request that cannot be done: 400.
    Invalid,
    /// The store could not read or write: 500.
    Store,
}

impl DomainErrorKind {
    /// A stable name.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Unauthorized => "unauthorized",
            Self::Invalid => "invalid",
            Self::Store => "store",
        }
    }
}

/// Why an operation has no answer. It displays as the `description` of the error envelope.
///
/// A fault of the store displays without what the store says, which names files:
/// [`source`](std::error::Error::source) has that, for logs.
#[derive(Debug)]
pub struct DomainError {
    kind: DomainErrorKind,
    cause: Cause,
    description: String,
    source: Option<Box<StoreError>>,
}

/// What more is known than the kind of an error says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    NoApplicant,
    NoAmlCase,
    InvalidApplicant,
    ShareToken,
    /// The first error of a body.
    Body(ErrorKind),
    Other,
}

impl DomainError {
    fn new(kind: DomainErrorKind, description: impl Into<String>) -> Self {
        Self { kind, cause: Cause::Other, description: description.into(), source: None }
    }

    /// Nobody has this id.
    pub(crate) fn no_applicant(id: &str) -> Self {
        let description = format!("no applicant with the id {}", quote(id));
        Self { cause: Cause::NoApplicant, ..Self::new(DomainErrorKind::NotFound, description) }
    }

    /// An applicant without an AML case, or nobody.
    pub(crate) fn no_aml_case() -> Self {
        let description = "HTTP 404 Not Found";
        Self { cause: Cause::NoAmlCase, ..Self::new(DomainErrorKind::NotFound, description) }
    }

    /// Nobody, or nobody of whom that can be asked, has this id.
    pub(crate) fn invalid_applicant(id: &str, why: &str) -> Self {
        let description = format!("Invalid applicant id {}{why}", quote(id));
        Self { cause: Cause::InvalidApplicant, ..Self::invalid(description) }
    }

    /// One description, whatever is wrong with the token.
    pub(super) fn unauthorized() -> Self {
        let description = "the share token is invalid";
        Self { cause: Cause::ShareToken, ..Self::new(DomainErrorKind::Unauthorized, description) }
    }

    pub(super) fn invalid(description: impl Into<String>) -> Self {
        Self::new(DomainErrorKind::Invalid, description)
    }

    /// The system gave no random numbers.
    pub(super) fn no_random_numbers() -> Self {
        Self::new(DomainErrorKind::Store, "no random numbers could be had")
    }

    /// What sort of fault it is.
    #[must_use]
    pub fn kind(&self) -> DomainErrorKind {
        self.kind
    }

    /// Returns the kind of the first error of a body, for [`Invalid`](DomainErrorKind::Invalid) bodies.
    #[must_use]
    pub fn error_kind(&self) -> Option<ErrorKind> {
        match self.cause {
            Cause::Body(kind) => Some(kind),
            _ => None,
        }
    }

    /// Returns what more is known than the kind says.
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
        Self { cause, ..Self::invalid(errors.description()) }
    }
}
