//! The tests on one field in one branch, grouped by quantifier, and the result of merging them.

use smallvec::{SmallVec, smallvec};

use crate::predicate::set::Set;
use crate::predicate::text_pattern::TextPattern;
use crate::predicate::tree::Test;

/// The result of merging the tests on one field.
pub(crate) enum Merged {
    /// The tests decide the branch: the conjunction is false, or the disjunction is true.
    Decided,
    /// The equivalent tests. Empty if the tests do not affect the branch.
    Tests(Tests),
}

/// A list of tests on one field. Most lists have one test.
pub(crate) type Tests = SmallVec<[Test; 1]>;

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

/// The value sets of the tests, grouped by quantifier. String patterns are in groups of their own.
#[derive(Default)]
pub(super) struct Grouped {
    pub(super) any: Vec<Set>,
    pub(super) none: Vec<Set>,
    pub(super) all: Vec<Set>,
    pub(super) not_all: Vec<Set>,
    pub(super) any_patterns: Vec<TextPattern>,
    pub(super) none_patterns: Vec<TextPattern>,
}

impl Grouped {
    pub(super) fn new(tests: &[&Test]) -> Self {
        let mut grouped = Self::default();
        for test in tests {
            match test {
                Test::Any(Set::Matching(pattern)) => grouped.any_patterns.push((**pattern).clone()),
                Test::None(Set::Matching(pattern)) => grouped.none_patterns.push((**pattern).clone()),
                Test::Any(set) => grouped.any.push(set.clone()),
                Test::None(set) => grouped.none.push(set.clone()),
                Test::All(set) => grouped.all.push(set.clone()),
                Test::NotAll(set) => grouped.not_all.push(set.clone()),
                Test::Elem(_) | Test::NoElem(_) => {
                    debug_assert!(false, "tests of elements are of no single field");
                }
            }
        }
        grouped
    }

    /// Returns two groups: the lists without `NotAll`, which merge quickly, and all other sets.
    pub(super) fn split(self) -> (Self, Self) {
        let Self { any, none, all, not_all, any_patterns, none_patterns } = self;
        let lists = Self { any, none, all, ..Self::default() };
        (lists, Self { not_all, any_patterns, none_patterns, ..Self::default() })
    }
}
