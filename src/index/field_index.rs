//! The index of one field over all batches.
//!
//! An engine that creates its batches builds each index step by step, as batches are added. An engine that was restored from a
//! store has batches whose columns have not been read yet. Adding such a batch makes a string index or a key index *unbuilt*. An
//! unbuilt index costs nothing: batches are added and retired without reading their columns. The first access builds the index,
//! from the columns of all covered batches. The first few searches for strings of a key field may do without an unbuilt index
//! (`SEARCHES_WITHOUT`). A zone index needs only the zone maps of batches, so it never becomes unbuilt.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::keys::{BatchKeys, KeyIndex};
use super::strings::StringIndex;
use super::zones::ZoneIndex;
use crate::batch::Batch;
use crate::catalog::{Catalog, FieldId};
use crate::value::ValueClass;

type Hasher = foldhash::quality::RandomState;

/// The index of one field over all batches.
#[derive(Clone, Debug, Default)]
pub(crate) enum FieldIndex {
    /// No index: the column of each batch must be read.
    #[default]
    Unknown,
    /// The zone map of each batch: its minimum and maximum.
    Ordered(ZoneIndex),
    /// The string index. Every covered batch has postings of the field.
    Strings(StringIndex),
    /// The key index. It has only the hashes of strings; the batches have the strings.
    Keys(KeyIndex),
}

/// The kind of index that a field can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    None,
    Ordered { is_many: bool },
    Strings { is_many: bool },
    Keys,
}

impl Kind {
    /// Returns the kind of index of a field.
    pub(super) fn of(catalog: &Catalog, id: FieldId) -> Self {
        let field = catalog.field(id);
        let is_many = field.is_many();
        match ValueClass::of_field(field.field_type()) {
            _ if !(id == FieldId::ID || catalog.is_visible(id)) => Self::None,
            ValueClass::Strings if field.is_key() => Self::Keys,
            ValueClass::Strings => Self::Strings { is_many },
            ValueClass::Ordered(_) => Self::Ordered { is_many },
            ValueClass::Booleans => Self::None,
        }
    }

    /// Returns an index without batches.
    fn empty(self, hasher: &Hasher) -> FieldIndex {
        match self {
            Self::None => FieldIndex::Unknown,
            Self::Ordered { .. } => FieldIndex::Ordered(ZoneIndex::default()),
            Self::Strings { is_many } => FieldIndex::Strings(StringIndex::new(hasher.clone(), !is_many)),
            Self::Keys => FieldIndex::Keys(KeyIndex::default()),
        }
    }
}

/// A covered batch that is added to the index of a field.
pub(super) struct AddedBatch<'b> {
    pub(super) batch: &'b Batch,
    pub(super) number: usize,
    /// The key entries of the field, if they have been computed before.
    pub(super) keys: Option<BatchKeys>,
    /// The count of batches that have been retired so far.
    pub(super) retired: u64,
}

/// The index of one field, which is built on first access.
#[derive(Clone, Debug)]
pub(super) struct LazyIndex {
    pub(super) kind: Kind,
    /// The index. Clones share it, and copy it only before a change. The cell is empty while the index is unbuilt.
    cell: OnceLock<Arc<FieldIndex>>,
    /// The number of searches that did without the index while it was unbuilt. Clones share it.
    searches: Arc<AtomicUsize>,
}

/// The maximum number of searches that do without an unbuilt key index. A further search builds it.
const SEARCHES_WITHOUT: usize = 16;

impl LazyIndex {
    /// Creates the index of a field without batches.
    pub(super) fn new(kind: Kind, hasher: &Hasher) -> Self {
        Self { kind, cell: Arc::new(kind.empty(hasher)).into(), searches: Arc::default() }
    }

    /// Returns the index if it is built.
    pub(super) fn built(&self) -> Option<&FieldIndex> {
        self.cell.get().map(|index| &**index)
    }

    /// Returns true if this is a key index that is unbuilt, and few searches have done without it. Each call for such an index
    /// counts as one search.
    pub(super) fn can_do_without(&self) -> bool {
        self.kind == Kind::Keys
            && self.built().is_none()
            && self.searches.fetch_add(1, Ordering::Relaxed) < SEARCHES_WITHOUT
    }

    /// Returns the index, to change it. Returns `None` if it is unbuilt.
    pub(super) fn built_mut(&mut self) -> Option<&mut FieldIndex> {
        self.cell.get_mut().map(Arc::make_mut)
    }

    /// Returns the index. If the index is unbuilt, builds it first from `covered`, which has each covered batch at the position of
    /// its batch number.
    #[inline]
    pub(super) fn get(
        &self,
        field: FieldId,
        covered: &[Option<Arc<Batch>>],
        hasher: &Hasher,
        retired: u64,
    ) -> &FieldIndex {
        self.cell.get_or_init(|| Arc::new(self.build(field, covered, hasher, retired)))
    }

    #[cold]
    fn build(
        &self,
        field: FieldId,
        covered: &[Option<Arc<Batch>>],
        hasher: &Hasher,
        retired: u64,
    ) -> FieldIndex {
        let mut index = self.kind.empty(hasher);
        for (number, batch) in covered.iter().enumerate() {
            let Some(batch) = batch else { continue };
            index.add(field, AddedBatch { batch, number, keys: None, retired }, hasher);
        }
        if let FieldIndex::Keys(keys) = &mut index {
            keys.merge_all(retired);
        }
        index
    }

    /// Adds a batch. If its column has not been read yet, and the index needs it, the index becomes unbuilt.
    pub(super) fn add(&mut self, field: FieldId, added: AddedBatch<'_>, hasher: &Hasher) {
        let needs_column = match self.built() {
            Some(FieldIndex::Strings(_) | FieldIndex::Keys(_)) => true,
            Some(FieldIndex::Ordered(_)) => false,
            Some(FieldIndex::Unknown) | None => return,
        };
        if needs_column && !added.batch.has_read(field) {
            self.cell.take();
        } else if let Some(index) = self.built_mut() {
            index.add(field, added, hasher);
        }
    }

    /// Removes a batch. A key index keeps its entries until a sweep.
    pub(super) fn retire(&mut self, field: FieldId, number: usize, batch: &Batch) {
        if let None | Some(FieldIndex::Keys(_) | FieldIndex::Unknown) = self.built() {
            return;
        }
        match self.built_mut() {
            Some(FieldIndex::Ordered(zones)) => zones.put(number, None),
            Some(FieldIndex::Strings(strings)) => {
                if let Some(column) = batch.column(field) {
                    strings.remove(number, column);
                }
            }
            _ => {}
        }
    }

    /// Returns the heap memory of the index in bytes, or 0 if it is unbuilt.
    pub(super) fn size_bytes(&self) -> usize {
        match self.built() {
            None | Some(FieldIndex::Unknown) => 0,
            Some(FieldIndex::Ordered(zones)) => zones.size_bytes(),
            Some(FieldIndex::Strings(strings)) => strings.size_bytes(),
            Some(FieldIndex::Keys(keys)) => keys.size_bytes(),
        }
    }
}

impl FieldIndex {
    /// Adds a batch. If the batch has too many strings for the index, the field has no index any more.
    fn add(&mut self, field: FieldId, added: AddedBatch<'_>, hasher: &Hasher) {
        let AddedBatch { batch, number, keys, retired } = added;
        let is_known = match self {
            Self::Unknown => return,
            Self::Ordered(zones) => {
                zones.put(number, batch.zone(field));
                true
            }
            Self::Strings(strings) => batch.column(field).is_none_or(|column| strings.add(number, column)),
            Self::Keys(index) => {
                if let Some(column) = batch.column(field) {
                    let keys = keys.unwrap_or_else(|| BatchKeys::new(column, hasher));
                    index.add(keys, number, retired);
                }
                true
            }
        };
        if !is_known {
            *self = Self::Unknown;
        }
    }
}
