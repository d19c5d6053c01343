//! Checks that the two parsers of JSON bodies, the fast path and the strict parser, agree. Used by tests and fuzzers.

use super::advice::NO_FIELDS;
use super::{fast, strict};
use crate::limits::Limits;
use crate::operator::Grammar;

/// Checks that the fast path accepts a body exactly if the strict parser finds no error in it. Also checks that both parsers return
/// the same tree for an accepted body.
///
/// Compares the parsers twice: with the operators of the interface only, and with the extended operators in addition. Returns
/// true if the parsers accept the body with the extended operators.
///
/// # Errors
/// Returns a description of the difference between the parsers.
#[doc(hidden)]
pub fn check_parsers(body: &str, limits: &Limits) -> Result<bool, String> {
    let is_accepted = check(body, Grammar::Interface, limits)?;
    let is_accepted_extended = check(body, Grammar::Extended, limits)?;
    if is_accepted && !is_accepted_extended {
        return Err("the extended grammar refuses a body of the interface".to_owned());
    }
    Ok(is_accepted_extended)
}

fn check(body: &str, grammar: Grammar, limits: &Limits) -> Result<bool, String> {
    let fast = fast::read(body, grammar, limits);
    let (strict, errors) = strict::parse(body, grammar, limits, NO_FIELDS);
    match fast {
        None if errors.is_empty() => Err(format!("the fast path refuses {strict:?}")),
        None => Ok(false),
        Some(fast) if !errors.is_empty() => Err(format!("the fast path accepts {fast:?} with {errors:?}")),
        Some(fast) if fast != strict => Err(format!("the fast path reads {fast:?}, not {strict:?}")),
        Some(_) => Ok(true),
    }
}
