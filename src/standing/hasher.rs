//! The hasher of names and atoms.

/// A keyed hasher: the makers of filters cannot know which texts collide.
pub(super) type Hasher = foldhash::quality::RandomState;
