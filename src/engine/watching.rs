//! The standing filters of an engine, with the clock and the latest events.

use std::fmt;
use std::sync::Arc;

use crate::standing::{EventRing, FilterSet};
use crate::value::Timestamp;

/// The standing filters of an engine, and the settings of their events.
#[derive(Clone)]
pub(super) struct WatchSettings {
    pub(super) filters: Arc<FilterSet>,
    /// The maximum number of events that are kept.
    pub(super) most: u64,
    /// False if a store keeps the events.
    pub(super) in_memory: bool,
    pub(super) clock: Clock,
}

/// A function that returns the time of a write.
pub(crate) type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The standing filters of an engine, and their events.
pub(crate) struct Watching {
    pub(crate) filters: Arc<FilterSet>,
    pub(crate) clock: Clock,
    /// The maximum number of events that are kept.
    pub(crate) most: u64,
    /// The latest events. `None` if a store keeps the events.
    pub(crate) ring: Option<EventRing>,
}

impl WatchSettings {
    pub(super) fn build(self) -> Watching {
        let Self { filters, most, in_memory, clock } = self;
        Watching { filters, clock, most, ring: in_memory.then(|| EventRing::new(most)) }
    }
}

impl fmt::Debug for WatchSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchSettings").field("filters", &self.filters).finish_non_exhaustive()
    }
}
