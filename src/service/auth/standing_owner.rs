//! The owner of the standing filters of a token. Its first part identifies the token, and the rest says what the token may see.

use sha2::{Digest, Sha256};

use crate::catalog::Catalog;
use crate::filter::Filter;

/// The owner under which the standing filters of a token are stored, and by which their events are read.
///
/// It has two parts. The first identifies the token: it is a hash of the text that clients send, so it stays the same when the
/// token gets another name or secret. The second is a hash of the cases and fields that the token may see. So the owner of an event
/// shows what the token could see when the event was created. A token must not get an event whose owner has another second part
/// than the present owner of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::service) struct StandingOwner {
    text: String,
    /// The length of the first part, with the character after it.
    start_bytes: usize,
}

/// The prefixes of the texts that are hashed. Raise the number in a prefix when the form of the text after it changes.
const OF_TOKEN: &str = "casefilter standing token 1\n";
const OF_SCOPE: &str = "casefilter standing scope 1\n";

impl StandingOwner {
    /// Creates the owner for a token. `bound` is the filter that restricts the cases of the token, and `narrow` has the fields that
    /// the token may see.
    pub(super) fn new(token: &str, bound: Option<&Filter>, narrow: Option<&Catalog>) -> Self {
        let mut text = digits(Sha256::new_with_prefix(OF_TOKEN).chain_update(token));
        text.push(':');
        let start_bytes = text.len();
        let mut scope = Sha256::new_with_prefix(OF_SCOPE);
        scope.update(bound.map_or_else(|| "all".to_owned(), |bound| format!("{:032x}", bound.fingerprint())));
        if let Some(narrow) = narrow {
            for (_, field) in narrow.visible_fields() {
                // Each path is encoded as JSON, which escapes control characters. So a path cannot contain the line break between
                // two paths.
                scope.update("\n");
                scope.update(serde_json::to_string(field.path()).unwrap_or_default());
            }
        }
        text.push_str(&digits(scope));
        Self { text, start_bytes }
    }

    /// Returns the whole owner.
    pub(in crate::service) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the part that identifies the token, including the separator after it. All owners of the same token begin with this
    /// part, with any restrictions.
    pub(in crate::service) fn of_token(&self) -> &str {
        self.text.get(..self.start_bytes).unwrap_or_default()
    }
}

/// Returns the first half of a hash in hexadecimal.
fn digits(hash: Sha256) -> String {
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_depends_on_the_token_its_cases_and_its_fields() {
        let catalog = Catalog::cases();
        let bound = |text: &str| Filter::compile_text(&catalog, text).unwrap();
        let narrow = |names: &[&str]| catalog.allow(names.iter().copied()).unwrap();
        let (acme, other) = (bound("clientId = acme"), bound("clientId = other"));
        let (few, fewer) = (narrow(&["id", "name", "tags"]), narrow(&["id", "name"]));
        let owners = [
            StandingOwner::new("a", None, None),
            StandingOwner::new("a", Some(&acme), None),
            StandingOwner::new("a", Some(&other), None),
            StandingOwner::new("a", None, Some(&few)),
            StandingOwner::new("a", None, Some(&fewer)),
            StandingOwner::new("a", Some(&acme), Some(&few)),
        ];
        for (at, owner) in owners.iter().enumerate() {
            assert!(owners.iter().skip(at + 1).all(|later| later != owner));
            assert_eq!((owner.of_token(), owner.as_str().len()), (owners[0].of_token(), 65));
            assert!(owner.as_str().starts_with(owner.of_token()));
        }
        // The same cases and fields, written in another way.
        let same = StandingOwner::new(
            "a",
            Some(&bound("clientId in (acme, acme)")),
            Some(&narrow(&["tags", "name", "id"])),
        );
        assert_eq!(same, owners[5]);
        assert_ne!(StandingOwner::new("b", None, None).of_token(), owners[0].of_token());
    }
}
