//! Why a search has no answer.

use std::error::Error as _;
use std::fmt;

use deadpool::managed::{PoolError, TimeoutType};
use tokio_postgres::error::SqlState;

/// What kind of fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PostgresErrorKind {
    /// The connection string, or another option, is wrong.
    Options,
    /// There is no connection: the server does not answer, lets nobody in, or went away.
    Unavailable,
    /// The statement took too long.
    Timeout,
    /// All connections were in use for too long, or too many searches waited for one.
    Exhausted,
    /// The table is not as the data definition has it, or may not be read.
    Table,
    /// The server refused a statement, or its answer is none.
    Refused,
    /// The filter or the order is of another catalogue than the table: a mistake of the host.
    Request,
}

impl PostgresErrorKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Options,
        Self::Unavailable,
        Self::Timeout,
        Self::Exhausted,
        Self::Table,
        Self::Refused,
        Self::Request,
    ];

    /// A stable name in lower case.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Options => "options",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::Exhausted => "exhausted",
            Self::Table => "table",
            Self::Refused => "refused",
            Self::Request => "request",
        }
    }

    /// Whether the same search may be answered a moment later.
    ///
    /// ```
    /// use casefilter::postgres::PostgresErrorKind;
    /// assert!(PostgresErrorKind::Timeout.is_transient());
    /// assert!(!PostgresErrorKind::Table.is_transient());
    /// ```
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Unavailable | Self::Timeout | Self::Exhausted)
    }
}

/// A fault of a [`PostgresSource`](super::PostgresSource): its kind, and a sentence for the operator.
///
/// The sentence has what the server says, and never the connection string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresError {
    kind: PostgresErrorKind,
    message: String,
}

impl PostgresError {
    pub(super) fn new(kind: PostgresErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// What kind of fault it is.
    #[must_use]
    pub fn kind(&self) -> PostgresErrorKind {
        self.kind
    }
}

impl fmt::Display for PostgresError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PostgresError {}

/// By the code of the server, or by there being none.
fn kind_of(error: &tokio_postgres::Error) -> PostgresErrorKind {
    let Some(state) = error.code() else {
        let is_of_answer = error.to_string().starts_with("error deserializing column");
        return if is_of_answer { PostgresErrorKind::Refused } else { PostgresErrorKind::Unavailable };
    };
    if *state == SqlState::QUERY_CANCELED {
        return PostgresErrorKind::Timeout;
    }
    // A plan that was prepared before the table was altered: the next connection makes it anew.
    if *state == SqlState::FEATURE_NOT_SUPPORTED {
        return PostgresErrorKind::Unavailable;
    }
    match state.code().get(..2) {
        // Connections, authorisation, rollbacks (also those of a standby), resources, locks, shutdown, the
        // system, and a database that is not there.
        Some("08" | "28" | "40" | "53" | "55" | "57" | "58" | "3D") => PostgresErrorKind::Unavailable,
        Some("42") => PostgresErrorKind::Table,
        _ => PostgresErrorKind::Refused,
    }
}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> Self {
        let kind = kind_of(&error);
        let message = match error.as_db_error() {
            Some(said) => format!("PostgreSQL says: {} [{}]", said.message(), said.code().code()),
            None => {
                let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
                format!("{error}{cause}")
            }
        };
        Self::new(kind, message)
    }
}

impl From<PoolError<PostgresError>> for PostgresError {
    fn from(error: PoolError<PostgresError>) -> Self {
        let (kind, message) = match error {
            PoolError::Backend(error) => return error,
            PoolError::Timeout(TimeoutType::Wait) => {
                (PostgresErrorKind::Exhausted, "all connections to PostgreSQL are in use".to_owned())
            }
            PoolError::Timeout(_) => {
                (PostgresErrorKind::Unavailable, "connecting to PostgreSQL took too long".to_owned())
            }
            other => (PostgresErrorKind::Unavailable, other.to_string()),
        };
        Self::new(kind, message)
    }
}
