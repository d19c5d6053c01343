//! Standing filters that have an owner, such as a token of a service, and their events.
//!
//! An owner is a string. Its first part identifies who owns the filter, such as a token. The rest may change; for example, it may
//! identify the rights of the token. The functions take the first part, and find the filters and events of all owners that begin
//! with it.

use std::collections::HashSet;

use super::database::Store;
use super::error::StoreError;
use super::standing_bytes::{Fields, filter_to_bytes, stored_filter};
use super::standing_tables::{each_event, open, put_filters, remove_filter, system_clock};
use super::tables::STANDING;
use crate::catalog::FieldId;
use crate::error::Error;
use crate::standing::{Event, MARK, StandingFilter, WriteEvents, key_of, split_key};

/// The maximum number of events that one call of [`Store::owned_events`] reads.
const MOST_READ: usize = 10_000;

/// The filter name in the event that reports a [change](Exchange::changed) of what the filters of an owner select.
const CHANGED: &str = "restrictions changed";

/// An exchange of standing filters of an owner.
pub(crate) struct Exchange<'e> {
    /// The filters that are removed, if they are there.
    pub(crate) removed: &'e [OwnedFilter],
    /// The filters that are stored.
    pub(crate) inserted: Vec<NewOwnedFilter>,
    /// The first part of the owner, if its filters now select other cases without a request of the owner, for example because its
    /// rights have changed. Then the exchange gives one event `entered` with an empty id. The filter of the event is named
    /// `restrictions changed`, and the owner of the event is this first part. So a reader of the owner's events learns that the
    /// filters select other cases after this event than before.
    pub(crate) changed: Option<&'e str>,
}

/// A stored standing filter of an owner. Its filter is not compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnedFilter {
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) fields: Vec<FieldId>,
    /// The length of the request body that the owner has sent for the filter, in bytes.
    pub(crate) body_bytes: usize,
    /// The length of what is stored, in bytes: the body, the filter and its fields.
    pub(crate) stored_bytes: usize,
    /// The request body that the owner has sent for the filter, if the caller has asked for it.
    pub(crate) body: Option<String>,
}

/// A standing filter of an owner that is to be stored, and the request body that the owner has sent for it.
pub(crate) struct NewOwnedFilter {
    pub(crate) filter: StandingFilter,
    pub(crate) body: String,
}

/// A part of the events of an owner.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OwnedEvents {
    pub(crate) events: Vec<Event>,
    /// The number of the last event that was read, even if the event belongs to another owner. The next part begins after this
    /// event.
    pub(crate) last: u64,
    /// True if there is no event after this part yet.
    pub(crate) is_all: bool,
}

impl NewOwnedFilter {
    /// Returns the length of what is stored, in bytes.
    pub(crate) fn stored_bytes(&self) -> usize {
        filter_to_bytes(&self.filter, &self.body).len()
    }
}

impl OwnedFilter {
    fn key(&self) -> String {
        key_of(Some(&self.owner), &self.name).into_owned()
    }
}

impl Store {
    /// Returns the standing filters of the owners that begin with `start`: sorted by owner, then by name. If `has_body` accepts the
    /// name of a filter, the result includes the body of this filter.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if a filter is damaged.
    pub(crate) fn owned_filters(
        &self,
        start: &str,
        has_body: impl Fn(&str) -> bool + Copy,
    ) -> Result<Vec<OwnedFilter>, StoreError> {
        let start = format!("{MARK}{start}");
        let read = || {
            let mut found: Vec<OwnedFilter> = Vec::new();
            let Some(table) = open(&self.file.read()?, STANDING)? else { return Ok(found) };
            let fields = Fields::of(self.catalog());
            let mut last = String::new();
            for entry in table.range(start.as_str()..)? {
                let (key, bytes) = entry?;
                // The pages of a damaged file may form a cycle, so the keys must ascend.
                if !key.value().starts_with(&start) || key.value() <= last.as_str() {
                    break;
                }
                key.value().clone_into(&mut last);
                let stored = stored_filter(&last, bytes.value(), &fields)?;
                if let (Some(owner), name) = split_key(&last) {
                    let body = has_body(name).then(|| stored.body.to_owned());
                    let (owner, name, body_bytes) = (owner.to_owned(), name.to_owned(), stored.body.len());
                    let (fields, stored_bytes) = (stored.fields, bytes.value().len());
                    found.push(OwnedFilter { owner, name, fields, body_bytes, stored_bytes, body });
                }
            }
            Ok(found)
        };
        self.reading(self.file.generation(), read, read)
    }

    /// Returns true if all filters of the owners that begin with `start` belong to the owner `owner`. Reads two keys.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub(crate) fn is_sole_owner(&self, start: &str, owner: &str) -> Result<bool, StoreError> {
        let own = format!("{MARK}{owner}{MARK}");
        let start = format!("{MARK}{start}");
        let end = format!("{start}{}", char::MAX);
        let read = || {
            let Some(table) = open(&self.file.read()?, STANDING)? else { return Ok(true) };
            // The keys of one owner are adjacent. So if the first and the last key belong to this owner, all keys between them do,
            // too.
            let mut keys = table.range(start.as_str()..end.as_str())?;
            for entry in [keys.next(), keys.next_back()].into_iter().flatten() {
                if !entry?.0.value().starts_with(&own) {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        self.reading(self.file.generation(), read, read)
    }

    /// Returns true if the store has a filter with the same key and the same fields, and this filter selects the same cases.
    pub(crate) fn has_owned(&self, filter: &StandingFilter) -> bool {
        let is_same = |stored: StandingFilter| {
            let (stored_filter, filter_text) = (stored.filter(), || filter.filter().to_text());
            stored.fields() == filter.fields()
                && (stored_filter == filter.filter() || stored_filter.to_text() == filter_text())
        };
        self.filters.get(&filter.key()).is_some_and(is_same)
    }

    /// Removes filters of an owner and stores others, in one transaction. Gives no events for the cases that the filters select.
    /// The change is on disk when the call returns.
    ///
    /// # Errors
    /// Returns the errors of [`insert_standing`](Self::insert_standing). Then nothing is changed.
    pub(crate) fn exchange_owned(&self, exchange: Exchange<'_>) -> Result<(), StoreError> {
        let Exchange { removed, inserted, changed } = exchange;
        let refused = |error: Error| StoreError::request(&self.name, error);
        let (filters, bodies): (Vec<StandingFilter>, Vec<String>) =
            inserted.into_iter().map(|new| (new.filter, new.body)).unzip();
        for filter in &filters {
            self.filters.check(filter).map_err(refused)?;
        }
        let kept: HashSet<String> = filters.iter().map(|filter| filter.key().into_owned()).collect();
        let mut log = self.lock_log();
        self.ready(&mut log)?;
        self.check_format()?;
        let is_removed = |key: &String| !kept.contains(key) && self.filters.contains(key);
        let removed: Vec<String> = removed.iter().map(OwnedFilter::key).filter(is_removed).collect();
        if removed.is_empty() && filters.is_empty() {
            return Ok(());
        }
        self.filters.check_room(&filters).map_err(refused)?;
        let event = changed.map(|start| {
            let key = key_of(Some(start), CHANGED).into();
            let mut events = WriteEvents::entering(vec![key], system_clock()(), u64::MAX);
            events.enter(0, "");
            events
        });
        self.change_filters(
            &mut log,
            |transaction, counters| {
                removed.iter().try_for_each(|key| remove_filter(transaction, key, counters))?;
                let filters = filters.iter().zip(bodies.iter().map(String::as_str));
                put_filters(transaction, filters, counters)
            },
            event.as_ref(),
            |set| set.exchange(&removed, filters.clone()).map(drop),
        )
    }

    /// Returns at most `most` events of filters whose owners begin with `start`, in the order of their numbers. Starts after the
    /// event `after`. Reads at most 10,000 events of all owners.
    ///
    /// # Errors
    /// Returns the errors of [`events_after`](Self::events_after).
    pub(crate) fn owned_events(
        &self,
        start: &str,
        after: u64,
        most: usize,
    ) -> Result<OwnedEvents, StoreError> {
        // The number of the last event is read before the file, so that the file has this event.
        let end = self.bell.last();
        let read = || {
            let mut found = OwnedEvents { events: Vec::new(), last: after, is_all: true };
            let mut count = 0_usize;
            each_event(&self.file.read()?, self.catalog(), (after, end), |event| {
                found.last = event.number;
                count = count.saturating_add(1);
                if event.owner.as_ref().is_some_and(|owner| owner.starts_with(start)) {
                    found.events.push(event);
                }
                count < MOST_READ && found.events.len() < most
            })?;
            found.is_all = found.last >= end;
            Ok(found)
        };
        self.reading(self.file.generation(), read, read)
    }

    /// Returns the number of standing filters, and the number of the last event that is on disk.
    pub(crate) fn standing_counts(&self) -> (usize, u64) {
        (self.filters.len(), self.bell.last())
    }
}
