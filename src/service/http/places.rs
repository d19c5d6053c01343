//! The places of the public port: the limits on open connections, of the service and of each peer.
//!
//! A connection has one place, and may use it for one request at a time. On an HTTP/2 connection, each further simultaneous request
//! takes a place of its own, as if it were a connection. So there are at most as many simultaneous requests as places. Therefore,
//! the memory that is divided equally among the connections has a share for each request.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::peers::{Peer, PeerPermit, Peers};
use crate::service::options::ServiceOptions;
use crate::service::state::ServiceState;

/// The limits on places.
pub(super) struct Places {
    slots: Arc<Semaphore>,
    peers: Arc<Peers>,
}

/// A place of the service and of its peer. Dropping it frees the place.
pub(super) struct Place {
    _slot: OwnedSemaphorePermit,
    _of_peer: PeerPermit,
}

/// The reason why a place is not free.
pub(super) enum NoPlace {
    /// The peer has reached its limit.
    OfPeer,
    /// The service has reached its limit. Until this value is dropped, the connection or request still counts towards the limit of
    /// its peer.
    OfService { _of_peer: PeerPermit },
}

impl Places {
    pub(super) fn new(options: &ServiceOptions) -> Self {
        let slots = Arc::new(Semaphore::new(options.connections.min(Semaphore::MAX_PERMITS)));
        Self { slots, peers: Peers::new(options.connections_per_peer) }
    }

    /// Takes a place for a connection or a request of this peer.
    ///
    /// # Errors
    /// Returns the reason if none is free.
    pub(super) fn take(&self, peer: Peer) -> Result<Place, NoPlace> {
        let of_peer = self.peers.acquire(peer).ok_or(NoPlace::OfPeer)?;
        match Arc::clone(&self.slots).try_acquire_owned() {
            Ok(slot) => Ok(Place { _slot: slot, _of_peer: of_peer }),
            Err(_) => Err(NoPlace::OfService { _of_peer: of_peer }),
        }
    }
}

/// A guard for a connection, or for a further simultaneous request on an HTTP/2 connection. Until it is dropped, the metrics count
/// one more open connection.
pub(super) struct Counted(Arc<ServiceState>);

impl Counted {
    pub(super) fn new(shared: &Arc<ServiceState>) -> Self {
        shared.metrics.connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(shared))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.metrics.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_for_the_service_and_for_its_peer() {
        let options = ServiceOptions { connections: 3, connections_per_peer: 2, ..ServiceOptions::default() };
        let places = Places::new(&options);
        let [one, other] = ["10.0.0.1", "10.0.0.2"].map(|text| Peer::of(text.parse().unwrap()));
        let first = places.take(one).ok().unwrap();
        let _second = places.take(one).ok().unwrap();
        assert!(matches!(places.take(one), Err(NoPlace::OfPeer)));
        let third = places.take(other).ok().unwrap();
        assert!(matches!(places.take(other), Err(NoPlace::OfService { .. })));
        drop(first);
        let _fourth = places.take(other).ok().unwrap();
        drop(third);
        assert!(places.take(one).is_ok());
    }
}
