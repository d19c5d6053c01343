//! The rules for merging. Each pair of a connective and a kind of field (single-valued or multi-valued) has its own function.
//!
//! `Any` and `None` are variants of [`Test`], and V is the set of the values that a case has in the field. A list and a pattern are
//! combined exactly: each value of the list either matches the pattern or does not. Two patterns are combined if one pattern
//! expresses the result. Otherwise they stay two tests.
//!
//! ```text
//! single-valued field, and     Any Prefixes {Ga}, Any {Garcia, Lopez}     becomes  Any {Garcia}
//! single-valued field, and     Any (every string), None {open}            stays
//! single-valued field, or      Any (every string), None {open}            becomes  true
//! single-valued field, and     Any Words {ana}, Any Words {garcia}        becomes  Any Words {ana, garcia}
//! ```

use super::grouped::{Grouped, Merged, Tests};
use super::reduce::{drop_where, intersect, unite, weakest_dropped};
use crate::predicate::set::Set;
use crate::predicate::text_pattern::{Matcher, TextPattern};
use crate::predicate::tree::Test;

/// Merges a conjunction on a single-valued field: the value is in every `Any` set and in no `None` set.
pub(super) fn all_of_single(grouped: Grouped) -> Merged {
    let Grouped { any, none, any_patterns, none_patterns, .. } = grouped;
    let none = Set::union(none, true);
    if let Some(mut any) = intersection(any) {
        drop_matching(&mut any, &none_patterns);
        retain_common(&mut any, &any_patterns);
        if let Some(none) = none {
            any = any.minus(&none);
        }
        return Merged::unless(Set::is_empty, any, Test::Any);
    }
    let (any_patterns, none_patterns) = (intersect(any_patterns), unite(none_patterns));
    if any_patterns.iter().any(|any| none_patterns.iter().any(|none| any.is_within(none))) {
        return Merged::Decided;
    }
    let none = none.map(|mut none| {
        // Drop the values that the tests of patterns already exclude.
        drop_matching(&mut none, &none_patterns);
        retain_common(&mut none, &any_patterns);
        none
    });
    tests(any_patterns, none_patterns, [none.filter(|none| !none.is_empty()).map(Test::None)])
}

/// Merges a disjunction on a single-valued field. It is true if the value is in the set of at least one `Test::Any`, or outside the
/// set of at least one `Test::None`.
pub(super) fn any_of_single(grouped: Grouped) -> Merged {
    let Grouped { any, none, any_patterns, none_patterns, .. } = grouped;
    let any_patterns = unite(any_patterns);
    let any = Set::union(any, true);
    if let Some(mut none) = intersection(none) {
        retain_common(&mut none, &none_patterns);
        drop_matching(&mut none, &any_patterns);
        if let Some(any) = any {
            none = none.minus(&any);
        }
        return Merged::unless(Set::is_empty, none, Test::None);
    }
    // A value that is outside at least one of these patterns is outside their intersection.
    let none_patterns = intersect(none_patterns);
    if none_patterns.iter().any(|none| any_patterns.iter().any(|any| none.is_within(any))) {
        return Merged::Decided;
    }
    let any = any.map(|mut any| {
        // Drop the values that the tests of patterns already admit.
        drop_matching(&mut any, &any_patterns);
        retain_common(&mut any, &none_patterns);
        any
    });
    tests(any_patterns, none_patterns, [any.filter(|any| !any.is_empty()).map(Test::Any)])
}

/// Merges a conjunction on a multi-valued field: V has a member of each `Any` set, no member of any `None` set, and all members of
/// each `All` set. V lacks a member of each `NotAll` set.
pub(super) fn all_of_many(grouped: Grouped) -> Merged {
    let Grouped { any, none, all, mut not_all, any_patterns, none_patterns } = grouped;
    let none_patterns = unite(none_patterns);
    let mut forbidden = Set::union(none, false);
    let mut required = all;
    let mut alternatives = Vec::new();
    for mut set in any {
        drop_matching(&mut set, &none_patterns);
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
    if let Some(required) = &required {
        let is_forbidden = forbidden.as_ref().is_some_and(|forbidden| required.intersects(forbidden))
            || none_patterns.iter().any(|none| has_any_in(required, none))
            || not_all.iter().any(|set| set.is_within(required));
        if is_forbidden {
            return Merged::Decided;
        }
        alternatives.retain(|set| !set.intersects(required));
    }
    // If a required value matches a pattern, V always satisfies the test of this pattern.
    let mut any_patterns = weakest_dropped(any_patterns);
    any_patterns.retain(|any| {
        !required.as_ref().is_some_and(|required| has_any_in(required, any))
            && !alternatives.iter().any(|set| is_list_within(set, any))
    });
    if any_patterns.iter().any(|any| none_patterns.iter().any(|none| any.is_within(none))) {
        return Merged::Decided;
    }
    if let Some(forbidden) = &mut forbidden {
        drop_matching(forbidden, &none_patterns);
    }
    let forbidden = forbidden.filter(|forbidden| !forbidden.is_empty());
    not_all.retain(|set| {
        !forbidden.as_ref().is_some_and(|forbidden| set.intersects(forbidden))
            && !none_patterns.iter().any(|none| has_any_in(set, none))
    });
    for sets in [&mut alternatives, &mut not_all] {
        sets.sort_unstable();
        sets.dedup();
        drop_where(sets, |set, other| other.is_within(set));
    }
    let required = required.map(|set| if is_point(&set) { Test::Any(set) } else { Test::All(set) });
    let lists = alternatives.into_iter().map(Test::Any).chain(not_all.into_iter().map(Test::NotAll));
    tests(any_patterns, none_patterns, lists.chain(required).chain(forbidden.map(Test::None)).map(Some))
}

/// Merges a disjunction on a multi-valued field. V has a member of an `Any` set, all members of an `All` set, or no member of a
/// `None` set. Or V lacks a member of a `NotAll` set.
pub(super) fn any_of_many(grouped: Grouped) -> Merged {
    let Grouped { any, mut none, mut all, mut not_all, any_patterns, none_patterns } = grouped;
    let any_patterns = unite(any_patterns);
    let mut none_patterns = weakest_dropped(none_patterns);
    let any = Set::union(any, false);
    let is_admitted = |set: &Set| {
        any.as_ref().is_some_and(|any| set.intersects(any))
            || any_patterns.iter().any(|pattern| has_any_in(set, pattern))
    };
    let covers = |set: &Set| {
        let mut rest = set.clone();
        drop_matching(&mut rest, &any_patterns);
        any.as_ref().map_or(rest.is_empty(), |any| rest.is_empty() || rest.is_within(any))
    };
    let is_decided = none.iter().any(covers)
        || none_patterns.iter().any(|none| any_patterns.iter().any(|any| none.is_within(any)))
        || not_all.iter().any(|set| is_admitted(set) || all.iter().any(|all| all.is_within(set)));
    if is_decided {
        return Merged::Decided;
    }
    all.retain(|set| !is_admitted(set));
    // If `set` and `own` share a value, a V without any member of `set` lacks a member of `own`.
    none.retain(|set| !not_all.iter().any(|own| own.intersects(set)));
    none_patterns.retain(|none_pattern| {
        !not_all.iter().any(|own| has_any_in(own, none_pattern))
            && !none.iter().any(|set| is_list_within(set, none_pattern))
    });
    let any = any.map(|mut any| {
        drop_matching(&mut any, &any_patterns);
        any
    });
    for sets in [&mut none, &mut all] {
        sets.sort_unstable();
        sets.dedup();
        drop_where(sets, |set, other| other.is_within(set));
    }
    not_all.sort_unstable();
    not_all.dedup();
    drop_where(&mut not_all, Set::is_within);
    let lists = none.into_iter().map(Test::None).chain(all.into_iter().map(Test::All));
    let lists = lists.chain(not_all.into_iter().map(Test::NotAll));
    let any = any.filter(|any| !any.is_empty()).map(Test::Any);
    tests(any_patterns, none_patterns, lists.chain(any).map(Some))
}

/// Returns the merged tests of the lists together with the unchanged tests of patterns and `NotAll`.
pub(super) fn beside(lists: Merged, apart: Grouped) -> Merged {
    let Merged::Tests(lists) = lists else { return Merged::Decided };
    let not_all = apart.not_all.into_iter().map(Test::NotAll);
    tests(apart.any_patterns, apart.none_patterns, lists.into_iter().chain(not_all).map(Some))
}

/// Returns the tests of patterns and lists, sorted.
fn tests(
    any_patterns: Vec<TextPattern>,
    none_patterns: Vec<TextPattern>,
    lists: impl IntoIterator<Item = Option<Test>>,
) -> Merged {
    let mut tests: Tests = lists.into_iter().flatten().collect();
    tests.extend(any_patterns.into_iter().map(|pattern| Test::Any(pattern.into())));
    tests.extend(none_patterns.into_iter().map(|pattern| Test::None(pattern.into())));
    tests.sort_unstable();
    tests.dedup();
    Merged::Tests(tests)
}

/// Drops the strings that one of the patterns matches.
fn drop_matching(set: &mut Set, patterns: &[TextPattern]) {
    if patterns.is_empty() {
        return;
    }
    let matchers: Vec<Matcher<'_>> = patterns.iter().map(Matcher::new).collect();
    set.retain_texts(|text| !matchers.iter().any(|matcher| matcher.is_match(text)));
}

/// Keeps the strings that all patterns match.
fn retain_common(set: &mut Set, patterns: &[TextPattern]) {
    for pattern in patterns {
        let matcher = Matcher::new(pattern);
        set.retain_texts(|text| matcher.is_match(text));
    }
}

/// Returns true if the pattern matches a string of the list.
fn has_any_in(list: &Set, pattern: &TextPattern) -> bool {
    let matcher = Matcher::new(pattern);
    list.texts().any(|text| matcher.is_match(text))
}

/// Returns true if `list` is a list of strings and the pattern matches every string of it.
fn is_list_within(list: &Set, pattern: &TextPattern) -> bool {
    let matcher = Matcher::new(pattern);
    matches!(list, Set::Strings(_)) && list.texts().all(|text| matcher.is_match(text))
}

fn intersection(mut sets: Vec<Set>) -> Option<Set> {
    // Intersect small sets first. Otherwise each of many bounds would copy the same long list of values.
    sets.sort_by_key(Set::len);
    sets.into_iter().reduce(|all, set| all.intersect(&set))
}

fn is_point(set: &Set) -> bool {
    set.len() == 1 && set.are_points()
}
