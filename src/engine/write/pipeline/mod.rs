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
//! - **Split** ([`Splitter`](crate::ingest::Splitter)) cuts bytes into documents. [`Import`](crate::engine::Import) calls it.
//! - **Group** ([`Documents`](documents::Documents)) collects the documents of one batch. The readers of Parquet files and record
//!   batches form groups of rows themselves.
//! - **Build** ([`GroupBuilder`](group::GroupBuilder)) reads each document or row of a group and fills column builders. It seals
//!   them into batches, and looks up their ids and keys in the index. It does nearly all of the work of an import.
//! - **Store** ([`CaseStore`](store::CaseStore)) registers each row of the batches under its id in the write transaction. It gives
//!   the row its insertion-order number. If there is a durable store, it passes the document to this store.
//!
//! With N workers, the build stage runs on N threads, and the other stages run on the caller's thread. If N = 1 (only one thread,
//! or the feature `parallel` is off), there are no groups. The caller's thread reads each document and stores it immediately. The
//! first 1,024 documents of every import are handled in the same way. Both paths read documents with the same
//! [`DocumentReader`](super::reading::DocumentReader), and store cases in the same order.
//!
//! # Ownership
//!
//! - Only the caller's thread has the transaction, the report and the store of documents.
//! - A group owns the text of its documents, with one exception. If the caller keeps all bytes until the end of the import
//!   ([`Pipeline::push_all`](flow::Pipeline::push_all)), the group borrows the text.
//! - A worker owns its group and a copy of the settings. It holds no snapshot while it reads. It has only a weak reference to the
//!   *base*, the view of all batches except the head. It upgrades this reference only for the look-up.
//! - After a group is stored, the group stage reuses its text buffer.
//! - Workers are separate threads, not threads of a rayon pool: see [`threads`](super::threads).
//!
//! # Order and errors
//!
//! Groups are stored in the order in which they were started ([`Queue`](super::threads::Queue)), even if they are built in another
//! order. So cases, replacements, insertion-order numbers, document numbers, errors and notes have the order of the sources. A
//! strict import ends with the first error in this order.
//!
//! If the file itself has an error (such as a missing bracket), all documents before this error are stored first. If one of these
//! documents has an error that ends the import, the import returns the error of the document instead. A worker may read a document
//! after the call that passed it to the import has returned. So a later call may return the error of the document.
//!
//! A panic of a worker is resumed on the caller's thread when the caller takes the group from the queue.
//!
//! # Backpressure and bounds
//!
//! At most N + 1 groups are in memory. If the queue has N + 1 groups, the caller's thread waits for the oldest group and stores it
//! before it collects another group. N is at most [8](super::threads::MOST_WORKERS). A group of documents ends at a full batch
//! (65,536 rows) or at 128 MiB of text. The last, partial group is kept until [`commit`](crate::engine::Import::commit). A report
//! lists at most 100,000 errors and 256 notes.
//!
//! # Cancellation
//!
//! When an import fails or is dropped, no further group starts. Groups in progress are built to their end and dropped. An import of
//! [borrowed bytes](flow::Pipeline::push_all) or of rows waits for these groups, because they borrow from its caller. The threads
//! of an import by [`push`](flow::Pipeline::push) may outlive the import. Each of them ends when it has built its group. They hold
//! neither the transaction nor a snapshot.

mod documents;
mod flow;
mod group;
#[cfg(feature = "arrow")]
mod rows;
mod store;
#[cfg(all(test, feature = "parallel"))]
mod tests;

pub(super) use self::flow::{Pipeline, SourceError};
#[cfg(feature = "arrow")]
pub(crate) use self::rows::{Cases, RowBound, RowGroup};
pub(crate) use self::store::StoreDocument;
