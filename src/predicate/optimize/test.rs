//! Converts a comparison, which has an operator and operands, to a test, which has a quantifier and a set.

use super::super::intervals::Intervals;
use super::super::set::Set;
use super::super::tree::{Comparison, Test};
use crate::catalog::{Catalog, Field, FieldId};
use crate::operator::{Operator, Pattern, Quantifier, Ray, Shape, Side};

/// Converts a comparison to a test. If the result is the same for every case, returns the result as `Err`.
///
/// ```text
/// status = open                 Ok(Any {open})
/// status <> open                Ok(None {open})
/// amount > 5                    Ok(Any (5, max])
/// tags $all [a, b]              Ok(All {a, b})
/// status $all [a, b]            Err(false)          a single-valued field cannot have both values
/// amount > max                  Err(false)          the set is empty
/// priority >= medium            Ok(Any {high, medium})
/// priority < low                Err(false)          no known value is before the first
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
    let set = match (pattern, &operands) {
        (Pattern::Ray(ray), Set::Strings(_)) => by_rank(catalog.field(field), ray, &operands),
        _ => operands.matching(pattern),
    };
    let set = set.ok_or(false)?;
    match quantifier {
        Quantifier::Any => canonical(field, Test::Any(set), catalog),
        Quantifier::None => canonical(field, Test::None(set), catalog),
        Quantifier::All if set.len() == 1 => canonical(field, Test::Any(set), catalog),
        Quantifier::All if catalog.field(field).is_many() => Ok(Test::All(set)),
        Quantifier::All => Err(false),
    }
}

/// Returns the known values of a field that an order comparison selects. The only operand must be a known value. Returns `None` if
/// the comparison selects no known value.
///
/// `priority > low` becomes `{high, medium}`.
fn by_rank(field: &Field, ray: Ray, operands: &Set) -> Option<Set> {
    let rank = operands.texts().next().and_then(|text| field.known_rank(text))?;
    let is_within = |other: usize| match ray.side {
        Side::Above => other > rank,
        Side::Below => other < rank,
    };
    let known = field.known_values().enumerate();
    Set::of_strings(
        known
            .filter(|(other, _)| is_within(*other) || ray.inclusive && *other == rank)
            .map(|(_, value)| value),
    )
}

/// Returns true if every document has a value of the field.
fn has_always_a_value(field: FieldId, catalog: &Catalog) -> bool {
    field == FieldId::ID || catalog.field(field).default_value().is_some()
}

/// Returns the canonical form of a test. If the result is the same for every document, because the field always has a value,
/// returns the result as `Err`.
///
/// If a single-valued field always has a value, `Any` of all values except some points is equivalent to `None` of these points. The
/// form with the points is canonical, because it stays the same if it is printed and compiled again. The other form does not: it
/// may be printed with a criterion that is always true, such as a comparison with the smallest value. The same holds with `Any` and
/// `None` exchanged.
///
/// ```text
/// level < 2 or level > 2        Ok(None {2})
/// level <> 2                    Ok(None {2})
/// not (level < 2 or level > 2)  Ok(Any {2})
/// ```
pub(super) fn canonical(field: FieldId, test: Test, catalog: &Catalog) -> Result<Test, bool> {
    if !has_always_a_value(field, catalog) {
        return Ok(test);
    }
    let points_outside = |set: &Set| match set {
        Set::Ordered(set) if set.has_both_ends() && !catalog.field(field).is_many() => {
            Some(set.complement()).filter(Intervals::are_points).map(Set::Ordered)
        }
        _ => None,
    };
    match test {
        Test::Any(set) if set.is_every() => Err(true),
        Test::None(set) if set.is_every() => Err(false),
        Test::Any(set) => Ok(points_outside(&set).map_or(Test::Any(set), Test::None)),
        Test::None(set) => Ok(points_outside(&set).map_or(Test::None(set), Test::Any)),
        other => Ok(other),
    }
}

/// Returns the test that a field is present, or that the field is absent if the operand is `false`. The result is as in [`test`].
fn presence(field: FieldId, operands: &Set, catalog: &Catalog) -> Result<Test, bool> {
    let is_wanted = matches!(operands, Set::Booleans(truth) if truth.contains(&true));
    if has_always_a_value(field, catalog) {
        return Err(is_wanted);
    }
    let every = Set::every(catalog.field(field).field_type());
    Ok(if is_wanted { Test::Any(every) } else { Test::None(every) })
}
