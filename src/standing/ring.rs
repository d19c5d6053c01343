//! The latest events of an engine, in memory.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};

use super::event::{Event, EventKind, EventsGoneError};
use super::write_events::{CaseEventKind, CaseEvents, Change, WriteEvents};
use crate::catalog::{Catalog, FieldId};
use crate::value::Timestamp;

/// The number of events that a reader copies before it releases the lock, so that writes wait only a moment for it.
const PIECE: usize = 1_000;

/// The latest events, up to a maximum number of them.
pub(crate) struct EventRing {
    most: u64,
    kept: Mutex<Kept>,
}

/// The events that are kept, as entries of one case each. Invariant: the numbers of the events have no gaps, and end with `last`.
#[derive(Default)]
struct Kept {
    last: u64,
    entries: VecDeque<Entry>,
}

/// The events of one case in one write. They become [`Event`]s when they are read, so that a write allocates little.
struct Entry {
    /// The number of the first event.
    first: u64,
    time: Timestamp,
    /// The id, and the names of the filters.
    text: String,
    id_end: u32,
    /// The end of each name in `text`, and the kind.
    events: Vec<(u32, Change)>,
    /// The changed fields of all events.
    fields: Vec<FieldId>,
}

/// New events, which readers see when this value is dropped.
pub(crate) struct Added<'r> {
    _kept: MutexGuard<'r, Kept>,
}

/// Converts an offset to `u32`. It fits, because an id is a part of a document, and there are at most as many names as filters.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Entry {
    fn new(first: u64, time: Timestamp, case: &CaseEvents<'_>) -> Self {
        let events = case.iter();
        let mut own = Self {
            first,
            time,
            text: String::with_capacity(case.id.len().saturating_add(events.len().saturating_mul(16))),
            id_end: offset(case.id.len()),
            events: Vec::with_capacity(events.len()),
            fields: Vec::new(),
        };
        own.text.push_str(case.id);
        for event in events {
            own.text.push_str(event.filter);
            let change = match event.kind {
                CaseEventKind::Entered => Change::Entered,
                CaseEventKind::Left => Change::Left,
                CaseEventKind::Changed(fields) => {
                    let start = offset(own.fields.len());
                    own.fields.extend_from_slice(fields);
                    Change::Changed(start, offset(own.fields.len()))
                }
            };
            own.events.push((offset(own.text.len()), change));
        }
        own
    }

    /// Returns the number that follows the number of the last event.
    fn end(&self) -> u64 {
        self.first.saturating_add(self.events.len() as u64)
    }

    /// Returns the events whose number is at least `number`.
    fn events_from(&self, number: u64, catalog: &Catalog) -> impl Iterator<Item = Event> {
        let skipped = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let text = |start: u32, end: u32| self.text.get(start as usize..end as usize).unwrap_or_default();
        let starts = std::iter::once(self.id_end).chain(self.events.iter().map(|(end, _)| *end));
        let events = (self.first..).zip(starts.zip(&self.events)).skip(skipped);
        events.map(move |(number, (start, (end, change)))| {
            let kind = match change {
                Change::Entered => EventKind::Entered,
                Change::Left => EventKind::Left,
                Change::Changed(start, end) => {
                    let fields = self.fields.get(*start as usize..*end as usize).unwrap_or_default();
                    EventKind::changed(catalog, fields.iter().copied())
                }
            };
            Event::new(number, self.time, text(start, *end), text(0, self.id_end), kind)
        })
    }
}

impl EventRing {
    /// Creates a ring that keeps at most `most` events.
    pub(crate) fn new(most: u64) -> Self {
        Self { most, kept: Mutex::default() }
    }

    /// Returns the number of the oldest event that is kept, or the next number if none is kept.
    fn oldest(&self, kept: &Kept) -> u64 {
        let first = kept.entries.front().map_or(kept.last.saturating_add(1), |entry| entry.first);
        first.max(kept.last.saturating_sub(self.most).saturating_add(1))
    }

    /// Adds the events of a write. Readers wait until the result is dropped.
    pub(crate) fn add(&self, events: &WriteEvents) -> Added<'_> {
        // Events that do not fit get numbers, but are not copied. Here, the events of the write are numbered from 0. The first free
        // number of the ring is added under the lock.
        let not_kept = events.len().saturating_sub(self.most);
        let mut next = events.skipped();
        let mut added = Vec::new();
        for case in events.cases() {
            let first = next;
            next = next.saturating_add(case.iter().len() as u64);
            if next > not_kept {
                added.push(Entry::new(first, events.time, &case));
            }
        }
        let mut kept = self.kept.lock();
        let before = kept.last.saturating_add(1);
        kept.last = kept.last.saturating_add(events.len());
        let oldest = kept.last.saturating_sub(self.most).saturating_add(1);
        kept.entries.extend(added.into_iter().map(|entry| {
            let first = entry.first.saturating_add(before);
            Entry { first, ..entry }
        }));
        while kept.entries.front().is_some_and(|entry| entry.end() <= oldest) {
            kept.entries.pop_front();
        }
        Added { _kept: kept }
    }

    /// Returns at most `most` events after a number.
    pub(crate) fn after(
        &self,
        number: u64,
        most: usize,
        catalog: &Catalog,
    ) -> Result<Vec<Event>, EventsGoneError> {
        let mut found = Vec::new();
        let mut after = number;
        // The answer ends with the last event that exists when the first piece is copied.
        let mut last = u64::MAX;
        loop {
            let kept = self.kept.lock();
            match EventsGoneError::check(after, self.oldest(&kept), kept.last) {
                Err(gone) if found.is_empty() => return Err(gone),
                // Writes have removed the next events meanwhile. The next call returns this error.
                Err(_) => return Ok(found),
                Ok(()) => last = last.min(kept.last),
            }
            let from = after.saturating_add(1);
            let known = kept.entries.partition_point(|entry| entry.end() <= from);
            let entries = kept.entries.iter().skip(known).flat_map(|entry| entry.events_from(from, catalog));
            let piece = entries.take_while(|event| event.number <= last);
            found.extend(piece.take(PIECE.min(most.saturating_sub(found.len()))));
            // Lets a waiting write take the lock next.
            MutexGuard::unlock_fair(kept);
            after = found.last().map_or(number, |event| event.number);
            if after >= last || found.len() >= most {
                return Ok(found);
            }
        }
    }

    /// Returns the number of the last event, or 0.
    pub(crate) fn last(&self) -> u64 {
        self.kept.lock().last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_answers_are_copied_in_pieces() {
        let catalog = Catalog::cases();
        for kept in [0, 1, 999, 1_000, 1_001, 2_500, 10_000] {
            let ring = EventRing::new(kept);
            for write in 0..5_u64 {
                let mut events = WriteEvents::entering(vec!["a".into()], Timestamp::from_millis(0), kept);
                (0..700).for_each(|case| events.enter(0, &format!("{}", write * 700 + case + 1)));
                drop(ring.add(&events));
            }
            let oldest = 3_501_u64.saturating_sub(kept).max(1);
            for after in [0, oldest - 1, oldest, 2_499, 2_500, 3_499, 3_500] {
                for most in [0, 1, 999, 1_000, 1_001, 2_000, usize::MAX] {
                    let events = ring.after(after, most, &catalog);
                    if after + 1 < oldest || after > 3_500 {
                        assert_eq!(events, Err(EventsGoneError { after, oldest, last: 3_500 }));
                        continue;
                    }
                    let events = events.unwrap();
                    assert!(events.iter().map(|event| event.number).eq((after + 1..=3_500).take(most)));
                    assert!(events.iter().all(|event| event.id == event.number.to_string()));
                }
            }
        }
    }

    #[test]
    fn a_long_answer_ends_where_a_write_has_removed_events() {
        let ring = EventRing::new(100_000);
        let write = |count: u64| {
            let mut events = WriteEvents::entering(vec!["a".into()], Timestamp::from_millis(0), 100_000);
            (0..count).for_each(|case| events.enter(0, &case.to_string()));
            drop(ring.add(&events));
        };
        write(100_000);
        let catalog = Catalog::cases();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| ring.after(0, usize::MAX, &catalog).map(|events| events.len()));
            while !reader.is_finished() {
                write(50_000);
            }
            match reader.join().unwrap() {
                Ok(count) => assert!((1..=100_000).contains(&count)),
                Err(gone) => assert_eq!(gone.after, 0),
            }
        });
    }
}
