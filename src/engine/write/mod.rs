//! Writes: single cases and imports, merges of batches, and engines made again from their parts.

mod change;
#[cfg(feature = "parallel")]
mod gathered;
mod hints;
mod import;
#[cfg(feature = "parallel")]
mod lookup;
mod merge;
mod note;
mod own_ids;
mod prepared;
mod reading;
mod report;
mod restore;
mod single;
mod sizes;
#[cfg(feature = "parallel")]
mod threads;
mod writer;

pub(crate) use self::change::Change;
#[cfg(all(feature = "arrow", feature = "parallel"))]
pub(crate) use self::import::Apart;
#[cfg(all(feature = "arrow", feature = "parallel"))]
pub(crate) use self::import::Groups;
pub use self::import::Import;
pub(crate) use self::import::StoreDocument;
pub use self::note::{Note, NoteKind};
#[cfg(feature = "store")]
pub(crate) use self::prepared::Prepared;
pub use self::reading::Mode;
pub use self::report::{Refusal, Report, Upserted};
#[cfg(feature = "store")]
pub(crate) use self::restore::Parts;
pub(crate) use self::sizes::Sizes;
pub(crate) use self::writer::Writer;
