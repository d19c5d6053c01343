//! Applies the rule *merge* to tests whose sets are lists of values or ranges. Also has the types and functions that it shares
//! with [`patterns`](super::patterns).

use smallvec::{SmallVec, smallvec};

use crate::operator::Connective;
use crate::predicate::set::Set;
use crate::predicate::text_pattern::TextPattern;
use crate::predicate::tree::Test;

/// The result of merging the tests on one field.
pub(super) enum Merged {
    /// The tests decide the branch: the conjunction is false, or the disjunction is true.
    Decided,
    /// The equivalent tests. Empty if the tests do not affect the branch.
    Tests(Tests),
}

/// A list of tests on one field. Most lists have one test.
pub(super) type Tests = SmallVec<[Test; 1]>;

/// Up to this number of tests with the same quantifier on one multi-valued field, each pair of tests is compared. Above it,
/// superfluous tests stay, because comparing all pairs takes quadratic time.
const PAIRWISE: usize = 16;

/// Merges tests whose sets are all lists.
pub(super) fn merge_lists(connective: Connective, many: bool, lists: Sorted) -> Merged {
    match (connective, many) {
        (Connective::And, false) => all_of_single(lists),
        (Connective::Or, false) => any_of_single(lists),
        (Connective::And, true) => all_of_many(lists),
        (Connective::Or, true) => any_of_many(lists),
    }
}

impl Merged {
    /// Returns `Decided` if the set satisfies the condition, and otherwise the test on this set.
    pub(super) fn unless(
        is_decided: impl FnOnce(&Set) -> bool,
        set: Set,
        test: impl FnOnce(Set) -> Test,
    ) -> Self {
        if is_decided(&set) { Self::Decided } else { Self::Tests(smallvec![test(set)]) }
    }
}

/// The sets of tests, grouped by quantifier. Patterns and lists are in separate groups.
#[derive(Default)]
pub(super) struct Sorted {
    pub(super) any: Vec<Set>,
    pub(super) none: Vec<Set>,
    pub(super) all: Vec<Set>,
    pub(super) not_all: Vec<Set>,
    pub(super) any_patterns: Vec<TextPattern>,
    pub(super) none_patterns: Vec<TextPattern>,
}

impl Sorted {
    pub(super) fn new(tests: &[&Test]) -> Self {
        let mut sorted = Self::default();
        for test in tests {
            match test {
                Test::Any(Set::Matching(pattern)) => sorted.any_patterns.push((**pattern).clone()),
                Test::None(Set::Matching(pattern)) => sorted.none_patterns.push((**pattern).clone()),
                Test::Any(set) => sorted.any.push(set.clone()),
                Test::None(set) => sorted.none.push(set.clone()),
                Test::All(set) => sorted.all.push(set.clone()),
                Test::NotAll(set) => sorted.not_all.push(set.clone()),
                Test::Elem(_) | Test::NoElem(_) => {
                    debug_assert!(false, "tests of elements are of no single field");
                }
            }
        }
        sorted
    }

    /// Returns two parts: the lists, and the sets that only [`patterns`](super::patterns) can merge.
    pub(super) fn split(self) -> (Self, Self) {
        let Self { any, none, all, not_all, any_patterns, none_patterns } = self;
        let lists = Self { any, none, all, ..Self::default() };
        (lists, Self { not_all, any_patterns, none_patterns, ..Self::default() })
    }

    pub(super) fn has_only_lists(&self) -> bool {
        self.not_all.is_empty() && self.any_patterns.is_empty() && self.none_patterns.is_empty()
    }
}

pub(super) fn intersection(mut sets: Vec<Set>) -> Option<Set> {
    // Intersect small sets first. Otherwise each of many bounds would copy the same long list of values.
    sets.sort_by_key(Set::len);
    sets.into_iter().reduce(|all, set| all.intersect(&set))
}

/// Merges a conjunction on a single-valued field: the value is in every set of a `Test::Any`, and in no set of a
/// `Test::None`.
fn all_of_single(Sorted { any, none, .. }: Sorted) -> Merged {
    let any = intersection(any);
    let none = Set::union(none, true);
    match (any, none) {
        (Some(any), None) => Merged::unless(Set::is_empty, any, Test::Any),
        (Some(any), Some(none)) => Merged::unless(Set::is_empty, any.minus(&none), Test::Any),
        (None, Some(none)) => Merged::Tests(smallvec![Test::None(none)]),
        (None, None) => Merged::Tests(Tests::new()),
    }
}

/// Merges a disjunction on a single-valued field: the value is in at least one set of a `Test::Any`, or outside at least one set
/// of a `Test::None`.
fn any_of_single(Sorted { any, none, .. }: Sorted) -> Merged {
    let any = Set::union(any, true);
    let none = intersection(none);
    match (any, none) {
        (Some(any), None) => Merged::Tests(smallvec![Test::Any(any)]),
        (Some(any), Some(none)) => Merged::unless(Set::is_empty, none.minus(&any), Test::None),
        (None, Some(none)) => Merged::unless(Set::is_empty, none, Test::None),
        (None, None) => Merged::Tests(Tests::new()),
    }
}

pub(super) fn is_point(set: &Set) -> bool {
    set.len() == 1 && set.are_points()
}

/// Merges a conjunction on a multi-valued field: V has all required points, no forbidden point, and a member of each `Any` set.
fn all_of_many(Sorted { any, none, all, .. }: Sorted) -> Merged {
    let forbidden = Set::union(none, false);
    let mut required = all;
    let mut alternatives = Vec::new();
    for set in any {
        // Subtract the forbidden set from points only: criteria on a multi-valued field cannot express a range without some points.
        let set = match &forbidden {
            Some(forbidden) if set.are_points() => set.minus(forbidden),
            Some(forbidden) if set.is_within(forbidden) => return Merged::Decided,
            _ => set,
        };
        if set.is_empty() {
            return Merged::Decided;
        }
        if is_point(&set) {
            required.push(set);
        } else {
            alternatives.push(set);
        }
    }
    let required = Set::union(required, false);
    if let (Some(required), Some(forbidden)) = (&required, &forbidden)
        && required.intersects(forbidden)
    {
        return Merged::Decided;
    }
    if let Some(required) = &required {
        alternatives.retain(|set| !set.intersects(required));
    }
    alternatives.sort_unstable();
    alternatives.dedup();
    drop_where(&mut alternatives, |set, other| other.is_within(set));
    let mut tests: Tests = alternatives.into_iter().map(Test::Any).collect();
    if let Some(required) = required {
        tests.push(if is_point(&required) { Test::Any(required) } else { Test::All(required) });
    }
    tests.extend(forbidden.map(Test::None));
    tests.sort_unstable();
    Merged::Tests(tests)
}

/// Merges a disjunction on a multi-valued field: V has a member of an `Any` set, all members of an `All` set, or no member of a
/// `None` set.
fn any_of_many(Sorted { any, mut none, mut all, .. }: Sorted) -> Merged {
    let any = Set::union(any, false);
    if let Some(any) = &any {
        if none.iter().any(|set| set.is_within(any)) {
            return Merged::Decided;
        }
        all.retain(|set| !set.intersects(any));
    }
    for sets in [&mut none, &mut all] {
        sets.sort_unstable();
        sets.dedup();
        drop_where(sets, |set, other| other.is_within(set));
    }
    let mut tests: Tests = none.into_iter().map(Test::None).collect();
    tests.extend(all.into_iter().map(Test::All));
    tests.extend(any.map(Test::Any));
    tests.sort_unstable();
    Merged::Tests(tests)
}

/// Drops each set that another set makes superfluous. The sets must be different.
///
/// Two sets can make each other superfluous if they have the same members in different ranges. The set with fewer ranges then
/// stays.
pub(super) fn drop_where(sets: &mut Vec<Set>, superfluous: impl Fn(&Set, &Set) -> bool) {
    if sets.len() > PAIRWISE {
        return;
    }
    let all = sets.clone();
    let replaces = |other: &Set, set: &Set| {
        superfluous(set, other) && ((other.len(), other) < (set.len(), set) || !superfluous(other, set))
    };
    sets.retain(|set| !all.iter().any(|other| other != set && replaces(other, set)));
}
