//! The state that all requests of operators share.

use std::path::PathBuf;
use std::sync::Arc;

use super::socket::FileId;
use crate::service::state::ServiceState;

/// The state that all requests of operators share.
pub(super) struct Admin {
    pub(super) shared: Arc<ServiceState>,
    /// The database file when the service started.
    pub(super) database: FileId,
    /// The path of the database file.
    pub(super) path: PathBuf,
}

impl Admin {
    /// Returns the id of the current database file. A compaction replaces the file.
    pub(super) fn database_id(&self) -> FileId {
        self.shared.store.identity().map_or(self.database, FileId::from)
    }
}
