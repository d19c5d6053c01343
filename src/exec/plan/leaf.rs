//! How a leaf is answered on one batch.

use std::ops::Range;

use smallvec::SmallVec;

use super::super::kernels;
use super::super::query::Access;
use super::super::ranges::{Met, meeting, near_part, parts};
use super::{COST_OF_64_BYTES, COST_OF_A_BIT, COST_OF_A_VALUE, Counts, Estimate, Source, Step, ValueTest};
use crate::column::{Codes, Column, Data, LANES, Layout, Posting, Selection, Sorted};
use crate::index::{GlobalRow, Occurrences, join, split};
use crate::predicate::{Leaf, Set, Test};
use crate::value::OrdinalRange;

/// A test of one string, or for each of several, whose rows in the batch of this number are known to be many: neither its column nor
/// the postings are looked at. `wanted` are the strings asked for, those that occur nowhere among them.
pub(super) fn plan_dense<'p>(
    test: &Test,
    found: &[&'p Occurrences],
    wanted: usize,
    number: usize,
    rows: usize,
) -> Option<Step<'p>> {
    let negated = match (test, found) {
        (Test::Any(_), [_]) => false,
        (Test::None(_), [_]) => true,
        (Test::All(_), several) if several.len() == wanted => false,
        _ => return None,
    };
    let mut each: SmallVec<[(u32, &[u64]); 4]> = SmallVec::new();
    for occurrences in found {
        let dense = occurrences.dense(number)?;
        each.extend(dense.words().map(|words| (dense.rows, words)));
    }
    each.sort_unstable_by_key(|(rows, _)| *rows);
    let Some((fewest, _)) = each.first() else { return Some(Step::Settled(!negated)) };
    let is_exact = each.len() == 1;
    let fewest = (*fewest as usize).min(rows);
    let rows_left = if negated { rows.saturating_sub(fewest) } else { fewest };
    let cost = (rows / LANES).saturating_mul(each.len());
    let source = Source::Dense(each.iter().map(|(_, words)| *words).collect());
    Some(Step::Leaf { source, negated, estimate: Estimate { rows: rows_left, is_exact, cost } })
}

/// A leaf by its column, in the batch of this number.
pub(super) fn plan_leaf<'p>(
    leaf: &'p Leaf,
    access: &'p Access<'p>,
    counts: Counts,
    number: usize,
    column: &'p Column,
) -> Step<'p> {
    let rows = column.rows();
    let (set, negated) = match &leaf.test {
        Test::Any(set) => (set, false),
        Test::None(set) => (set, true),
        Test::All(set) => return plan_all(column, set, access, number),
    };
    let (source, matched, cost, is_exact) = match access {
        Access::Nowhere => return Step::Settled(negated),
        Access::Rows(found) => {
            let own = rows_of_batch(found.ascending(), number);
            if own.is_empty() {
                return Step::Settled(negated);
            }
            (Source::Listed(own), own.len(), own.len().saturating_mul(COST_OF_A_BIT), true)
        }
        _ => match plan_set(column, set, access, counts, number) {
            Matched::Nothing => return Step::Settled(negated),
            Matched::EveryRow => return Step::Settled(!negated),
            Matched::EveryValue => match &column.layout {
                Layout::Single(Selection::All) => return Step::Settled(!negated),
                Layout::Single(Selection::None) => return Step::Settled(negated),
                Layout::Single(Selection::Bitmap(present)) => {
                    (Source::Kept(present.words()), present_count(column), rows / LANES, false)
                }
                Layout::Many(_) => (Source::Present(column), rows, rows, false),
            },
            Matched::By(source, matched, cost) => {
                let is_exact = match &source {
                    Source::AnyPosting(_, _, codes) => {
                        codes.len() == 1 || matches!(column.layout, Layout::Single(_))
                    }
                    // The rows of strings were counted when there are postings.
                    Source::Scan(Column { data: Data::Strings { postings: Some(_), .. }, .. }, _) => true,
                    Source::Sorted { is_exact, .. } => *is_exact,
                    _ => false,
                };
                (source, matched, cost, is_exact)
            }
        },
    };
    let matched = matched.min(rows);
    let selected = if negated { rows.saturating_sub(matched) } else { matched };
    Step::Leaf { source, negated, estimate: Estimate { rows: selected, is_exact, cost } }
}

/// Those of some rows, ascending, that are of the batch of a number.
pub(in crate::exec) fn rows_of_batch(rows: &[GlobalRow], number: usize) -> &[GlobalRow] {
    let from = join(number, 0).map_or(rows.len(), |first| rows.partition_point(|row| *row < first));
    let behind = rows.get(from..).unwrap_or_default();
    let own = behind.iter().take_while(|row| split(**row).0 == number).count();
    behind.get(..own).unwrap_or_default()
}

/// About how many rows have a value: what the sorted rows know, else all.
fn present_count(column: &Column) -> usize {
    match &column.data {
        Data::Ordered { sorted: Some(sorted), .. } => sorted.rows().len(),
        _ => column.rows(),
    }
}

/// What a set means on a column.
enum Matched<'p> {
    /// No row has such a value.
    Nothing,
    /// Every value is such a value.
    EveryValue,
    /// Every row has such a value.
    EveryRow,
    /// Where the rows come from, about how many they are, and the work.
    By(Source<'p>, usize, usize),
}

/// The codes that a leaf's strings have in a batch, ascending.
fn codes(column: &Column, set: &Set, access: &Access<'_>, number: usize) -> SmallVec<[u32; 4]> {
    match (access, &column.data, set) {
        (Access::Strings(found, _), _, _) => {
            let mut codes: SmallVec<[u32; 4]> =
                found.iter().filter_map(|occurrences| occurrences.code(number)).collect();
            codes.sort_unstable();
            codes
        }
        (_, Data::Strings { dictionary, .. }, Set::Strings(points)) => dictionary.find_all(points.as_slice()),
        _ => SmallVec::new(),
    }
}

fn plan_set<'p>(
    column: &'p Column,
    set: &'p Set,
    access: &Access<'_>,
    counts: Counts,
    number: usize,
) -> Matched<'p> {
    let values = column.values_len();
    let rows = column.rows();
    let scan = |test, matched| {
        Matched::By(
            Source::Scan(column, SmallVec::from_iter([test])),
            matched,
            values.saturating_mul(COST_OF_A_VALUE),
        )
    };
    match (&column.data, set) {
        (Data::Strings { dictionary, codes: codes_of_rows, postings }, Set::Strings(_)) => {
            let codes = codes(column, set, access, number);
            match (codes.as_slice(), postings) {
                ([], _) => Matched::Nothing,
                (all, _) if all.len() == dictionary.len() => Matched::EveryValue,
                (some, Some(postings)) => {
                    let matched = some.iter().map(|code| postings.count(*code)).sum();
                    let of_posting = |code: &u32| match postings.get(*code) {
                        Posting::List(list) => list.len().saturating_mul(COST_OF_A_BIT),
                        _ => rows / LANES,
                    };
                    let cost = some.iter().map(of_posting).sum();
                    let by_bytes = (rows / LANES).saturating_mul(COST_OF_64_BYTES);
                    match (codes_of_rows, &column.layout) {
                        (Codes::U8(_), Layout::Single(_)) if by_bytes < cost && kernels::has_byte_sets() => {
                            let test = ValueTest::Codes(code_bits(some, dictionary.len()));
                            Matched::By(Source::Scan(column, SmallVec::from_iter([test])), matched, by_bytes)
                        }
                        _ => Matched::By(Source::AnyPosting(column, postings, codes), matched, cost),
                    }
                }
                ([code], None) => scan(ValueTest::Code(*code), share(values, 1, dictionary.len())),
                (some, None) => {
                    let matched = share(values, some.len(), dictionary.len());
                    scan(ValueTest::Codes(code_bits(some, dictionary.len())), matched)
                }
            }
        }
        (Data::Ordered { zone, sorted, .. }, Set::Ordered(intervals)) => {
            match meeting(intervals.as_slice(), *zone) {
                Met::Nothing => Matched::Nothing,
                Met::Everything => Matched::EveryValue,
                Met::Some(ranges) => match Sorted::new(sorted, column) {
                    Some(sorted) => plan_ranges(column, sorted, ranges, counts),
                    None => scan(ValueTest::Ranges(ranges), rows / 4),
                },
            }
        }
        (Data::Booleans { holders, .. }, Set::Booleans(points)) => match points.as_slice() {
            _ if values == 0 => Matched::Nothing,
            [boolean] => {
                let [with_false, with_true] = &**holders;
                match if *boolean { with_true } else { with_false } {
                    Selection::None => Matched::Nothing,
                    Selection::All => Matched::EveryRow,
                    Selection::Bitmap(rows_with_it) => {
                        Matched::By(Source::Kept(rows_with_it.words()), rows / 2, rows / LANES)
                    }
                }
            }
            [] => Matched::Nothing,
            _ => Matched::EveryValue,
        },
        _ => Matched::Nothing,
    }
}

/// The rows of ranges of values.
fn plan_ranges<'p>(
    column: &'p Column,
    sorted: Sorted<'p>,
    ranges: &'p [OrdinalRange],
    counts: Counts,
) -> Matched<'p> {
    let len = sorted.len();
    let near = (counts == Counts::Near).then(|| near_part(column, sorted, ranges)).flatten();
    let is_exact = near.is_none();
    let parts = near.map_or_else(|| parts(column, sorted, ranges), |part| SmallVec::from_iter([part]));
    match parts.iter().map(Range::len).sum::<usize>() {
        0 => Matched::Nothing,
        all if all == len => Matched::EveryValue,
        matched => {
            let cost = match sorted {
                Sorted::AsStored(_) => len / LANES,
                Sorted::Listed(sorted) if is_exact && sorted.listed(&parts).is_some() => {
                    matched.saturating_mul(COST_OF_A_BIT)
                }
                Sorted::Listed(sorted) => sorted
                    .touched(&parts)
                    .saturating_mul(COST_OF_A_BIT)
                    .saturating_add(column.rows() / LANES)
                    .saturating_add(len / LANES),
            };
            Matched::By(Source::Sorted { column, sorted, parts, is_exact, ranges }, matched, cost)
        }
    }
}

/// Every point of the set must be among a row's values.
fn plan_all<'p>(column: &'p Column, set: &'p Set, access: &Access<'_>, number: usize) -> Step<'p> {
    let rows = column.rows();
    let leaf = |source, matched, cost| Step::Leaf {
        source,
        negated: false,
        estimate: Estimate { rows: matched, is_exact: false, cost },
    };
    match (&column.data, set) {
        (Data::Strings { postings, .. }, Set::Strings(points)) => {
            let mut codes = codes(column, set, access, number);
            if codes.len() < points.as_slice().len() {
                return Step::Settled(false);
            }
            match postings {
                Some(postings) => {
                    codes.sort_by_key(|code| postings.count(*code));
                    let fewest = codes.first().map_or(0, |code| postings.count(*code));
                    let cost = fewest.min(rows / LANES).saturating_mul(codes.len());
                    leaf(Source::EachPosting(column, postings, codes), fewest, cost)
                }
                None => {
                    let cost =
                        column.values_len().saturating_mul(COST_OF_A_VALUE).saturating_mul(codes.len());
                    leaf(
                        Source::Scan(column, codes.into_iter().map(ValueTest::Code).collect()),
                        rows / 64,
                        cost,
                    )
                }
            }
        }
        _ => {
            let mut tests: SmallVec<[ValueTest<'p>; 1]> = SmallVec::new();
            match (&column.data, set) {
                (Data::Ordered { zone, .. }, Set::Ordered(points)) => {
                    for point in points.as_slice().chunks(1) {
                        match meeting(point, *zone) {
                            Met::Nothing => return Step::Settled(false),
                            Met::Everything => tests.push(ValueTest::Present),
                            Met::Some(point) => tests.push(ValueTest::Ranges(point)),
                        }
                    }
                }
                (Data::Booleans { .. }, Set::Booleans(points)) => {
                    tests.extend(points.as_slice().iter().map(|boolean| ValueTest::Boolean(*boolean)));
                }
                _ => return Step::Settled(false),
            }
            let cost = column.values_len().saturating_mul(COST_OF_A_VALUE).saturating_mul(tests.len());
            leaf(Source::Scan(column, tests), rows / 16, cost)
        }
    }
}

/// `part` in `whole` of `values`.
pub(super) fn share(values: usize, part: usize, whole: usize) -> usize {
    values.saturating_mul(part).checked_div(whole).unwrap_or(0)
}

fn code_bits(codes: &[u32], distinct: usize) -> Box<[u64]> {
    let mut bits = vec![0_u64; distinct.div_ceil(LANES)];
    for code in codes {
        let code = *code as usize;
        if let Some(word) = bits.get_mut(code / LANES) {
            *word |= 1 << (code % LANES);
        }
    }
    bits.into()
}
