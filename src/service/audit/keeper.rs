//! The thread of an audit log: writes the records of the queue, and recovers from failed writes.

use std::io;
use std::time::{Duration, Instant};

use super::chain::AuditHead;
use super::event::Event;
use super::queue::{Entry, Waiting};
use super::state::State;
use super::writer::Writer;

/// The time between two attempts to write again.
const INTERVAL: Duration = Duration::from_millis(500);

/// The maximum number of entries for which memory is kept.
const MOST_KEPT_ENTRIES: usize = 1024;

/// Writes the records of the queue until the thread must end.
pub(super) fn keep(state: &State) {
    let (mut work, mut next) = (Waiting::default(), Instant::now());
    while !work.is_over {
        let now = Instant::now();
        if now >= next {
            look(state);
            next = now.checked_add(INTERVAL).unwrap_or(now);
        }
        state.queue.take_until(next, &mut work);
        if !work.entries.is_empty() {
            write(state, &mut work.entries);
        }
        // A burst of requests must not occupy memory forever.
        work.entries.shrink_to(MOST_KEPT_ENTRIES);
        if let Some(result) = work.end.take() {
            let _ = result.try_send(state.with_writer(|writer| end(state, writer)));
        }
    }
    state.with_writer(|writer| {
        let _ = writer.sync();
        writer.shut();
    });
}

/// Writes the records of requests, and says whether the requests may be answered. Removes all entries.
fn write(state: &State, entries: &mut Vec<Entry>) {
    // A request that does not wait any more needs no record.
    let left: Vec<Entry> = entries.extract_if(.., |entry| !entry.outcome.is_waiting()).collect();
    left.iter().for_each(|entry| state.settle(&entry.outcome, false));
    let count = state.with_writer(|writer| {
        // After a failure, no record is written until `look` has opened the file again.
        match state.is_ended() || state.is_failing() || state.slot.has_failed() {
            true => 0,
            false => state.append_all(writer, entries.iter().map(|entry| &*entry.members)),
        }
    });
    // All requests are woken directly one after the other, so that the runtime has to wake fewer threads.
    for (number, entry) in entries.drain(..).enumerate() {
        state.settle(&entry.outcome, number < count);
    }
}

/// Notices a sync that does not end, and opens the file again after a failure.
fn look(state: &State) {
    if state.slot.is_late(state.timeout) {
        state.fail(&io::Error::new(io::ErrorKind::TimedOut, "a sync of the file does not end"));
    }
    if state.is_ended() || !state.is_failing() {
        return;
    }
    let is_recovered = state.with_writer(|writer| {
        let recovered = writer.open().and_then(|()| resume(state, writer));
        if recovered.is_err() {
            writer.shut();
        }
        recovered.is_ok()
    });
    if is_recovered {
        state.recovered();
    }
}

/// Writes a record with the number of requests that have no record.
fn resume(state: &State, writer: &mut Writer) -> io::Result<()> {
    let unrecorded = state.new_unrecorded();
    writer.event(&Event::Resumed { unrecorded })?;
    state.note_head(writer);
    state.note_mentioned(unrecorded);
    Ok(())
}

/// Writes a record about the end of the log, syncs the file, and returns the number and the hash of the last record. No record
/// follows, even if this fails.
fn end(state: &State, writer: &mut Writer) -> io::Result<AuditHead> {
    state.set_ended();
    writer.check_place()?;
    if state.is_failing() {
        writer.open()?;
        resume(state, writer)?;
    } else if state.new_unrecorded() > 0 {
        resume(state, writer)?;
    }
    writer.event(&Event::Closed)?;
    state.note_head(writer);
    Ok(writer.head())
}
