//! Where searches look for cases.

#[cfg(feature = "postgres")]
use crate::postgres::{PostgresError, PostgresSource};
#[cfg(feature = "postgres")]
use crate::service::http::errors::Failure;

/// Where searches look for cases. Whatever else is asked for is in the file.
pub(in crate::service) enum Source {
    /// The file of the service, its columns in memory.
    Store,
    /// A table of PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(PostgresSource),
}

impl Source {
    /// Whether a search may be so quick that it need not leave the thread of its connection.
    pub(super) fn may_be_quick(&self) -> bool {
        matches!(self, Self::Store)
    }

    /// Why searches cannot be answered now, if they cannot.
    pub(in crate::service) async fn fault(&self) -> Option<String> {
        match self {
            Self::Store => None,
            #[cfg(feature = "postgres")]
            Self::Postgres(source) => match tokio::time::timeout(PATIENCE, source.ping()).await {
                Ok(answer) => answer.err().map(|error| error.to_string()),
                Err(_) => Some("PostgreSQL did not answer in time".to_owned()),
            },
        }
    }
}

/// How long the source has to say that it is there.
#[cfg(feature = "postgres")]
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);

#[cfg(feature = "postgres")]
impl From<PostgresError> for Failure {
    fn from(error: PostgresError) -> Self {
        let cause = format!("{}: {error}", error.kind().code());
        if error.kind().is_transient() { Self::unavailable(cause) } else { Self::internal(cause) }
    }
}
