//! Where searches look for cases.

use super::envelope::Failure;
use crate::request::Request;
use crate::store::{Store, StoredAnswer};

#[cfg(feature = "postgres")]
use crate::postgres::{PostgresAnswer, PostgresError, PostgresSource};

/// Where searches look for cases. Whatever else is asked for is in the file.
pub(super) enum Source {
    /// The file of the service, its columns in memory.
    Store,
    /// A table of PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(PostgresSource),
}

/// The page that a search found.
pub(super) enum Found {
    Store(StoredAnswer),
    #[cfg(feature = "postgres")]
    Postgres(PostgresAnswer),
}

impl Source {
    /// Whether a search may be so quick that it need not leave the thread of its connection.
    pub(super) fn may_be_quick(&self) -> bool {
        matches!(self, Self::Store)
    }

    /// Searches. Where that is not [quick](Self::may_be_quick), it waits on this thread, which is none that serves connections.
    pub(super) fn search(&self, store: &Store, request: &Request) -> Result<Found, Failure> {
        match self {
            Self::Store => Ok(Found::Store(store.search(request)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres(source) => {
                let answer = tokio::runtime::Handle::current().block_on(source.search(request));
                Ok(Found::Postgres(answer?))
            }
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

impl Found {
    /// How many rows lie in the batches that had to be asked; none of another server.
    pub(super) fn examined(&self) -> u64 {
        match self {
            Self::Store(answer) => answer.examined(),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => 0,
        }
    }

    /// The documents of the page, in order.
    pub(super) fn documents(&self) -> Box<dyn ExactSizeIterator<Item = &str> + '_> {
        match self {
            Self::Store(answer) => Box::new(answer.documents()),
            #[cfg(feature = "postgres")]
            Self::Postgres(answer) => Box::new(answer.documents()),
        }
    }

    /// The same page with other documents.
    pub(super) fn with_documents(self, documents: Vec<String>) -> Self {
        match self {
            Self::Store(answer) => Self::Store(answer.with_documents(documents)),
            #[cfg(feature = "postgres")]
            Self::Postgres(answer) => Self::Postgres(answer.with_documents(documents)),
        }
    }

    /// Writes the answer as the interface has it.
    pub(super) fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Self::Store(answer) => answer.write_json(out),
            #[cfg(feature = "postgres")]
            Self::Postgres(answer) => answer.write_json(out),
        }
    }
}

#[cfg(feature = "postgres")]
impl From<PostgresError> for Failure {
    fn from(error: PostgresError) -> Self {
        let cause = format!("{}: {error}", error.kind().code());
        if error.kind().is_transient() { Self::unavailable(cause) } else { Self::internal(cause) }
    }
}
