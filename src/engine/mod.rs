//! Many batches, live: searched as one while cases are added, replaced and deleted.
//!
//! **Snapshot.** The cases at one moment never change. A `Snapshot` is a `View` of sealed batches, each with a selection of its live
//! rows, and a `Head` of the small writes since. A write makes the next snapshot and swaps it in; a search takes the current one. So
//! neither waits for the other. Writers wait for each other.
//!
//! **Head.** A single upsert or delete adds one edit to a persistent list of at most 64, whatever else is stored. The first search of
//! a snapshot turns the list into one more batch, and applies its deletions to copies of the selections. The rows of this batch are
//! tested one by one. A column is made of them only when searches keep asking for it. A snapshot after one that was searched starts
//! from the batch that the search made. A full head is joined to the one before it, in a batch of at most 2,048 rows, whose columns
//! are lazy too; columns that searches asked for are merged by the write that joins the heads. No row moves or is copied. A write of more
//! cases than the head takes fills batches at once.
//!
//! **Covered batches.** A batch with at least a sixteenth of a full one's rows is covered by the index, which leads a search past
//! batches that cannot match. Smaller batches are uncovered: each is tested by itself, and the writer keeps a table from their ids
//! to their rows.
//!
//! **Tombstones.** The index counts all rows, deleted ones too. For each batch with deleted rows, `Tombstones` counts how many of
//! these have each string. Subtracted, they give the counts of live rows. They are made when first asked for, and then kept up.
//!
//! **Merging.** By live rows against a full batch's B, a batch is of the class below B/64, below B/16 or below B/2, or is left alone.
//! Eight batches of a class are merged into one, the oldest first; fewer are if they have B/8 rows together, deleted ones too (in
//! the last class more than B). So there are at most about `cases / 32,768 + 24` batches, and a case that stays is copied some three
//! times, first from rows into columns. Half-empty batches fall into the classes as they lose rows. An empty one is dropped at once.
//! A merge copies one column per write, with its dictionary and sorted rows. The write that seals the next head installs the merged
//! batch, which copies the index except its keys. Keys lie in sorted runs. Those of a new batch are a run of their own, and each
//! write moves a few keys of runs that are being merged, or swept of keys of batches that are gone. Texts of documents are shared,
//! not copied, as long as half of them is alive.
//!
//! **Writes.** `WriteTxn` is a write under way, for single cases and imports alike. Imports fill it through a pipeline
//! (`write/pipeline`). It is staged, which does all that can fail or take time, then published. Dropped before, nothing of it
//! happened. An engine whose documents are kept in a store (`Keep::Numbers`) lets the store commit them in between, and is made again from `Parts`.
//!
//! **Proof.** Threads meet in `SharedState` alone. Unit tests run whole engines on a model of it, in every order of steps or in many
//! (`interleavings`). `tests/race/run` runs readers beside writers under the thread sanitizer.

mod handle;
mod hints;
#[cfg(test)]
mod interleavings;
mod memory;
mod search;
mod shared_state;
mod snapshot;
#[cfg(feature = "store")]
mod stored;
#[cfg(test)]
mod tests;
mod write;

pub use handle::{Engine, EngineBuilder};
pub use memory::{FieldMemory, Memory};
#[cfg(any(feature = "postgres", feature = "store"))]
pub(crate) use search::AnswerWriter;
#[cfg(feature = "service")]
pub(crate) use search::Page;
#[cfg(any(feature = "postgres", feature = "store"))]
pub use search::WrittenAnswer;
pub use search::{Answer, explain};
pub(crate) use snapshot::Snapshot;
#[cfg(feature = "store")]
pub(crate) use snapshot::{BatchId, Slot};
#[cfg(feature = "arrow")]
pub(crate) use write::{Cases, RowBound, RowGroup};
pub use write::{Import, Mode, Note, NoteKind, Refusal, Report, Upserted};
#[cfg(feature = "store")]
pub(crate) use write::{Parts, StagedWrite, StoreDocument, WriteTxn};
