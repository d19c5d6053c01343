//! A reader of events. It compares the events that it has read with the events that a store has later.

use super::*;

/// A reader that asks for new events again and again.
#[derive(Default)]
pub(super) struct EventReader {
    /// All events that it has read. Events that were forgotten before it asked are missing.
    told: Vec<Event>,
    /// The number of comparisons so far. Each comparison is of one event.
    pub(super) compared: usize,
}

impl EventReader {
    /// Reads the events that readers may see now, except the events that this reader was told before. Checks that the numbers of
    /// the new events have no gaps, and that the last number is that of the last event that readers may see. If the store cannot be
    /// read, does nothing.
    pub(super) fn look(&mut self, store: &Store) {
        let last = store.last_event();
        let after = self.told.last().map_or(0, |event| event.number);
        let read = |after| store.events_after(after, usize::MAX).map(|events| (after + 1, events));
        let found = read(after).or_else(|error| match error.events_gone() {
            Some(gone) => {
                assert!(after + 1 < gone.oldest, "an event that was told has not happened: {gone:?}");
                assert_eq!(gone.last, last, "the error names another last event");
                read(gone.oldest - 1)
            }
            None => Err(error),
        });
        if let Ok((first, events)) = found {
            assert!(events.iter().map(|event| event.number).eq(first..=last), "{events:#?}, up to {last}");
            self.told.extend(events);
        }
    }

    /// Checks that the store still has each event that the reader was told, unless the event is forgotten. Compares the number, the
    /// time, the filter, the id and the kind.
    pub(super) fn compare(&mut self, store: &Store, context: &str) {
        let kept = events(store).unwrap();
        let last = store.last_event();
        let told = self.told.last().map_or(0, |event| event.number);
        assert!(told <= last, "{context}: the event {told} was told, and the last one is {last}");
        let oldest = kept.first().map_or(last + 1, |event| event.number);
        for event in self.told.iter().filter(|event| event.number >= oldest) {
            assert_eq!(kept[(event.number - oldest) as usize], *event, "{context}");
            self.compared += 1;
        }
    }
}
