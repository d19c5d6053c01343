//! The write transaction, for single cases and imports.
//!
//! - [`WriteTxn`] collects cases in a [`Buffer`](buffer::Buffer), finds the row that each case replaces, and gives it its place (its
//!   insertion-order number).
//! - An [attached](WriteTxn::attach) transaction holds the writer lock. An import attaches its transaction when it commits.
//! - A [staged](WriteTxn::stage) transaction has created the next snapshot. The rest cannot fail and takes little time.
//! - A [published](StagedWrite::publish) transaction is visible to searches. A transaction that is dropped before has no effect.

mod attach;
mod buffer;
mod pending_ids;
mod stage;
mod staged;
mod txn;

pub(crate) use self::staged::StagedWrite;
pub(crate) use self::txn::WriteTxn;
