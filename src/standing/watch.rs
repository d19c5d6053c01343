//! Finds the events of a write: for each case, finds the filters of a set that select it before and after the write.

use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use super::filter_set::FilterSet;
use super::reads::Reads;
use super::segment::Scratch;
use super::snapshot::{Place, Snapshot};
use super::write_events::{Change, WriteEvents};
use crate::batch::{CaseRow, OwnedRow};
use crate::catalog::{Catalog, FieldId};
use crate::value::{Timestamp, Value};

/// Scratch space for finding events. It is reused for the next write.
#[derive(Default)]
pub(crate) struct WatchRoom {
    /// The snapshot that `reads` belongs to.
    read_for: Weak<Snapshot>,
    /// The fields of all filters.
    reads: Reads,
    before: OwnedRow,
    after: OwnedRow,
    scratch: Scratch,
    old: Vec<Place>,
    new: Vec<Place>,
}

/// Finds the events of one write. Uses the filters that the set has when the write begins.
pub(crate) struct Watch<'w> {
    snapshot: Arc<Snapshot>,
    set: &'w FilterSet,
    /// The catalogue of the cases.
    catalog: &'w Catalog,
    room: &'w mut WatchRoom,
    events: WriteEvents,
}

impl FilterSet {
    /// Begins to find the events of a write. `time` returns the time of the write. `catalog` is the catalogue of the cases; the
    /// catalogue of the set must be within it. Only the last `most` events are needed. Returns `None` if the set is empty.
    pub(crate) fn watch<'w>(
        &'w self,
        catalog: &'w Catalog,
        room: &'w mut WatchRoom,
        most: u64,
        time: impl FnOnce() -> Timestamp,
    ) -> Option<Watch<'w>> {
        let snapshot = self.shared.load();
        if snapshot.len() == 0 {
            return None;
        }
        if !std::ptr::eq(room.read_for.as_ptr(), Arc::as_ptr(&snapshot)) {
            room.read_for = Arc::downgrade(&snapshot);
            room.reads = snapshot.reads();
        }
        let events = WriteEvents::new(Arc::clone(&snapshot), time(), most);
        Some(Watch { snapshot, set: self, catalog, room, events })
    }
}

impl Watch<'_> {
    /// Adds the events of a case, given its values before and after the write. A new case has no values before, and a deleted case
    /// has none after.
    ///
    /// Reads the columns of the fields of all filters. If a column cannot be read, this method does not return: it unwinds to the
    /// operation of the store.
    pub(crate) fn case(&mut self, id: &str, before: Option<CaseRow<'_>>, after: Option<CaseRow<'_>>) {
        let WatchRoom { reads: Reads { fields, has_elements }, before: old_row, after: new_row, .. } =
            self.room;
        let read = |case: Option<CaseRow<'_>>, own: &mut OwnedRow| {
            case.map(|case| case.read(own, self.catalog, fields, *has_elements)).is_some()
        };
        let (is_old, is_new) = (read(before, old_row), read(after, new_row));
        if is_old && is_new && old_row.is_same(new_row) {
            return;
        }
        self.room.old.clear();
        self.room.new.clear();
        let WatchRoom { before: old_row, after: new_row, scratch, old, new, .. } = &mut *self.room;
        for (is_there, row, found) in [(is_old, &*old_row, &mut *old), (is_new, &*new_row, &mut *new)] {
            if is_there {
                let take = |place| found.push(place);
                self.snapshot.matching(row, self.catalog, &self.set.hasher, scratch, take);
                // Each filter is found at most once, so there are no equal places.
                found.sort_unstable();
            }
        }
        let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
        // The fields that have been compared so far. The flag is true if the set of values of the field has changed.
        let mut known: SmallVec<[(FieldId, bool); 8]> = SmallVec::new();
        loop {
            match (old.peek(), new.peek()) {
                (Some(left), Some(entered)) if left == entered => {
                    if let Some(watched) = self.snapshot.watched(**left) {
                        let mut is_changed =
                            |field: &FieldId| is_changed(*field, (old_row, new_row), &mut known);
                        let changed: SmallVec<[FieldId; 8]> =
                            watched.iter().copied().filter(|field| is_changed(field)).collect();
                        if !changed.is_empty() {
                            self.events.push_changed(**left, changed.into_iter());
                        }
                    }
                    old.next();
                    new.next();
                }
                (Some(left), entered) if entered.is_none_or(|entered| left < entered) => {
                    self.events.push(**left, Change::Left);
                    old.next();
                }
                (_, Some(entered)) => {
                    self.events.push(**entered, Change::Entered);
                    new.next();
                }
                (_, None) => break,
            }
        }
        self.events.end_case(id);
    }

    /// Returns the events of all cases. Returns `None` if there are none.
    pub(crate) fn finish(self) -> Option<WriteEvents> {
        (self.events.len() > 0).then_some(self.events)
    }
}

/// Returns true if the sets of values of a field differ. `known` has earlier results for the same rows.
fn is_changed(
    field: FieldId,
    (before, after): (&OwnedRow, &OwnedRow),
    known: &mut SmallVec<[(FieldId, bool); 8]>,
) -> bool {
    if let Some((_, is_changed)) = known.iter().find(|(other, _)| *other == field) {
        return *is_changed;
    }
    let set = |row: &'_ OwnedRow| -> SmallVec<[Value<'static>; 4]> {
        let mut values: SmallVec<[Value<'static>; 4]> = row.values(field).map(Value::into_owned).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let is_changed = !before.values(field).eq(after.values(field)) && set(before) != set(after);
    known.push((field, is_changed));
    is_changed
}
