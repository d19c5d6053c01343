//! Snapshots: what a search sees. A snapshot has sealed batches and a head of small writes, which the first search seals.
//!
//! The cases of a [`Snapshot`] never change. A snapshot caches results that depend only on its cases. The first search that needs a
//! result computes it. The results are cached in two places:
//!
//! - in the snapshot: the [`View`] with the sealed head;
//! - in a view: lazy columns, columns that are read from a store, indexes of fields that are built on first use, counts of deleted
//!   rows, orders of batches by zone map, and the identifiers of the strings that the top rows have.
//!
//! Every other cached value must also depend only on the cases. A store also attaches its reader of documents to a snapshot.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of rows, batches and bytes that lie in memory; differences are asserted"
)]

mod slot;
mod tombstones;
mod view;

use std::sync::{Arc, OnceLock};

pub(crate) use self::slot::{BatchId, Slot, StoredAddr, row_number};
pub(crate) use self::view::View;
use crate::batch::{Batch, BufferedRow, Keep};
use crate::catalog::Catalog;
use crate::column::Selection;

/// An edit of the head: a stored case, a deleted row, or both.
#[derive(Debug)]
pub(crate) struct Edit {
    /// The previous edit.
    before: Option<Arc<Edit>>,
    pub(crate) stored: Option<Arc<BufferedRow>>,
    pub(crate) deleted: Option<StoredAddr>,
}

/// The head: a persistent list of the [edits](Edit) of small writes, newest first. When a writer moves the head into a batch, a new
/// list begins. It takes constant time to add an edit, and to keep an older state of the list.
///
/// The cases that the edits store become the rows of the batch that is made from the head, in the order of the edits. An edit that
/// deletes a case of the head refers to the case by its row number in that batch.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// The id of the batch that the head will become.
    pub(crate) id: BatchId,
    last: Option<Arc<Edit>>,
    edits: usize,
    rows: u16,
    document_bytes: usize,
}

impl Head {
    pub(crate) fn new(id: BatchId) -> Self {
        Self { id, last: None, edits: 0, rows: 0, document_bytes: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.edits
    }

    /// Returns the number of stored cases, including cases that were deleted afterwards.
    pub(crate) fn rows(&self) -> u16 {
        self.rows
    }

    /// Returns the total size of the stored documents in bytes.
    pub(crate) fn document_bytes(&self) -> usize {
        self.document_bytes
    }

    /// Adds edits: stored cases in order, and deletions of any stored rows.
    pub(crate) fn extend(&mut self, rows: &[Arc<BufferedRow>], deletions: impl Iterator<Item = StoredAddr>) {
        let mut deletions = deletions.fuse();
        let mut rows = rows.iter();
        loop {
            let (stored, deleted) = (rows.next().cloned(), deletions.next());
            if stored.is_none() && deleted.is_none() {
                return;
            }
            let bytes = stored.as_ref().map_or(0, |row| row.document().size_bytes());
            self.document_bytes += bytes;
            self.rows += u16::from(stored.is_some());
            self.edits += 1;
            let before = self.last.take();
            self.last = Some(Arc::new(Edit { before, stored, deleted }));
        }
    }

    /// Returns the edits, newest first.
    fn newest_first(&self) -> impl Iterator<Item = &Edit> {
        std::iter::successors(self.last.as_deref(), |edit| edit.before.as_deref())
    }

    /// Returns the edits, oldest first.
    pub(crate) fn edits(&self) -> Vec<&Edit> {
        let mut edits: Vec<&Edit> = self.newest_first().collect();
        edits.reverse();
        edits
    }
}

/// A value that a store attaches to a snapshot, such as its reader of documents. The snapshot keeps the value alive, until the
/// store replaces or removes it.
#[cfg(feature = "store")]
pub(crate) type Attachment = Arc<dyn std::any::Any + Send + Sync>;

/// The cases at one moment. They never change.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The sealed batches, without the head.
    pub(crate) base: Arc<View>,
    pub(crate) head: Head,
    /// The number of live cases in the base and the head.
    cases: usize,
    /// The number of the last write.
    write: u64,
    /// The base, together with the sealed head and without the rows that the head deletes. The first search creates this view.
    view: OnceLock<Arc<View>>,
    /// The view of an earlier snapshot with the same base, and the number of edits in the head of that snapshot. `None` if no
    /// search has created such a view.
    earlier: Option<(Arc<View>, usize)>,
    #[cfg(feature = "store")]
    pub(crate) attachment: arc_swap::ArcSwapOption<Attachment>,
}

impl Snapshot {
    /// Creates a snapshot. `cases` is the number of live cases in the base and the head.
    pub(crate) fn new(base: Arc<View>, head: Head, cases: usize) -> Self {
        Self {
            base,
            head,
            cases,
            write: 0,
            view: OnceLock::new(),
            earlier: None,
            #[cfg(feature = "store")]
            attachment: arc_swap::ArcSwapOption::empty(),
        }
    }

    /// Lets this snapshot reuse the view of the previous snapshot, `before`. Both must have the same base, and the head of `self`
    /// must extend the head of `before`.
    pub(crate) fn following(self, before: &Self) -> Self {
        let made = before.view.get().map(|view| (Arc::clone(view), before.head.edits));
        Self { earlier: made.or_else(|| before.earlier.clone()), ..self }
    }

    /// Sets the number of the last write.
    pub(crate) fn numbered(self, write: u64) -> Self {
        Self { write, ..self }
    }

    pub(crate) fn cases(&self) -> usize {
        self.cases
    }

    /// Returns the number of the last write. Each write that stores or deletes cases has the next number, from 1 on.
    pub(crate) fn write(&self) -> u64 {
        self.write
    }

    /// Returns the number of batches, counting the head as a batch if it is not empty.
    pub(crate) fn batches(&self) -> usize {
        self.base.slots().count() + usize::from(self.head.edits > 0)
    }

    /// Returns the view that searches use. The first call seals the head.
    pub(crate) fn view(&self, catalog: &Catalog, keep: Keep) -> &Arc<View> {
        if self.head.last.is_none() {
            return &self.base;
        }
        self.view.get_or_init(|| Arc::new(self.sealed(catalog, keep)))
    }

    /// Creates the view with the sealed head. Starts from the view of an earlier snapshot if there is one.
    fn sealed(&self, catalog: &Catalog, keep: Keep) -> View {
        let (view, known) = self.earlier.as_ref().map_or((&self.base, 0), |(view, edits)| (view, *edits));
        let mut view = View::clone(view);
        view.pop_uncovered(self.head.id);
        let mut rows = Vec::with_capacity(usize::from(self.head.rows));
        let mut deletions = Vec::new();
        for (number, edit) in self.head.edits().into_iter().enumerate() {
            // Deletions of rows of the head are applied again, because the head is sealed again. All other deletions of the first
            // `known` edits are already in the earlier view.
            let is_in_head = matches!(edit.deleted, Some(StoredAddr::Uncovered(id, _)) if id == self.head.id);
            deletions.extend(edit.deleted.filter(|_| is_in_head || number >= known));
            rows.extend(edit.stored.clone());
        }
        if !rows.is_empty() {
            let batch = Batch::lazy(catalog, keep, rows);
            view.push_uncovered(Slot::new(self.head.id, batch, Selection::All));
        }
        view.delete_rows(deletions);
        view.settle();
        view
    }

    pub(crate) fn validate(&self, catalog: &Catalog, keep: Keep) -> Result<(), String> {
        let view = self.view(catalog, keep);
        view.validate(catalog)?;
        if view.cases() != self.cases {
            return Err(format!("{} cases, but the count says {}", view.cases(), self.cases));
        }
        if self.head.newest_first().count() != self.head.edits
            || self.head.newest_first().filter(|edit| edit.stored.is_some()).count()
                != usize::from(self.head.rows)
        {
            return Err("the length of the head is wrong".into());
        }
        Ok(())
    }
}
