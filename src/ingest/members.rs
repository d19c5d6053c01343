//! Finds unknown members whose names resemble fields, and remembers the results during one import. `catalog/stray.rs` compares the
//! names. Imports and hints use the results to warn about misspelt fields.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::{Catalog, PathId, Stray};

/// The maximum number of unknown names that are compared with the fields. Any further names get no remark, so that a document with
/// a large number of names takes little time.
const MOST_COMPARED: usize = 256;
/// The maximum length of a name that is compared, in bytes. A longer name gets no remark.
const LONGEST_KEY: usize = 64;

/// The object that contains a key, and the field that the key resembles, if any.
type Compared = (PathId, Option<Arc<Stray>>);

/// The unknown members that have been found so far. Each has been compared with the fields once.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// The results by key. For each key: one result for each object in which the key was found.
    compared: HashMap<Box<str>, Vec<Compared>>,
    count: usize,
}

impl Members {
    /// Returns the field that an unknown member resembles. Returns `None` if there is no such field, or if the name is longer than
    /// [`LONGEST_KEY`]. Also returns `None` for a new member if [`MOST_COMPARED`] members have already been compared. Members of
    /// different objects are different, even if they have the same name.
    pub(super) fn similar_field(
        &mut self,
        catalog: &Catalog,
        object: PathId,
        key: &str,
    ) -> Option<&Arc<Stray>> {
        if key.len() > LONGEST_KEY {
            return None;
        }
        if !self.compared.contains_key(key) {
            if self.count >= MOST_COMPARED {
                return None;
            }
            self.compared.insert(key.into(), Vec::new());
        }
        let objects = self.compared.get_mut(key)?;
        let known = objects.iter().position(|(other, _)| *other == object);
        let at = match known {
            Some(at) => at,
            None if self.count >= MOST_COMPARED => return None,
            None => {
                self.count = self.count.saturating_add(1);
                objects.push((object, catalog.stray(object, key).map(Arc::new)));
                objects.len().saturating_sub(1)
            }
        };
        objects.get(at).and_then(|(_, stray)| stray.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Paths;

    #[test]
    fn names_without_end_take_bounded_memory() {
        let (catalog, mut members) = (Catalog::cases(), Members::default());
        assert!(members.similar_field(&catalog, Paths::ROOT, "status").is_some());
        for n in 0..10_000 {
            assert!(members.similar_field(&catalog, Paths::ROOT, &format!("member {n}")).is_none());
        }
        assert!(members.similar_field(&catalog, Paths::ROOT, &"x".repeat(100_000)).is_none());
        assert!(members.compared.len() <= MOST_COMPARED && members.count <= MOST_COMPARED);
        assert!(members.similar_field(&catalog, Paths::ROOT, "status").is_some());
        assert!(members.similar_field(&catalog, Paths::ROOT, "assignee").is_none());
    }
}
