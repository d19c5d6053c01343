//! Reads, writes, checks and copies the tables of standing filters and events. The first filter that is stored creates these
//! tables.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use redb::{
    Key, ReadOnlyTable, ReadableTable, ReadableTableMetadata, Table, TableDefinition, TableError, Value,
    WriteTransaction,
};

use super::error::Fault;
use super::file::{File, Reading};
use super::options::KeptEvents;
use super::standing_bytes::{
    EntryWriter, Fields, StandingCounters, events_from_bytes, filter_from_bytes, filter_to_bytes,
    time_of_entry,
};
use super::tables::{EVENTS, META, STANDING, STANDING_COUNTERS, read_standing};
use crate::catalog::Catalog;
use crate::engine::Clock;
use crate::standing::{Event, EventsGoneError, StandingFilter, WriteEvents};
use crate::value::Timestamp;

/// Returns the clock for the times of events and writes. It shows the time of the system.
pub(super) fn system_clock() -> Clock {
    Arc::new(|| {
        let (before, after) = (SystemTime::UNIX_EPOCH, SystemTime::now());
        let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(match after.duration_since(before) {
            Ok(since) => millis(since),
            Err(earlier) => millis(earlier.duration()).saturating_neg(),
        })
    })
}

type Entries<'t> = Table<'t, u64, &'static [u8]>;

/// Opens a table in a read transaction. Returns `None` if the file has never had a standing filter.
pub(super) fn open<K: Key + 'static, V: Value + 'static>(
    reading: &Reading,
    table: TableDefinition<'static, K, V>,
) -> Result<Option<ReadOnlyTable<K, V>>, Fault> {
    match reading.open_table(table) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Stores the counters.
pub(super) fn put_counters(transaction: &WriteTransaction, counters: StandingCounters) -> Result<(), Fault> {
    transaction.open_table(META)?.insert(STANDING_COUNTERS, counters.to_bytes().as_slice())?;
    Ok(())
}

/// Stores filters. Each filter replaces the stored filter that has the same key. The string beside a filter is the request body
/// that its owner has sent, or empty for a filter without an owner. Does not store the counters.
pub(super) fn put_filters<'f>(
    transaction: &WriteTransaction,
    filters: impl IntoIterator<Item = (&'f StandingFilter, &'f str)>,
    counters: &mut StandingCounters,
) -> Result<(), Fault> {
    // Creates the table of events, even if there are no events yet.
    transaction.open_table(EVENTS)?;
    let mut table = transaction.open_table(STANDING)?;
    for (filter, body) in filters {
        table.insert(&*filter.key(), filter_to_bytes(filter, body).as_slice())?;
    }
    counters.filters = table.len()?;
    counters.changes = counters.changes.saturating_add(1);
    Ok(())
}

/// Removes the filter with this key. Does not store the counters.
pub(super) fn remove_filter(
    transaction: &WriteTransaction,
    key: &str,
    counters: &mut StandingCounters,
) -> Result<(), Fault> {
    let mut table = transaction.open_table(STANDING)?;
    if table.remove(key)?.is_none() {
        return Err(Fault::corrupt(format!("no standing filter {key:?}")));
    }
    counters.filters = table.len()?;
    counters.changes = counters.changes.saturating_add(1);
    Ok(())
}

/// Stores the events of a write, with the next numbers. Then removes events that are not kept any more. Does not store the
/// counters.
pub(super) fn put_events(
    transaction: &WriteTransaction,
    events: &WriteEvents,
    keep: KeptEvents,
    counters: &mut StandingCounters,
) -> Result<(), Fault> {
    let mut table = transaction.open_table(EVENTS)?;
    // A large write may give more events than are kept. Its first events then get numbers, but are not stored.
    let not_stored = events.len().saturating_sub(keep.count);
    let first_stored = counters.next_event.saturating_add(not_stored);
    let mut number = counters.next_event.saturating_add(events.skipped());
    for case in events.cases() {
        let mut entry: Option<EntryWriter> = None;
        for event in case.iter() {
            if number >= first_stored {
                entry.get_or_insert_with(|| EntryWriter::new(number)).push(&event);
            }
            number = number.saturating_add(1);
            if let Some(full) = entry.take_if(|entry| entry.is_full()) {
                put_entry(&mut table, full, events.time, case.id)?;
            }
        }
        if let Some(last) = entry {
            put_entry(&mut table, last, events.time, case.id)?;
        }
    }
    counters.next_event = number;
    let oldest = number.saturating_sub(keep.count).max(counters.first_event);
    let since = keep.age.map(|age| {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(events.time.as_millis().saturating_sub(age))
    });
    trim(&mut table, oldest, since, counters)
}

fn put_entry(table: &mut Entries<'_>, entry: EntryWriter, time: Timestamp, id: &str) -> Result<(), Fault> {
    let (first, bytes) = entry.finish(time, id);
    table.insert(first, bytes.as_slice())?;
    Ok(())
}

/// Removes entries from the start of the table. An entry is removed if its time is before `since`, or if its last event is before
/// the event `oldest`. Stops at the first entry for which neither is true.
pub(super) fn trim(
    table: &mut Entries<'_>,
    oldest: u64,
    since: Option<Timestamp>,
    counters: &mut StandingCounters,
) -> Result<(), Fault> {
    counters.first_event = oldest;
    loop {
        // The next entry begins where the first one ends. So the first one need not be decoded.
        let (is_past, end) = {
            let mut entries = table.iter()?;
            let Some(first) = entries.next() else { break };
            let (_, bytes) = first?;
            let end = entries.next().transpose()?.map_or(counters.next_event, |(next, _)| next.value());
            // Without this check, the counters could contradict the entries, and the file could not be opened again.
            if end > counters.next_event {
                return Err(Fault::corrupt(format!("the events from number {end} on have not happened yet")));
            }
            let is_old =
                since.is_some_and(|since| time_of_entry(bytes.value()).is_none_or(|time| time < since));
            (is_old || end <= oldest, end)
        };
        if !is_past {
            break;
        }
        table.pop_first()?;
        counters.first_event = counters.first_event.max(end);
    }
    counters.entries = table.len()?;
    Ok(())
}

/// Reads all filters, in the order of their keys. Checks that the number of filters and the number of entries of events match the
/// counters.
pub(super) fn read_filters(
    reading: &Reading,
    catalog: &Catalog,
    counters: &StandingCounters,
) -> Result<Vec<StandingFilter>, Fault> {
    let entries = open(reading, EVENTS)?.map_or(Ok(0), |table| table.len())?;
    if entries != counters.entries {
        return Err(Fault::corrupt(format!("{entries} entries of events, counted as {}", counters.entries)));
    }
    let mut filters: Vec<StandingFilter> = Vec::new();
    let table = open(reading, STANDING)?;
    let count = table.as_ref().map_or(Ok(0), ReadableTableMetadata::len)?;
    if count != counters.filters {
        return Err(Fault::corrupt(format!("{count} standing filters, counted as {}", counters.filters)));
    }
    let Some(table) = table else { return Ok(filters) };
    let fields = Fields::of(catalog);
    for entry in table.iter()? {
        let (name, bytes) = entry?;
        // The pages of a damaged file may form a cycle, so the names must ascend.
        if filters.last().is_some_and(|last| *last.key() >= *name.value()) {
            return Err(Fault::corrupt(format!(
                "the standing filter {:?} is not in its place",
                name.value()
            )));
        }
        filters.push(filter_from_bytes(name.value(), bytes.value(), catalog, &fields)?);
    }
    Ok(filters)
}

/// Reads at most `most` events after the event `range.0`, up to the event `range.1`. For the reader, later events have not
/// happened yet.
pub(super) fn read_events(
    reading: &Reading,
    catalog: &Catalog,
    range: (u64, u64),
    most: usize,
) -> Result<Vec<Event>, Fault> {
    let mut found = Vec::new();
    each_event(reading, catalog, range, |event| {
        if most > 0 {
            found.push(event);
        }
        found.len() < most
    })?;
    Ok(found)
}

/// Calls `take` for each event after the event `after`, up to the event `last`, until `take` returns false.
pub(super) fn each_event(
    reading: &Reading,
    catalog: &Catalog,
    (after, last): (u64, u64),
    mut take: impl FnMut(Event) -> bool,
) -> Result<(), Fault> {
    let counters = read_standing(&reading.open_table(META)?)?;
    // The file may have later events, which a crash can still undo. So neither the check nor its error may name their numbers.
    let last = last.min(counters.last_event());
    let oldest = counters.first_event.min(last.saturating_add(1));
    EventsGoneError::check(after, oldest, last).map_err(Fault::events_gone)?;
    if after >= last {
        return Ok(());
    }
    let missing = |number: u64| Fault::corrupt(format!("the event {number} is missing"));
    let first = after.saturating_add(1);
    let table = open(reading, EVENTS)?.ok_or_else(|| missing(first))?;
    let mut next = match table.range(..=first)?.next_back() {
        Some(entry) => entry?.0.value(),
        None => return Err(missing(first)),
    };
    let fields = Fields::of(catalog);
    // The pages of a damaged file may form a cycle, so each entry must begin where the one before it ends.
    for entry in table.range(next..)? {
        let (number, bytes) = entry?;
        if number.value() != next {
            break;
        }
        for event in events_from_bytes(next, bytes.value(), catalog, &fields)? {
            next = event.number.saturating_add(1);
            if event.number > last {
                break;
            }
            if event.number > after && !take(event) {
                return Ok(());
            }
        }
        if next > last {
            return Ok(());
        }
    }
    Err(missing(next))
}

/// Reads and checks all events. Returns the number of events that are kept.
pub(super) fn verify(file: &File, catalog: &Catalog, counters: &StandingCounters) -> Result<u64, Fault> {
    let reading = file.read()?;
    let kept = counters.next_event.saturating_sub(counters.first_event);
    let Some(table) = open(&reading, EVENTS)? else { return Ok(kept) };
    let fields = Fields::of(catalog);
    let mut next: Option<u64> = None;
    for entry in table.iter()? {
        let (number, bytes) = entry?;
        let number = number.value();
        let is_in_place = match next {
            Some(next) => number == next,
            None => number <= counters.first_event,
        };
        if !is_in_place {
            return Err(Fault::corrupt(format!("the events from number {number} on are not in their place")));
        }
        let events = events_from_bytes(number, bytes.value(), catalog, &fields)?;
        let end = number.saturating_add(events.len() as u64);
        if next.is_none() && end <= counters.first_event {
            return Err(Fault::corrupt(format!("the events from number {number} on are not kept any more")));
        }
        next = Some(end);
    }
    match next.unwrap_or(counters.next_event) {
        end if end == counters.next_event => Ok(kept),
        end => Err(Fault::corrupt(format!("the event {end} is missing"))),
    }
}

/// Copies all filters and events. If `goes_on` returns false, stops and returns false.
pub(super) fn copy(from: &Reading, to: &WriteTransaction, goes_on: &dyn Fn() -> bool) -> Result<bool, Fault> {
    if let Some(filters) = open(from, STANDING)? {
        let mut to = to.open_table(STANDING)?;
        for entry in filters.iter()? {
            let (name, bytes) = entry?;
            to.insert(name.value(), bytes.value())?;
        }
    }
    if let Some(events) = open(from, EVENTS)? {
        let mut to = to.open_table(EVENTS)?;
        for entry in events.iter()? {
            if !goes_on() {
                return Ok(false);
            }
            let (number, bytes) = entry?;
            to.insert(number.value(), bytes.value())?;
        }
    }
    Ok(true)
}
