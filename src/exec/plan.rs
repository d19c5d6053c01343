//! How a predicate is answered on one batch: what its dictionaries and zone maps settle, and what is left to read.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::batch::Batch;
use crate::column::{Column, Data, LANES, Layout, Selection};
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Set, Test, Tree};
use crate::value::{Number, Timestamp};

/// The steps for one batch, by node of the predicate.
pub(super) struct Plan<'p> {
    pub(super) steps: Vec<Step<'p>>,
}

/// How one node of the predicate is answered on this batch.
pub(super) enum Step<'p> {
    /// Settled without reading a row: no row, or all.
    Settled(bool),
    Scan(Scan<'p>),
    /// The children that are not settled, the one to evaluate first in front; at least two.
    Branch(Connective, SmallVec<[usize; 4]>, Estimate),
    /// Stands for its only child that is not settled.
    Same(usize),
}

/// What is known of a step before it runs.
#[derive(Clone, Copy)]
pub(super) struct Estimate {
    /// Rows it will select.
    rows: usize,
    /// Work, in units of reading one narrow code.
    cost: usize,
}

/// A leaf that must read a column.
pub(super) struct Scan<'p> {
    pub(super) column: &'p Column,
    /// All of these must hold for a row.
    pub(super) tests: SmallVec<[ValueTest<'p>; 1]>,
    /// Selects the rows that the tests do not.
    pub(super) negated: bool,
    estimate: Estimate,
}

/// A test on the values of a row: some value passes it.
pub(super) enum ValueTest<'p> {
    /// The row has a value.
    Present,
    /// One code.
    Code(u32),
    /// One of several codes, a bit each.
    Codes(Box<[u64]>),
    /// In one of these closed ranges, ascending.
    Numbers(Cow<'p, [(Number, Number)]>),
    /// In one of these closed ranges, ascending.
    Timestamps(Cow<'p, [(Timestamp, Timestamp)]>),
    Boolean(bool),
}

/// What a set means on a column.
enum Matched<'p> {
    /// No row has such a value.
    Nothing,
    /// Every value is such a value.
    EveryValue,
    Some(ValueTest<'p>, usize),
}

impl<'p> Plan<'p> {
    pub(super) fn new(predicate: &'p Tree<Leaf>, batch: &'p Batch) -> Self {
        let mut steps: Vec<Step<'p>> = Vec::with_capacity(predicate.nodes().len());
        for node in predicate.nodes() {
            let step = match node {
                Node::Constant(value) => Step::Settled(*value),
                Node::Leaf(leaf) => match batch.column(leaf.field) {
                    Some(column) => plan_leaf(leaf, column),
                    // An engine has the columns of every filter it runs; a missing one holds nothing.
                    None => Step::Settled(matches!(leaf.test, Test::None(_))),
                },
                Node::Branch(connective, children) => {
                    plan_branch(*connective, children, &steps, batch.rows())
                }
            };
            steps.push(step);
        }
        Self { steps }
    }
}

/// A branch whose settled children have vanished or settled it, the others in order of evaluation.
fn plan_branch<'p>(connective: Connective, children: &[usize], steps: &[Step<'p>], rows: usize) -> Step<'p> {
    let neutral = connective == Connective::And;
    let mut open: SmallVec<[usize; 4]> = SmallVec::new();
    for child in children {
        match steps.get(*child) {
            Some(Step::Settled(value)) if *value == neutral => {}
            Some(Step::Settled(_)) | None => return Step::Settled(!neutral),
            Some(_) => open.push(*child),
        }
    }
    match open.as_slice() {
        [] => return Step::Settled(neutral),
        [only] => return Step::Same(*only),
        _ => {}
    }
    // What decides most rows for the least work goes first.
    let rank = |child: &usize| {
        let Estimate { rows: selected, cost } = estimate(steps, *child);
        let undecided = if neutral { selected } else { rows.saturating_sub(selected) };
        (undecided.saturating_mul(4).saturating_add(cost), *child)
    };
    open.sort_by_key(rank);
    let estimates = open.iter().map(|child| estimate(steps, *child));
    let total = estimates.fold(None, |total: Option<Estimate>, next| {
        Some(match total {
            None => next,
            Some(total) => Estimate {
                rows: match connective {
                    Connective::And => total.rows.min(next.rows),
                    Connective::Or => total.rows.saturating_add(next.rows).min(rows),
                },
                cost: total.cost.saturating_add(next.cost),
            },
        })
    });
    Step::Branch(connective, open, total.unwrap_or(Estimate { rows, cost: 0 }))
}

fn estimate(steps: &[Step<'_>], mut step: usize) -> Estimate {
    loop {
        match steps.get(step) {
            Some(Step::Same(only)) => step = *only,
            Some(Step::Scan(scan)) => return scan.estimate,
            Some(Step::Branch(_, _, estimate)) => return *estimate,
            Some(Step::Settled(_)) | None => return Estimate { rows: 0, cost: 0 },
        }
    }
}

fn plan_leaf<'p>(leaf: &'p Leaf, column: &'p Column) -> Step<'p> {
    match &leaf.test {
        Test::Any(set) => plan_set(column, set, false),
        Test::None(set) => plan_set(column, set, true),
        Test::All(set) => plan_all(column, set),
    }
}

/// Work for one value of the column.
fn unit_cost(column: &Column) -> usize {
    match &column.data {
        Data::Booleans { .. } => 0,
        Data::Strings { .. } => 1,
        Data::Numbers { .. } | Data::Timestamps { .. } => 4,
    }
}

fn scan<'p>(
    column: &'p Column,
    tests: impl IntoIterator<Item = ValueTest<'p>>,
    negated: bool,
    matched: usize,
) -> Step<'p> {
    let rows = column.rows();
    let matched = matched.min(rows);
    let estimate = Estimate {
        rows: if negated { rows.saturating_sub(matched) } else { matched },
        cost: column.values_len().saturating_mul(unit_cost(column)),
    };
    Step::Scan(Scan { column, tests: tests.into_iter().collect(), negated, estimate })
}

fn plan_set<'p>(column: &'p Column, set: &'p Set, negated: bool) -> Step<'p> {
    match match_set(column, set) {
        Matched::Nothing => Step::Settled(negated),
        Matched::EveryValue => match &column.layout {
            Layout::Single(Selection::All) => Step::Settled(!negated),
            _ => scan(column, [ValueTest::Present], negated, column.values_len()),
        },
        Matched::Some(test, matched) => scan(column, [test], negated, matched),
    }
}

/// Every point of the set must be among a row's values.
fn plan_all<'p>(column: &'p Column, set: &Set) -> Step<'p> {
    let Data::Strings { dictionary, .. } = &column.data else {
        return plan_all_values(column, set);
    };
    let Set::Strings(points) = set else { return Step::Settled(false) };
    let codes = dictionary.find_all(points.as_slice());
    if codes.len() < points.as_slice().len() {
        return Step::Settled(false);
    }
    let fewest = codes.iter().filter_map(|code| dictionary.count(&[*code])).min();
    let matched = fewest.unwrap_or(column.rows() / 16);
    scan(column, codes.into_iter().map(ValueTest::Code), false, matched)
}

/// The same for numbers, timestamps and booleans, each point by a test of its own.
fn plan_all_values<'p>(column: &'p Column, set: &Set) -> Step<'p> {
    let mut tests: SmallVec<[ValueTest<'p>; 1]> = SmallVec::new();
    for point in set.points() {
        let Some(point) = Set::from_values(std::slice::from_ref(&point)) else { continue };
        match match_set(column, &point) {
            Matched::Nothing => return Step::Settled(false),
            Matched::EveryValue => tests.push(ValueTest::Present),
            Matched::Some(test, _) => tests.push(test.into_owned()),
        }
    }
    scan(column, tests, false, column.rows() / 16)
}

impl ValueTest<'_> {
    fn into_owned<'p>(self) -> ValueTest<'p> {
        match self {
            Self::Present => ValueTest::Present,
            Self::Code(code) => ValueTest::Code(code),
            Self::Codes(codes) => ValueTest::Codes(codes),
            Self::Numbers(ranges) => ValueTest::Numbers(Cow::Owned(ranges.into_owned())),
            Self::Timestamps(ranges) => ValueTest::Timestamps(Cow::Owned(ranges.into_owned())),
            Self::Boolean(boolean) => ValueTest::Boolean(boolean),
        }
    }
}

/// Compares a set with the column's dictionary or zone map.
fn match_set<'s>(column: &Column, set: &'s Set) -> Matched<'s> {
    let values = column.values_len();
    match (&column.data, set) {
        (Data::Strings { dictionary, .. }, Set::Strings(points)) => {
            let codes = dictionary.find_all(points.as_slice());
            let known = dictionary.count(&codes);
            let matched =
                known.unwrap_or_else(|| values.saturating_mul(codes.len()) / dictionary.len().max(1));
            match codes.as_slice() {
                [] => Matched::Nothing,
                all if all.len() == dictionary.len() => Matched::EveryValue,
                [code] => Matched::Some(ValueTest::Code(*code), matched),
                _ => Matched::Some(ValueTest::Codes(code_bits(&codes, dictionary.len())), matched),
            }
        }
        (Data::Numbers { zone, .. }, Set::Numbers(intervals)) => {
            match_ranges(intervals.as_slice(), *zone, values, |number| number.get(), ValueTest::Numbers)
        }
        (Data::Timestamps { zone, .. }, Set::Timestamps(intervals)) => {
            // Precision is of no matter in an estimate.
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            let as_f64 = |timestamp: Timestamp| timestamp.as_millis() as f64;
            match_ranges(intervals.as_slice(), *zone, values, as_f64, ValueTest::Timestamps)
        }
        (Data::Booleans { .. }, Set::Booleans(points)) => match points.as_slice() {
            _ if values == 0 => Matched::Nothing,
            [boolean] => Matched::Some(ValueTest::Boolean(*boolean), values / 2),
            [] => Matched::Nothing,
            _ => Matched::EveryValue,
        },
        _ => Matched::Nothing,
    }
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

/// Compares ranges with a zone map; those that lie outside of it are left out.
fn match_ranges<'s, T: Copy + Ord>(
    ranges: &'s [(T, T)],
    zone: Option<(T, T)>,
    values: usize,
    as_f64: impl Fn(T) -> f64,
    test: fn(Cow<'s, [(T, T)]>) -> ValueTest<'s>,
) -> Matched<'s>
where
    [(T, T)]: ToOwned,
{
    let Some((least, greatest)) = zone else { return Matched::Nothing };
    let from = ranges.partition_point(|(_, high)| *high < least);
    let to = ranges.partition_point(|(low, _)| *low <= greatest);
    let ranges = ranges.get(from..to).unwrap_or_default();
    match ranges {
        [] => Matched::Nothing,
        [(low, high)] if *low <= least && greatest <= *high => Matched::EveryValue,
        _ => {
            // As if values were spread evenly; a point is worth one in a thousand.
            let width = as_f64(greatest) - as_f64(least);
            let share: f64 = ranges
                .iter()
                .map(|(low, high)| {
                    (as_f64(*high.min(&greatest)) - as_f64(*low.max(&least))) / width.max(1e-9) + 0.001
                })
                .sum();
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "an estimate between 0 and the number of values"
            )]
            let matched = (values as f64 * share.clamp(0.0, 1.0)) as usize;
            Matched::Some(test(Cow::Borrowed(ranges)), matched)
        }
    }
}
