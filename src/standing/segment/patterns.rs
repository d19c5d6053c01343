//! Searches the values of a field for all prefixes, substrings and words of a segment at once.

use std::collections::HashSet;

use aho_corasick::Anchored;
use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;

use super::atoms::{AtomKind, Atoms};
use crate::catalog::FieldId;
use crate::value::fold;

/// The patterns of one field.
#[derive(Debug)]
pub(super) struct FieldPatterns {
    pub(super) field: FieldId,
    /// The prefixes and substrings.
    plain: Option<Search>,
    /// The words.
    words: Option<Search>,
}

/// A search for the texts of atoms.
#[derive(Debug)]
enum Search {
    /// One pass of an automaton over the value. The number of a pattern is the index of its atom in the vector.
    Automaton(Box<NFA>, Vec<(u32, AtomKind)>),
    /// One search for each atom, for texts that are too long for an automaton.
    OneByOne(Vec<(u32, AtomKind)>),
}

impl Search {
    fn new(atoms: &Atoms, own: Vec<(u32, AtomKind)>) -> Option<Self> {
        if own.is_empty() {
            return None;
        }
        let texts = own.iter().map(|(id, _)| atoms.text(*id));
        Some(match NFA::builder().build(texts) {
            Ok(automaton) => Self::Automaton(Box::new(automaton), own),
            Err(_) => Self::OneByOne(own),
        })
    }

    /// Calls `found` for each atom that holds for the value, at least once.
    fn each(&self, value: &str, atoms: &Atoms, seen: &mut HashSet<u32>, mut found: impl FnMut(u32)) {
        let (automaton, own) = match self {
            Self::Automaton(automaton, own) => (automaton, own),
            Self::OneByOne(own) => {
                for (id, kind) in own {
                    let text = atoms.text(*id);
                    let holds = match kind {
                        AtomKind::Prefix => value.starts_with(text),
                        _ => value.contains(text),
                    };
                    if holds {
                        found(*id);
                    }
                }
                return;
            }
        };
        let Ok(mut state) = automaton.start_state(Anchored::No) else { return };
        // Many patterns may end in one state. The patterns of each state are read at most once for a value. So the time is linear
        // in the length of the value plus the size of the automaton. If the value starts with a prefix, the state at the end of the
        // prefix has not been reached earlier in the value.
        seen.clear();
        for (at, byte) in value.bytes().enumerate() {
            state = automaton.next_state(Anchored::No, state, byte);
            if !automaton.is_special(state) || !automaton.is_match(state) || !seen.insert(state.as_u32()) {
                continue;
            }
            for index in 0..automaton.match_len(state) {
                let pattern = automaton.match_pattern(state, index);
                let Some((id, kind)) = own.get(pattern.as_usize()) else { continue };
                if *kind != AtomKind::Prefix || automaton.pattern_len(pattern) == at.saturating_add(1) {
                    found(*id);
                }
            }
        }
    }

    fn size_bytes(&self) -> usize {
        let (automaton, own) = match self {
            Self::Automaton(automaton, own) => (automaton.memory_usage(), own),
            Self::OneByOne(own) => (0, own),
        };
        automaton.saturating_add(own.capacity().saturating_mul(size_of::<(u32, AtomKind)>()))
    }
}

impl FieldPatterns {
    /// Returns the patterns of the atoms, by field.
    pub(super) fn all(atoms: &Atoms) -> Vec<Self> {
        let mut found: Vec<(FieldId, bool, u32, AtomKind)> = Vec::new();
        for id in 0..super::count::count(atoms.len()) {
            match atoms.get(id) {
                Some((field, kind @ (AtomKind::Prefix | AtomKind::Substring), _)) => {
                    found.push((field, false, id, kind));
                }
                Some((field, kind @ AtomKind::Word, _)) => found.push((field, true, id, kind)),
                _ => {}
            }
        }
        found.sort_unstable_by_key(|(field, is_word, id, _)| (*field, *is_word, *id));
        let of_field = |own: &[(FieldId, bool, u32, AtomKind)]| {
            let of = |words: bool| {
                let own = own.iter().filter(|(_, is_word, ..)| *is_word == words);
                Search::new(atoms, own.map(|(_, _, id, kind)| (*id, *kind)).collect())
            };
            let field = own.first()?.0;
            Some(Self { field, plain: of(false), words: of(true) })
        };
        found.chunk_by(|(a, ..), (b, ..)| a == b).filter_map(of_field).collect()
    }

    /// Calls `found` for each atom that holds for a value of the field, at least once.
    pub(super) fn each(
        &self,
        value: &str,
        atoms: &Atoms,
        seen: &mut HashSet<u32>,
        mut found: impl FnMut(u32),
    ) {
        if let Some(plain) = &self.plain {
            plain.each(value, atoms, seen, &mut found);
        }
        if let Some(words) = &self.words {
            words.each(&fold(value), atoms, seen, found);
        }
    }

    pub(super) fn size_bytes(&self) -> usize {
        let of = |search: &Option<Search>| search.as_ref().map_or(0, Search::size_bytes);
        of(&self.plain).saturating_add(of(&self.words))
    }
}
