//! The records of requests that are written together (`Batch`): one of these requests writes the records of all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;

/// Records that wait to be written, in the order of the log.
#[derive(Default)]
pub(super) struct Batch(Mutex<Vec<Pending>>);

/// A record that waits to be written.
pub(super) struct Pending {
    pub(super) members: Vec<u8>,
    outcome: Arc<AtomicU8>,
}

/// The outcome of a record, which the request that waits for it sees.
pub(super) struct Ticket(Arc<AtomicU8>);

/// The number of waiting records at which [`Batch::push`] first removes those whose requests no longer wait.
const MOST_PENDING: usize = 64;

/// The values of an outcome.
const WAITING: u8 = 0;
const ANSWERED: u8 = 1;
const REFUSED: u8 = 2;

impl Batch {
    /// Adds a record.
    pub(super) fn push(&self, members: Vec<u8>) -> Ticket {
        let outcome = Arc::new(AtomicU8::new(WAITING));
        let mut pending = self.0.lock();
        // While the log cannot be written, the records of requests that were dropped are not taken.
        if pending.len() >= MOST_PENDING {
            pending.retain(is_awaited);
        }
        pending.push(Pending { members, outcome: Arc::clone(&outcome) });
        Ticket(outcome)
    }

    /// Takes all records whose requests still wait. The caller has the writer. It must give each of them an outcome, or
    /// [put them back](Self::put_back).
    pub(super) fn take(&self) -> Vec<Pending> {
        let mut pending = std::mem::take(&mut *self.0.lock());
        pending.retain(is_awaited);
        pending
    }

    /// Puts records back that cannot be written now, before those that came later.
    pub(super) fn put_back(&self, mut records: Vec<Pending>) {
        let mut pending = self.0.lock();
        records.append(&mut pending);
        *pending = records;
    }

    /// Takes the record of a ticket. Returns `None` if another request has taken it.
    pub(super) fn take_one(&self, ticket: &Ticket) -> Option<Vec<u8>> {
        let mut pending = self.0.lock();
        let at = pending.iter().position(|own| Arc::ptr_eq(&own.outcome, &ticket.0))?;
        Some(pending.remove(at).members)
    }
}

/// Returns true if the request of a record still waits. The future of a request whose client has disconnected was dropped.
fn is_awaited(pending: &Pending) -> bool {
    Arc::strong_count(&pending.outcome) > 1
}

impl Pending {
    /// Says whether the request may be answered.
    pub(super) fn end(&self, may_be_answered: bool) {
        self.outcome.store(if may_be_answered { ANSWERED } else { REFUSED }, Ordering::Release);
    }
}

impl Ticket {
    /// Returns whether the request may be answered. Returns `None` while its record waits.
    pub(super) fn outcome(&self) -> Option<bool> {
        match self.0.load(Ordering::Acquire) {
            WAITING => None,
            outcome => Some(outcome == ANSWERED),
        }
    }
}
