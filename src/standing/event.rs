//! Events: a document enters or leaves a standing filter, or changes while the filter selects it.

use std::fmt;

use super::key::split_key;
use crate::catalog::{Catalog, FieldId};
use crate::value::Timestamp;

/// A change of the answer of a standing filter, caused by one write of a document.
///
/// A write gives an event [`Entered`](EventKind::Entered) for each filter that selects the document only after the write. It gives
/// [`Left`](EventKind::Left) for each filter that selects the document only before the write. If a filter with
/// [fields](crate::StandingFilter::with_fields) selects the document before and after the write, the write compares these fields.
/// It gives [`Changed`](EventKind::Changed) if the set of values of one of them has changed. If a write stores a document several
/// times, its events compare the document before the whole write with the document after it.
///
/// The events of a write have consecutive numbers, in the order of its documents. A document that the write stores several times
/// has the place of its last version. The events of one document are in no particular order. The events of
/// [`insert_entering`](crate::Engine::insert_entering) are in the order of the filters, and then in insertion order of the
/// documents.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Event {
    /// The number of the event. The first event of an engine or a store has number 1, and numbers have no gaps.
    pub number: u64,
    /// The time of the write.
    pub time: Timestamp,
    /// The name of the standing filter. A filter with another owner may have the same name. Filters of the host have no owner.
    pub filter: String,
    /// The [owner](crate::StandingFilter::owner) of the standing filter, if it has one.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub owner: Option<String>,
    /// The id of the document. Empty if the document was erased (`Store::erase`). Also empty in an event of a
    /// [service](crate::guide::service) whose `filter` is `restrictions changed`. After such an event, the filters of the event's
    /// owner select other documents than before.
    pub id: String,
    /// The kind of the change.
    pub kind: EventKind,
}

/// The kind of an [`Event`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub enum EventKind {
    /// The filter selects the document now, and did not before the write.
    Entered,
    /// The filter does not select the document any more, or the document was deleted.
    Left,
    /// The filter selects the document before and after the write. Contains the names of the filter's fields whose values have
    /// changed.
    Changed(Vec<String>),
}

impl Event {
    /// Creates an event of the standing filter with this key.
    pub(crate) fn new(number: u64, time: Timestamp, key: &str, id: &str, kind: EventKind) -> Self {
        let (owner, filter) = split_key(key);
        let owner = owner.map(str::to_owned);
        Self { number, time, filter: filter.to_owned(), owner, id: id.to_owned(), kind }
    }
}

impl EventKind {
    /// Returns the name of the kind: `entered`, `left` or `changed`.
    ///
    /// ```
    /// use casefilter::EventKind;
    /// assert_eq!(EventKind::Left.name(), "left");
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Entered => "entered",
            Self::Left => "left",
            Self::Changed(_) => "changed",
        }
    }

    /// Creates the kind for changed fields of a catalogue.
    pub(crate) fn changed(catalog: &Catalog, fields: impl IntoIterator<Item = FieldId>) -> Self {
        let name = |field| catalog.get(field).map(|field| field.name().to_owned());
        Self::Changed(fields.into_iter().filter_map(name).collect())
    }
}

/// The error for events that are not kept any more, or that have not happened yet.
///
/// ```
/// use casefilter::{Catalog, Engine};
/// let engine = Engine::new(Catalog::cases());
/// let error = engine.events_after(7, 10).unwrap_err();
/// assert_eq!((error.after, error.oldest, error.last), (7, 1, 0));
/// assert_eq!(error.to_string(), "no event has number 7 yet; the last one has number 0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventsGoneError {
    /// The number after which events were asked for.
    pub after: u64,
    /// The number of the oldest event that is kept. If none is kept, the number of the next event.
    pub oldest: u64,
    /// The number of the last event, or 0 if there has been none.
    pub last: u64,
}

impl EventsGoneError {
    /// Checks that all events after `after` are kept, and that `after` is the number of an event, or 0.
    pub(crate) fn check(after: u64, oldest: u64, last: u64) -> Result<(), Self> {
        if after > last || after.saturating_add(1) < oldest {
            return Err(Self { after, oldest, last });
        }
        Ok(())
    }
}

impl fmt::Display for EventsGoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { after, oldest, last } = self;
        if after > last {
            return write!(f, "no event has number {after} yet; the last one has number {last}");
        }
        write!(
            f,
            "the events after number {after} are not all kept; the oldest one that is kept has number {oldest}"
        )
    }
}

impl std::error::Error for EventsGoneError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_missing_events_names_the_numbers() {
        let text = |after, oldest, last| {
            EventsGoneError::check(after, oldest, last).map_err(|error| error.to_string())
        };
        assert_eq!(text(11, 12, 20), Ok(()));
        assert_eq!(text(20, 12, 20), Ok(()));
        let gone = "the events after number 10 are not all kept; the oldest one that is kept has number 12";
        assert_eq!(text(10, 12, 20), Err(gone.to_owned()));
        assert_eq!(
            text(21, 12, 20),
            Err("no event has number 21 yet; the last one has number 20".to_owned())
        );
    }
}
