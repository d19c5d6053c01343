//! Interned atoms: the conditions on strings and booleans by which rules are found.

use std::hash::BuildHasher;

use hashbrown::HashTable;

use super::super::hasher::Hasher;
use super::count::count;
use crate::catalog::FieldId;

/// The condition of an atom. An atom holds if some value of its field meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtomKind {
    /// The value is this string.
    Text,
    /// The value is this boolean, `true` or `false`.
    Boolean,
    /// The value starts with this string.
    Prefix,
    /// The value contains this string.
    Substring,
    /// The folded value contains this folded word.
    Word,
}

/// An atom. Its text ends at `end`, and starts where the text of the atom before it ends.
#[derive(Clone, Copy, Debug)]
struct Atom {
    end: u32,
    field: FieldId,
    kind: AtomKind,
}

/// The different atoms of a segment. The id of an atom is its index.
#[derive(Debug, Default)]
pub(super) struct Atoms {
    texts: String,
    atoms: Vec<Atom>,
    table: HashTable<u32>,
}

impl Atoms {
    pub(super) fn len(&self) -> usize {
        self.atoms.len()
    }

    /// Returns the text of an atom.
    pub(super) fn text(&self, id: u32) -> &str {
        let end = |id: usize| self.atoms.get(id).map_or(0, |atom| atom.end as usize);
        let id = id as usize;
        let start = id.checked_sub(1).map_or(0, end);
        self.texts.get(start..end(id)).unwrap_or_default()
    }

    /// Returns the field, the kind and the text of an atom.
    pub(super) fn get(&self, id: u32) -> Option<(FieldId, AtomKind, &str)> {
        let atom = self.atoms.get(id as usize)?;
        Some((atom.field, atom.kind, self.text(id)))
    }

    /// Returns the id of an atom. Returns `None` if the segment does not have the atom.
    #[inline]
    pub(super) fn find(&self, hasher: &Hasher, field: FieldId, kind: AtomKind, text: &str) -> Option<u32> {
        let hash = hash(hasher, field, kind, text);
        self.table.find(hash, |id| self.get(*id) == Some((field, kind, text))).copied()
    }

    /// Returns the id of an atom, and adds the atom if it is new.
    pub(super) fn intern(&mut self, hasher: &Hasher, field: FieldId, kind: AtomKind, text: &str) -> u32 {
        if let Some(id) = self.find(hasher, field, kind, text) {
            return id;
        }
        let id = count(self.atoms.len());
        self.texts.push_str(text);
        self.atoms.push(Atom { end: count(self.texts.len()), field, kind });
        let Self { texts, atoms, table } = self;
        table.insert_unique(hash(hasher, field, kind, text), id, |id| {
            let id = *id as usize;
            let end = |id: usize| atoms.get(id).map_or(0, |atom| atom.end as usize);
            let text = texts.get(id.checked_sub(1).map_or(0, end)..end(id)).unwrap_or_default();
            atoms.get(id).map_or(0, |atom| hash(hasher, atom.field, atom.kind, text))
        });
        id
    }

    pub(super) fn shrink(&mut self) {
        self.texts.shrink_to_fit();
        self.atoms.shrink_to_fit();
    }

    /// Returns the heap memory in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        let atoms = self.atoms.capacity().saturating_mul(size_of::<Atom>());
        self.texts.capacity().saturating_add(atoms).saturating_add(self.table.allocation_size())
    }
}

#[inline]
fn hash(hasher: &Hasher, field: FieldId, kind: AtomKind, text: &str) -> u64 {
    hasher.hash_one((field.index() as u32, kind as u8, text))
}
