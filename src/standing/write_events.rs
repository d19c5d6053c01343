//! The events of one write, before they get numbers.

use std::sync::Arc;

use super::snapshot::{Place, Snapshot};
use crate::catalog::FieldId;
use crate::value::Timestamp;

/// The change of a filter's answer for a case, caused by a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Entered,
    Left,
    /// The start and the end of the changed fields in [`WriteEvents::fields`].
    Changed(u32, u32),
}

/// The names that the places in a [`WriteEvents`] refer to.
enum Names {
    OfSet(Arc<Snapshot>),
    /// The names of new filters. The number in a [`Place::Recent`] is an index into this list.
    Own(Vec<Box<str>>),
}

/// The events of one write, by case. If a write has more events than readers need, the list has only its last events.
pub(crate) struct WriteEvents {
    names: Names,
    /// The count of events that are needed: the last ones of the write.
    most: u64,
    /// The count of the events that were left out: the first ones of the write.
    skipped: u64,
    pub(crate) time: Timestamp,
    /// The ids of the cases, concatenated.
    ids: String,
    /// For each case: the end of its id in `ids`, and the end of its events in `events`.
    cases: Vec<(usize, usize)>,
    events: Vec<(Place, Change)>,
    /// The changed fields of all events.
    fields: Vec<FieldId>,
}

impl WriteEvents {
    /// Creates an empty list for the filters of a snapshot. Only the last `most` events of the list are needed.
    pub(super) fn new(snapshot: Arc<Snapshot>, time: Timestamp, most: u64) -> Self {
        Self::of(Names::OfSet(snapshot), time, most)
    }

    /// Creates an empty list for new filters with these names. Cases enter a filter when the filter is inserted, although no case
    /// is written.
    pub(crate) fn entering(names: Vec<Box<str>>, time: Timestamp, most: u64) -> Self {
        Self::of(Names::Own(names), time, most)
    }

    fn of(names: Names, time: Timestamp, most: u64) -> Self {
        let (ids, cases, events, fields) = (String::new(), Vec::new(), Vec::new(), Vec::new());
        Self { names, most, skipped: 0, time, ids, cases, events, fields }
    }

    /// Adds the event that a case enters the filter whose name has this index.
    pub(crate) fn enter(&mut self, name: usize, id: &str) {
        self.push(Place::Recent(u32::try_from(name).unwrap_or(u32::MAX)), Change::Entered);
        self.end_case(id);
    }

    /// Adds an event of the next case.
    pub(super) fn push(&mut self, place: Place, change: Change) {
        self.events.push((place, change));
    }

    /// Adds an event of the next case, with its changed fields.
    pub(super) fn push_changed(&mut self, place: Place, fields: impl Iterator<Item = FieldId>) {
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let start = self.fields.len();
        self.fields.extend(fields);
        self.push(place, Change::Changed(number(start), number(self.fields.len())));
    }

    /// Ends the events of a case. If it has none, does nothing.
    pub(super) fn end_case(&mut self, id: &str) {
        if self.cases.last().map_or(0, |(_, end)| *end) < self.events.len() {
            self.ids.push_str(id);
            self.cases.push((self.ids.len(), self.events.len()));
            // Removing half of the events costs less than adding them did.
            if self.events.len() as u64 > self.most.saturating_mul(2) {
                self.skip_cases();
            }
        }
    }

    /// Removes the first cases whose events are not needed.
    fn skip_cases(&mut self) {
        let most = usize::try_from(self.most).unwrap_or(usize::MAX);
        let not_needed = self.events.len().saturating_sub(most);
        let count = self.cases.partition_point(|(_, end)| *end <= not_needed);
        let Some((ids, events)) = count.checked_sub(1).and_then(|last| self.cases.get(last).copied()) else {
            return;
        };
        self.cases.drain(..count);
        self.ids.drain(..ids);
        self.events.drain(..events);
        self.skipped = self.skipped.saturating_add(events as u64);
        for (id_end, end) in &mut self.cases {
            *id_end = id_end.saturating_sub(ids);
            *end = end.saturating_sub(events);
        }
        let mut first = None;
        for (_, change) in &mut self.events {
            if let Change::Changed(start, end) = change {
                let first = *first.get_or_insert(*start);
                *start = start.saturating_sub(first);
                *end = end.saturating_sub(first);
            }
        }
        let fields = first.map_or(self.fields.len(), |first| first as usize);
        self.fields.drain(..fields.min(self.fields.len()));
    }

    /// Returns the number of events, including the events that were left out.
    pub(crate) fn len(&self) -> u64 {
        self.skipped.saturating_add(self.events.len() as u64)
    }

    /// Returns the count of the events that were left out: the first ones of the write, which are not needed.
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the cases that have events, in order, without the skipped events.
    pub(crate) fn cases(&self) -> impl Iterator<Item = CaseEvents<'_>> {
        let starts = std::iter::once((0, 0)).chain(self.cases.iter().copied());
        self.cases.iter().zip(starts).map(|((id_end, end), (id_start, start))| CaseEvents {
            id: self.ids.get(id_start..*id_end).unwrap_or_default(),
            events: self.events.get(start..*end).unwrap_or_default(),
            owner: self,
        })
    }
}

/// The events of one case in a write.
pub(crate) struct CaseEvents<'e> {
    pub(crate) id: &'e str,
    events: &'e [(Place, Change)],
    owner: &'e WriteEvents,
}

/// One event of a case: the name of the filter, and the kind.
pub(crate) struct CaseEvent<'e> {
    pub(crate) filter: &'e str,
    pub(crate) kind: CaseEventKind<'e>,
}

/// The kind of a [`CaseEvent`].
pub(crate) enum CaseEventKind<'e> {
    Entered,
    Left,
    Changed(&'e [FieldId]),
}

impl<'e> CaseEvents<'e> {
    /// Returns the events.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = CaseEvent<'e>> + use<'e> {
        let owner = self.owner;
        self.events.iter().map(move |(place, change)| CaseEvent {
            filter: match &owner.names {
                Names::OfSet(snapshot) => snapshot.name(*place),
                Names::Own(names) => match place {
                    Place::Recent(name) => names.get(*name as usize).map_or("", |name| name),
                    Place::Layer(..) => "",
                },
            },
            kind: match change {
                Change::Entered => CaseEventKind::Entered,
                Change::Left => CaseEventKind::Left,
                Change::Changed(start, end) => CaseEventKind::Changed(
                    owner.fields.get(*start as usize..*end as usize).unwrap_or_default(),
                ),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    /// Returns the events as text.
    fn told(events: &WriteEvents) -> Vec<String> {
        let told = |case: CaseEvents<'_>| {
            let kind = |kind: &CaseEventKind<'_>| match kind {
                CaseEventKind::Entered => "entered".to_owned(),
                CaseEventKind::Left => "left".to_owned(),
                CaseEventKind::Changed(fields) => format!("{fields:?}"),
            };
            case.iter()
                .map(|event| format!("{} {} {}", case.id, event.filter, kind(&event.kind)))
                .collect::<Vec<_>>()
        };
        events.cases().flat_map(told).collect()
    }

    #[test]
    fn events_that_are_not_kept_take_no_memory() {
        let catalog = Catalog::cases();
        let fields: Vec<FieldId> = catalog.field_ids().take(3).collect();
        let write = |most: u64| {
            let mut events =
                WriteEvents::entering(vec!["a".into(), "b".into()], Timestamp::from_millis(0), most);
            for case in 0..500_usize {
                for event in 0..case * 7 % 5 {
                    let place = Place::Recent(u32::try_from(event % 2).unwrap());
                    match (case + event) % 3 {
                        0 => events.push(place, Change::Left),
                        1 => events.push_changed(place, fields.iter().copied().take(1 + case % 3)),
                        _ => events.push(place, Change::Entered),
                    }
                }
                events.end_case(&format!("case {case}"));
                events.enter(1, &format!("other {case}"));
                // The list has at most twice the number of needed events, plus the events of one case.
                assert!(events.events.len() as u64 <= most.saturating_mul(2).saturating_add(4));
                assert!(events.fields.len() <= events.events.len() * 3);
            }
            events
        };
        let all = write(u64::MAX);
        let expected = told(&all);
        assert_eq!((all.len(), all.skipped()), (expected.len() as u64, 0));
        for most in [0, 1, 2, 3, 10, 100, 1_000, 2_000] {
            let events = write(most);
            assert_eq!(events.len(), all.len());
            let skipped = usize::try_from(events.skipped()).unwrap();
            assert_eq!(told(&events), expected[skipped..]);
            assert!(expected.len() - skipped >= expected.len().min(usize::try_from(most).unwrap()));
        }
    }
}
