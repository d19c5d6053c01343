//! From a comparison to the test that it stands for.

use super::super::set::Set;
use super::super::tree::{Comparison, Test};
use crate::operator::{Operator, Quantifier, Shape};

/// Returns the test of a comparison, or its truth where that is the same for every case.
pub(in crate::predicate) fn test(comparison: &Comparison<'_>, many: bool) -> Result<Test, bool> {
    match Set::from_values(&comparison.values) {
        Some(set) => test_of(comparison.operator, set, many),
        None => Err(false),
    }
}

/// Like [`test`], given the set of the operands.
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
