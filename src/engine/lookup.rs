//! What the thread that read a batch looks up for it, so that the writer, of whom there is but one, need not.

use super::merge::Sizes;
use super::view::{View, Where};
use crate::batch::{Batch, BatchKeys};
use crate::catalog::{Catalog, FieldId};

/// What was looked up for a batch, in the base of the snapshot that stays the newest until the batch is stored.
#[derive(Default)]
pub(super) struct Lookup {
    /// Of each row that is new to the change: the hash of its id, and the live covered row that has the id, as far as
    /// the base tells.
    pub(super) ids: Vec<(u64, Option<Where>)>,
    /// Of its key fields; none when the batch is too small to be covered.
    pub(super) keys: Vec<(FieldId, BatchKeys)>,
}

impl Lookup {
    /// Of a batch whose first rows are known to the change, in the base of the newest snapshot.
    pub(super) fn new(catalog: &Catalog, sizes: Sizes, base: &View, batch: &Batch, known: usize) -> Self {
        let directory = base.directory();
        let keys_of = |field| Some((field, directory.keys_of(catalog, batch, field)?));
        let is_covered = sizes.is_covered(batch.rows());
        let keys = if is_covered { catalog.field_ids().filter_map(keys_of).collect() } else { Vec::new() };
        let ids: Vec<&str> = (known..batch.rows()).map(|row| batch.id(row)).collect();
        Self { ids: base.find_all_covered(&ids), keys }
    }
}
