//! Members of documents that are no field but look like one.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::{Catalog, PathId, Stray};

/// So many names are compared with those of the fields; documents that have more, of other sources or made to take time, are
/// read without.
const MOST_COMPARED: usize = 256;
/// A longer key looks like no field.
const LONGEST_KEY: usize = 64;

/// The object that a key is in, and what the member looks like there.
type Compared = (PathId, Option<Arc<Stray>>);

/// The members that were met and are no field, each compared with the fields once.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// By key, for each object that has it.
    compared: HashMap<Box<str>, Vec<Compared>>,
    count: usize,
}

impl Members {
    /// What a member looks like that leads to no field; none when it looks like no field, or too many were met.
    pub(super) fn look(&mut self, catalog: &Catalog, object: PathId, key: &str) -> Option<&Arc<Stray>> {
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
        assert!(members.look(&catalog, Paths::ROOT, "status").is_some());
        for n in 0..10_000 {
            assert!(members.look(&catalog, Paths::ROOT, &format!("member {n}")).is_none());
        }
        assert!(members.look(&catalog, Paths::ROOT, &"x".repeat(100_000)).is_none());
        assert!(members.compared.len() <= MOST_COMPARED && members.count <= MOST_COMPARED);
        assert!(members.look(&catalog, Paths::ROOT, "status").is_some());
        assert!(members.look(&catalog, Paths::ROOT, "assignee").is_none());
    }
}
