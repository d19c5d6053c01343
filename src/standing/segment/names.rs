//! The names of the filters of a segment, and what was stored with them.

use std::collections::BTreeMap;
use std::hash::BuildHasher;

use hashbrown::HashTable;

use super::super::hasher::Hasher;
use super::count::count;
use crate::catalog::FieldId;

/// The fields of a [`StandingFilter`](crate::StandingFilter) whose changes are reported. Matching does not depend on them.
pub(in crate::standing) type Watched = std::sync::Arc<[FieldId]>;

/// The names of a segment, each with the text of its filter. The id of a name is its index.
#[derive(Debug, Default)]
pub(in crate::standing) struct Names {
    /// For each name: the name, and the text from which its filter can be compiled again.
    texts: String,
    /// The end of the texts of each name.
    ends: Vec<u32>,
    /// The length of each name in bytes.
    lens: Vec<u8>,
    table: HashTable<u32>,
    /// The [`Watched`] fields, by the id of the name. Names that were stored without such fields have no entry.
    watched: BTreeMap<u32, Watched>,
}

impl Names {
    pub(super) fn with_capacity(names: usize, bytes: usize) -> Self {
        Self {
            texts: String::with_capacity(bytes),
            ends: Vec::with_capacity(names),
            lens: Vec::with_capacity(names),
            table: HashTable::with_capacity(names),
            watched: BTreeMap::new(),
        }
    }

    pub(in crate::standing) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the total length of the texts.
    pub(in crate::standing) fn text_bytes(&self) -> usize {
        self.texts.len()
    }

    #[inline]
    fn both(&self, id: u32) -> (&str, &str) {
        let end = |id: usize| self.ends.get(id).map_or(0, |end| *end as usize);
        let own = id as usize;
        let texts = self.texts.get(own.checked_sub(1).map_or(0, end)..end(own)).unwrap_or_default();
        let len = self.lens.get(own).map_or(0, |len| usize::from(*len));
        texts.split_at_checked(len).unwrap_or_default()
    }

    /// Returns a name.
    #[inline]
    pub(in crate::standing) fn name(&self, id: u32) -> &str {
        self.both(id).0
    }

    /// Returns the text from which the filter of a name can be compiled again.
    pub(in crate::standing) fn kept(&self, id: u32) -> &str {
        self.both(id).1
    }

    /// Returns the fields of a name, if it has some.
    pub(in crate::standing) fn watched(&self, id: u32) -> Option<&Watched> {
        self.watched.get(&id)
    }

    /// Returns the id of a name. Returns `None` if the segment does not have the name.
    pub(in crate::standing) fn find(&self, hasher: &Hasher, name: &str) -> Option<u32> {
        self.table.find(hasher.hash_one(name), |id| self.name(*id) == name).copied()
    }

    /// Adds a name, which must be new. `name` has at most 255 bytes.
    pub(super) fn push(&mut self, hasher: &Hasher, name: &str, kept: &str, watched: Option<Watched>) {
        let id = count(self.ends.len());
        self.texts.push_str(name);
        self.texts.push_str(kept);
        self.ends.push(count(self.texts.len()));
        debug_assert!(u8::try_from(name.len()).is_ok(), "a name of {} bytes", name.len());
        self.lens.push(name.len() as u8);
        let hash = hasher.hash_one(name);
        let Self { texts, ends, lens, table, .. } = self;
        table.insert_unique(hash, id, |id| {
            let end = |id: usize| ends.get(id).map_or(0, |end| *end as usize);
            let start = (*id as usize).checked_sub(1).map_or(0, end);
            let len = lens.get(*id as usize).map_or(0, |len| usize::from(*len));
            hasher.hash_one(texts.get(start..start.saturating_add(len)).unwrap_or_default())
        });
        if let Some(watched) = watched {
            self.watched.insert(id, watched);
        }
    }

    /// Returns the heap memory in bytes, without the texts.
    pub(in crate::standing) fn size_bytes(&self) -> usize {
        let ends = self.ends.capacity().saturating_mul(size_of::<u32>());
        let entry = size_of::<(u32, Watched)>();
        let watched = self.watched.values().map(|fields| size_of_val(&**fields).saturating_add(entry));
        [ends, self.lens.capacity(), self.table.allocation_size()]
            .into_iter()
            .chain(watched)
            .fold(0, usize::saturating_add)
    }
}
