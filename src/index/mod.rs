//! The index over all batches of a snapshot, by which a search leaves most of them unread.

mod batch_index;
mod global_row;
mod keys;
mod runs;
mod strings;
mod top_rows;
mod validate;
mod zones;

pub(crate) use self::batch_index::{BatchIndex, FieldIndex, KeyWork};
pub(crate) use self::global_row::{GlobalRow, places_of_batch, split};
pub(crate) use self::keys::BatchKeys;
pub(crate) use self::strings::StringPostings;
pub(crate) use self::top_rows::{TopRow, TopRows};
pub(crate) use self::zones::ZoneIndex;
