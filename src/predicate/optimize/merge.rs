//! Merging the tests on one field that stand in one branch.

use smallvec::{SmallVec, smallvec};

use crate::operator::Connective;
use crate::predicate::set::Set;
use crate::predicate::tree::Test;

/// The result of merging the tests on one field.
pub(super) enum Merged {
    /// They make the conjunction false, or the disjunction true.
    Decided,
    /// Tests that together say the same; none when they make no difference.
    Tests(Tests),
}

/// Tests on one field, one as a rule.
type Tests = SmallVec<[Test; 1]>;

/// Beyond this many tests of one sort on one many-valued field, they are not compared pairwise.
const PAIRWISE: usize = 16;

/// Merges the tests on one field in a conjunction or disjunction.
pub(super) fn merge(connective: Connective, many: bool, tests: &[&Test]) -> Merged {
    match (connective, many, tests) {
        // The two bounds of a range, most often.
        (Connective::And, false, [Test::Any(a), Test::Any(b)]) => {
            Merged::unless(Set::is_empty, a.intersect(b), Test::Any)
        }
        (Connective::And, false, _) => all_of_single(Sorted::new(tests)),
        (Connective::Or, false, _) => any_of_single(Sorted::new(tests)),
        (Connective::And, true, _) => all_of_many(Sorted::new(tests)),
        (Connective::Or, true, _) => any_of_many(Sorted::new(tests)),
    }
}

impl Merged {
    /// Decided if so, or else the one test on this set.
    fn unless(is_decided: impl FnOnce(&Set) -> bool, set: Set, test: impl FnOnce(Set) -> Test) -> Self {
        if is_decided(&set) { Self::Decided } else { Self::Tests(smallvec![test(set)]) }
    }
}

/// True when the tests on one field make the conjunction false, or the disjunction true.
pub(in crate::predicate) fn decides(connective: Connective, many: bool, tests: &[&Test]) -> bool {
    matches!(merge(connective, many, tests), Merged::Decided)
}

/// The tests of each sort.
#[derive(Default)]
struct Sorted {
    any: Vec<Set>,
    none: Vec<Set>,
    all: Vec<Set>,
}

impl Sorted {
    fn new(tests: &[&Test]) -> Self {
        let mut sorted = Self::default();
        for test in tests {
            match test {
                Test::Any(set) => sorted.any.push(set.clone()),
                Test::None(set) => sorted.none.push(set.clone()),
                Test::All(set) => sorted.all.push(set.clone()),
            }
        }
        sorted
    }
}

fn intersection(mut sets: Vec<Set>) -> Option<Set> {
    // Small ones first, lest every one of many bounds copies one long list of values.
    sets.sort_by_key(Set::len);
    sets.into_iter().reduce(|all, set| all.intersect(&set))
}

/// With one value or none: in every `Any` set, and in no `None` set.
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

/// With one value or none: in some `Any` set, or outside some `None` set.
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

fn is_point(set: &Set) -> bool {
    set.len() == 1 && set.are_points()
}

/// With any number of values: every required point present, no forbidden one, one of each `Any` set.
fn all_of_many(Sorted { any, none, all }: Sorted) -> Merged {
    let forbidden = Set::union(none, false);
    let mut required = all;
    let mut alternatives = Vec::new();
    for set in any {
        // Only points: what an interval leaves without some points, no criterion could say.
        let set = match &forbidden {
            Some(forbidden) if set.are_points() => set.minus(forbidden),
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

/// With any number of values: one in the `Any` sets, or all of an `All` set, or none of a `None` set.
fn any_of_many(Sorted { any, mut none, mut all }: Sorted) -> Merged {
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

/// Drops each of these different sets that another one makes superfluous. Of two that make each other superfluous (the same values,
/// as a point and a range or as one range) the shorter one stays.
fn drop_where(sets: &mut Vec<Set>, superfluous: impl Fn(&Set, &Set) -> bool) {
    if sets.len() > PAIRWISE {
        return;
    }
    let all = sets.clone();
    let replaces = |other: &Set, set: &Set| {
        superfluous(set, other) && ((other.len(), other) < (set.len(), set) || !superfluous(other, set))
    };
    sets.retain(|set| !all.iter().any(|other| other != set && replaces(other, set)));
}

/// True when every value set that passes `premise` passes `conclusion`; may miss some that do.
pub(in crate::predicate) fn implies(premise: &Test, conclusion: &Test) -> bool {
    match (premise, conclusion) {
        (Test::Any(a), Test::Any(b)) => a.is_within(b),
        (Test::None(a), Test::None(b)) | (Test::All(a), Test::All(b)) => b.is_within(a),
        (Test::All(a), Test::Any(b)) => a.intersects(b),
        _ => false,
    }
}
