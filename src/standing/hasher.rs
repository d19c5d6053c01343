//! The hasher of names and atoms.

/// A hasher with a random key, so that users who write filters cannot find texts whose hashes collide.
pub(super) type Hasher = foldhash::quality::RandomState;
