//! The events of one write, before they get numbers.

use std::sync::Arc;

use super::snapshot::{Place, Snapshot};
use crate::catalog::FieldId;
use crate::value::Timestamp;

/// The change that a write makes between a filter and a case.
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
    /// Names by the number of a [`Place::Recent`].
    Own(Vec<Box<str>>),
}

/// The events of one write, by case.
pub(crate) struct WriteEvents {
    names: Names,
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
    /// Creates an empty list for the filters of a snapshot.
    pub(super) fn new(snapshot: Arc<Snapshot>, time: Timestamp) -> Self {
        Self::of(Names::OfSet(snapshot), time)
    }

    fn of(names: Names, time: Timestamp) -> Self {
        Self { names, time, ids: String::new(), cases: Vec::new(), events: Vec::new(), fields: Vec::new() }
    }

    /// Creates the events of new filters with these names, which cases enter without being written. The pairs have the index of a
    /// name, and the id of a case that the filter selects.
    pub(crate) fn entering<'i>(
        names: Vec<Box<str>>,
        time: Timestamp,
        selected: impl IntoIterator<Item = (usize, &'i str)>,
    ) -> Self {
        let mut own = Self::of(Names::Own(names), time);
        for (name, id) in selected {
            own.push(Place::Recent(u32::try_from(name).unwrap_or(u32::MAX)), Change::Entered);
            own.end_case(id);
        }
        own
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
        }
    }

    /// Returns the number of events.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns the cases that have events, in order.
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
