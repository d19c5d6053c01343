//! Gives the durable store access to the engine, in addition to [`WriteTxn`](super::WriteTxn) and [`Parts`](super::Parts).

use std::sync::Arc;

use super::handle::Engine;
use super::search::EngineSnapshot;
use super::snapshot::{Attachment, BatchId, Head, Slot, Snapshot, View};
use super::write::WriteTxn;
use crate::batch::{Batch, Unreadable};
use crate::catalog::FieldId;
use crate::column::Selection;

/// The number of successive cases in each run of a [sample](Engine::sample). Their documents are usually stored together, so that
/// few pages of the file are read.
const RUN: usize = 32;

impl Engine {
    /// Returns the view of a snapshot. If the head of the snapshot has not been sealed yet, this method seals it.
    pub(crate) fn view_of<'s>(&self, snapshot: &'s Snapshot) -> &'s Arc<View> {
        snapshot.view(&self.catalog, self.keep)
    }

    /// Returns the document numbers of a sample of cases, and the value that is attached to the snapshot.
    ///
    /// The sample has about `least` cases, or up to twice as many. It consists of runs of 32 successive cases, which are spread
    /// evenly over all cases. If there are fewer cases, the sample has all of them.
    pub(crate) fn sample(&self, least: usize) -> (Vec<u64>, Option<Arc<Attachment>>) {
        let snapshot = self.current_snapshot();
        // The number of runs in a window. The sample has one run of each window.
        let step = snapshot.len().checked_div(least).unwrap_or(0).max(1);
        // The position of the run in its window varies, because the cases of a source may repeat a pattern. The factor is 2^32/φ,
        // where φ is the golden ratio. Its multiples are spread evenly.
        let run_of = |window: usize| {
            let position = (window.wrapping_mul(0x9e37_79b9) >> 16).checked_rem(step).unwrap_or(0);
            window.saturating_mul(step).saturating_add(position)
        };
        let mut numbers = Vec::new();
        // The number of the first run of the batch, and the number of the next window.
        let (mut first, mut window): (usize, usize) = (0, 0);
        for slot in self.view_of(&snapshot).slots() {
            let rows = slot.batch.rows();
            let end = first.saturating_add(rows.div_ceil(RUN));
            while run_of(window) < end {
                let start = run_of(window).saturating_sub(first).saturating_mul(RUN);
                let run = start..rows.min(start.saturating_add(RUN));
                let live = run.filter(|row| slot.live.contains(*row));
                numbers.extend(live.filter_map(|row| slot.batch.document_number(row)));
                window = window.saturating_add(1);
            }
            first = end;
        }
        (numbers, snapshot.attachment.load_full())
    }

    /// Returns a snapshot of the cases as they were after write number `write`. Builds it from `later`, the snapshot after a later
    /// write. Hides the documents of `later` whose numbers are `next_document` or greater. Adds the batches `old`, which have the
    /// documents that `later` no longer has.
    ///
    /// The earlier snapshot shares its other batches with `later`. So it takes memory only for the batches `old` and for the
    /// changed sets of live rows.
    pub(crate) fn earlier_snapshot(
        &self,
        later: &EngineSnapshot,
        write: u64,
        next_document: u64,
        old: Vec<Batch>,
        attachment: Attachment,
    ) -> EngineSnapshot {
        let later = later.inner();
        let mut view = View::clone(self.view_of(later));
        view.hide_documents_from(next_document);
        let mut id = later.head_id();
        let mut next_id = || {
            id = BatchId(id.0.saturating_add(1));
            id
        };
        for batch in old {
            view.push_uncovered(Slot::new(next_id(), batch, Selection::All));
        }
        view.settle();
        let cases = view.cases();
        let snapshot = Snapshot::new(Arc::new(view), Head::new(next_id()), cases).numbered(write);
        snapshot.attach(attachment);
        self.snapshot_of(Arc::new(snapshot))
    }

    /// Attaches a value to the current snapshot. No write may be in progress.
    pub(crate) fn attach(&self, attachment: Attachment) {
        self.current.load().attach(attachment);
    }

    /// Returns the hasher of ids and keys, which all snapshots share.
    pub(crate) fn hasher(&self) -> foldhash::quality::RandomState {
        self.current.load().base.index().hasher().clone()
    }

    /// Replaces all cases by the cases of another engine, which has the same catalogue and the same [hasher](Self::hasher). A
    /// search sees either all old cases or all new cases.
    pub(crate) fn replace(&self, other: Self) {
        let (snapshot, writer) = other.current.into_parts();
        let mut writing = self.current.write();
        *writing = writer;
        writing.publish(snapshot);
    }

    /// Reads all columns of the current snapshot, and builds all indexes. Calls `goes_on` before each column and each index, and
    /// stops if it returns false. Returns true if everything was read and built, and false if the method stopped. If a column
    /// cannot be read, returns an error and does not unwind.
    ///
    /// # Errors
    /// Returns the first error of a column. The other columns are read nevertheless. The index of a field is not built if one of
    /// its columns cannot be read.
    pub(crate) fn warm(&self, goes_on: &dyn Fn() -> bool) -> Result<bool, Unreadable> {
        let snapshot = self.current_snapshot();
        let view = self.view_of(&snapshot);
        let mut first = None;
        for field in self.catalog.field_ids() {
            let mut is_complete = true;
            for slot in view.slots() {
                if !goes_on() {
                    return first.map_or(Ok(false), Err);
                }
                if let Err(error) = slot.batch.try_read(field) {
                    first.get_or_insert(error);
                    is_complete = false;
                }
            }
            if !goes_on() {
                return first.map_or(Ok(false), Err);
            }
            if is_complete {
                view.index().build(field);
                if field == FieldId::ID {
                    // The first write needs the ids of uncovered batches.
                    drop(WriteTxn::new(self));
                }
            }
        }
        first.map_or(Ok(true), Err)
    }

    /// Builds the index of ids. This reads the ids of all covered batches. Afterwards, an import can look up the ids of its cases
    /// on any thread.
    pub(crate) fn read_ids(&self) {
        self.current_snapshot().base.index().field(FieldId::ID);
    }

    /// Discards the merge in progress, and releases its references to the source batches. A later write begins this merge again.
    pub(crate) fn stop_merging(&self) {
        self.current.write().merge = None;
    }

    /// Removes the attachment of the current snapshot. No write and no search may be in progress.
    pub(crate) fn detach(&self) {
        self.current.load().attachment.store(None);
    }
}

impl Snapshot {
    /// Attaches a value. It replaces the previous attachment.
    pub(crate) fn attach(&self, attachment: Attachment) {
        self.attachment.store(Some(Arc::new(attachment)));
    }

    /// Returns the value that is attached to the snapshot. Returns `None` if no value was attached.
    pub(crate) fn attached(&self) -> Option<Attachment> {
        self.attachment.load().as_deref().cloned()
    }

    /// Returns the number of cases.
    pub(crate) fn len(&self) -> usize {
        self.cases()
    }

    /// Returns the id of the batch that the head will become.
    pub(crate) fn head_id(&self) -> BatchId {
        self.head.id
    }

    /// Returns the smallest document number in the head.
    pub(crate) fn first_document_of_head(&self) -> Option<u64> {
        let edits = self.head.edits();
        edits.iter().filter_map(|edit| edit.stored.as_ref()?.document_number()).min()
    }
}
