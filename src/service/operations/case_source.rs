//! The choice of the source of cases: the file or PostgreSQL. Endpoints that read cases match on it; see `search`.

#[cfg(feature = "postgres")]
use axum::http::StatusCode;

#[cfg(feature = "postgres")]
use crate::postgres::{PostgresError, PostgresErrorKind, PostgresSource};
#[cfg(feature = "postgres")]
use crate::service::http::errors::Failure;

/// The source of the cases that searches read. All other operations read the file of the service.
pub(in crate::service) enum CaseSource {
    /// The file of the service, whose columns are in memory.
    Store,
    /// A table of PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(PostgresSource),
}

impl CaseSource {
    /// Returns true if cases are searched in memory, so that a fast search may run on the connection's thread.
    pub(super) fn is_in_memory(&self) -> bool {
        matches!(self, Self::Store)
    }

    /// Returns the cause if searches cannot be answered now, or `None` if they can.
    pub(in crate::service) async fn check(&self) -> Option<String> {
        match self {
            Self::Store => None,
            #[cfg(feature = "postgres")]
            Self::Postgres(source) => match tokio::time::timeout(PING_TIMEOUT, source.ping()).await {
                Ok(answer) => answer.err().map(|error| error.to_string()),
                Err(_) => Some("PostgreSQL did not answer in time".to_owned()),
            },
        }
    }
}

/// The timeout of the check.
#[cfg(feature = "postgres")]
const PING_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(2);

#[cfg(feature = "postgres")]
impl From<PostgresError> for Failure {
    fn from(error: PostgresError) -> Self {
        let cause = format!("{}: {error}", error.kind().code());
        match error.kind() {
            // The client can do without words.
            PostgresErrorKind::Unsupported => Self::new(StatusCode::BAD_REQUEST, error.to_string()),
            kind if kind.is_transient() => Self::unavailable(cause),
            _ => Self::internal(cause),
        }
    }
}
