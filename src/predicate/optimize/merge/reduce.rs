//! Unites and intersects patterns of strings. Drops sets and patterns that another one makes superfluous.

use crate::predicate::set::Set;
use crate::predicate::text_pattern::TextPattern;

/// Up to this number of sets or patterns, each pair is compared. Above it, superfluous sets and patterns stay, because comparing
/// all pairs takes quadratic time.
const PAIRWISE: usize = 16;

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

/// Returns patterns with the same union as `patterns`, without superfluous patterns.
pub(super) fn unite(patterns: Vec<TextPattern>) -> Vec<TextPattern> {
    reduce(TextPattern::union(patterns), TextPattern::is_within)
}

/// Returns patterns with the same intersection as `patterns`, without superfluous patterns.
pub(super) fn intersect(patterns: Vec<TextPattern>) -> Vec<TextPattern> {
    weakest_dropped(TextPattern::intersection(patterns))
}

/// Drops each pattern that matches every string that another pattern matches.
pub(super) fn weakest_dropped(patterns: Vec<TextPattern>) -> Vec<TextPattern> {
    reduce(patterns, |pattern, other| other.is_within(pattern))
}

/// Drops each pattern that another pattern makes superfluous. If two patterns make each other superfluous, the first pattern stays.
fn reduce(
    mut patterns: Vec<TextPattern>,
    is_superfluous: impl Fn(&TextPattern, &TextPattern) -> bool,
) -> Vec<TextPattern> {
    patterns.sort_unstable();
    patterns.dedup();
    if patterns.len() > PAIRWISE {
        return patterns;
    }
    let all = patterns.clone();
    patterns.retain(|pattern| {
        !all.iter().any(|other| {
            other != pattern
                && is_superfluous(pattern, other)
                && (other < pattern || !is_superfluous(other, pattern))
        })
    });
    patterns
}
