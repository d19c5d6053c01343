//! The estimated cost of merging patterns with lists and with each other.

use compact_str::CompactString;

use super::grouped::Grouped;

/// The maximum estimated cost of combining patterns with lists and with each other. Up to this cost, they are combined. Above it,
/// they stay separate tests, because combining them would take more than a few milliseconds. The unit of this cost, and of the
/// costs below, is the time to search one byte of a text.
const MOST_EFFORT: usize = 1 << 22;

/// The cost of one search in an empty text. Each byte of the searched text adds 1.
const SEARCH: usize = 32;

/// The fixed cost of comparing two patterns.
const COMPARISON: usize = 256;

/// The cost of preparing one byte of a value for searches.
const PREPARATION: usize = 4;

/// Returns true if combining these tests costs at most [`MOST_EFFORT`]. The cost is about the number of patterns times the size of
/// the lists, plus the number of lists and patterns times the size of the patterns. Without this limit, a client could choose a
/// filter for which the optimiser takes very long.
pub(super) fn is_quick(grouped: &Grouped) -> bool {
    let Grouped { any, none, all, not_all, any_patterns, none_patterns } = grouped;
    let sum = |total: usize, more: usize| total.saturating_add(more);
    let lists = || [any, none, all, not_all].into_iter().flatten();
    let searched = lists().map(|set| {
        let texts = set.texts().map(|text| text.len().saturating_add(SEARCH));
        texts.fold(set.len().saturating_add(SEARCH), sum)
    });
    let patterns = || any_patterns.iter().chain(none_patterns);
    let prepared = patterns().map(|pattern| {
        let bytes = pattern.values().iter().map(CompactString::len).fold(0, sum);
        bytes.saturating_mul(PREPARATION).saturating_add(COMPARISON)
    });
    let searched = searched.fold(0, sum);
    let prepared = prepared.fold(not_all.len().saturating_mul(COMPARISON), sum);
    let others = patterns().count().saturating_add(not_all.len());
    let sets = lists().count().saturating_add(patterns().count());
    others.saturating_mul(searched).saturating_add(sets.saturating_mul(prepared)) <= MOST_EFFORT
}
