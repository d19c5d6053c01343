//! The latest events of an engine, in memory.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};

use super::event::{Event, EventsGone};
use super::write_events::WriteEvents;
use crate::catalog::Catalog;

/// The latest events, up to a maximum number of them.
pub(crate) struct EventRing {
    most: usize,
    kept: Mutex<Kept>,
}

/// Invariant: the number of the last of `events` is `last`, and their numbers have no gaps.
#[derive(Default)]
struct Kept {
    last: u64,
    events: VecDeque<Event>,
}

/// New events, which readers see when this is dropped.
pub(crate) struct Added<'r> {
    _kept: MutexGuard<'r, Kept>,
}

impl EventRing {
    /// Creates a ring that keeps at most `most` events.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: Mutex::default() }
    }

    /// Adds the events of a write. Readers wait until the result is dropped.
    pub(crate) fn add(&self, events: &WriteEvents, catalog: &Catalog) -> Added<'_> {
        let mut kept = self.kept.lock();
        // Events that do not fit get numbers, and are not copied.
        let mut skipped = events.len().saturating_sub(self.most);
        for case in events.cases() {
            for event in case.iter() {
                kept.last = kept.last.saturating_add(1);
                if skipped > 0 {
                    skipped = skipped.saturating_sub(1);
                    kept.events.clear();
                    continue;
                }
                if kept.events.len() >= self.most {
                    kept.events.pop_front();
                }
                let event = event.to_event(kept.last, events.time, case.id, catalog);
                kept.events.push_back(event);
            }
        }
        Added { _kept: kept }
    }

    /// Returns at most `most` events after a number.
    pub(crate) fn after(&self, number: u64, most: usize) -> Result<Vec<Event>, EventsGone> {
        let kept = self.kept.lock();
        let oldest = kept.last.saturating_sub(kept.events.len() as u64).saturating_add(1);
        EventsGone::check(number, oldest, kept.last)?;
        let known = usize::try_from(number.saturating_add(1).saturating_sub(oldest)).unwrap_or(usize::MAX);
        Ok(kept.events.iter().skip(known).take(most).cloned().collect())
    }

    /// Returns the number of the last event, or 0.
    pub(crate) fn last(&self) -> u64 {
        self.kept.lock().last
    }
}
