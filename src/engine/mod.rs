//! Many batches, live: searched as one while cases come, change and go.
//!
//! **Snapshot.** What is stored at one moment never changes: a `View` of sealed batches, each with a
//! selection of its live rows, and a `Head` of the small writes since. A write makes the next snapshot and
//! swaps it in; a search takes the current one, so neither waits for the other. Writers wait for each other.
//!
//! **Head.** A single upsert or delete adds one edit to a persistent list of at most 64, whatever else is
//! stored. The first search of a snapshot makes the list one more batch and applies its deaths to copies
//! of the selections. Its rows are asked one by one for the values of a field, and a column of them is made only when
//! searches keep asking. A snapshot that follows one that was searched starts from what that search made. A full head
//! is joined to the one before it, in a batch of at most 2,048 rows whose columns wait as well for a search to ask for
//! them; those that were asked for are merged with the head's by the write that joins it. No row moves or is copied. A
//! write of more cases than the head takes fills batches at once.
//!
//! **Covered and apart.** A batch with at least a sixteenth of a full one's rows is covered by the
//! directory, which leads a search past batches it need not ask. Smaller ones stand apart: each is asked by
//! itself, and the writer alone keeps a table from their ids to their rows.
//!
//! **Dead rows.** Counts of all rows that the directory knows are put right by how many dead rows of each batch have
//! the string, which is counted when first asked for and then kept up (`DeadRows`).
//!
//! **Merging.** By live rows against a full batch's B, a batch is of the class below B/64, below B/16 or below
//! B/2, or is left alone. Eight of a class, or as many as have B/8 rows, dead ones too (of the last class more than B),
//! are merged into one, the
//! oldest first: so there are at most about `cases / 32,768 + 24` batches, and a case that stays is copied some three
//! times, first from rows into columns. Half-empty
//! batches fall into the classes as they lose rows; an empty one goes at once. Columns are merged one
//! after the other, what their dictionaries and sorted rows know being merged as well, as later writes pay for
//! them: one write for a column of at most a full batch, and one, when the head is next sealed, for putting the batch in
//! its sources' place, which copies the directory but for its keys. Keys lie in sorted runs; those that a batch brings are
//! a run of their own, and each write moves a few keys of runs that are being merged, or swept of keys of batches that
//! are gone. Texts of documents are shared, not copied,
//! as long as half of them is alive. Readers notice none of it.
//!
//! **One way in.** `Change` is a write under way, for single cases and imports alike. It prepares what
//! could take time, then publishes; dropped before, nothing happened. Engines whose documents lie elsewhere
//! (`Keep::Numbers`) commit those in between, and are made again from `Parts`.
//!
//! **Proof.** Threads meet in `Current` alone. Unit tests run whole engines on a model of it, in every order of steps
//! or in many (`interleavings`); `tests/race/run` runs readers beside writers under the thread sanitizer.

mod current;
mod handle;
mod hints;
#[cfg(test)]
mod interleavings;
mod memory;
mod search;
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
#[cfg(feature = "store")]
pub(crate) use snapshot::Slot;
pub(crate) use snapshot::{BatchId, Snapshot};
#[cfg(feature = "arrow")]
pub(crate) use write::{Cases, RowBound, RowGroup};
pub use write::{Import, Mode, Note, NoteKind, Refusal, Report, Upserted};
#[cfg(feature = "store")]
pub(crate) use write::{Parts, StagedWrite, StoreDocument, WriteTxn};
