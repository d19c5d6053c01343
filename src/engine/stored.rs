//! Access for a store of documents, beyond [`WriteTxn`](super::WriteTxn) and [`Parts`](super::Parts).

use std::sync::Arc;

use super::handle::Engine;
use super::search::Answer;
use super::snapshot::{Attachment, BatchId, Snapshot, View};

impl Engine {
    /// The batches of a snapshot, its head sealed.
    pub(crate) fn view_of<'s>(&self, snapshot: &'s Snapshot) -> &'s Arc<View> {
        snapshot.view(&self.catalog, self.keep)
    }

    /// Attaches something to the cases as they are now; no write may be under way.
    pub(crate) fn attach(&self, attachment: Attachment) {
        self.current.load().attach(attachment);
    }

    /// Takes the cases of another engine of the same catalogue in the place of its own, in one step for its readers.
    pub(crate) fn replace(&self, other: Self) {
        let (snapshot, writer) = other.current.into_parts();
        let mut writing = self.current.write();
        *writing = writer;
        writing.publish(snapshot);
    }

    /// Lets go what is attached to the cases as they are now; no write and no search may be under way.
    pub(crate) fn detach(&self) {
        self.current.load().attachment.store(None);
    }
}

impl Snapshot {
    /// Attaches something, in the place of what was attached before.
    pub(crate) fn attach(&self, attachment: Attachment) {
        self.attachment.store(Some(Arc::new(attachment)));
    }

    /// Returns the number of cases.
    pub(crate) fn len(&self) -> usize {
        self.cases()
    }

    /// The number of the batch which the head will become.
    pub(crate) fn head_id(&self) -> BatchId {
        self.head.id
    }

    /// The least number of a document stored in the head.
    pub(crate) fn first_document_of_head(&self) -> Option<u64> {
        let edits = self.head.edits();
        edits.iter().filter_map(|edit| edit.stored.as_ref()?.document_number()).min()
    }
}

impl Answer {
    /// Returns the attachment of the snapshot that was searched; `None` if the page is empty.
    pub(crate) fn attachment<T: 'static>(&self) -> Option<&T> {
        self.attachment.as_ref()?.downcast_ref()
    }
}
