//! Checks the keys of the tables in a catalogue file.

use super::faults::Faults;
use super::node::Key;
use super::words::{Word, suggest};
use crate::error::{ErrorKind, quote, quote_all};

/// Returns the index of a key in `known`. Reports an unknown or a repeated key.
pub(super) fn known_key(
    key: &Key<'_>,
    known: &[&'static str],
    (word, path): (Word, &str),
    seen: &mut [bool],
    faults: &mut Faults,
) -> Option<usize> {
    let at_path = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let Some(number) = known.iter().position(|name| *name == key.name) else {
        let place = (ErrorKind::UnknownKey, key.at, path.to_owned());
        let found = format!("the key {}", quote(&key.name));
        let expected = format!("one of {}", quote_all(known.iter().copied()));
        return faults.add(place, found, expected, suggest(&key.name, word, known));
    };
    match seen.get_mut(number) {
        Some(seen) if !*seen => {
            *seen = true;
            Some(number)
        }
        _ => {
            let place = (ErrorKind::DuplicateKey, key.at, at_path(&key.name));
            faults.add(place, format!("a second {}", quote(&key.name)), "each key once", None)
        }
    }
}
