//! Looks up the ids and keys of a batch on a worker thread, to relieve the single thread that stores batches.

use std::hash::BuildHasher;
use std::sync::{Arc, Weak};

use super::sizes::Sizes;
use crate::batch::Batch;
use crate::catalog::{Catalog, FieldId};
use crate::engine::snapshot::{StoredAddr, View};
use crate::index::BatchKeys;

/// The results of looking up the ids and keys of one new batch in the base of one snapshot.
#[derive(Default)]
pub(crate) struct Lookup {
    /// The base. If another write has replaced it, the ids must be looked up again.
    pub(crate) base: Weak<View>,
    /// For each row: the hash of its id, and the live covered row with the same id in the base.
    pub(crate) ids: Vec<(u64, Option<StoredAddr>)>,
    /// The index entries of each key field. Empty if the batch is too small for the index, or if there was no base.
    pub(crate) keys: Vec<(FieldId, BatchKeys)>,
}

impl Lookup {
    /// Looks up the ids and keys of a batch in a base. If `base` is `None`, because another write has replaced it, only computes
    /// hashes.
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
        let index = base.index();
        let keys_of = |field| Some((field, index.keys_of(catalog, batch, field)?));
        let is_covered = sizes.is_covered(batch.rows());
        let keys = if is_covered { catalog.field_ids().filter_map(keys_of).collect() } else { Vec::new() };
        let ids: Vec<&str> = (0..batch.rows()).map(|row| batch.id(row)).collect();
        Self { base: Arc::downgrade(base), ids: base.find_all_covered(&ids), keys }
    }
}
