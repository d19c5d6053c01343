//! Where searches look for cases.

use super::envelope::Failure;
use crate::engine::WrittenAnswer;
use crate::filter::Request;
use crate::store::Store;

#[cfg(feature = "postgres")]
use crate::postgres::{PostgresError, PostgresSource};

/// Where searches look for cases. Whatever else is asked for is in the file.
pub(super) enum Source {
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

    /// Searches. Where that is not [quick](Self::may_be_quick), it waits on this thread, which is none that serves connections.
    pub(super) fn search(&self, store: &Store, request: &Request) -> Result<WrittenAnswer, Failure> {
        match self {
            Self::Store => Ok(store.search(request)?),
            #[cfg(feature = "postgres")]
            Self::Postgres(source) => Ok(tokio::runtime::Handle::current().block_on(source.search(request))?),
        }
    }

    /// Why searches cannot be answered now, if they cannot.
    pub(super) async fn fault(&self) -> Option<String> {
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
