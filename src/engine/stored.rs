//! Access for the durable store, besides [`WriteTxn`](super::WriteTxn) and [`Parts`](super::Parts).

use std::sync::Arc;

use super::handle::Engine;
use super::snapshot::{Attachment, BatchId, Snapshot, View};

impl Engine {
    /// Returns the view of a snapshot, with its head sealed.
    pub(crate) fn view_of<'s>(&self, snapshot: &'s Snapshot) -> &'s Arc<View> {
        snapshot.view(&self.catalog, self.keep)
    }

    /// Attaches a value to the current snapshot. No write may be in progress.
    pub(crate) fn attach(&self, attachment: Attachment) {
        self.current.load().attach(attachment);
    }

    /// Replaces all cases by those of another engine with the same catalogue, atomically for readers.
    pub(crate) fn replace(&self, other: Self) {
        let (snapshot, writer) = other.current.into_parts();
        let mut writing = self.current.write();
        *writing = writer;
        writing.publish(snapshot);
    }

    /// Removes the attachment of the current snapshot. No write and no search may be in progress.
    pub(crate) fn detach(&self) {
        self.current.load().attachment.store(None);
    }
}

impl Snapshot {
    /// Attaches a value, which replaces the earlier attachment.
    pub(crate) fn attach(&self, attachment: Attachment) {
        self.attachment.store(Some(Arc::new(attachment)));
    }

    /// Returns the number of cases.
    pub(crate) fn len(&self) -> usize {
        self.cases()
    }

    /// Returns the id of the batch that the head will become.
    pub(crate) fn head_id(&self) -> BatchId {
        self.head.id
    }

    /// Returns the smallest number of a document in the head.
    pub(crate) fn first_document_of_head(&self) -> Option<u64> {
        let edits = self.head.edits();
        edits.iter().filter_map(|edit| edit.stored.as_ref()?.document_number()).min()
    }
}
