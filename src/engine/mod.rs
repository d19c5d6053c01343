//! The engine: answers searches over many batches while cases are inserted, replaced and deleted.
//!
//! **Snapshot.** A `Snapshot` holds the cases at one moment, and its cases never change. It consists of a `View` and a `Head`. The
//! view has sealed batches, each with a selection of its live rows. The head has the small writes since the view was created. A
//! write creates the next snapshot, which then becomes the current snapshot. A search uses the snapshot that is current when it
//! starts. Searches and writes never wait for each other. Writes wait for each other.
//!
//! **Head.** The head buffers recent single writes. A single upsert or delete adds one edit to a persistent list of at most 64
//! edits. Its cost does not depend on the number of stored cases. The first search of a snapshot converts the list to one more
//! batch, and removes deleted rows from copies of the selections. This batch is first evaluated row by row. Its columns are lazy: a
//! column is built only after many searches have needed it. The next snapshot reuses the converted head if a search has created it.
//!
//! A full head becomes a sealed batch with lazy columns. If the batch before it was also made from heads, the two batches are
//! joined, up to 2,048 rows. The write that joins them also merges the columns that searches have needed. Joining neither moves nor
//! copies rows. A write that has more cases than fit into a head fills batches directly.
//!
//! **Indexed batches.** The index covers each batch that has at least 1/16 of the rows of a full batch. With the index, a search
//! skips batches that cannot contain a selected row. Smaller batches are uncovered: a search tests each of them, and the writer
//! keeps a hash table from their ids to their rows.
//!
//! **Tombstones.** The counts in the index include deleted rows. For each batch with deleted rows, `Tombstones` counts the deleted
//! rows per string. The difference of the two counts is the number of live rows (`View::known_count`). The first search that needs
//! the counts of a batch computes them. Later writes keep them up to date.
//!
//! **Merging.** Let B be the number of rows of a full batch. Batches with few live rows are divided into three classes: fewer than
//! B/64 live rows, fewer than B/16, and fewer than B/2. Larger batches are not merged. A class is merged when it has eight batches.
//! It is also merged when its batches together have at least B/8 rows, deleted rows included. For the largest class, this limit is
//! B + 1 rows. The oldest batches of the class that together fit into one full batch are merged. So there are at most about `cases
//! / 32,768 + 24` batches. A case that is not deleted is copied about three times, the first time from a row into columns. A batch
//! that loses rows may move to a lower class. A batch without live rows is dropped at once.
//!
//! A merge copies one column after the other, each with its dictionary and sorted rows. Each write copies as many columns as its
//! budget allows. For a large column, the budget of several writes is saved. When the merge has finished, the merged batch is
//! installed by the next write that makes the head a sealed batch. This write copies the index except its keys. Keys are stored in
//! *runs*, which are sorted arrays of keys. The keys of a new batch are a new run. Each write moves a few keys of runs that are
//! being merged, or removes keys of dropped batches. The documents of a new batch are concatenated to one text. A merged batch
//! shares the texts of the batches that it replaces. A merge copies documents only from small texts, and from texts of which more
//! than half belongs to deleted documents.
//!
//! **Writes.** `WriteTxn` is the write transaction, for single cases and imports. Imports fill it through a pipeline
//! (`write/pipeline`). First the transaction is staged: this step does everything that can fail or take time. Then it is published.
//! A transaction that is dropped before it is published has no effect. If documents are in a store (`Keep::Numbers`), the store
//! commits them between the two steps. When a store is opened, its engine is restored from `Parts`. Its batches read their columns
//! from the store when they are first needed, and the index of a field is built when it is first needed.
//!
//! **Standing filters.** If an engine has standing filters, staging also finds the events of the write. It compares the filters
//! that select a case before and after the write. It uses the filters that the set has at this time, while the transaction holds
//! the writer lock. Publishing adds the events to a ring, or the store writes them to its file in the transaction of the write.
//!
//! **Shared state.** Threads share the current snapshot and the writer lock, in `SharedState`. All other state that affects answers
//! never changes, or is initialised once. Caches that do not affect answers have locks or atomics of their own.
//!
//! **Tests of concurrency.** Unit tests replace `SharedState` by a model. They run whole engines on it, in every possible order of
//! steps or in a random sample of orders (`interleavings`). `tests/race/run` runs readers and writers under the thread sanitizer.

mod completions;
mod events;
mod handle;
mod hints;
#[cfg(test)]
mod interleavings;
mod invariant;
mod memory;
mod search;
mod searchable;
mod shared_state;
mod snapshot;
#[cfg(feature = "store")]
mod stored;
#[cfg(test)]
mod tests;
mod watching;
mod write;

pub use handle::{Engine, EngineBuilder};
pub use invariant::InvariantError;
pub use memory::{FieldMemory, MemoryUsage};
#[cfg(any(feature = "postgres", feature = "store"))]
pub(crate) use search::AnswerWriter;
#[cfg(feature = "service")]
pub(crate) use search::{AnswerFrame, PageInfo};
pub use search::{EngineSnapshot, FacetExplanation, FacetStrategy, SearchAnswer, explain};
#[cfg(feature = "store")]
pub(crate) use search::{FoundRows, request_for};
pub use searchable::Searchable;
#[cfg(feature = "store")]
pub(crate) use searchable::sealed::Sealed;
pub(crate) use snapshot::Snapshot;
#[cfg(feature = "store")]
pub(crate) use snapshot::{BatchId, Slot};
#[cfg(feature = "store")]
pub(crate) use watching::Clock;
#[cfg(feature = "arrow")]
pub(crate) use write::{Cases, RowBound, RowGroup};
pub(crate) use write::{Detached, DocumentReader, Queue, available_workers};
pub use write::{
    DocumentNote, DocumentNoteKind, Import, ImportError, ImportMode, ImportReport, UpsertOutcome,
};
#[cfg(feature = "store")]
pub(crate) use write::{Parts, StagedWrite, StoreDocument, WriteTxn};
