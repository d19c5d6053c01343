//! The errors of searches in PostgreSQL.

use std::error::Error as _;
use std::fmt;
use std::sync::Arc;

use deadpool::managed::{PoolError, TimeoutType};
use tokio_postgres::error::SqlState;

use crate::error::{Error, ErrorKind};

/// The kind of a [`PostgresError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PostgresErrorKind {
    /// The connection string or another option is invalid.
    Options,
    /// The server does not respond, rejects the connection, or has closed it.
    Unavailable,
    /// The statement took too long.
    Timeout,
    /// All connections were in use for too long, or too many searches were waiting for a connection.
    Exhausted,
    /// The table differs from the data definition, or the database role may not read the table.
    Table,
    /// The server rejected a statement, or sent an invalid response.
    Rejected,
    /// The request does not fit the table. For example, its filter or order was built with a different catalogue: a bug in the host
    /// program. Other examples are a cursor of another order, and facets over a limit. A histogram with too many buckets and a
    /// cursor that is too long also cause an error of this kind.
    Request,
    /// The filter needs a folded column or element columns that the table does not have.
    Unsupported,
    /// The search was stopped by its [token](crate::CancelToken) or its [deadline](crate::Deadline).
    Stopped,
}

impl PostgresErrorKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Options,
        Self::Unavailable,
        Self::Timeout,
        Self::Exhausted,
        Self::Table,
        Self::Rejected,
        Self::Request,
        Self::Unsupported,
        Self::Stopped,
    ];

    /// Returns a stable name in lower case.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Options => "options",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::Exhausted => "exhausted",
            Self::Table => "table",
            Self::Rejected => "refused",
            Self::Request => "request",
            Self::Unsupported => "unsupported",
            Self::Stopped => "stopped",
        }
    }

    /// Returns true if the same search may succeed when it is repeated a moment later.
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

/// An error of a [`PostgresSource`](super::PostgresSource). It has a kind, and a message for the administrator of the program.
///
/// The message includes the error message of the server, if there is one. It never includes the connection string.
/// [`source`](std::error::Error::source) returns the error of the database driver or of the request, if there is one.
#[derive(Clone, Debug)]
pub struct PostgresError {
    kind: PostgresErrorKind,
    message: String,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl PostgresError {
    pub(super) fn new(kind: PostgresErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// Converts an error of the server or of the connection.
    ///
    /// This is a function and not a `From` implementation, because the driver is not part of the public API.
    pub(super) fn of_driver(error: tokio_postgres::Error) -> Self {
        let kind = kind_of(&error);
        let message = match error.as_db_error() {
            Some(error) => format!("PostgreSQL says: {} [{}]", error.message(), error.code().code()),
            None => {
                let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
                format!("{error}{cause}")
            }
        };
        Self { source: Some(Arc::new(error)), ..Self::new(kind, message) }
    }

    /// Converts an error of the connection pool.
    pub(super) fn of_pool(error: PoolError<Self>) -> Self {
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

    /// Converts an error of a request. For example, the request was built with a different catalogue, or the table lacks a column
    /// that the request needs.
    pub(super) fn of_request(error: Error) -> Self {
        let kind = match error.kind {
            ErrorKind::NoFoldedColumn | ErrorKind::NotInSql => PostgresErrorKind::Unsupported,
            _ => PostgresErrorKind::Request,
        };
        let message = error.to_string();
        Self { source: Some(Arc::new(error)), ..Self::new(kind, message) }
    }

    /// Returns the error of a valid request that fails because of the documents that it selects: a histogram of too many buckets.
    #[cfg(feature = "service")]
    pub(crate) fn of_documents(&self) -> Option<&Error> {
        let error = self.source.as_ref()?.downcast_ref::<Error>()?;
        (error.kind == ErrorKind::TooManyBuckets).then_some(error)
    }

    /// Returns the kind of the error.
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

impl std::error::Error for PostgresError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

/// Classifies an error by its SQLSTATE code. An error without a code is a connection error, unless a column could not be
/// deserialised.
fn kind_of(error: &tokio_postgres::Error) -> PostgresErrorKind {
    let Some(state) = error.code() else {
        let is_bad_value = error.to_string().starts_with("error deserializing column");
        return if is_bad_value { PostgresErrorKind::Rejected } else { PostgresErrorKind::Unavailable };
    };
    if *state == SqlState::QUERY_CANCELED {
        return PostgresErrorKind::Timeout;
    }
    // The table was altered after the statement was prepared. This connection is closed, so the next search prepares the statement
    // again.
    if *state == SqlState::FEATURE_NOT_SUPPORTED {
        return PostgresErrorKind::Unavailable;
    }
    match state.code().get(..2) {
        // In this order: connection errors, authorisation, rollbacks (also on a standby), insufficient resources, locks, operator
        // intervention such as a shutdown, system errors, and an unknown database.
        Some("08" | "28" | "40" | "53" | "55" | "57" | "58" | "3D") => PostgresErrorKind::Unavailable,
        Some("42") => PostgresErrorKind::Table,
        _ => PostgresErrorKind::Rejected,
    }
}
