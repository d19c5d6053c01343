//! How a predicate is answered on one batch: what indexes settle, what they hold ready, and what must be read.

use std::borrow::Cow;
use std::ops::Range;

use smallvec::SmallVec;

use super::few;
use super::kernels;
use super::query::{Access, Query};
use super::ranges::{Met, meeting, near_part, parts, value_test};
use crate::batch::{Batch, GlobalRow, Occurrences, join, split};
use crate::column::{Codes, Column, Data, LANES, Layout, Posting, Postings, Selection, Sorted};
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Set, Test};
use crate::value::{Number, Timestamp};

/// The steps for one batch, by node of the predicate.
pub(super) struct Plan<'p> {
    pub(super) steps: Vec<Step<'p>>,
    /// What they were made by; none where they were not made of the nodes of a predicate.
    made_by: Option<MadeBy>,
}

/// What the steps of a batch depend on besides its leaves.
#[derive(PartialEq, Eq)]
pub(super) struct MadeBy {
    pub(super) root: usize,
    /// By node, what zone maps settled.
    settled: SmallVec<[Option<bool>; 32]>,
    rows: usize,
}

/// How one node of the predicate is answered on this batch.
// The tag is as wide as a word for the reason that that of a `Set` is.
#[repr(usize)]
pub(super) enum Step<'p> {
    /// Settled without reading a row: no row, or all.
    Settled(bool),
    /// The rows of a leaf, or with `negated` all others.
    Leaf { source: Source<'p>, negated: bool, estimate: Estimate },
    /// The children that are not settled, the one to evaluate first in front; at least two.
    Branch(Connective, SmallVec<[usize; 4]>, Estimate),
    /// Stands for its only child that is not settled.
    Same(usize),
}

/// What is known of a step before it runs.
#[derive(Clone, Copy)]
pub(super) struct Estimate {
    /// Rows it will select.
    pub(super) rows: usize,
    /// They are neither more nor fewer.
    pub(super) is_exact: bool,
    /// Work, in the time that a word of 64 rows takes.
    pub(super) cost: usize,
}

/// Whatever a step does, it costs this much.
const COST_OF_A_STEP: usize = 64;
/// Setting the bit of a row in a list.
const COST_OF_A_BIT: usize = 4;
/// Reading one value of a column from front to back.
const COST_OF_A_VALUE: usize = 10;
/// Telling of 64 codes of a byte whether they are in a set.
const COST_OF_64_BYTES: usize = 10;
/// Asking one row for its value.
pub(super) const COST_OF_A_ROW: usize = 60;

/// Where the rows of a leaf come from.
pub(super) enum Source<'p> {
    /// The rows of a column of many values that have one.
    Present(&'p Column),
    /// The rows whose bit is set in some words that are kept.
    Kept(&'p [u64]),
    /// The rows whose bit is set in all of these words, which are those of strings that the directory knows.
    Dense(SmallVec<[&'p [u64]; 2]>),
    /// The rows of any of these codes.
    AnyPosting(&'p Column, &'p Postings, SmallVec<[u32; 4]>),
    /// The rows that have each of these codes.
    EachPosting(&'p Column, &'p Postings, SmallVec<[u32; 4]>),
    /// These parts of the rows sorted by value, which are those that pass the test, or nearly those: see [`parts`].
    Sorted {
        column: &'p Column,
        sorted: Sorted<'p>,
        parts: SmallVec<[Range<usize>; 2]>,
        is_exact: bool,
        test: ValueTest<'p>,
    },
    /// These rows, all of this batch.
    Listed(&'p [GlobalRow]),
    /// These of at most 64 rows, a bit each, that were asked one by one because their columns wait.
    Asked(u64),
    /// The rows with a value that passes each of these tests, by reading the column.
    Scan(&'p Column, SmallVec<[ValueTest<'p>; 1]>),
}

impl Source<'_> {
    /// The instructions that it becomes.
    pub(super) fn form(&self) -> Form {
        match self {
            Self::AnyPosting(_, _, codes) if codes.len() != 1 => Form::Any(codes.len()),
            Self::EachPosting(_, _, codes) if codes.len() != 1 => Form::Each(codes.len()),
            Self::Dense(each) if each.len() != 1 => Form::Each(each.len()),
            Self::Sorted { sorted: Sorted::AsStored(_), parts, .. } if parts.len() != 1 => {
                Form::Any(parts.len())
            }
            Self::Kept(_)
            | Self::Dense(_)
            | Self::Listed(_)
            | Self::AnyPosting(..)
            | Self::EachPosting(..)
            | Self::Sorted { sorted: Sorted::AsStored(_), .. } => Form::One,
            Self::Sorted { .. } | Self::Present(_) | Self::Asked(_) | Self::Scan(..) => Form::Made,
        }
    }
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

impl<'p> Plan<'p> {
    /// The steps on the batch of this number.
    pub(super) fn new(query: &'p Query<'p>, number: usize, batch: &'p Batch) -> Self {
        let root = query.predicate.root();
        Self { steps: steps(root, &[], Counts::Exact, query, number, batch), made_by: None }
    }

    /// These steps, whatever they are for.
    pub(super) fn of_steps(steps: Vec<Step<'p>>) -> Self {
        Self { steps, made_by: None }
    }

    /// The steps that evaluating the root needs; nodes below one that zone maps settle have no meaning.
    pub(super) fn needed(made_by: MadeBy, query: &'p Query<'p>, number: usize, batch: &'p Batch) -> Self {
        let steps = steps(made_by.root, &made_by.settled, counts(made_by.root), query, number, batch);
        Self { steps, made_by: Some(made_by) }
    }

    /// Makes the [needed](Self::needed) steps of one batch those of another batch, the branches as they are: false where that takes
    /// others, or instructions of another [form](Form). The steps then have no meaning any more.
    ///
    /// Most batches of a search differ in their rows only, and the order in which criteria are best evaluated in one of them
    /// is good for the next one.
    pub(super) fn rebind(
        &mut self,
        needed: &MadeBy,
        query: &'p Query<'p>,
        number: usize,
        batch: &'p Batch,
    ) -> bool {
        if self.made_by.as_ref() != Some(needed) {
            return false;
        }
        let counts = counts(needed.root);
        for (id, (node, step)) in query.predicate.nodes().iter().zip(&mut self.steps).enumerate() {
            let Node::Leaf(leaf) = node else { continue };
            if let Some(Some(_)) = needed.settled.get(id) {
                continue;
            }
            let own = Step::of_leaf(leaf, query.access(id, number), counts, number, batch);
            if !own.has_form_of(step) {
                return false;
            }
            *step = own;
        }
        true
    }
}

/// The steps of nodes up to the node `root`, those that are settled taken as such.
fn steps<'p>(
    root: usize,
    settled: &[Option<bool>],
    counts: Counts,
    query: &'p Query<'p>,
    number: usize,
    batch: &'p Batch,
) -> Vec<Step<'p>> {
    // Children stand in front of their branch.
    let nodes = query.predicate.nodes().get(..=root).unwrap_or_default();
    let mut steps: Vec<Step<'p>> = Vec::with_capacity(nodes.len());
    for (id, node) in nodes.iter().enumerate() {
        let step = match node {
            _ if let Some(Some(value)) = settled.get(id) => Step::Settled(*value),
            Node::Constant(value) => Step::Settled(*value),
            Node::Leaf(leaf) => Step::of_leaf(leaf, query.access(id, number), counts, number, batch),
            Node::Branch(connective, children) => plan_branch(*connective, children, &steps, batch.rows()),
        };
        steps.push(step);
    }
    steps
}

impl MadeBy {
    /// What all steps that evaluating the root needs depend on.
    pub(super) fn needed(query: &Query<'_>, number: usize, batch: &Batch) -> Self {
        Self { root: query.root(number), settled: query.settled_by_zones(number), rows: batch.rows() }
    }
}

/// How well ranges are counted below this root: what a branch selects is estimated at best.
fn counts(root: usize) -> Counts {
    if root == 0 { Counts::Exact } else { Counts::Near }
}

/// The instructions that a leaf becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One that names rows.
    One,
    /// One that has the bits of rows made.
    Made,
    /// So many that name rows, of which any will do.
    Any(usize),
    /// So many that name rows, which must be in each.
    Each(usize),
}

/// How well the rows of a range are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    Exact,
    /// To some hundred, where there are a thousand and more: the exact ends of a range are places in memory that are hardly ever
    /// at hand, and when its rows are asked one by one they are not needed.
    Near,
}

impl<'p> Step<'p> {
    /// How a leaf is answered on the batch of this number.
    pub(super) fn of_leaf(
        leaf: &'p Leaf,
        access: &'p Access<'p>,
        counts: Counts,
        number: usize,
        batch: &'p Batch,
    ) -> Self {
        if let Some(rows) = batch.few_rows() {
            return Step::asked(few::passing_of_batch(leaf, rows, few::all(rows.len())), batch.rows());
        }
        if let Access::Strings(found, wanted) = access
            && let Some(step) = plan_dense(&leaf.test, found, *wanted, number, batch.rows())
        {
            return step;
        }
        match batch.column(leaf.field) {
            Some(column) => plan_leaf(leaf, access, counts, number, column),
            // An engine has the columns of every filter it runs; a missing one holds nothing.
            None => Step::Settled(matches!(leaf.test, Test::None(_))),
        }
    }

    /// Whether another leaf's step becomes the same instructions, on other rows.
    fn has_form_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Settled(value), Self::Settled(other)) => value == other,
            (
                Self::Leaf { source, negated, .. },
                Self::Leaf { source: other, negated: other_negated, .. },
            ) => source.form() == other.form() && negated == other_negated,
            _ => false,
        }
    }

    /// These of few rows, a bit each, are known to pass.
    pub(super) fn asked(bits: u64, rows: usize) -> Self {
        match bits.count_ones() as usize {
            0 => Step::Settled(false),
            all if all == rows => Step::Settled(true),
            rows => {
                let estimate = Estimate { rows, is_exact: true, cost: 1 };
                Step::Leaf { source: Source::Asked(bits), negated: false, estimate }
            }
        }
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
        let Estimate { rows: selected, cost, .. } = estimate(steps, *child);
        let decided = if neutral { rows.saturating_sub(selected) } else { selected };
        let work = cost.saturating_add(COST_OF_A_STEP).saturating_mul(rows);
        (work.checked_div(decided).unwrap_or(usize::MAX), *child)
    };
    let mut ranked: SmallVec<[(usize, usize); 4]> = open.iter().map(rank).collect();
    ranked.sort_unstable();
    for (place, (_, child)) in open.iter_mut().zip(ranked) {
        *place = child;
    }
    let mut total = Estimate { rows: if neutral { rows } else { 0 }, is_exact: false, cost: 0 };
    for child in &open {
        let next = estimate(steps, *child);
        total.cost = total.cost.saturating_add(next.cost);
        total.rows = match connective {
            // As if one said nothing about the other.
            Connective::And => share(total.rows, next.rows, rows),
            Connective::Or => total.rows.saturating_add(next.rows).min(rows),
        };
    }
    Step::Branch(connective, open, total)
}

/// Of a step that is settled for every row, however many there are, the rows are the most.
pub(super) fn estimate(steps: &[Step<'_>], mut step: usize) -> Estimate {
    loop {
        match steps.get(step) {
            Some(Step::Same(only)) => step = *only,
            Some(Step::Leaf { estimate, .. } | Step::Branch(_, _, estimate)) => return *estimate,
            Some(Step::Settled(value)) => {
                return Estimate { rows: if *value { usize::MAX } else { 0 }, is_exact: true, cost: 0 };
            }
            None => return Estimate { rows: 0, is_exact: false, cost: 0 },
        }
    }
}

/// A test of one string, or for each of several, whose rows in the batch of this number are known to be many: neither its column nor
/// the postings are looked at. `wanted` are the strings asked for, those that occur nowhere among them.
fn plan_dense<'p>(
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

fn plan_leaf<'p>(
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
pub(super) fn rows_of_batch(rows: &[GlobalRow], number: usize) -> &[GlobalRow] {
    let from = join(number, 0).map_or(rows.len(), |first| rows.partition_point(|row| *row < first));
    let behind = rows.get(from..).unwrap_or_default();
    let own = behind.iter().take_while(|row| split(**row).0 == number).count();
    behind.get(..own).unwrap_or_default()
}

/// About how many rows have a value: what the sorted rows know, else all.
fn present_count(column: &Column) -> usize {
    match &column.data {
        Data::Numbers { sorted: Some(sorted), .. } | Data::Timestamps { sorted: Some(sorted), .. } => {
            sorted.rows().len()
        }
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
pub(super) fn codes(column: &Column, set: &Set, access: &Access<'_>, number: usize) -> SmallVec<[u32; 4]> {
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
        (Data::Numbers { sorted, .. }, Set::Numbers(_))
        | (Data::Timestamps { sorted, .. }, Set::Timestamps(_)) => match value_test(column, set) {
            Met::Nothing => Matched::Nothing,
            Met::Everything => Matched::EveryValue,
            Met::Some(test) => match Sorted::new(sorted, column) {
                Some(sorted) => plan_ranges(column, sorted, test, counts),
                None => scan(test, rows / 4),
            },
        },
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
    test: ValueTest<'p>,
    counts: Counts,
) -> Matched<'p> {
    let len = sorted.len();
    let near = (counts == Counts::Near).then(|| near_part(column, sorted, &test)).flatten();
    let is_exact = near.is_none();
    let parts = near.map_or_else(|| parts(column, sorted, &test), |part| SmallVec::from_iter([part]));
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
            Matched::By(Source::Sorted { column, sorted, parts, is_exact, test }, matched, cost)
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
            for point in set.points() {
                match (&column.data, Set::from_values(std::slice::from_ref(&point))) {
                    (Data::Numbers { zone, .. }, Some(Set::Numbers(point))) => {
                        match meeting(point.as_slice(), *zone) {
                            Met::Nothing => return Step::Settled(false),
                            Met::Everything => tests.push(ValueTest::Present),
                            Met::Some(point) => tests.push(ValueTest::Numbers(Cow::Owned(point.to_vec()))),
                        }
                    }
                    (Data::Timestamps { zone, .. }, Some(Set::Timestamps(point))) => {
                        match meeting(point.as_slice(), *zone) {
                            Met::Nothing => return Step::Settled(false),
                            Met::Everything => tests.push(ValueTest::Present),
                            Met::Some(point) => tests.push(ValueTest::Timestamps(Cow::Owned(point.to_vec()))),
                        }
                    }
                    (Data::Booleans { .. }, Some(Set::Booleans(point))) => {
                        tests.extend(point.as_slice().iter().map(|boolean| ValueTest::Boolean(*boolean)));
                    }
                    _ => return Step::Settled(false),
                }
            }
            let cost = column.values_len().saturating_mul(COST_OF_A_VALUE).saturating_mul(tests.len());
            leaf(Source::Scan(column, tests), rows / 16, cost)
        }
    }
}

/// `part` in `whole` of `values`.
fn share(values: usize, part: usize, whole: usize) -> usize {
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
