//! How a predicate is answered on one batch: what indexes settle, what they hold ready, and what must be read.

mod leaf;

use std::ops::Range;

use smallvec::SmallVec;

pub(super) use self::leaf::rows_of_batch;
use self::leaf::{plan_dense, plan_leaf, share};
use super::few;
use super::query::{Access, Query};
use crate::batch::Batch;
use crate::column::{Column, Postings, Sorted};
use crate::index::GlobalRow;
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Test};
use crate::value::OrdinalRange;

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
        ranges: &'p [OrdinalRange],
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
    Ranges(&'p [OrdinalRange]),
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
