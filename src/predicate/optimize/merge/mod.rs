//! Applies the rule *merge*: combines all tests on one field in one branch.
//!
//! ```text
//! single-valued field, and        Any {a, b}, None {a}       becomes  Any {b}
//! single-valued field, or         Any [1, 5], Any [3, 9]     becomes  Any [1, 9]
//! single-valued field, and        Any {a}, Any {b}           becomes  false
//! multi-valued field, and         Any {a}, Any {b}           becomes  All {a, b}
//! multi-valued field, or          Any {a}, Any {b}           becomes  Any {a, b}
//! multi-valued field, or          Any (1, max], Any (5, max] becomes  Any (1, max]
//! ```
//!
//! [`rules`] has the rules for lists of values and for string patterns. Combining many long patterns with lists takes long, so
//! above a limit of [`effort`] they stay separate tests.

mod effort;
mod grouped;
mod reduce;
mod rules;

use self::grouped::Grouped;
pub(super) use self::grouped::Merged;
use crate::operator::Connective;
use crate::predicate::set::Set;
use crate::predicate::tree::Test;

/// Merges the tests on one field in a conjunction or disjunction.
pub(super) fn merge(connective: Connective, many: bool, tests: &[&Test]) -> Merged {
    if let (Connective::And, false, [Test::Any(a), Test::Any(b)]) = (connective, many, tests)
        && !a.is_pattern()
        && !b.is_pattern()
    {
        // The fast path for the two bounds of a range.
        return Merged::unless(Set::is_empty, a.intersect(b), Test::Any);
    }
    let grouped = Grouped::new(tests);
    if effort::is_quick(&grouped) {
        return apply(connective, many, grouped);
    }
    let (lists, others) = grouped.split();
    rules::beside(apply(connective, many, lists), others)
}

/// Applies the rule for this connective. `many` is true for a multi-valued field.
fn apply(connective: Connective, many: bool, grouped: Grouped) -> Merged {
    match (connective, many) {
        (Connective::And, false) => rules::all_of_single(grouped),
        (Connective::Or, false) => rules::any_of_single(grouped),
        (Connective::And, true) => rules::all_of_many(grouped),
        (Connective::Or, true) => rules::any_of_many(grouped),
    }
}

/// Returns true if the tests on one field make the conjunction false, or the disjunction true.
pub(in crate::predicate) fn decides(connective: Connective, many: bool, tests: &[&Test]) -> bool {
    matches!(merge(connective, many, tests), Merged::Decided)
}

/// Returns true if `premise` implies `conclusion` for every case. May return false even if the implication holds.
pub(in crate::predicate) fn implies(premise: &Test, conclusion: &Test) -> bool {
    match (premise, conclusion) {
        (Test::Any(a), Test::Any(b)) | (Test::NotAll(a), Test::NotAll(b)) => a.is_within(b),
        (Test::None(a), Test::None(b)) | (Test::All(a), Test::All(b)) => b.is_within(a),
        (Test::All(a), Test::Any(b)) => a.intersects(b),
        (Test::None(a), Test::NotAll(b)) => b.intersects(a),
        (Test::Elem(a), Test::Elem(b)) | (Test::NoElem(a), Test::NoElem(b)) => a == b,
        _ => false,
    }
}
