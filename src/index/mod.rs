//! What is known of all batches of a snapshot together, so that a search meets few of them.

mod directory;
mod keys;
mod strings;
mod top_rows;
mod zones;

pub(crate) use self::directory::{Directory, FieldDirectory, KeyWork};
pub(crate) use self::keys::{BatchKeys, GlobalRow, join, split};
pub(crate) use self::strings::Occurrences;
pub(crate) use self::top_rows::{Leader, Leading};
pub(crate) use self::zones::Zones;
