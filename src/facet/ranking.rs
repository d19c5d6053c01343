//! Sorts the values of counts by value, and truncates the list at the limit (top-k by selection).
#![expect(clippy::arithmetic_side_effects, reason = "counts of documents and of their values, in 64 bits")]

use std::cmp::{Ordering, Reverse};

use super::answer::ValueCounts;
use crate::catalog::Field;
use crate::value::Value;

/// Returns the counts by value, the greatest count first. Among equal counts, known strings come first, in the order in which the
/// catalogue lists them. Other values with equal counts follow in ascending order. Known values without a document are at the end,
/// if the limit allows.
///
/// `counted` has each value once, in any order, with a count above 0.
pub(crate) fn ranked<'v>(
    field: &Field,
    limit: u64,
    counted: impl Iterator<Item = (Value<'v>, u64)>,
) -> ValueCounts {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut listed: Vec<Ranked<'v>> = Vec::new();
    let (mut all_values, mut all_documents) = (0_u64, 0_u64);
    for (value, count) in counted {
        all_values += 1;
        all_documents += count;
        let rank = rank(field, &value);
        listed.push(Ranked { count: Reverse(count), rank, value });
        // Bounds the memory by the limit. Each truncation removes at least half of the list, so the work of all truncations is
        // linear in the number of values.
        if listed.len() >= limit.saturating_mul(2).max(KEPT) {
            cut(&mut listed, limit);
        }
    }
    cut(&mut listed, limit);
    listed.sort_unstable();
    let listed_documents: u64 = listed.iter().map(|ranked| ranked.count.0).sum();
    let listed_values = listed.len() as u64;
    let mut values: Vec<(Value<'static>, u64)> =
        listed.into_iter().map(|ranked| (ranked.value.into_owned(), ranked.count.0)).collect();
    if values.len() < limit {
        // The list is shorter than the limit, so it contains all counted values.
        let parsed = field.known_values().filter_map(|known| Value::parse(field.field_type(), known));
        let mut missing: Vec<(usize, Value<'_>)> = parsed
            .filter(|known| !values.iter().any(|(value, _)| value == known))
            .map(|known| (rank(field, &known), known))
            .collect();
        missing.sort_unstable();
        let missing = missing.into_iter().take(limit.saturating_sub(values.len()));
        let missing: Vec<_> = missing.map(|(_, known)| (known.into_owned(), 0)).collect();
        values.extend(missing);
    }
    ValueCounts {
        values,
        other_values: all_values - listed_values,
        other_count: all_documents - listed_documents,
    }
}

/// The minimum length at which the list is truncated.
const KEPT: usize = 1 << 12;

/// A counted value. Its derived order is that of the answer.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Ranked<'v> {
    count: Reverse<u64>,
    rank: usize,
    value: Value<'v>,
}

/// Returns the rank of a known string. All other strings share one rank, which comes after the ranks of known strings. All values
/// of other types share one rank.
fn rank(field: &Field, value: &Value<'_>) -> usize {
    match value {
        Value::String(text) => field.known_rank(text).unwrap_or(usize::MAX),
        _ => 0,
    }
}

/// Retains the first `limit` values, in any order.
fn cut(listed: &mut Vec<Ranked<'_>>, limit: usize) {
    if limit == 0 {
        listed.clear();
    } else if listed.len() > limit {
        listed.select_nth_unstable_by(limit.saturating_sub(1), |a, b| -> Ordering { a.cmp(b) });
        listed.truncate(limit);
    }
}
