//! Conversion of a comparison, with an operator, to a test, with a quantifier and a set.

use super::super::set::Set;
use super::super::tree::{Comparison, Test};
use crate::operator::{Operator, Quantifier, Shape};

/// Converts a comparison to a test. `Err` is its result if that is the same for every case.
///
/// `many` is true for a many-valued field.
///
/// ```text
/// status = open                 Ok(Any {open})
/// status <> open                Ok(None {open})
/// amount > 5                    Ok(Any (5, max])
/// tags $all [a, b]              Ok(All {a, b})
/// status $all [a, b]            Err(false)          a single-valued field cannot have both values
/// amount > max                  Err(false)          the set is empty
/// ```
pub(in crate::predicate) fn test(comparison: &Comparison<'_>, many: bool) -> Result<Test, bool> {
    match Set::from_values(&comparison.values) {
        Some(set) => test_of(comparison.operator, set, many),
        None => Err(false),
    }
}

/// Converts an operator with a set of operands, like [`test`].
pub(super) fn test_of(operator: Operator, operands: Set, many: bool) -> Result<Test, bool> {
    let Shape { quantifier, pattern } = operator.shape();
    let set = operands.matching(pattern).ok_or(false)?;
    match quantifier {
        Quantifier::Any => Ok(Test::Any(set)),
        Quantifier::None => Ok(Test::None(set)),
        Quantifier::All if set.len() == 1 => Ok(Test::Any(set)),
        Quantifier::All if many => Ok(Test::All(set)),
        Quantifier::All => Err(false),
    }
}
