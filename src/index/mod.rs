//! The index over all batches of a snapshot. It allows a search to skip most batches without reading them.
//!
//! A batch in the index is *covered*. The batch number of a covered batch is its index in the snapshot. A [`GlobalRow`] combines
//! the batch number with the index of a row in the batch.
//!
//! Rows and counts of the string index and the key index include deleted rows. `View::known_count` in `engine/snapshot/view.rs`
//! subtracts the deleted rows. The zone index has no counts: it only excludes batches, or shows that a test has the same result for
//! all rows of a batch (`exec/pruning.rs`). The evaluation of a batch excludes the deleted rows from its result
//! (`exec/program.rs`).
//!
//! | fields | index | file |
//! |---|---|---|
//! | ordered types | the minimum and maximum of each batch | `zones` |
//! | ordered types | the first and the last rows in sort order, over all batches | `top_rows` |
//! | strings with few values | postings: the batches and rows of each string | `strings` |
//! | strings that are mostly unique, such as `id` | sorted hashes with their rows, in runs that are merged in steps | `keys`, `runs` |
//!
//! `field_index` builds the index of one field when it is first read. `batch_index` has the indexes of all fields, and assigns the
//! batch numbers. `validate` checks the invariants.

mod batch_index;
mod field_index;
mod global_row;
mod keys;
mod runs;
mod strings;
mod top_rows;
mod validate;
mod zones;

pub(crate) use self::batch_index::{BatchIndex, KeyWork};
pub(crate) use self::field_index::FieldIndex;
pub(crate) use self::global_row::{GlobalRow, places_of_batch, split};
pub(crate) use self::keys::BatchKeys;
pub(crate) use self::strings::{StringIndex, StringPostings};
pub(crate) use self::top_rows::{TopRow, TopRows};
pub(crate) use self::zones::ZoneIndex;
