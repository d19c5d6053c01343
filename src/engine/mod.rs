//! The engine: many batches, searched as one while cases are added, replaced and deleted.
//!
//! **Snapshot.** A `Snapshot` holds the cases at one moment and never changes. It consists of a `View` (sealed batches, each with
//! a selection of its live rows) and a `Head` (the small writes since then). A write makes the next snapshot and swaps it in; a
//! search takes the current one. Searches and writes never wait for each other. Writers wait for each other.
//!
//! **Head.** A single upsert or delete adds one edit to a persistent list of at most 64 edits; its cost does not depend on the
//! number of stored cases. The first search of a snapshot turns the list into one more batch, and applies its deletions to copies
//! of the selections. This batch is evaluated row by row. Its columns are lazy: one is built only when searches keep needing it.
//! The next snapshot starts from the batch that an earlier search made. A full head is joined to the one before it, in a batch of
//! at most 2,048 rows with lazy columns. The write that joins the heads merges the columns that searches needed. No row moves or
//! is copied. A write of more cases than the head holds fills batches at once.
//!
//! **Indexed batches.** The index covers each batch with at least 1/16 of a full batch's rows. It lets a search skip batches that
//! cannot match. Smaller batches are uncovered: a search tests each of them by itself, and the writer keeps a hash table from
//! their ids to their rows.
//!
//! **Tombstones.** The counts in the index include deleted rows. For each batch with deleted rows, `Tombstones` counts the
//! deleted rows per string. The difference is the count of live rows. A search that first needs these counts makes them; later
//! writes keep them up to date.
//!
//! **Merging.** Let B be the rows of a full batch. By its live rows, a batch is of the class below B/64, below B/16 or below B/2,
//! or is left alone. Eight batches of a class are merged into one, the oldest first. Fewer are merged if together they have B/8
//! rows, deleted ones included (in the last class: more than B). So there are at most about `cases / 32,768 + 24` batches, and a
//! remaining case is copied about three times, first from rows into columns. Batches that lose rows move down the classes. An
//! empty batch is dropped at once.
//!
//! A merge copies one column per write, with its dictionary and sorted rows. The write that seals the next head installs the
//! merged batch, which copies the index except its keys. Keys are stored in sorted runs. The keys of a new batch are a run of
//! their own. Each write moves a few keys of runs that are being merged, or removes keys of dropped batches. Texts of documents
//! are shared, not copied, while at least half of them are live.
//!
//! **Writes.** `WriteTxn` is the write transaction, for single cases and imports. Imports fill it through a pipeline
//! (`write/pipeline`). First it is staged: this does everything that can fail or take time. Then it is published. A transaction
//! that is dropped before has no effect. An engine whose documents are in a store (`Keep::Numbers`) lets the store commit them
//! between the two steps. Such an engine is restored from `Parts`.
//!
//! **Tests of concurrency.** Threads share state only in `SharedState`. Unit tests run whole engines on a model of it, in every order
//! of steps or in many (`interleavings`). `tests/race/run` runs readers and writers under the thread sanitizer.

mod handle;
mod hints;
#[cfg(test)]
mod interleavings;
mod memory;
mod search;
mod searchable;
mod shared_state;
mod snapshot;
#[cfg(feature = "store")]
mod stored;
#[cfg(test)]
mod tests;
mod write;

pub use handle::{Engine, EngineBuilder};
pub use memory::{FieldMemory, MemoryUsage};
#[cfg(feature = "service")]
pub(crate) use search::AnswerFrame;
#[cfg(any(feature = "postgres", feature = "store"))]
pub(crate) use search::AnswerWriter;
#[cfg(feature = "store")]
pub(crate) use search::FoundRows;
pub use search::{SearchAnswer, explain};
pub use searchable::Searchable;
#[cfg(feature = "store")]
pub(crate) use searchable::sealed::Sealed;
pub(crate) use snapshot::Snapshot;
#[cfg(feature = "store")]
pub(crate) use snapshot::{BatchId, Slot};
#[cfg(feature = "arrow")]
pub(crate) use write::{Cases, RowBound, RowGroup};
pub use write::{
    DocumentNote, DocumentNoteKind, Import, ImportError, ImportMode, ImportReport, UpsertOutcome,
};
#[cfg(feature = "store")]
pub(crate) use write::{Parts, StagedWrite, StoreDocument, WriteTxn};
