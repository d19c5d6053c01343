//! What all requests of operators share.

use std::path::PathBuf;
use std::sync::Arc;

use super::socket::Identity;
use crate::service::state::ServiceState;

/// What all requests of operators share.
pub(super) struct Admin {
    pub(super) shared: Arc<ServiceState>,
    pub(super) database: Identity,
    /// The file of the database.
    pub(super) path: PathBuf,
}

impl Admin {
    /// The file of the database, which is another one once it was compacted.
    pub(super) fn identity(&self) -> Identity {
        self.shared.store.identity().map_or(self.database, Identity::from)
    }
}
