//! The phases of a shutdown. First `/readyz` returns 503, and the service still accepts connections. Then it accepts no new
//! connections. Finally, it abandons the work that has not ended in time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::state::ServiceState;

impl ServiceState {
    pub(super) fn begin_draining(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        // Requests that wait for events end.
        self.events.wake();
    }

    /// Returns true if unfinished work must be abandoned: after the shutdown was aborted, or at the end of the grace period.
    #[cfg(unix)]
    pub(super) fn is_cut_off(&self) -> bool {
        self.is_cut_off.load(Ordering::Relaxed)
    }

    /// Makes the unfinished work stop.
    pub(super) fn cut_off(&self) {
        self.is_cut_off.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Waits until all connections have closed, but at most for `timeout`.
    pub(super) async fn wait_for_connections(&self, timeout: Duration) {
        const STEP: Duration = Duration::from_millis(2);
        let closed = async {
            while self.metrics.connections.load(Ordering::Relaxed) > 0 {
                tokio::time::sleep(STEP).await;
            }
        };
        let _ = tokio::time::timeout(timeout, closed).await;
    }
}
