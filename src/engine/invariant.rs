//! The error of a violated invariant, for tests and fuzzers.

use std::fmt;

/// The description of a violated invariant: a bug of this library, or damaged memory. `Engine::validate` returns it.
///
/// It is meant for tests and fuzzers. No input of a client or host causes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InvariantError(String);

impl InvariantError {
    pub(crate) fn new(description: String) -> Self {
        Self(description)
    }
}

impl fmt::Display for InvariantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvariantError {}
