//! Standing filters: which of many named filters select one document.
//!
//! A [`FilterSet`] has the filters. Its current state is a snapshot, which never changes: a write builds the next snapshot and
//! swaps a pointer, as in an engine. So a match never waits for a write.
//!
//! ```text
//! snapshot ─┬─ recent: the last filters that were inserted, at most 31; each is evaluated by itself
//!           └─ layers: segments, each with the set of its removed names
//! segment  ─── an immutable index of filters; 32 recent filters become a segment, and segments of similar size are merged
//! ```
//!
//! The segments form a log-structured set, as in search engines. An insertion copies few pointers, and each filter is moved to a
//! larger segment once for each size class. A removed or replaced filter stays in its segment, but its name is in the set of
//! removed names. A merge leaves the filter out.
//!
//! | task | file |
//! |---|---|
//! | the set and its methods; a filter with its name; the names that match | `filter_set`; `standing_filter`; `matches` |
//! | the filters at one moment, and when segments are merged | `snapshot` |
//! | what identifies a filter: its name, or its owner and its name | `key` |
//! | the pointer to the snapshot, and the writer lock | `shared`, tested by `interleavings` |
//! | removed names of a segment | `removed` |
//! | the index | `segment` |
//! | events of writes: their kinds; finding them; those of one write; the latest ones | `event`; `watch`; `write_events`; `ring` |
//! | the fields that filters read from a document | `reads` |

mod event;
mod filter_set;
mod hasher;
#[cfg(test)]
mod interleavings;
mod key;
mod matches;
mod reads;
mod removed;
mod ring;
mod segment;
mod shared;
mod snapshot;
mod standing_filter;
mod watch;
mod write_events;

pub use self::event::{Event, EventKind, EventsGoneError};
pub use self::filter_set::{FilterSet, FilterSetMemory, InsertOutcome};
#[cfg(feature = "service")]
pub(crate) use self::key::MARK;
#[cfg(feature = "store")]
pub(crate) use self::key::{has_form, key_of, split_key};
pub use self::matches::FilterMatches;
pub(crate) use self::ring::EventRing;
pub use self::standing_filter::StandingFilter;
pub(crate) use self::watch::{Watch, WatchRoom};
pub(crate) use self::write_events::WriteEvents;
#[cfg(feature = "store")]
pub(crate) use self::write_events::{CaseEvent, CaseEventKind};
