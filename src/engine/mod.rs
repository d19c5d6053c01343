//! The engine: answers searches over many batches while cases are inserted, replaced and deleted.
//!
//! **Snapshot.** A `Snapshot` holds the cases at one moment, and its cases never change. It consists of a `View` (sealed batches, each with
//! a selection of its live rows) and a `Head` (the small writes since then). A write creates the next snapshot and swaps it in. A search
//! uses the current one. Searches and writes never wait for each other. Writers wait for each other.
//!
//! **Head.** The head buffers recent single writes. A single upsert or delete adds one edit to a persistent list of at most 64 edits. Its
//! cost does not depend on the number of stored cases. The first search of a snapshot turns the list into one more batch, and applies its
//! deletions to copies of the selections. This batch is evaluated row by row. Its columns are lazy: a column is built only when searches
//! keep needing it. The next snapshot starts from the batch that an earlier search created.
//!
//! A full head is joined to the previous one, in a batch of at most 2,048 rows with lazy columns. The write that joins the heads merges the
//! columns that searches needed. No row is moved or copied. A write of more cases than a head holds fills batches at once.
//!
//! **Indexed batches.** The index covers each batch with at least 1/16 of the rows of a full batch. With it, a search skips batches that
//! cannot match. Smaller batches are uncovered: a search tests each of them, and the writer keeps a hash table from their ids to their
//! rows.
//!
//! **Tombstones.** The counts in the index include deleted rows. For each batch with deleted rows, `Tombstones` counts the deleted rows per
//! string. The difference is the count of live rows. The first search that needs these counts computes them. Later writes keep them up to
//! date.
//!
//! **Merging.** Let B be the number of rows of a full batch. By its live rows, a batch belongs to the class below B/64, below B/16 or below
//! B/2, or to none. Eight batches of a class are merged into one, the oldest first. Fewer are merged if together they have B/8 rows,
//! deleted ones included (in the last class: more than B). So there are at most about `cases / 32,768 + 24` batches, and a remaining case
//! is copied about three times, first from rows into columns. Batches that lose rows move to lower classes. An empty batch is dropped at
//! once.
//!
//! A merge copies one column per write, with its dictionary and sorted rows. The write that seals the next head installs the merged batch,
//! and copies the index except its keys. Keys are stored in sorted runs. The keys of a new batch are a new run. Each write moves a few keys
//! of runs that are being merged, or removes keys of dropped batches. Texts of documents are shared, not copied, while at least half of
//! them are live.
//!
//! **Writes.** `WriteTxn` is the write transaction, for single cases and imports. Imports fill it through a pipeline (`write/pipeline`).
//! First the transaction is staged: this does everything that can fail or take time. Then it is published. A transaction that is dropped
//! before has no effect. If documents are in a store (`Keep::Numbers`), the store commits them between the two steps. Such an engine is
//! restored from `Parts`.
//!
//! **Shared state.** Threads share the current snapshot and the writer lock, in `SharedState`. Everything else that affects answers never
//! changes, or is initialised once. Caches that do not affect answers have locks or atomics of their own.
//!
//! **Tests of concurrency.** Unit tests replace `SharedState` by a model, and run whole engines on it, in every order of steps or in many
//! (`interleavings`). `tests/race/run` runs readers and writers under the thread sanitizer.

mod completions;
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
mod write;

pub use handle::{Engine, EngineBuilder};
pub use invariant::InvariantError;
pub use memory::{FieldMemory, MemoryUsage};
#[cfg(feature = "service")]
pub(crate) use search::AnswerFrame;
#[cfg(any(feature = "postgres", feature = "store"))]
pub(crate) use search::AnswerWriter;
#[cfg(feature = "store")]
pub(crate) use search::{FoundRows, request_for};
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
