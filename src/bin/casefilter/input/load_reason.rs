//! The reasons why a command loads files, instead of answering while it reads them.

use crate::output::escape::escape;

/// The reason why a request needs an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoadReason {
    /// The cases are in a database, or the arguments name no file.
    Database,
    /// A stream cannot be copied for a second pass.
    Stream,
    /// A Parquet file is possibly malformed, or has a malformed case. An import of the file reports the errors. Contains the name
    /// of the file.
    MalformedParquet(String),
    /// An engine rejects the request, or a file cannot be opened. Loading the files or searching them then returns the error.
    Failed,
}

impl LoadReason {
    /// Returns a clause that explains the reason, or `None` if the reason is obvious.
    pub(crate) fn clause(&self) -> Option<String> {
        match self {
            Self::Database | Self::Failed => None,
            Self::Stream => Some("a stream could not be copied to a temporary file".to_owned()),
            Self::MalformedParquet(name) => {
                Some(format!("{} may have a column or a value that an import rejects", escape(name)))
            }
        }
    }
}
