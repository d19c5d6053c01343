//! From the names of a catalogue to its fields.

use hashbrown::HashTable;

use super::FieldId;

/// A hash table of names.
///
/// The host chooses the names, so that no request can make them collide, and the hash may be cheap.
#[derive(Default)]
pub(super) struct Names {
    table: HashTable<(Box<str>, FieldId)>,
}

impl Names {
    /// False, and nothing is inserted, when the name is there.
    pub(super) fn insert(&mut self, name: &str, field: FieldId) -> bool {
        if self.get(name).is_some() {
            return false;
        }
        self.table.insert_unique(hash(name), (name.into(), field), |(name, _)| hash(name));
        true
    }

    pub(super) fn get(&self, name: &str) -> Option<FieldId> {
        self.table.find(hash(name), |(own, _)| **own == *name).map(|(_, field)| *field)
    }
}

/// Of length, first and last eight bytes: names that share all three are found one behind the other.
fn hash(name: &str) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let bytes = name.as_bytes();
    let (first, last) = match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => (bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0),
    };
    let mixed = (first ^ last.rotate_left(29) ^ bytes.len() as u64).wrapping_mul(ODD);
    (mixed ^ mixed >> 32).wrapping_mul(ODD)
}
