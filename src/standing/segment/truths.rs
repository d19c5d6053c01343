//! The values of one case in terms of a segment: its ordinals, and the atoms that hold for it.

use std::collections::HashSet;

use super::super::hasher::Hasher;
use super::atoms::{AtomKind, Atoms};
use super::count::count;
use super::patterns::FieldPatterns;
use crate::batch::OwnedRow;
use crate::catalog::FieldId;
use crate::value::Value;

/// The places of the atoms and ordinals of a field.
#[derive(Clone, Copy, Debug, Default)]
struct OfField {
    atoms: (u32, u32),
    ordinals: (u32, u32),
    is_present: bool,
}

/// The atoms of a segment that hold for a case, and its ordinals, by field. Its memory is reused for the next case.
#[derive(Debug, Default)]
pub(super) struct Truths {
    /// By the index of the field.
    fields: Vec<OfField>,
    atoms: Vec<u32>,
    ordinals: Vec<i64>,
    /// Scratch space for the states of an automaton.
    seen: HashSet<u32>,
}

impl Truths {
    /// Finds the atoms of a segment that hold for a case, and collects the ordinals of the case. `fields` are the fields of its
    /// rules; `patterns` is sorted by field.
    pub(super) fn read(
        &mut self,
        row: &OwnedRow,
        fields: &[FieldId],
        (atoms, hasher): (&Atoms, &Hasher),
        patterns: &[FieldPatterns],
    ) {
        self.atoms.clear();
        self.ordinals.clear();
        let mut patterns = patterns.iter().peekable();
        for field in fields {
            let index = field.index();
            if self.fields.len() <= index {
                self.fields.resize(index.saturating_add(1), OfField::default());
            }
            let (first_atom, first_ordinal) = (self.atoms.len(), self.ordinals.len());
            let pattern = patterns.next_if(|patterns| patterns.field == *field);
            let mut is_present = false;
            for value in row.values(*field) {
                is_present = true;
                match &value {
                    Value::String(text) => {
                        self.atoms.extend(atoms.find(hasher, *field, AtomKind::Text, text));
                        if let Some(pattern) = pattern {
                            let found = |atom| self.atoms.push(atom);
                            pattern.each(text, atoms, &mut self.seen, found);
                        }
                    }
                    Value::Boolean(boolean) => {
                        let text = boolean_text(*boolean);
                        self.atoms.extend(atoms.find(hasher, *field, AtomKind::Boolean, text));
                    }
                    ordered => self.ordinals.extend(ordered.ordinal().map(|(_, ordinal)| ordinal)),
                }
            }
            if self.atoms.len() > first_atom.saturating_add(1) {
                let own = self.atoms.get_mut(first_atom..).unwrap_or_default();
                own.sort_unstable();
                // Keeps the first of equal atoms.
                let mut kept = first_atom;
                for at in first_atom..self.atoms.len() {
                    let atom = self.atoms.get(at).copied().unwrap_or_default();
                    let last = kept.checked_sub(1).filter(|last| *last >= first_atom);
                    if last.and_then(|last| self.atoms.get(last)) != Some(&atom) {
                        if let Some(place) = self.atoms.get_mut(kept) {
                            *place = atom;
                        }
                        kept = kept.saturating_add(1);
                    }
                }
                self.atoms.truncate(kept);
            }
            if let Some(own) = self.fields.get_mut(index) {
                *own = OfField {
                    atoms: (count(first_atom), count(self.atoms.len())),
                    ordinals: (count(first_ordinal), count(self.ordinals.len())),
                    is_present,
                };
            }
        }
    }

    /// Returns the atoms that hold, of all fields that were read.
    pub(super) fn all_atoms(&self) -> &[u32] {
        &self.atoms
    }

    /// Returns the atoms of a field that hold, ascending.
    #[inline]
    pub(super) fn atoms(&self, field: usize) -> &[u32] {
        let (start, end) = self.fields.get(field).map_or((0, 0), |own| own.atoms);
        self.atoms.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Returns the ordinals of a field.
    #[inline]
    pub(super) fn ordinals(&self, field: usize) -> &[i64] {
        let (start, end) = self.fields.get(field).map_or((0, 0), |own| own.ordinals);
        self.ordinals.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Returns true if the case has a value of the field.
    #[inline]
    pub(super) fn is_present(&self, field: usize) -> bool {
        self.fields.get(field).is_some_and(|own| own.is_present)
    }
}

/// Returns the text of the atom of a boolean.
pub(super) fn boolean_text(boolean: bool) -> &'static str {
    if boolean { "true" } else { "false" }
}
