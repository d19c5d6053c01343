//! A hash table that maps the names and aliases of a catalogue to its fields.

use hashbrown::HashTable;

use super::id::FieldId;

/// A hash table that maps names and aliases to fields.
///
/// The program that uses the library chooses the names, so a request cannot cause collisions in the table. The table can therefore
/// use a fast hash function.
#[derive(Default)]
pub(super) struct Names {
    table: HashTable<Entry>,
}

struct Entry {
    ends: Ends,
    name: Box<str>,
    field: FieldId,
}

impl Names {
    /// Inserts a name. If the name already exists, returns false and changes nothing.
    pub(super) fn insert(&mut self, name: &str, field: FieldId) -> bool {
        if self.get(name).is_some() {
            return false;
        }
        let entry = Entry { ends: Ends::of(name), name: name.into(), field };
        self.table.insert_unique(entry.ends.hash(), entry, |entry| entry.ends.hash());
        true
    }

    pub(super) fn get(&self, name: &str) -> Option<FieldId> {
        let ends = Ends::of(name);
        let is_same = |own: &Entry| own.ends == ends && (ends.len <= Ends::WHOLE || *own.name == *name);
        self.table.find(ends.hash(), is_same).map(|own| own.field)
    }
}

/// The parts of a name that are hashed: its length, and two words with its first eight bytes and its last eight bytes. Two names
/// with the same parts collide.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ends {
    first: u64,
    last: u64,
    len: usize,
}

impl Ends {
    /// The maximum length, in bytes, of a name that the two words contain completely. Two longer names with equal parts can differ,
    /// so they are also compared as text.
    const WHOLE: usize = 16;

    fn of(name: &str) -> Self {
        let bytes = name.as_bytes();
        let (first, last) = match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
            _ => (bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0),
        };
        Self { first, last, len: bytes.len() }
    }

    fn hash(self) -> u64 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (self.first ^ self.last.rotate_left(29) ^ self.len as u64).wrapping_mul(ODD);
        (mixed ^ mixed >> 32).wrapping_mul(ODD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_every_byte() {
        let name = "abcdefghijklmnopqrstuvwxyz";
        for len in 0..=name.len() {
            let (name, mut names) = (&name[..len], Names::default());
            assert!(names.insert(name, FieldId::ID));
            assert!(!names.insert(name, FieldId::ID));
            assert_eq!(names.get(name), Some(FieldId::ID));
            assert_eq!(names.get(&format!("{name}\0")), None);
            assert_eq!(names.get(&format!("\0{name}")), None);
            for at in 0..len {
                let other = format!("{}\0{}", &name[..at], &name[at + 1..]);
                assert_eq!(names.get(&other), None, "{other:?}");
                assert!(names.insert(&other, FieldId::ID), "{other:?}");
            }
        }
    }
}
