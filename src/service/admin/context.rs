//! The state that all requests on the admin socket share.

use std::path::PathBuf;
use std::sync::Arc;

use super::socket::FileId;
use crate::service::state::ServiceState;

/// The state that all requests on the admin socket share.
pub(super) struct Admin {
    pub(super) shared: Arc<ServiceState>,
    /// The identity of the database file when the service started.
    pub(super) database: FileId,
    /// The path of the database file.
    pub(super) path: PathBuf,
}

impl Admin {
    /// Returns the identity of the current database file. It changes when a compaction replaces the file.
    pub(super) fn database_id(&self) -> FileId {
        self.shared.store.identity().map_or(self.database, FileId::from)
    }
}
