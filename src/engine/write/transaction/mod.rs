//! The write transaction: a write under way, for single cases and imports alike.
//!
//! - [`WriteTxn`] collects cases in a [`Buffer`](buffer::Buffer), finds the row that each replaces, and gives it its place.
//! - [Attached](WriteTxn::attach), it holds the right to write. A transaction of an import is attached at its commit.
//! - [Staged](WriteTxn::stage), it has made the next snapshot. Nothing after this can fail or takes long.
//! - [Published](StagedWrite::publish), searches see it. Dropped at any time before, nothing of it happened.

mod attach;
mod buffer;
mod pending_ids;
mod stage;
mod staged;
mod txn;

pub(crate) use self::staged::StagedWrite;
pub(crate) use self::txn::WriteTxn;
