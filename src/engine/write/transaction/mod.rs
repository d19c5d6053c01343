//! The write transaction: one write in progress, of single cases or of an import.
//!
//! - [`WriteTxn`] collects cases in a [`Buffer`](buffer::Buffer). It finds the row that each case replaces, and gives each case its
//!   insertion-order number (`place` in the code).
//! - An [attached](WriteTxn::attach) transaction holds the writer lock. An import attaches its transaction when it commits.
//! - A [staged](WriteTxn::stage) transaction has created the next snapshot. Publishing it cannot fail and takes little time.
//! - A [published](StagedWrite::publish) transaction is visible to searches. A transaction that is dropped before it is published
//!   has no effect.

mod attach;
mod buffer;
mod events;
mod pending_ids;
mod stage;
mod staged;
mod txn;

pub(crate) use self::staged::StagedWrite;
pub(crate) use self::txn::WriteTxn;
