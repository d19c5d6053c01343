//! The bytes of standing filters, of events, and of their counters.

use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::checksum::{checked, with_checksum};
use super::error::Fault;
use super::options::KeptEvents;
use crate::catalog::{Catalog, FieldId};
use crate::column::codec::{ByteReader, ByteWriter};
use crate::filter::Filter;
use crate::ingest::MAX_ID_BYTES;
use crate::standing::{CaseEvent, CaseEventKind, Event, EventKind, StandingFilter, has_form, split_key};
use crate::value::Timestamp;

const STANDING_SEED: u64 = 0x7374_616e_6469_6e67;
const EVENTS_SEED: u64 = 0x6576_656e_7473;

const ENTERED: u8 = 0;
const LEFT: u8 = 1;
const CHANGED: u8 = 2;

/// The maximum size of an entry of events, in bytes, before its last event is added.
const ENTRY_BYTES: usize = 16 << 10;

/// The counters of standing filters and events. They change in the transaction of the write that changes the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StandingCounters {
    /// The number of filters.
    pub(super) filters: u64,
    /// The number of writes that inserted or removed filters, or forgot events.
    pub(super) changes: u64,
    /// The number of the oldest event that is kept, or `next_event` if none is kept.
    pub(super) first_event: u64,
    /// The number of the next event.
    pub(super) next_event: u64,
    /// The number of entries in the table of events.
    pub(super) entries: u64,
}

impl Default for StandingCounters {
    fn default() -> Self {
        Self { filters: 0, changes: 0, first_event: 1, next_event: 1, entries: 0 }
    }
}

impl StandingCounters {
    /// Returns the number of the last event, or 0 if there has been none.
    pub(super) fn last_event(&self) -> u64 {
        self.next_event.saturating_sub(1)
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let Self { filters, changes, first_event, next_event, entries } = self;
        let mut out = ByteWriter::default();
        out.all(&[filters, changes, first_event, next_event, entries]);
        with_checksum(STANDING_SEED, &out.into_bytes())
    }

    /// Decodes counters. Returns an error if `next_event` or `changes` is greater than `most`, because a greater counter could
    /// saturate.
    pub(super) fn from_bytes(bytes: &[u8], most: u64) -> Result<Self, Fault> {
        let wrong = |what: &str| Fault::corrupt(format!("the counters of standing filters {what}"));
        let contents = checked(STANDING_SEED, bytes).ok_or_else(|| wrong("have a wrong checksum"))?;
        let mut reader = ByteReader::new(contents);
        let mut next = || reader.one::<u64>();
        let own = Self {
            filters: next()?,
            changes: next()?,
            first_event: next()?,
            next_event: next()?,
            entries: next()?,
        };
        reader.finish()?;
        let has_events = own.first_event < own.next_event;
        let is_sound = own.first_event > 0
            && own.first_event <= own.next_event
            && has_events == (own.entries > 0)
            && own.next_event.max(own.changes) <= most;
        if is_sound { Ok(own) } else { Err(wrong("contradict each other")) }
    }
}

fn filter_seed(key: &str) -> u64 {
    xxh3_64_with_seed(key.as_bytes(), STANDING_SEED)
}

fn short(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

fn write_fields(fields: &[FieldId], out: &mut ByteWriter) {
    // A catalogue has at most 65,535 fields.
    out.all(&[short(fields.len())]);
    fields.iter().for_each(|field| out.all(&[short(field.index())]));
}

/// The ids of the fields of a catalogue, by index.
pub(super) struct Fields(Vec<FieldId>);

impl Fields {
    pub(super) fn of(catalog: &Catalog) -> Self {
        Self(catalog.field_ids().collect())
    }

    fn read(&self, reader: &mut ByteReader<'_>) -> Result<Vec<FieldId>, String> {
        let count: u16 = reader.one()?;
        let indexes: Vec<u16> = reader.all(usize::from(count))?;
        if !indexes.is_sorted_by(|one, next| one < next) {
            return Err("fields that are not in ascending order".to_owned());
        }
        let field = |index: u16| {
            let found = self.0.get(usize::from(index)).copied();
            found.ok_or_else(|| format!("field {index}, which the catalogue does not have"))
        };
        indexes.into_iter().map(field).collect()
    }
}

/// Encodes a standing filter: its fields, and its normal form as a filter text. The bytes of a filter with an owner also contain
/// `body`: the request body that the owner has sent for it.
pub(super) fn filter_to_bytes(filter: &StandingFilter, body: &str) -> Vec<u8> {
    let mut out = ByteWriter::default();
    write_fields(filter.fields(), &mut out);
    if filter.owner().is_some() {
        // A body is shorter than 4 GiB.
        out.all(&[u32::try_from(body.len()).unwrap_or(u32::MAX)]);
        out.bytes(body.as_bytes());
    }
    out.bytes(filter.filter().to_text().as_bytes());
    with_checksum(filter_seed(&filter.key()), &out.into_bytes())
}

/// A decoded standing filter. Its text is not compiled yet.
pub(super) struct StoredFilter<'b> {
    pub(super) fields: Vec<FieldId>,
    /// The request body that the owner has sent for the filter. Empty for a filter without an owner.
    pub(super) body: &'b str,
    pub(super) text: &'b str,
}

/// Decodes the standing filter with this key, but does not compile its text.
pub(super) fn stored_filter<'b>(
    key: &str,
    bytes: &'b [u8],
    fields: &Fields,
) -> Result<StoredFilter<'b>, Fault> {
    let wrong = |what: String| Fault::corrupt(format!("the standing filter {key:?}: {what}"));
    let contents = checked(filter_seed(key), bytes).ok_or_else(|| wrong("a wrong checksum".to_owned()))?;
    stored_filter_of(key, contents, fields).map_err(wrong)
}

pub(super) fn stored_filter_of<'b>(
    key: &str,
    contents: &'b [u8],
    fields: &Fields,
) -> Result<StoredFilter<'b>, String> {
    let mut reader = ByteReader::new(contents);
    let fields = fields.read(&mut reader)?;
    let text = |bytes| str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned());
    let (owner, _) = split_key(key);
    let body = match owner {
        None => "",
        Some(_) => {
            let body_bytes: u32 = reader.one()?;
            text(reader.bytes(body_bytes as usize)?)?
        }
    };
    Ok(StoredFilter { fields, body, text: text(reader.rest())? })
}

/// Decodes the standing filter with this key.
pub(super) fn filter_from_bytes(
    key: &str,
    bytes: &[u8],
    catalog: &Catalog,
    fields: &Fields,
) -> Result<StandingFilter, Fault> {
    let StoredFilter { fields, text, .. } = stored_filter(key, bytes, fields)?;
    let filter = Filter::of_stored_text(catalog, text)
        .map_err(|errors| Fault::corrupt(format!("the standing filter {key:?}: {errors}")))?;
    Ok(StandingFilter::of_key(key, &filter).with_fields(fields))
}

/// Returns the size of an event in bytes, without the count of its changed fields. The sum of these sizes limits an entry.
fn event_bytes(filter: &str, fields: &[FieldId]) -> usize {
    filter.len().saturating_add(2).saturating_add(size_of_val(fields))
}

/// Returns true if an entry whose events have this total size gets no further event.
fn is_full(bytes: usize) -> bool {
    bytes >= ENTRY_BYTES
}

/// An entry of events that is being filled: events of one case, caused by one write.
pub(super) struct EntryWriter {
    first: u64,
    count: u32,
    head: ByteWriter,
    events: ByteWriter,
    bytes: usize,
}

impl EntryWriter {
    /// Begins an entry whose first event will have this number.
    pub(super) fn new(first: u64) -> Self {
        let (head, events) = (ByteWriter::default(), ByteWriter::default());
        Self { first, count: 0, head, events, bytes: 0 }
    }

    /// Adds an event.
    pub(super) fn push(&mut self, event: &CaseEvent<'_>) {
        let (kind, fields) = match event.kind {
            CaseEventKind::Entered => (ENTERED, None),
            CaseEventKind::Left => (LEFT, None),
            CaseEventKind::Changed(fields) => (CHANGED, Some(fields)),
        };
        self.count = self.count.saturating_add(1);
        self.bytes = self.bytes.saturating_add(event_bytes(event.filter, fields.unwrap_or_default()));
        self.events.u8(kind);
        // A key has at most 255 bytes.
        self.events.u8(u8::try_from(event.filter.len()).unwrap_or(u8::MAX));
        self.events.bytes(event.filter.as_bytes());
        if let Some(fields) = fields {
            write_fields(fields, &mut self.events);
        }
    }

    /// Returns true if the next event belongs to another entry.
    pub(super) fn is_full(&self) -> bool {
        is_full(self.bytes)
    }

    /// Returns the number of the first event, and the bytes of the entry.
    pub(super) fn finish(self, time: Timestamp, id: &str) -> (u64, Vec<u8>) {
        let first = self.first;
        (first, with_checksum(first ^ EVENTS_SEED, &self.contents(time, id)))
    }

    /// Returns the bytes of the entry after its checksum.
    pub(super) fn contents(mut self, time: Timestamp, id: &str) -> Vec<u8> {
        self.head.all(&[time.as_millis()]);
        // The id is a part of a document, which is shorter than 4 GiB.
        self.head.all(&[self.count, u32::try_from(id.len()).unwrap_or(u32::MAX)]);
        self.head.bytes(id.as_bytes());
        self.head.bytes(&self.events.into_bytes());
        self.head.into_bytes()
    }
}

/// Returns the time of an entry, without verifying its checksum.
pub(super) fn time_of_entry(bytes: &[u8]) -> Option<Timestamp> {
    let mut reader = ByteReader::new(bytes);
    reader.one::<u64>().ok()?;
    reader.one().ok().map(Timestamp::from_millis)
}

/// Replaces the id of an entry with an empty id if `is_removed` returns true for it. Returns the number of events of the entry, and
/// the new entry. Returns `None` if the id stays. In an entry, an empty id means that the case was erased.
pub(super) fn without_id(
    first: u64,
    bytes: &[u8],
    is_removed: impl FnOnce(&str) -> bool,
) -> Result<Option<(u32, Vec<u8>)>, Fault> {
    let wrong = || Fault::corrupt(format!("the events from number {first} on have a wrong checksum"));
    let mut reader = ByteReader::new(checked(first ^ EVENTS_SEED, bytes).ok_or_else(wrong)?);
    let time: i64 = reader.one()?;
    let (count, id_bytes): (u32, u32) = (reader.one()?, reader.one()?);
    let id = reader.bytes(id_bytes as usize)?;
    if !str::from_utf8(id).is_ok_and(is_removed) {
        return Ok(None);
    }
    let mut out = ByteWriter::default();
    out.all(&[time]);
    out.all(&[count, 0]);
    out.bytes(reader.rest());
    Ok(Some((count, with_checksum(first ^ EVENTS_SEED, &out.into_bytes()))))
}

/// Decodes the events of the entry whose first event has this number. There is at least one.
pub(super) fn events_from_bytes(
    first: u64,
    bytes: &[u8],
    catalog: &Catalog,
    fields: &Fields,
) -> Result<Vec<Event>, Fault> {
    let wrong = |what: String| Fault::corrupt(format!("the events from number {first} on: {what}"));
    let contents = checked(first ^ EVENTS_SEED, bytes).ok_or_else(|| wrong("a wrong checksum".to_owned()))?;
    events_of(first, contents, catalog, fields).map_err(wrong)
}

pub(super) fn events_of(
    first: u64,
    contents: &[u8],
    catalog: &Catalog,
    fields: &Fields,
) -> Result<Vec<Event>, String> {
    let mut reader = ByteReader::new(contents);
    let time = Timestamp::from_millis(reader.one()?);
    let (count, id_bytes): (u32, u32) = (reader.one()?, reader.one()?);
    let text = |bytes| str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned());
    let id = text(reader.bytes(id_bytes as usize)?)?;
    if count == 0 {
        return Err("no event".to_owned());
    }
    // Each event has a copy of the id. So the id and the number of events are bounded, as in an entry that a store has written.
    if id.len() > MAX_ID_BYTES {
        return Err(format!("an id of {} bytes", id.len()));
    }
    let mut bytes = 0;
    let mut events = Vec::new();
    for number in (first..).take(count as usize) {
        if is_full(bytes) {
            return Err(format!("more than {ENTRY_BYTES} bytes of events"));
        }
        let kind = reader.u8()?;
        let name_bytes = reader.u8()?;
        let name = text(reader.bytes(usize::from(name_bytes))?)?;
        let (owner, own_name) = split_key(name);
        if !has_form(owner, own_name, StandingFilter::MAX_NAME_BYTES) {
            return Err(format!("a name of {name_bytes} bytes"));
        }
        let mut changed = Vec::new();
        let kind = match kind {
            ENTERED => EventKind::Entered,
            LEFT => EventKind::Left,
            CHANGED => {
                changed = fields.read(&mut reader)?;
                EventKind::changed(catalog, changed.iter().copied())
            }
            other => return Err(format!("an event of the kind {other}")),
        };
        bytes = bytes.saturating_add(event_bytes(name, &changed));
        events.push(Event::new(number, time, name, id, kind));
    }
    reader.finish()?;
    Ok(events)
}

const KEPT_EVENTS_SEED: u64 = 0x6b65_7074;

impl KeptEvents {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let age_ms = self.age.map_or(u64::MAX, |age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        let mut out = ByteWriter::default();
        out.all(&[self.count, age_ms]);
        with_checksum(KEPT_EVENTS_SEED, &out.into_bytes())
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, Fault> {
        let wrong = |what: &str| Fault::corrupt(format!("the number of kept events {what}"));
        let contents = checked(KEPT_EVENTS_SEED, bytes).ok_or_else(|| wrong("has a wrong checksum"))?;
        let mut reader = ByteReader::new(contents);
        let count = reader.one()?;
        let age_ms: u64 = reader.one()?;
        if !reader.rest().is_empty() {
            return Err(wrong("is too long"));
        }
        Ok(Self { count, age: (age_ms < u64::MAX).then(|| Duration::from_millis(age_ms)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Field, FieldType};

    fn catalog() -> Catalog {
        Catalog::new([Field::new("state", FieldType::String), Field::new("n", FieldType::Number)]).unwrap()
    }

    fn damaged(bytes: &[u8], at: usize) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 4;
        bytes
    }

    #[test]
    fn bytes_are_read_back_and_changed_bytes_are_rejected() {
        let catalog = catalog();
        let fields = Fields::of(&catalog);
        let counters = StandingCounters { filters: 2, changes: 3, first_event: 4, next_event: 9, entries: 1 };
        let bytes = counters.to_bytes();
        assert_eq!(StandingCounters::from_bytes(&bytes, 9).unwrap(), counters);
        for wrong in [
            StandingCounters { first_event: 0, ..counters },
            StandingCounters { first_event: 10, ..counters },
            StandingCounters { entries: 0, ..counters },
            StandingCounters { first_event: 9, ..counters },
            StandingCounters { next_event: 10, ..counters },
            StandingCounters { changes: 10, ..counters },
        ] {
            assert!(StandingCounters::from_bytes(&wrong.to_bytes(), 9).is_err(), "{wrong:?}");
        }
        for at in 0..bytes.len() {
            assert!(StandingCounters::from_bytes(&damaged(&bytes, at), 9).is_err());
        }

        let text = "state in (\"a b\", open) and not n > 5";
        let filter = Filter::compile_text(&catalog, text).unwrap();
        let filter = StandingFilter::new("é", &filter).with_fields(catalog.find("n"));
        let bytes = filter_to_bytes(&filter, "");
        assert_eq!(filter_from_bytes("é", &bytes, &catalog, &fields).unwrap(), filter);
        assert!(filter_from_bytes("e", &bytes, &catalog, &fields).is_err());
        for at in 0..bytes.len() {
            assert!(filter_from_bytes("é", &damaged(&bytes, at), &catalog, &fields).is_err());
        }

        let mut entry = EntryWriter::new(7);
        let changed: Vec<FieldId> = catalog.find("n").into_iter().collect();
        let kinds = [CaseEventKind::Entered, CaseEventKind::Left, CaseEventKind::Changed(&changed)];
        for kind in kinds {
            entry.push(&CaseEvent { filter: "name", kind });
        }
        let time = Timestamp::from_millis(-5);
        let (first, bytes) = entry.finish(time, "id");
        assert_eq!((first, time_of_entry(&bytes)), (7, Some(time)));
        let events = events_from_bytes(7, &bytes, &catalog, &fields).unwrap();
        let kinds: Vec<&EventKind> = events.iter().map(|event| &event.kind).collect();
        assert_eq!(kinds, [&EventKind::Entered, &EventKind::Left, &EventKind::Changed(vec!["n".to_owned()])]);
        assert!(events.iter().map(|event| event.number).eq(7..10));
        assert!(events.iter().all(|event| (&*event.filter, &*event.id, event.time) == ("name", "id", time)));
        assert!(events_from_bytes(8, &bytes, &catalog, &fields).is_err());
        for at in 0..bytes.len() {
            assert!(events_from_bytes(7, &damaged(&bytes, at), &catalog, &fields).is_err());
            assert!(events_from_bytes(7, &bytes[..at], &catalog, &fields).is_err());
        }
    }

    #[test]
    fn forged_entries_are_refused() {
        let catalog = catalog();
        let fields = Fields::of(&catalog);
        let check = |parts: &[&[u8]]| events_of(1, &parts.concat(), &catalog, &fields);
        let head = |count: u32, id: u32| {
            [&7_i64.to_le_bytes()[..], &count.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        let entered: &[u8] = &[0, 1, b'n'];
        assert_eq!(check(&[&head(1, 1), b"i", entered]).unwrap().len(), 1);
        // The greatest number of events that the writer puts into an entry.
        let mut writer = EntryWriter::new(1);
        while !writer.is_full() {
            writer.push(&CaseEvent { filter: "n", kind: CaseEventKind::Entered });
        }
        let most = writer.count;
        let (id, events) = (vec![b'i'; 1_024], entered.repeat(most as usize));
        assert_eq!(check(&[&head(most, 1_024), &id, &events]).unwrap().len(), most as usize);
        for (wrong, what) in [
            (vec![head(0, 1), b"i".to_vec()], "no event"),
            (vec![head(1, 1), vec![0xff], entered.to_vec()], "UTF-8"),
            (vec![head(2, 1), b"i".to_vec(), entered.to_vec()], "left"),
            (vec![head(u32::MAX, 1), b"i".to_vec(), entered.to_vec()], "left"),
            (vec![head(1, u32::MAX), b"i".to_vec(), entered.to_vec()], "left"),
            (vec![head(1, 1), b"i".to_vec(), entered.to_vec(), vec![0]], "after the end"),
            (vec![head(1, 1), b"i".to_vec(), vec![3, 1, b'n']], "kind 3"),
            (vec![head(1, 1), b"i".to_vec(), vec![0, 0]], "name of 0"),
            (vec![head(1, 1), b"i".to_vec(), [&[0, 129][..], &[b'n'; 129]].concat()], "name of 129"),
            (vec![head(1, 1), b"i".to_vec(), vec![2, 1, b'n', 1, 0, 9, 0]], "field 9"),
            (vec![head(1, 1), b"i".to_vec(), vec![2, 1, b'n', 0xff, 0xff]], "left"),
            (vec![head(1, 1), b"i".to_vec(), vec![2, 1, b'n', 2, 0, 1, 0, 1, 0]], "ascend"),
            (vec![head(1, 1_025), vec![b'i'; 1_025], entered.to_vec()], "id of 1025 bytes"),
            (vec![head(most + 1, 1), b"i".to_vec(), entered.repeat(most as usize + 1)], "bytes of events"),
        ] {
            let parts: Vec<&[u8]> = wrong.iter().map(Vec::as_slice).collect();
            let error = check(&parts).unwrap_err();
            assert!(error.contains(what), "{error}, not {what}");
        }
    }
}
