//! Compares the store with a plain list: on disks that fail, on damaged files, and after reopening at random moments.

mod copies;
mod disk;
mod erase;
mod event_reader;
mod exchange;
mod faults;
mod folder;
mod format;
mod growth;
mod history;
mod history_damage;
mod imports;
mod lazy;
mod members;
mod operations;
mod packed;
mod plain;
mod standing;
mod stops;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::file::File;
use super::verify::verify;
use super::*;
use crate::catalog::{Catalog, Field, FieldType};
use crate::engine::{ImportMode, UpsertOutcome};
use crate::filter::Filter;
use crate::filter::SearchRequest;
use crate::limits::Limits;
use crate::reference;
use crate::standing::{Event, EventKind, StandingFilter};
use disk::{Dice, Disk, Trouble};
use event_reader::EventReader;
use operations::operate;
use plain::{FILTERS, Plain, case, standing};

fn catalog() -> Catalog {
    Catalog::new([
        Field::new("state", FieldType::String),
        Field::new("amount", FieldType::Number),
        Field::new("tags[]", FieldType::String),
        Field::new("at", FieldType::Timestamp),
    ])
    .unwrap()
}

/// Returns options with small batches for even seeds. For odd seeds, the batches are larger, and heads are merged into them
/// repeatedly.
fn options(seed: u64) -> StoreOptions {
    let options = StoreOptions::default().checkpoint_every(12);
    options.batch_rows(if seed.is_multiple_of(2) { 8 } else { 512 })
}

/// Returns the maximum number of events that the store of this seed keeps, or `None` if it keeps all. A third of the stores keep
/// few.
fn kept_events(seed: u64) -> Option<usize> {
    (seed % 3 == 2).then_some(7)
}

fn open(disk: &Disk, seed: u64) -> Result<Store, StoreError> {
    // Half of the stores keep a history.
    let options = match seed % 4 < 2 {
        true => options(seed),
        false => options(seed).history(Duration::from_millis(5)),
    };
    let options = match kept_events(seed) {
        Some(count) => options.keep_events(count as u64),
        None => options,
    };
    let file = File::in_backend(disk.clone(), &catalog());
    file.map_err(|fault| fault.of_file("disk"))
        .and_then(|file| Store::load("disk".to_owned(), file, &catalog(), options))
}

/// Returns all committed events, including those that readers may not see yet. Checks that their numbers have no gaps.
fn events(store: &Store) -> Result<Vec<Event>, StoreError> {
    let all = |after| store.read_events((after, u64::MAX), usize::MAX);
    let (first, events) = match all(0) {
        Err(error) if error.kind() == StoreErrorKind::EventsGone => {
            let oldest = error.events_gone().unwrap().oldest;
            (oldest, all(oldest - 1)?)
        }
        events => (1, events?),
    };
    assert!(events.iter().map(|event| event.number).eq(first..first + events.len() as u64), "{events:#?}");
    Ok(events)
}

/// Returns the events by case. The events of one case in one write are in no particular order.
fn by_case<'e>(events: impl IntoIterator<Item = (&'e str, String)>) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (id, told) in events {
        match groups.last_mut().filter(|(other, _)| other == id) {
            Some((_, all)) => all.push(told),
            None => groups.push((id.to_owned(), vec![told])),
        }
    }
    groups.iter_mut().for_each(|(_, all)| all.sort());
    groups
}

/// Returns a line for each filter, and one for each group of events. If only the latest events are kept, the first group may have
/// lost some of its events. So its line has only the number of its remaining events.
fn lines(
    filters: impl IntoIterator<Item = StandingFilter>,
    groups: Vec<(String, Vec<String>)>,
    keeps_all: bool,
) -> Vec<String> {
    let told = |filter: StandingFilter| {
        format!("{:?} {}: {} {:?}", filter.owner(), filter.name(), filter.filter(), filter.fields())
    };
    let of_group = |(at, (id, all)): (usize, (String, Vec<String>))| match keeps_all || at > 0 {
        true => format!("{id}: {}", all.join(", ")),
        false => format!("{id}: {} events", all.len()),
    };
    let mut filters: Vec<String> = filters.into_iter().map(told).collect();
    filters.sort();
    filters.into_iter().chain(groups.into_iter().enumerate().map(of_group)).collect()
}

/// Returns all documents in insertion order, followed by the records, the standing filters and the events.
fn all(store: &Store) -> Result<Vec<String>, StoreError> {
    let answer = store
        .search(&SearchRequest::new(Filter::all(store.catalog())).with_limit(10_000).with_count(true))?;
    assert_eq!(answer.total(), Some(answer.len() as u64));
    let documents = answer.documents().map(str::to_owned);
    let records = store.records()?.with_prefix("kind", "")?;
    let events = events(store)?;
    let told = |event: &Event| match &event.kind {
        EventKind::Changed(fields) => format!("{} changed {}", event.filter, fields.join(" ")),
        kind => format!("{} {}", event.filter, kind.name()),
    };
    let groups = by_case(events.iter().map(|event| (event.id.as_str(), told(event))));
    let standing = lines(store.standing_filters(), groups, store.kept_events().count > 1_000);
    let records = records.into_iter().map(|(key, text)| format!("{key}: {text}"));
    Ok(documents.chain(records).chain(standing).collect())
}

/// Returns the seeds of a test. There are `few` seeds, unless the environment sets another number.
fn seeds(few: u64) -> std::ops::Range<u64> {
    let read = |name| std::env::var(name).ok().and_then(|text: String| text.parse::<u64>().ok());
    let first = read("CASEFILTER_FIRST_SEED").unwrap_or(0);
    first..first + read("CASEFILTER_SEEDS").unwrap_or(few)
}
