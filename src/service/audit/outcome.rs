//! The outcome of a record (`Outcome`), on which the request and the thread that writes the record agree.

use std::sync::atomic::{AtomicU8, Ordering};

/// The outcome of a record. It changes once, from [`WAITING`] to one of the other values.
#[derive(Debug, Default)]
pub(super) struct Outcome(AtomicU8);

/// The request waits for its record.
pub(super) const WAITING: u8 = 0;
/// The request may be answered.
const ANSWERED: u8 = 1;
/// The request must not be answered.
const REFUSED: u8 = 2;
/// The request has waited too long. It has been answered or refused, and its record may still be written later.
pub(super) const GIVEN_UP: u8 = 3;
/// The request has ended without an answer, because its client has disconnected.
pub(super) const DROPPED: u8 = 4;

impl Outcome {
    /// If the request still waits, sets whether it may be answered. Returns the previous outcome.
    pub(super) fn end(&self, may_be_answered: bool) -> u8 {
        self.change(if may_be_answered { ANSWERED } else { REFUSED })
    }

    /// Ends the waiting because the request has given up or was dropped. `reason` is [`GIVEN_UP`] or [`DROPPED`]. Returns the
    /// previous outcome.
    pub(super) fn leave(&self, reason: u8) -> u8 {
        self.change(reason)
    }

    fn change(&self, to: u8) -> u8 {
        let changed = self.0.compare_exchange(WAITING, to, Ordering::AcqRel, Ordering::Acquire);
        changed.unwrap_or_else(|before| before)
    }

    /// Returns true while the request waits.
    pub(super) fn is_waiting(&self) -> bool {
        self.0.load(Ordering::Acquire) == WAITING
    }

    /// Returns whether the request may be answered. Returns `None` if this is not decided yet, or if the request has stopped
    /// waiting by itself.
    pub(super) fn may_be_answered(&self) -> Option<bool> {
        match self.0.load(Ordering::Acquire) {
            ANSWERED => Some(true),
            REFUSED => Some(false),
            _ => None,
        }
    }
}
