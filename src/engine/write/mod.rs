//! Writes: single cases, imports, merges of batches, and restored engines.
//!
//! The modules in the order of their dependencies: [`sizes`], [`merge`] and [`writer`] contain the state of the writer.
//! [`transaction`] is a write in progress. [`pipeline`] adds the cases of an import to a transaction, on [`threads`]. [`import`]
//! and [`single`] are the API.
//!
//! The *head* is the buffer of recent single writes, and the *base* is the view of all other batches. In the code, `place` is the
//! insertion-order number of a case.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of cases, rows, batches and bytes in memory; differences are asserted"
)]

mod import;
mod lookup;
mod merge;
mod note;
mod pipeline;
mod reading;
mod report;
mod restore;
mod single;
mod sizes;
mod threads;
mod transaction;
mod writer;

pub use self::import::Import;
pub use self::note::{DocumentNote, DocumentNoteKind};
#[cfg(feature = "store")]
pub(crate) use self::pipeline::StoreDocument;
#[cfg(feature = "arrow")]
pub(crate) use self::pipeline::{Cases, RowBound, RowGroup};
pub(crate) use self::reading::DocumentReader;
pub use self::reading::ImportMode;
pub use self::report::{ImportError, ImportReport, UpsertOutcome};
#[cfg(any(test, feature = "store"))]
pub(crate) use self::restore::Parts;
pub(crate) use self::sizes::Sizes;
pub(crate) use self::threads::{Detached, Queue, available_workers};
#[cfg(feature = "store")]
pub(crate) use self::transaction::StagedWrite;
#[cfg(any(test, feature = "store"))]
pub(crate) use self::transaction::WriteTxn;
pub(crate) use self::writer::Writer;
