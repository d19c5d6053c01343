//! Finds the events of a transaction. For each written or deleted case, tests the version before the write and the version after
//! the write. The tests are the standing filters of the engine.

use smallvec::SmallVec;

use super::buffer::{Buffer, SealedBatch, row_addr};
use super::txn::{Attached, WriteTxn};
use crate::batch::{CaseRow, RowAddr};
use crate::engine::snapshot::StoredAddr;
use crate::standing::{Watch, WriteEvents};

impl WriteTxn<'_> {
    /// Finds the events of the transaction. Returns `None` if there are none, such as in an engine without standing filters.
    ///
    /// Reads the old values of replaced and deleted cases. Unwinds if these values cannot be read. Seals the batch that is being
    /// filled.
    pub(super) fn find_events(&mut self, attached: &mut Attached<'_>) -> Option<WriteEvents> {
        let engine = self.engine;
        let watching = engine.watching.as_ref()?;
        if self.buffer.rows() == 0 && self.deleted.is_empty() {
            return None;
        }
        let mut room = std::mem::take(&mut attached.writer.watch_room);
        let time = || (watching.clock)();
        let watch = watching.filters.watch(&engine.catalog, &mut room, watching.most, time);
        let events = watch.and_then(|watch| self.watch_cases(watch, attached));
        attached.writer.watch_room = room;
        events
    }

    fn watch_cases(&mut self, mut watch: Watch<'_>, attached: &Attached<'_>) -> Option<WriteEvents> {
        let Attached { writer, snapshot } = attached;
        let stored = |at: StoredAddr| writer.case_row(snapshot, at);
        // A case keeps its insertion-order number when it is replaced.
        let mut replaced: SmallVec<[(u64, StoredAddr); 1]> = SmallVec::new();
        if self.buffer.rows() > 0 {
            replaced.extend(self.deleted.keys().map(|at| (writer.describe(snapshot, *at).0, *at)));
            replaced.sort_unstable();
        }
        let before = |place: u64| {
            let at = replaced.binary_search_by_key(&place, |(place, _)| *place).ok()?;
            replaced.get(at).and_then(|(_, at)| stored(*at))
        };
        // The rows are visited in ascending order.
        let mut repeated: Vec<RowAddr> = self.own_deleted.clone();
        repeated.sort_unstable_by_key(|at| (at.batch, at.row));
        let mut repeated = repeated.into_iter().peekable();
        let mut is_live = |at: RowAddr| repeated.next_if_eq(&at).is_none();
        if let Buffer::Batches(sealed, filling) = &mut self.buffer
            && filling.rows() > 0
        {
            sealed.push(filling.seal().into());
        }
        match &self.buffer {
            Buffer::Rows(rows) => {
                for (number, row) in rows.iter().enumerate() {
                    if is_live(row_addr(0, number)) {
                        watch.case(row.id(), before(row.place), Some(CaseRow::Buffered(row)));
                    }
                }
            }
            Buffer::Batches(sealed, _) => {
                for (number, SealedBatch { batch, .. }) in sealed.iter().enumerate() {
                    for row in 0..batch.rows() {
                        if is_live(row_addr(number, row)) {
                            watch.case(
                                batch.id(row),
                                before(batch.place(row)),
                                Some(CaseRow::of(batch, row)),
                            );
                        }
                    }
                }
            }
        }
        for row in self.removed.iter().filter_map(|at| stored(*at)) {
            watch.case(row.id(), Some(row), None);
        }
        watch.finish()
    }
}
