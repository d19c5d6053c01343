//! Why an operation has no answer.

use std::fmt;

use crate::error::{Errors, quote};
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
    description: String,
    source: Option<Box<StoreError>>,
}

impl DomainError {
    fn new(kind: DomainErrorKind, description: impl Into<String>) -> Self {
        Self { kind, description: description.into(), source: None }
    }

    /// Nobody has this id.
    pub(crate) fn no_applicant(id: &str) -> Self {
        Self::new(DomainErrorKind::NotFound, format!("no applicant with the id {}", quote(id)))
    }

    /// An applicant without an AML case, or nobody.
    pub(crate) fn no_aml_case() -> Self {
        Self::new(DomainErrorKind::NotFound, "HTTP 404 Not Found")
    }

    /// Nobody, or nobody of whom that can be asked, has this id.
    pub(crate) fn invalid_applicant(id: &str, why: &str) -> Self {
        Self::invalid(format!("Invalid applicant id {}{why}", quote(id)))
    }

    /// One description, whatever is wrong with the token.
    pub(super) fn unauthorized() -> Self {
        Self::new(DomainErrorKind::Unauthorized, "the share token is invalid")
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

    /// The `errorCode` of the envelope, for faults that have one.
    #[must_use]
    pub fn error_code(&self) -> Option<u32> {
        None
    }

    /// The `type` of the envelope, for faults that have one.
    #[must_use]
    pub fn error_type(&self) -> Option<&'static str> {
        None
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
        Self::invalid(errors.description())
    }
}
