//! Records that are written together (`Batch`). A request adds its record to the batch. Then one request writes all records of the
//! batch.

use std::sync::Arc;

use parking_lot::Mutex;

use super::outcome::{DROPPED, GIVEN_UP, Outcome, WAITING};

/// Records that wait to be written, in the order of the log. Each request waits until its record has been written.
#[derive(Default)]
pub(super) struct Batch(Mutex<Vec<Pending>>);

/// A record that waits to be written.
pub(super) struct Pending {
    pub(super) members: Vec<u8>,
    pub(super) outcome: Arc<Outcome>,
}

/// The handle with which a request waits for its record. If it is dropped while the request waits, the record is removed.
pub(super) struct Ticket {
    batch: Arc<Batch>,
    outcome: Arc<Outcome>,
}

/// The state of a record when its request stops waiting.
pub(super) enum Left {
    /// The record was still in the batch. The value is the record, which has been removed from the batch.
    Unwritten(Vec<u8>),
    /// Another request, or the thread of the log, has taken the record, and decides its outcome later.
    GivenUp,
    /// The outcome of the record was decided just before. The value is true if the request may be answered.
    Ended(bool),
}

impl Batch {
    /// Adds a record.
    pub(super) fn push(self: &Arc<Self>, members: Vec<u8>) -> Ticket {
        let outcome = Arc::new(Outcome::default());
        self.0.lock().push(Pending { members, outcome: Arc::clone(&outcome) });
        Ticket { batch: Arc::clone(self), outcome }
    }

    /// Takes all records. The caller must hold the lock of the writer. It must decide the outcome of each record, or [put the
    /// record back](Self::put_back).
    pub(super) fn take(&self) -> Vec<Pending> {
        std::mem::take(&mut *self.0.lock())
    }

    /// Puts back records that cannot be written now, in front of later records. Does not put back records whose requests no longer
    /// wait, but returns them.
    pub(super) fn put_back(&self, records: Vec<Pending>) -> Vec<Pending> {
        // While this function has the lock, no request stops waiting.
        let mut pending = self.0.lock();
        let (mut awaited, left): (Vec<_>, Vec<_>) =
            records.into_iter().partition(|own| own.outcome.is_waiting());
        awaited.append(&mut pending);
        *pending = awaited;
        left
    }

    /// Returns the number of bytes of all records.
    #[cfg(test)]
    pub(super) fn size_bytes(&self) -> usize {
        self.0.lock().iter().map(|own| own.members.len()).sum()
    }
}

impl Ticket {
    /// Returns whether the request may be answered. Returns `None` while its record waits.
    pub(super) fn may_be_answered(&self) -> Option<bool> {
        self.outcome.may_be_answered()
    }

    /// Takes the record. Returns `None` if another request has taken it.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        self.take_from(&mut self.batch.0.lock())
    }

    /// Ends the waiting of the request.
    pub(super) fn give_up(&self) -> Left {
        self.leave(GIVEN_UP)
    }

    fn leave(&self, reason: u8) -> Left {
        let mut pending = self.batch.0.lock();
        if let Some(members) = self.take_from(&mut pending) {
            return Left::Unwritten(members);
        }
        match self.outcome.leave(reason) {
            WAITING => Left::GivenUp,
            _ => Left::Ended(self.outcome.may_be_answered().unwrap_or(false)),
        }
    }

    fn take_from(&self, pending: &mut Vec<Pending>) -> Option<Vec<u8>> {
        let at = pending.iter().position(|own| Arc::ptr_eq(&own.outcome, &self.outcome))?;
        Some(pending.remove(at).members)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.outcome.is_waiting() {
            self.leave(DROPPED);
        }
    }
}
