//! The cases at one moment: sealed batches, and the small writes since, which are sealed when a search asks.

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

/// One small write since the head was last sealed: a case stored, a row's death, or both.
#[derive(Debug)]
pub(crate) struct Edit {
    before: Option<Arc<Edit>>,
    pub(crate) stored: Option<Arc<BufferedRow>>,
    pub(crate) died: Option<StoredAddr>,
}

/// The small writes since the head was last sealed, the newest first: adding one, and keeping an older
/// state, costs the same whatever their number.
///
/// The cases stored are the rows of the batch that the head will become, in order; their deaths name them so.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// The number of the batch that the head will become.
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

    /// Returns the number of cases stored, deleted ones too.
    pub(crate) fn rows(&self) -> u16 {
        self.rows
    }

    /// Returns the size of all documents stored.
    pub(crate) fn document_bytes(&self) -> usize {
        self.document_bytes
    }

    /// Adds edits: cases stored, in order, and deaths of whichever rows.
    pub(crate) fn extend(&mut self, rows: &[Arc<BufferedRow>], dead: impl Iterator<Item = StoredAddr>) {
        let mut dead = dead.fuse();
        let mut rows = rows.iter();
        loop {
            let (stored, died) = (rows.next().cloned(), dead.next());
            if stored.is_none() && died.is_none() {
                return;
            }
            let bytes = stored.as_ref().map_or(0, |row| row.document().size_bytes());
            self.document_bytes += bytes;
            self.rows += u16::from(stored.is_some());
            self.edits += 1;
            let before = self.last.take();
            self.last = Some(Arc::new(Edit { before, stored, died }));
        }
    }

    /// The edits, the newest first.
    fn newest_first(&self) -> impl Iterator<Item = &Edit> {
        std::iter::successors(self.last.as_deref(), |edit| edit.before.as_deref())
    }

    /// The edits, the oldest first.
    pub(crate) fn edits(&self) -> Vec<&Edit> {
        let mut edits: Vec<&Edit> = self.newest_first().collect();
        edits.reverse();
        edits
    }
}

/// A value of the host's that belongs to a snapshot; the engine only keeps it as long as the snapshot.
#[cfg(feature = "store")]
pub(crate) type Attachment = Arc<dyn std::any::Any + Send + Sync>;

/// The cases at one moment; never changed.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) base: Arc<View>,
    pub(crate) head: Head,
    cases: usize,
    /// The base with the head sealed and its deaths applied, made by the first search.
    view: OnceLock<Arc<View>>,
    /// The view of an earlier snapshot with the same base, if one was made, and the number of edits its head had.
    earlier: Option<(Arc<View>, usize)>,
    #[cfg(feature = "store")]
    pub(crate) attachment: arc_swap::ArcSwapOption<Attachment>,
}

impl Snapshot {
    /// `cases` are the live ones of base and head together.
    pub(crate) fn new(base: Arc<View>, head: Head, cases: usize) -> Self {
        Self {
            base,
            head,
            cases,
            view: OnceLock::new(),
            earlier: None,
            #[cfg(feature = "store")]
            attachment: arc_swap::ArcSwapOption::empty(),
        }
    }

    /// This snapshot, which has the base of the one before it and a head that only grew.
    pub(crate) fn following(self, before: &Self) -> Self {
        let made = before.view.get().map(|view| (Arc::clone(view), before.head.edits));
        Self { earlier: made.or_else(|| before.earlier.clone()), ..self }
    }

    pub(crate) fn cases(&self) -> usize {
        self.cases
    }

    /// Returns the number of batches. The head counts if it is not empty.
    pub(crate) fn batches(&self) -> usize {
        self.base.slots().count() + usize::from(self.head.edits > 0)
    }

    /// Returns the view that searches see; the first call seals the head.
    pub(crate) fn view(&self, catalog: &Catalog, keep: Keep) -> &Arc<View> {
        if self.head.last.is_none() {
            return &self.base;
        }
        self.view.get_or_init(|| Arc::new(self.sealed(catalog, keep)))
    }

    fn sealed(&self, catalog: &Catalog, keep: Keep) -> View {
        let (view, known) = self.earlier.as_ref().map_or((&self.base, 0), |(view, edits)| (view, *edits));
        let mut view = View::clone(view);
        view.pop_uncovered(self.head.id);
        let mut rows = Vec::with_capacity(usize::from(self.head.rows));
        let mut dead = Vec::new();
        for (number, edit) in self.head.edits().into_iter().enumerate() {
            // The head is sealed anew. All other deletions are in the earlier view already.
            let is_in_head = matches!(edit.died, Some(StoredAddr::Uncovered(id, _)) if id == self.head.id);
            dead.extend(edit.died.filter(|_| is_in_head || number >= known));
            rows.extend(edit.stored.clone());
        }
        if !rows.is_empty() {
            let batch = Batch::lazy(catalog, keep, rows);
            view.push_uncovered(Slot::new(self.head.id, batch, Selection::All));
        }
        view.delete_rows(dead);
        view.settle();
        view
    }

    pub(crate) fn validate(&self, catalog: &Catalog, keep: Keep) -> Result<(), String> {
        let view = self.view(catalog, keep);
        view.validate(catalog)?;
        if view.cases() != self.cases {
            return Err(format!("{} cases, counted as {}", view.cases(), self.cases));
        }
        if self.head.newest_first().count() != self.head.edits
            || self.head.newest_first().filter(|edit| edit.stored.is_some()).count()
                != usize::from(self.head.rows)
        {
            return Err("a head of another length".into());
        }
        Ok(())
    }
}
