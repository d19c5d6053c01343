//! The key of a standing filter, which identifies the filter in a set and in a store. It is the name of the filter, or its owner
//! and its name.
//!
//! A name does not begin with [`MARK`]. The key of a filter with an owner is the mark, the owner, the mark and the name. So filters
//! of different owners have different keys, and the keys of one owner are adjacent in sort order.

use std::borrow::Cow;

/// The character before and after an owner in a key.
pub(crate) const MARK: char = '\0';

/// The maximum length of an owner, in bytes. A key with an owner also has two marks and a name of at most 128 bytes. So a key has
/// at most 255 bytes.
pub(crate) const MAX_OWNER_BYTES: usize = 125;

/// Returns the key of a filter.
pub(crate) fn key_of<'n>(owner: Option<&str>, name: &'n str) -> Cow<'n, str> {
    match owner {
        None => Cow::Borrowed(name),
        Some(owner) => Cow::Owned(format!("{MARK}{owner}{MARK}{name}")),
    }
}

/// Returns the owner and the name in a key. A key that does not begin with the mark, an owner and the mark is a name without an
/// owner.
pub(crate) fn split_key(key: &str) -> (Option<&str>, &str) {
    match key.strip_prefix(MARK).and_then(|key| key.split_once(MARK)) {
        Some((owner, name)) => (Some(owner), name),
        None => (None, key),
    }
}

/// Returns true if a filter can have this owner and this name. The name can have at most `most` bytes.
pub(crate) fn has_form(owner: Option<&str>, name: &str, most: usize) -> bool {
    let is_owner = |owner: &str| (1..=MAX_OWNER_BYTES).contains(&owner.len()) && !owner.contains(MARK);
    let is_name = (1..=most).contains(&name.len());
    match owner {
        None => is_name && !name.starts_with(MARK),
        Some(owner) => is_name && is_owner(owner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_owner_and_one_name() {
        for (owner, name) in
            [(None, "a"), (None, "a\0b"), (Some("o"), "a"), (Some("o"), "\0a"), (Some("o"), "a\0b\0c")]
        {
            let key = key_of(owner, name);
            assert_eq!(split_key(&key), (owner, name));
            assert!(has_form(owner, name, 128));
        }
        for (owner, name) in [
            (None, ""),
            (None, "\0a"),
            (None, "\0o\0a"),
            (Some(""), "a"),
            (Some("o\0p"), "a"),
            (Some("o"), ""),
        ] {
            assert!(!has_form(owner, name, 128), "{owner:?} {name:?}");
        }
        assert!(has_form(Some(&"o".repeat(125)), &"n".repeat(128), 128));
        assert!(!has_form(Some(&"o".repeat(126)), "n", 128) && !has_form(None, &"n".repeat(129), 128));
        assert_eq!(key_of(Some(&"o".repeat(125)), &"n".repeat(128)).len(), 255);
    }
}
