//! The end of a service: first it is not ready, then it takes no more connections, and what is left gives up.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::state::ServiceState;

impl ServiceState {
    pub(super) fn begin_draining(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    /// Whether whatever is still at work is to give up.
    #[cfg(unix)]
    pub(super) fn is_cut_off(&self) -> bool {
        self.is_cut_off.load(Ordering::Relaxed)
    }

    /// Asks whatever is still at work to give up.
    pub(super) fn cut_off(&self) {
        self.is_cut_off.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Waits until all connections are closed, for so long at most.
    pub(super) async fn last_call(&self, patience: Duration) {
        const STEP: Duration = Duration::from_millis(2);
        let closed = async {
            while self.metrics.connections.load(Ordering::Relaxed) > 0 {
                tokio::time::sleep(STEP).await;
            }
        };
        let _ = tokio::time::timeout(patience, closed).await;
    }
}
