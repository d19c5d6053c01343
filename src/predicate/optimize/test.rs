//! Converts a comparison, which has an operator and operands, to a test, which has a quantifier and a set.

use super::super::set::Set;
use super::super::tree::{Comparison, Test};
use crate::catalog::{Catalog, FieldId};
use crate::operator::{Operator, Pattern, Quantifier, Shape};

/// Converts a comparison to a test. If the result is the same for every case, returns the result as `Err`.
///
/// ```text
/// status = open                 Ok(Any {open})
/// status <> open                Ok(None {open})
/// amount > 5                    Ok(Any (5, max])
/// tags $all [a, b]              Ok(All {a, b})
/// status $all [a, b]            Err(false)          a single-valued field cannot have both values
/// amount > max                  Err(false)          the set is empty
/// status is present             Ok(Any (every string))
/// id is present                 Err(true)           every case has an id
/// ```
pub(in crate::predicate) fn test(comparison: &Comparison<'_>, catalog: &Catalog) -> Result<Test, bool> {
    match Set::from_values(&comparison.values, catalog.field(comparison.field).is_many()) {
        Some(set) => test_of(comparison.field, comparison.operator, set, catalog),
        None => Err(false),
    }
}

/// Converts an operator and a set of operands to a test, like [`test`].
pub(super) fn test_of(
    field: FieldId,
    operator: Operator,
    operands: Set,
    catalog: &Catalog,
) -> Result<Test, bool> {
    let Shape { quantifier, pattern } = operator.shape();
    if pattern == Pattern::Present {
        return presence(field, &operands, catalog);
    }
    let set = operands.matching(pattern).ok_or(false)?;
    match quantifier {
        Quantifier::Any => Ok(Test::Any(set)),
        Quantifier::None => Ok(Test::None(set)),
        Quantifier::All if set.len() == 1 => Ok(Test::Any(set)),
        Quantifier::All if catalog.field(field).is_many() => Ok(Test::All(set)),
        Quantifier::All => Err(false),
    }
}

/// Returns the test that a field is present, or that the field is absent if the operand is `false`. The result is as in [`test`].
fn presence(field: FieldId, operands: &Set, catalog: &Catalog) -> Result<Test, bool> {
    let is_wanted = matches!(operands, Set::Booleans(truth) if truth.contains(&true));
    if field == FieldId::ID || catalog.field(field).default_value().is_some() {
        return Err(is_wanted);
    }
    let every = Set::every(catalog.field(field).field_type());
    Ok(if is_wanted { Test::Any(every) } else { Test::None(every) })
}
