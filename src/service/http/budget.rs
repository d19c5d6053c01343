//! Bytes that tokens and peers share, so that none of them can take all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::peers::Peer;

/// Whose bytes they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::service) struct Account {
    /// The address in memory of the token that a request names.
    pub(in crate::service) token: usize,
    /// The peer that sends it. None once the signature of the token was checked: peers do not matter then.
    pub(in crate::service) peer: Option<Peer>,
}

/// A bound on the bytes that all requests hold at a time.
///
/// One account may hold as much as is left free for all others. All accounts of a token, and all of a peer, may hold
/// twice as much as is left free: together at most two thirds. A token that is accounted without peers gets half.
pub(in crate::service) struct Budget {
    capacity: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    all: usize,
    accounts: HashMap<Account, usize>,
    tokens: HashMap<usize, usize>,
    peers: HashMap<Peer, usize>,
}

/// A part of a [`Budget`], given back when it is dropped.
pub(in crate::service) struct Hold {
    budget: Arc<Budget>,
    account: Account,
    bytes: usize,
}

impl Budget {
    pub(in crate::service) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self { capacity, held: Mutex::default() })
    }

    /// A part for an account, of no bytes yet.
    pub(in crate::service) fn hold(self: &Arc<Self>, account: Account) -> Hold {
        Hold { budget: Arc::clone(self), account, bytes: 0 }
    }

    /// How many bytes are held.
    pub(in crate::service) fn held_bytes(&self) -> usize {
        self.lock().all
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hold {
    /// Takes more bytes. Returns false, and takes none, when the account's share is used.
    #[must_use]
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let Account { token, peer } = self.account;
        let held = &mut *self.budget.lock();
        let with = |held: Option<&usize>| held.copied().unwrap_or(0).saturating_add(bytes);
        let all = held.all.saturating_add(bytes);
        let Some(free) = self.budget.capacity.checked_sub(all) else { return false };
        let own = with(held.accounts.get(&self.account));
        let of_token = with(held.tokens.get(&token));
        let of_peer = peer.map(|peer| (peer, with(held.peers.get(&peer))));
        let twice = free.saturating_mul(2);
        if own > free || of_token > twice || of_peer.is_some_and(|(_, bytes)| bytes > twice) {
            return false;
        }
        held.all = all;
        held.accounts.insert(self.account, own);
        held.tokens.insert(token, of_token);
        held.peers.extend(of_peer);
        self.bytes = self.bytes.saturating_add(bytes);
        true
    }
}

impl Hold {
    /// Takes more bytes until the hold has so many. Returns false, and takes none, when the account's share is used.
    #[must_use]
    pub(in crate::service) fn reach(&mut self, bytes: usize) -> bool {
        bytes <= self.bytes || self.grow(bytes.saturating_sub(self.bytes))
    }

    /// Whether another hold of the account could take so many bytes now.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.budget.hold(self.account).grow(bytes)
    }
}

impl Hold {
    /// Gives back what is beyond so many bytes.
    pub(super) fn shrink_to(&mut self, bytes: usize) {
        let more = self.bytes.saturating_sub(bytes);
        if more == 0 {
            return;
        }
        self.bytes = bytes;
        let Account { token, peer } = self.account;
        let held = &mut *self.budget.lock();
        held.all = held.all.saturating_sub(more);
        give_back(&mut held.accounts, self.account, more);
        give_back(&mut held.tokens, token, more);
        if let Some(peer) = peer {
            give_back(&mut held.peers, peer, more);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

/// Subtracts from an entry, which goes when nothing is left of it.
fn give_back<K: Eq + std::hash::Hash>(held: &mut HashMap<K, usize>, key: K, bytes: usize) {
    if let Some(own) = held.get_mut(&key) {
        *own = own.saturating_sub(bytes);
        if *own == 0 {
            held.remove(&key);
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

    /// How much an account gets, byte by byte.
    fn fill(budget: &Arc<Budget>, account: Account) -> Hold {
        let mut hold = budget.hold(account);
        while hold.grow(1) {}
        hold
    }

    #[test]
    fn an_account_leaves_room_for_other_tokens_and_peers() {
        let budget = Budget::new(600);
        let first = fill(&budget, account(1, 1));
        assert_eq!(first.bytes, 300, "half, when nobody else holds any");
        let other_token = fill(&budget, account(2, 1));
        assert_eq!(other_token.bytes, 100, "its peer has two thirds then");
        let other_peer = fill(&budget, account(3, 2));
        assert_eq!(other_peer.bytes, 100);
        drop((first, other_token, other_peer));
        let held = budget.lock();
        assert_eq!(held.all, 0);
        assert!(held.accounts.is_empty() && held.tokens.is_empty() && held.peers.is_empty());
    }

    #[test]
    fn a_token_without_a_peer_gets_half_and_leaves_the_rest_to_others() {
        let budget = Budget::new(600);
        let of = |token| Account { token, peer: None };
        let mut first = fill(&budget, of(1));
        assert_eq!(first.bytes, 300);
        assert!(first.reach(300) && !first.reach(301));
        first.shrink_to(400);
        assert_eq!(first.bytes, 300);
        first.shrink_to(100);
        assert_eq!((first.bytes, budget.held_bytes()), (100, 100));
        assert!(first.reach(300));
        assert_eq!(fill(&budget, of(1)).bytes, 0, "another request of it gets none");
        assert_eq!(fill(&budget, of(2)).bytes, 150);
        drop(first);
        assert_eq!(budget.held_bytes(), 0);
    }

    #[test]
    fn the_capacity_is_never_exceeded() {
        let budget = Budget::new(1000);
        let holds: Vec<Hold> = (0..30)
            .flat_map(|n| [fill(&budget, account(n, 1)), fill(&budget, account(1, n as u8))])
            .collect();
        let all: usize = holds.iter().map(|hold| hold.bytes).sum();
        assert!(all <= 1000 && all == budget.lock().all, "{all}");
    }
}
