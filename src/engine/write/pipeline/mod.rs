//! The import pipeline: from the bytes or rows of a source to the write transaction.
//!
//! # Stages
//!
//! ```text
//! bytes ─ split ─▶ pieces ─ group ─▶ DocumentGroup ┐
//!                                                  ├─ build ─▶ BuiltGroup ─ store ─▶ WriteTxn
//! record batches ───────── group ─▶ rows ──────────┘
//! ```
//!
//! - **Split** ([`Splitter`](crate::ingest::Splitter)) cuts bytes into documents. Its caller is [`Import`](crate::engine::Import).
//! - **Group** ([`Documents`](documents::Documents)) collects the documents of one batch. The readers of Parquet files and
//!   record batches form groups of rows themselves.
//! - **Build** ([`GroupBuilder`](group::GroupBuilder)) reads each document or row of a group, fills column builders, seals them
//!   into batches, and looks up their ids and keys in the index. This is nearly all of the work of an import.
//! - **Store** ([`CaseStore`](store::CaseStore)) registers each row of the batches under its id in the write transaction, gives it
//!   its place, and hands its document to the durable store, if there is one.
//!
//! With N workers, build runs on N threads and everything else on the thread of the caller. With N = 1 (one thread, or a build
//! without the feature `parallel`), and for the first 1,024 documents of an import, there are no groups: the caller's thread reads
//! one document and stores it at once. Both ways read a document by the same
//! [`DocumentReader`](super::reading::DocumentReader), and store cases in the same order.
//!
//! # Who owns what
//!
//! - The caller's thread alone owns the transaction, the report and the store of documents. Workers never see them.
//! - A group owns the text of its documents, or borrows it where the caller keeps all bytes until the end
//!   ([`Pipeline::push_all`](flow::Pipeline::push_all)). A worker owns its group and a copy of the settings that it needs. It holds
//!   no snapshot while it reads: it keeps a weak reference to the index, which it upgrades for the look-up only.
//! - The buffers of copied text go back to the group stage once a group is stored.
//! - Workers are threads of their own, not rayon's: see [`threads`](super::threads).
//!
//! # Order and errors
//!
//! Groups are stored in the order in which they were started, whichever is built first
//! ([`Queue`](super::threads::Queue)). So cases, replacements, places, document numbers, faults and notes come in the order of the
//! sources, and a strict import ends with the first fault in that order. A fault of the file itself (such as a missing
//! bracket) is returned after the groups before it were stored, since one of their documents may have failed first.
//! The error of a document may be returned by a later call than the one that passed the document in.
//!
//! A panic of a worker is continued on the caller's thread when its group's turn comes.
//!
//! # Backpressure and bounds
//!
//! At most N + 1 groups are in memory. Once N + 1 are in the queue, the caller's thread waits for the oldest and stores it before it
//! collects another. N is at most [8](super::threads::MOST_WORKERS). A group of documents ends at a full
//! batch (65,536 rows) or 128 MiB of text; the documents of a last partial batch wait for [`commit`](crate::engine::Import::commit). A
//! report lists at most 100,000 faults and 256 notes.
//!
//! # Cancellation
//!
//! When an import fails or is dropped, no further group starts. Groups under way are built to their end, and dropped: an import of
//! [borrowed bytes](flow::Pipeline::push_all) or of rows waits for them, since they borrow from its caller; the threads of an
//! import by [`push`](flow::Pipeline::push) outlive it by at most one group each, and hold neither its transaction nor a
//! snapshot.

mod documents;
mod flow;
mod group;
#[cfg(feature = "arrow")]
mod rows;
mod store;
#[cfg(all(test, feature = "parallel"))]
mod tests;

pub(super) use self::flow::{Pipeline, Stop};
#[cfg(feature = "arrow")]
pub(crate) use self::rows::{Cases, RowBound, RowGroup};
pub(crate) use self::store::StoreDocument;
