//! The peer of a connection, and a limit on the number of connections of each peer.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::Extensions;

/// A client address, for counting connections: an IPv4 address, or the first 64 bits of an IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::service) struct Peer(IpAddr);

impl Peer {
    pub(in crate::service) fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
            address => address,
        })
    }

    /// Returns the peer that the extensions of a request have.
    pub(in crate::service) fn of_request(extensions: &Extensions) -> Self {
        extensions.get().copied().unwrap_or(Self(Ipv4Addr::UNSPECIFIED.into()))
    }
}

/// The complete address of a client, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::service) struct ClientAddress(pub(in crate::service) IpAddr);

/// The client of a connection.
#[derive(Clone, Copy)]
pub(super) struct Client {
    pub(super) peer: Peer,
    pub(super) address: ClientAddress,
    /// False for a connection over a limit. Its requests get 503.
    pub(super) is_admitted: bool,
}

/// A counter of open connections for each peer, with a limit.
pub(in crate::service) struct Peers {
    limit: usize,
    open: Mutex<HashMap<Peer, usize>>,
}

/// A permit for one connection of a peer. Dropping it returns the permit.
pub(in crate::service) struct PeerPermit {
    peers: Arc<Peers>,
    peer: Peer,
}

impl Peers {
    pub(in crate::service) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, open: Mutex::default() })
    }

    /// Returns a permit for an additional connection of a peer. Returns `None` if the peer has reached its limit.
    pub(in crate::service) fn acquire(self: &Arc<Self>, peer: Peer) -> Option<PeerPermit> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.get(&peer).copied().unwrap_or(0);
        if count >= self.limit {
            return None;
        }
        open.insert(peer, count.saturating_add(1));
        Some(PeerPermit { peers: Arc::clone(self), peer })
    }
}

impl Drop for PeerPermit {
    fn drop(&mut self) {
        let mut open = self.peers.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.peer) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.remove(&self.peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_has_its_own_limit() {
        let peers = Peers::new(2);
        let peer = |text: &str| Peer::of(text.parse().unwrap());
        let one = [peers.acquire(peer("10.0.0.1")).unwrap(), peers.acquire(peer("::ffff:10.0.0.1")).unwrap()];
        assert!(peers.acquire(peer("10.0.0.1")).is_none());
        let _two = peers.acquire(peer("10.0.0.2")).unwrap();
        drop(one);
        assert!(peers.acquire(peer("10.0.0.1")).is_some());
        assert_eq!(peer("2001:db8:1:2::1"), peer("2001:db8:1:2:3:4:5:6"));
        assert_ne!(peer("2001:db8:1:2::1"), peer("2001:db8:1:3::1"));
    }
}
