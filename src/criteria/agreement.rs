//! A check that the two parsers of JSON bodies agree, for tests and fuzzers.

use super::advice::NO_FIELDS;
use super::{fast, strict};
use crate::limits::Limits;

/// Checks that the fast path accepts a body exactly if the strict parser finds no error in it, and that both then return the same
/// tree. Returns true if they accept it.
///
/// # Errors
/// Returns a description of the difference between the parsers.
#[doc(hidden)]
pub fn check_parsers(body: &str, limits: &Limits) -> Result<bool, String> {
    let fast = fast::read(body, limits);
    let (strict, errors) = strict::parse(body, limits, NO_FIELDS);
    match fast {
        None if errors.is_empty() => Err(format!("the fast path refuses {strict:?}")),
        None => Ok(false),
        Some(fast) if !errors.is_empty() => Err(format!("the fast path accepts {fast:?} with {errors:?}")),
        Some(fast) if fast != strict => Err(format!("the fast path reads {fast:?}, not {strict:?}")),
        Some(_) => Ok(true),
    }
}
