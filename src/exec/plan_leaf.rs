//! Plans a leaf on one batch: chooses an access path, and estimates the number of rows and the cost.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "values and codes of one batch, fewer than 2^32, and `Cost`, which saturates"
)]

use std::ops::Range;

use smallvec::SmallVec;

use super::access_path::AccessPath;
use super::cost::{COST_OF_64_BYTES, COST_OF_A_BIT, COST_OF_A_VALUE, Cost};
use super::index_lookup::IndexLookup;
use super::pattern_codes::PatternSearch;
use super::query::Query;
use super::ranges::{covers, overlapping, parts};
use super::step::{Estimate, PlanStep};
use super::value_test::{ValueTest, code_bits};
use crate::column::{Codes, Column, ColumnData, ColumnLayout, Sorted};
use crate::index::StringPostings;
use crate::kernels;
use crate::predicate::{Leaf, Set, Test, TextPattern};
use crate::rows::{LANES, RowSet};
use crate::stop::Pace;
use crate::value::OrdinalRange;

/// Plans a test of one string, or an `all` test of several strings, from the bitmaps in the index over all batches. Neither the
/// column nor its postings are read.
///
/// `found` has the postings of the strings that occur in covered batches, and `wanted` is the number of tested strings. Returns
/// `None` for other tests, and if a string has too few rows for a bitmap.
pub(super) fn plan_bitmaps<'p>(
    test: &Test,
    found: &[&'p StringPostings],
    wanted: usize,
    number: usize,
    rows: usize,
) -> Option<PlanStep<'p>> {
    let negated = match (test, found) {
        (Test::Any(_), [_]) => false,
        (Test::None(_), [_]) => true,
        (Test::All(_), several) if several.len() == wanted => false,
        (Test::NotAll(_), several) if several.len() == wanted => true,
        _ => return None,
    };
    let mut each: SmallVec<[(u32, &[u64]); 4]> = SmallVec::new();
    for string in found {
        let bitmap = string.bitmap(number)?;
        each.extend(bitmap.words().map(|words| (bitmap.rows, words)));
    }
    each.sort_unstable_by_key(|(rows, _)| *rows);
    let Some((fewest, _)) = each.first() else { return Some(PlanStep::Settled(!negated)) };
    let is_exact = each.len() == 1;
    let fewest = (*fewest as usize).min(rows);
    let rows_left = if negated { rows - fewest } else { fewest };
    let cost = Cost::of_bitmap(rows) * each.len();
    let path = AccessPath::StringBitmaps(each.iter().map(|(_, words)| *words).collect());
    Some(PlanStep::Leaf { path, negated, estimate: Estimate { rows: rows_left, is_exact, cost } })
}

/// Plans a leaf on batch `number`: chooses the access path to its rows in `column` or in the index, and estimates rows and cost.
pub(super) fn plan_leaf<'p>(
    leaf: &'p Leaf,
    lookup: &'p IndexLookup<'p>,
    number: usize,
    column: &'p Column,
    query: &Query<'_>,
) -> PlanStep<'p> {
    let rows = column.rows();
    let (set, negated) = match &leaf.test {
        Test::Any(set) => (set, false),
        Test::None(set) => (set, true),
        Test::All(set) => return plan_all(column, set, lookup, number, query),
        Test::NotAll(set) => return plan_all(column, set, lookup, number, query).negated(column.rows()),
        // Tests of elements are planned by `plan_elements` instead.
        Test::Elem(_) | Test::NoElem(_) => return PlanStep::Settled(leaf.test.is_negated()),
    };
    let Matching { path, rows: matching, cost, is_exact } = match lookup {
        IndexLookup::Nowhere => Matching::of_set(RowSet::None, 0, Cost::NONE),
        IndexLookup::Rows(found) => {
            let own = found.of_batch(number);
            let cost = COST_OF_A_BIT * own.len();
            Matching { is_exact: true, ..Matching::of_set(RowSet::listed(own), own.len(), cost) }
        }
        _ => matching_set(column, set, lookup, number, query),
    };
    match path {
        AccessPath::Rows(RowSet::None) => PlanStep::Settled(negated),
        AccessPath::Rows(RowSet::All) => PlanStep::Settled(!negated),
        path => {
            let matching = matching.min(rows);
            let selected = if negated { rows - matching } else { matching };
            PlanStep::Leaf { path, negated, estimate: Estimate { rows: selected, is_exact, cost } }
        }
    }
}

/// The rows of a batch that have at least one value in a given set.
struct Matching<'p> {
    path: AccessPath<'p>,
    /// The estimated number of rows.
    rows: usize,
    cost: Cost,
    /// True if `rows` is the exact number.
    is_exact: bool,
}

impl<'p> Matching<'p> {
    fn of_set(set: RowSet<'p>, rows: usize, cost: Cost) -> Self {
        Self { path: AccessPath::Rows(set), rows, cost, is_exact: false }
    }

    /// Returns the rows that have any value.
    fn present(column: &'p Column) -> Self {
        let rows = column.rows();
        match &column.layout {
            ColumnLayout::Single(present) => {
                Self::of_set(present.set(), present_count(column), Cost::of_bitmap(rows))
            }
            ColumnLayout::Many(_) => {
                Self { path: AccessPath::Present(column), rows, cost: Cost::of_words(rows), is_exact: false }
            }
        }
    }

    /// Returns the rows that have a value which passes `test`, by reading the column. `rows` is the estimated number of these rows.
    fn scan(column: &'p Column, test: ValueTest<'p>, rows: usize) -> Self {
        let path = AccessPath::Scan(column, SmallVec::from_iter([test]));
        Self { path, rows, cost: COST_OF_A_VALUE * column.values_len(), is_exact: false }
    }
}

/// Estimates the number of rows that have a value. This is the number of sorted rows, or of all rows if there are no sorted rows.
fn present_count(column: &Column) -> usize {
    match &column.data {
        ColumnData::Ordered { sorted: Some(sorted), .. } => sorted.rows().len(),
        _ => column.rows(),
    }
}

/// The number of strings that are looked up in a dictionary between two stop checks.
const TEXTS_OF_A_CHECK: usize = 1 << 10;

/// Returns the codes of the strings of a leaf in a batch, in ascending order.
fn codes(
    column: &Column,
    set: &Set,
    lookup: &IndexLookup<'_>,
    number: usize,
    query: &Query<'_>,
) -> SmallVec<[u32; 4]> {
    let pace = query.pace();
    match (lookup, &column.data, set) {
        (IndexLookup::Strings(found, _), _, _) => {
            let mut codes: SmallVec<[u32; 4]> =
                found.iter().filter_map(|string| string.code(number)).collect();
            codes.sort_unstable();
            codes
        }
        (_, ColumnData::Strings { dictionary, .. }, Set::Strings(points)) => {
            let texts = points.as_slice();
            if !pace.can_stop() || texts.len() <= TEXTS_OF_A_CHECK {
                return dictionary.find_all(texts);
            }
            // The strings are in ascending order, so their codes are in ascending order, too.
            let parts = texts.chunks(TEXTS_OF_A_CHECK).take_while(|texts| !pace.spend(texts.len() * 400));
            parts.flat_map(|texts| dictionary.find_all(texts)).collect()
        }
        (_, ColumnData::Strings { dictionary, search: search_index, .. }, Set::Matching(pattern)) => {
            let of_batch;
            let search = if let IndexLookup::Pattern(search) = lookup {
                &**search
            } else {
                of_batch = PatternSearch::new(pattern);
                &of_batch
            };
            let found = search.matching_codes(dictionary, search_index.as_deref(), pace);
            query.note(|work| work.strings_tested += found.tested as u64);
            found.codes
        }
        _ => SmallVec::new(),
    }
}

/// Returns the rows that have at least one value in `set`.
fn matching_set<'p>(
    column: &'p Column,
    set: &'p Set,
    lookup: &IndexLookup<'_>,
    number: usize,
    query: &Query<'_>,
) -> Matching<'p> {
    let none = || Matching::of_set(RowSet::None, 0, Cost::NONE);
    match (&column.data, set) {
        (ColumnData::Strings { .. }, Set::Matching(pattern)) if **pattern == TextPattern::Every => {
            Matching::present(column)
        }
        (ColumnData::Strings { .. }, Set::Strings(_) | Set::Matching(_)) => {
            matching_strings(column, codes(column, set, lookup, number, query))
        }
        (ColumnData::Ordered { zone, sorted, .. }, Set::Ordered(intervals)) => {
            match (overlapping(intervals.as_slice(), *zone), Sorted::new(sorted, column)) {
                ([], _) => none(),
                ([range], _) if covers(*range, *zone) => Matching::present(column),
                (some, Some(sorted)) => matching_ranges(column, sorted, some, query.pace()),
                (some, None) => Matching::scan(column, ValueTest::Ranges(some), column.rows() / 4),
            }
        }
        (ColumnData::Booleans { holders, values }, Set::Booleans(points)) => match points.as_slice() {
            _ if values.rows() == 0 => none(),
            [] => none(),
            [boolean] => {
                let [with_false, with_true] = &**holders;
                let holders = if *boolean { with_true } else { with_false };
                Matching::of_set(holders.set(), column.rows() / 2, Cost::of_bitmap(column.rows()))
            }
            _ => Matching::present(column),
        },
        _ => none(),
    }
}

/// Returns the access path to the rows that have one of these codes, with its estimates.
fn matching_strings<'p>(column: &'p Column, wanted: SmallVec<[u32; 4]>) -> Matching<'p> {
    let (rows, values) = (column.rows(), column.values_len());
    let ColumnData::Strings { dictionary, codes, postings, search } = &column.data else {
        return Matching::of_set(RowSet::None, 0, Cost::NONE);
    };
    let distinct = dictionary.len();
    match (wanted.as_slice(), postings) {
        ([], _) => return Matching::of_set(RowSet::None, 0, Cost::NONE),
        (all, _) if all.len() == distinct => return Matching::present(column),
        (some, None) => {
            if let Some((set, matching)) = search.as_ref().and_then(|search| search.rows_of(some, rows)) {
                let cost = (COST_OF_A_BIT * matching).min(Cost::of_bitmap(rows));
                return Matching { is_exact: true, ..Matching::of_set(set, matching, cost) };
            }
        }
        _ => {}
    }
    match (wanted.as_slice(), postings) {
        (some, Some(postings)) => {
            let matching = some.iter().map(|code| postings.count(*code)).sum();
            let of_posting = |code: &u32| match postings.get(*code) {
                RowSet::List(list) => COST_OF_A_BIT * list.len(),
                _ => Cost::of_bitmap(rows),
            };
            let cost = some.iter().map(of_posting).sum();
            let by_bytes = COST_OF_64_BYTES * (rows / LANES);
            match (codes, &column.layout) {
                (Codes::U8(_), ColumnLayout::Single(_)) if by_bytes < cost && kernels::has_byte_sets() => {
                    let scan = Matching::scan(column, ValueTest::Codes(code_bits(some, distinct)), matching);
                    // The postings have the exact number of rows.
                    Matching { cost: by_bytes, is_exact: true, ..scan }
                }
                (_, layout) => {
                    let is_exact = some.len() == 1 || matches!(layout, ColumnLayout::Single(_));
                    let path = AccessPath::AnyPosting(column, postings, wanted);
                    Matching { path, rows: matching, cost, is_exact }
                }
            }
        }
        ([], None) => Matching::of_set(RowSet::None, 0, Cost::NONE),
        ([code], None) => Matching::scan(column, ValueTest::Code(*code), share(values, 1, distinct)),
        (some, None) => {
            let matching = share(values, some.len(), distinct);
            Matching::scan(column, ValueTest::Codes(code_bits(some, distinct)), matching)
        }
    }
}

/// Returns the rows whose value is in one of the ranges.
fn matching_ranges<'p>(
    column: &'p Column,
    sorted: Sorted<'p>,
    ranges: &'p [OrdinalRange],
    pace: &Pace<'_>,
) -> Matching<'p> {
    let len = sorted.len();
    let parts = parts(column, sorted, ranges, pace);
    match parts.iter().map(Range::len).sum::<usize>() {
        0 => Matching::of_set(RowSet::None, 0, Cost::NONE),
        all if all == len => Matching::present(column),
        rows => {
            let cost = match sorted {
                Sorted::AsStored(_) => Cost::of_bitmap(len),
                Sorted::Listed(sorted) if sorted.listed(&parts).is_some() => COST_OF_A_BIT * rows,
                Sorted::Listed(sorted) => {
                    COST_OF_A_BIT * sorted.touched(&parts)
                        + Cost::of_bitmap(column.rows())
                        + Cost::of_bitmap(len)
                }
            };
            Matching {
                path: AccessPath::Sorted { column, sorted, parts, ranges },
                rows,
                cost,
                is_exact: true,
            }
        }
    }
}

/// Plans an `all` test: every value of the set must be among the values of the row.
fn plan_all<'p>(
    column: &'p Column,
    set: &'p Set,
    lookup: &IndexLookup<'_>,
    number: usize,
    query: &Query<'_>,
) -> PlanStep<'p> {
    let rows = column.rows();
    let leaf = |path, matched, cost| PlanStep::Leaf {
        path,
        negated: false,
        estimate: Estimate { rows: matched, is_exact: false, cost },
    };
    match (&column.data, set) {
        (ColumnData::Strings { postings, .. }, Set::Strings(points)) => {
            let mut codes = codes(column, set, lookup, number, query);
            if codes.len() < points.as_slice().len() {
                return PlanStep::Settled(false);
            }
            match postings {
                Some(postings) => {
                    codes.sort_by_key(|code| postings.count(*code));
                    let fewest = codes.first().map_or(0, |code| postings.count(*code));
                    let cost = Cost::of_words(fewest.min(rows / LANES)) * codes.len();
                    leaf(AccessPath::EachPosting(column, postings, codes), fewest, cost)
                }
                None => {
                    let cost = COST_OF_A_VALUE * column.values_len() * codes.len();
                    leaf(
                        AccessPath::Scan(column, codes.into_iter().map(ValueTest::Code).collect()),
                        rows / 64,
                        cost,
                    )
                }
            }
        }
        _ => {
            let mut tests: SmallVec<[ValueTest<'p>; 1]> = SmallVec::new();
            match (&column.data, set) {
                (ColumnData::Ordered { zone, .. }, Set::Ordered(points)) => {
                    for point in points.as_slice().chunks(1) {
                        match overlapping(point, *zone) {
                            [] => return PlanStep::Settled(false),
                            [range] if covers(*range, *zone) => tests.push(ValueTest::Present),
                            some => tests.push(ValueTest::Ranges(some)),
                        }
                    }
                }
                (ColumnData::Booleans { .. }, Set::Booleans(points)) => {
                    tests.extend(points.as_slice().iter().map(|boolean| ValueTest::Boolean(*boolean)));
                }
                _ => return PlanStep::Settled(false),
            }
            let cost = COST_OF_A_VALUE * column.values_len() * tests.len();
            leaf(AccessPath::Scan(column, tests), rows / 16, cost)
        }
    }
}

/// Returns `values * part / whole`, or 0 if `whole` is 0.
pub(super) fn share(values: usize, part: usize, whole: usize) -> usize {
    (values * part).checked_div(whole).unwrap_or(0)
}
