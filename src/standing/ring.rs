//! The latest events of an engine, in memory.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};

use super::event::{Event, EventKind, EventsGone};
use super::write_events::{CaseEventKind, CaseEvents, Change, WriteEvents};
use crate::catalog::{Catalog, FieldId};
use crate::value::Timestamp;

/// The latest events, up to a maximum number of them.
pub(crate) struct EventRing {
    most: u64,
    kept: Mutex<Kept>,
}

/// Invariant: the numbers of the events of all entries follow each other, and the last number is `last`.
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

/// New events, which readers see when this is dropped.
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

    /// Returns the number after that of the last event.
    fn end(&self) -> u64 {
        self.first.saturating_add(self.events.len() as u64)
    }

    /// Returns the events from a number on.
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
        let mut kept = self.kept.lock();
        let last = kept.last.saturating_add(events.len());
        let oldest = last.saturating_sub(self.most).saturating_add(1);
        kept.last = kept.last.saturating_add(events.skipped());
        for case in events.cases() {
            let first = kept.last.saturating_add(1);
            kept.last = kept.last.saturating_add(case.iter().len() as u64);
            // Events that do not fit get numbers, and are not copied.
            if kept.last >= oldest {
                kept.entries.push_back(Entry::new(first, events.time, &case));
            }
        }
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
    ) -> Result<Vec<Event>, EventsGone> {
        let kept = self.kept.lock();
        EventsGone::check(number, self.oldest(&kept), kept.last)?;
        let from = number.saturating_add(1);
        let known = kept.entries.partition_point(|entry| entry.end() <= from);
        let entries = kept.entries.iter().skip(known);
        Ok(entries.flat_map(|entry| entry.events_from(from, catalog)).take(most).collect())
    }

    /// Returns the number of the last event, or 0.
    pub(crate) fn last(&self) -> u64 {
        self.kept.lock().last
    }
}
