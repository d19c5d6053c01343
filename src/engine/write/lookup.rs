//! What the thread that read a batch looks up for it, so that the thread that stores it need not.

use std::hash::BuildHasher;
use std::sync::{Arc, Weak};

use super::sizes::Sizes;
use crate::batch::Batch;
use crate::catalog::{Catalog, FieldId};
use crate::engine::snapshot::{StoredAddr, View};
use crate::index::BatchKeys;

/// What was looked up for a batch, in the base of a snapshot.
#[derive(Default)]
pub(crate) struct Lookup {
    /// The base; of no use any more when another write has put a new one in its place.
    pub(crate) base: Weak<View>,
    /// Of each row: the hash of its id, and the live covered row that has the id, as far as the base tells.
    pub(crate) ids: Vec<(u64, Option<StoredAddr>)>,
    /// Of its key fields; none when the batch is too small to be covered.
    pub(crate) keys: Vec<(FieldId, BatchKeys)>,
}

impl Lookup {
    /// Of a batch, in a base; without one, when it is gone, only what needs none.
    pub(crate) fn new(
        catalog: &Catalog,
        sizes: Sizes,
        hasher: &foldhash::quality::RandomState,
        base: Option<&Arc<View>>,
        batch: &Batch,
    ) -> Self {
        let Some(base) = base else {
            let ids = (0..batch.rows()).map(|row| (hasher.hash_one(batch.id(row)), None)).collect();
            return Self { base: Weak::new(), ids, keys: Vec::new() };
        };
        let directory = base.directory();
        let keys_of = |field| Some((field, directory.keys_of(catalog, batch, field)?));
        let is_covered = sizes.is_covered(batch.rows());
        let keys = if is_covered { catalog.field_ids().filter_map(keys_of).collect() } else { Vec::new() };
        let ids: Vec<&str> = (0..batch.rows()).map(|row| batch.id(row)).collect();
        Self { base: Arc::downgrade(base), ids: base.find_all_covered(&ids), keys }
    }
}
