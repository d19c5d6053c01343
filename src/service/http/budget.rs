//! A memory budget that tokens and peers share. No single token and no single peer can use the whole budget.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::peers::Peer;
use crate::service::auth::in_flight::RequestBytes;

/// The owner of reserved bytes: a token, or a token at one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::service) struct Account {
    /// The memory address of the token that the request names; 0 if the token is unknown.
    pub(in crate::service) token: usize,
    /// The peer that sends the request. `None` for a verified token, which is limited across all peers.
    pub(in crate::service) peer: Option<Peer>,
}

/// A limit on the total number of bytes that all requests reserve at the same time.
///
/// After a reservation, the account may have at most as many bytes as are still free. So it gets at most half of the capacity. All
/// accounts of the token together may have at most twice the bytes that are still free. So they get at most two thirds of the
/// capacity. The same holds for all accounts of the peer together. A verified token is one account without a peer, so it gets at
/// most half.
pub(in crate::service) struct Budget {
    capacity: usize,
    reserved: Mutex<Reserved>,
}

/// The number of reserved bytes: in total, and for each account, token and peer.
#[derive(Default)]
struct Reserved {
    all: usize,
    accounts: HashMap<Account, usize>,
    tokens: HashMap<usize, usize>,
    peers: HashMap<Peer, usize>,
}

/// A reserved part of a [`Budget`]. Dropping it releases the bytes.
pub(in crate::service) struct Reservation {
    budget: Arc<Budget>,
    account: Account,
    bytes: usize,
    /// The bytes of the request in all budgets together, if the token of the request is verified.
    in_flight: Option<Arc<RequestBytes>>,
}

impl Budget {
    pub(in crate::service) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self { capacity, reserved: Mutex::default() })
    }

    /// Returns an empty reservation for an account.
    pub(in crate::service) fn reserve(self: &Arc<Self>, account: Account) -> Reservation {
        Reservation { budget: Arc::clone(self), account, bytes: 0, in_flight: None }
    }

    /// Like [`reserve`](Self::reserve), but also adds the reserved bytes to `in_flight`. It has the bytes of one request in all
    /// budgets, and limits the bytes of its token.
    pub(in crate::service) fn reserve_within(
        self: &Arc<Self>,
        account: Account,
        in_flight: &Arc<RequestBytes>,
    ) -> Reservation {
        let in_flight = Some(Arc::clone(in_flight));
        Reservation { budget: Arc::clone(self), account, bytes: 0, in_flight }
    }

    /// Returns the number of bytes that one account can have at most, while no other has reserved any.
    pub(in crate::service) fn most(&self) -> usize {
        self.capacity / 2
    }

    /// Returns the number of reserved bytes.
    pub(in crate::service) fn reserved_bytes(&self) -> usize {
        self.lock().all
    }

    fn lock(&self) -> MutexGuard<'_, Reserved> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// Reserves additional bytes. If that would exceed a share or the limit, reserves nothing and returns false.
    #[must_use]
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        if !self.in_flight.as_ref().is_none_or(|in_flight| in_flight.add(bytes)) {
            return false;
        }
        let has_grown = self.grow_share(bytes);
        if !has_grown && let Some(in_flight) = &self.in_flight {
            in_flight.remove(bytes);
        }
        has_grown
    }

    fn grow_share(&mut self, bytes: usize) -> bool {
        let Account { token, peer } = self.account;
        let reserved = &mut *self.budget.lock();
        let plus = |before: Option<&usize>| before.copied().unwrap_or(0).saturating_add(bytes);
        let all = reserved.all.saturating_add(bytes);
        let Some(free) = self.budget.capacity.checked_sub(all) else { return false };
        let own = plus(reserved.accounts.get(&self.account));
        let of_token = plus(reserved.tokens.get(&token));
        let of_peer = peer.map(|peer| (peer, plus(reserved.peers.get(&peer))));
        let twice = free.saturating_mul(2);
        if own > free || of_token > twice || of_peer.is_some_and(|(_, bytes)| bytes > twice) {
            return false;
        }
        reserved.all = all;
        reserved.accounts.insert(self.account, own);
        reserved.tokens.insert(token, of_token);
        reserved.peers.extend(of_peer);
        self.bytes = self.bytes.saturating_add(bytes);
        true
    }

    /// Grows the reservation to at least `bytes` bytes. If that would exceed a share, reserves nothing and returns false.
    #[must_use]
    pub(in crate::service) fn grow_to(&mut self, bytes: usize) -> bool {
        bytes <= self.bytes || self.grow(bytes.saturating_sub(self.bytes))
    }

    /// Returns true if a new reservation of the same account could reserve `bytes` bytes now.
    pub(super) fn could_reserve(&self, bytes: usize) -> bool {
        self.budget.reserve(self.account).grow(bytes)
    }
}

impl Reservation {
    /// Releases all bytes beyond the first `bytes`.
    pub(super) fn shrink_to(&mut self, bytes: usize) {
        let excess = self.bytes.saturating_sub(bytes);
        if excess == 0 {
            return;
        }
        self.bytes = bytes;
        if let Some(in_flight) = &self.in_flight {
            in_flight.remove(excess);
        }
        let Account { token, peer } = self.account;
        let reserved = &mut *self.budget.lock();
        reserved.all = reserved.all.saturating_sub(excess);
        release(&mut reserved.accounts, self.account, excess);
        release(&mut reserved.tokens, token, excess);
        if let Some(peer) = peer {
            release(&mut reserved.peers, peer, excess);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

/// Subtracts bytes from an entry, and removes the entry when it reaches 0.
fn release<K: Eq + std::hash::Hash>(reserved: &mut HashMap<K, usize>, key: K, bytes: usize) {
    if let Some(own) = reserved.get_mut(&key) {
        *own = own.saturating_sub(bytes);
        if *own == 0 {
            reserved.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn account(token: usize, peer: u8) -> Account {
        Account { token, peer: Some(Peer::of(IpAddr::V4(Ipv4Addr::new(10, 0, 0, peer)))) }
    }

    /// Reserves single bytes for an account, until its share is used up.
    fn fill(budget: &Arc<Budget>, account: Account) -> Reservation {
        let mut reservation = budget.reserve(account);
        while reservation.grow(1) {}
        reservation
    }

    #[test]
    fn an_account_leaves_room_for_other_tokens_and_peers() {
        let budget = Budget::new(600);
        let first = fill(&budget, account(1, 1));
        assert_eq!(first.bytes, budget.most());
        assert_eq!(first.bytes, 300, "half, while no other account has reserved any");
        let other_token = fill(&budget, account(2, 1));
        assert_eq!(other_token.bytes, 100, "then the peer has two thirds");
        let other_peer = fill(&budget, account(3, 2));
        assert_eq!(other_peer.bytes, 100);
        drop((first, other_token, other_peer));
        let reserved = budget.lock();
        assert_eq!(reserved.all, 0);
        assert!(reserved.accounts.is_empty() && reserved.tokens.is_empty() && reserved.peers.is_empty());
    }

    #[test]
    fn a_token_without_a_peer_gets_half_and_leaves_the_rest_to_others() {
        let budget = Budget::new(600);
        let of = |token| Account { token, peer: None };
        let mut first = fill(&budget, of(1));
        assert_eq!(first.bytes, 300);
        assert!(first.grow_to(300) && !first.grow_to(301));
        first.shrink_to(400);
        assert_eq!(first.bytes, 300);
        first.shrink_to(100);
        assert_eq!((first.bytes, budget.reserved_bytes()), (100, 100));
        assert!(first.grow_to(300));
        assert_eq!(fill(&budget, of(1)).bytes, 0, "another request of the token gets nothing");
        assert_eq!(fill(&budget, of(2)).bytes, 150);
        drop(first);
        assert_eq!(budget.reserved_bytes(), 0);
    }

    #[test]
    fn the_capacity_is_never_exceeded() {
        let budget = Budget::new(1000);
        let reservations: Vec<Reservation> = (0..30)
            .flat_map(|n| [fill(&budget, account(n, 1)), fill(&budget, account(1, n as u8))])
            .collect();
        let all: usize = reservations.iter().map(|reservation| reservation.bytes).sum();
        assert!(all <= 1000 && all == budget.lock().all, "{all}");
    }
}
