//! The source of the cases that searches read: the file of the service, or PostgreSQL. The endpoints match on the enum
//! `CaseSource`, and read the cases themselves.

#[cfg(feature = "postgres")]
use axum::http::StatusCode;

#[cfg(feature = "postgres")]
use crate::error::Errors;
#[cfg(feature = "postgres")]
use crate::postgres::{PostgresError, PostgresErrorKind, PostgresSource};
#[cfg(feature = "postgres")]
use crate::service::http::errors::Failure;

/// The source of the cases that searches read. All other operations read the file of the service. Code that reads cases has a
/// `match` on this enum.
pub(in crate::service) enum CaseSource {
    /// The file of the service. Its columns are in memory.
    Store,
    /// A table in PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(PostgresSource),
}

impl CaseSource {
    /// Returns true if searches run in memory. Then a fast search may run on the connection's thread.
    pub(super) fn is_in_memory(&self) -> bool {
        matches!(self, Self::Store)
    }

    /// Returns the reason why searches cannot be answered at the moment. Returns `None` if they can be answered.
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

/// The timeout of the check for PostgreSQL.
#[cfg(feature = "postgres")]
const PING_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(2);

#[cfg(feature = "postgres")]
impl From<PostgresError> for Failure {
    fn from(error: PostgresError) -> Self {
        if error.kind() == PostgresErrorKind::Stopped {
            return Self::stopped();
        }
        if let Some(error) = error.of_documents() {
            return Self::from(Errors::from(error.clone()));
        }
        let cause = format!("{}: {error}", error.kind().code());
        match error.kind() {
            // The filter needs columns that the table does not have. The client can send a filter without `$match` or `$elem`.
            PostgresErrorKind::Unsupported => Self::new(StatusCode::BAD_REQUEST, error.to_string()),
            kind if kind.is_transient() => Self::unavailable(cause),
            _ => Self::internal(cause),
        }
    }
}
