//! Plans a predicate on one batch: finds the nodes that indexes decide, plans the other leaves, and orders the children of
//! branches.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "children are planned before their branch, and children that are not constant select rows of one batch; `Cost` saturates"
)]

use smallvec::SmallVec;

use super::cost::{COST_OF_A_STEP, Cost};
use super::elements::plan_elements;
use super::index_lookup::IndexLookup;
use super::plan_leaf::{plan_bitmaps, plan_leaf, share};
use super::query::Query;
use super::row_at_a_time;
use super::step::{Estimate, PlanStep, estimate};
use crate::batch::Batch;
use crate::operator::Connective;
use crate::predicate::{Leaf, Node};

/// Returns the step of each node of the predicate on batch `number`.
pub(super) fn all_steps<'p>(query: &'p Query<'p>, number: usize, batch: &'p Batch) -> Vec<PlanStep<'p>> {
    steps(query.predicate.root(), &[], query, number, batch)
}

/// Returns the steps that are needed to evaluate the root, and the id of the root.
///
/// If zone maps decide a node, the steps of the nodes below it are not evaluated, and are unspecified.
pub(super) fn needed_steps<'p>(
    query: &'p Query<'p>,
    number: usize,
    batch: &'p Batch,
) -> (Vec<PlanStep<'p>>, usize) {
    let root = query.root(number);
    (steps(root, &query.settled_by_zones(number), query, number, batch), root)
}

/// Returns the steps of all nodes whose ids are at most `root`. These include all nodes below `root`. Nodes with a value in
/// `settled` get that value.
fn steps<'p>(
    root: usize,
    settled: &[Option<bool>],
    query: &'p Query<'p>,
    number: usize,
    batch: &'p Batch,
) -> Vec<PlanStep<'p>> {
    // Children come before their branch.
    let nodes = &query.predicate.nodes()[..=root];
    let mut steps: Vec<PlanStep<'p>> = Vec::with_capacity(nodes.len());
    for (id, node) in nodes.iter().enumerate() {
        let step = match (settled.get(id), node) {
            // The result of a stopped search is not used, but each node needs a step.
            _ if query.pace().spend(WORK_OF_A_NODE) => PlanStep::Settled(false),
            (Some(Some(value)), _) | (_, Node::Constant(value)) => PlanStep::Settled(*value),
            (_, Node::Leaf(leaf)) => leaf_step(query, leaf, query.lookup(id, number), number, batch),
            (_, Node::Branch(connective, children)) => {
                plan_branch(*connective, children, &steps, batch.rows())
            }
        };
        steps.push(step);
    }
    steps
}

/// The estimated work of planning a node on a batch (about 100 ns), in units of [`Pace::spend`](crate::stop::Pace::spend).
const WORK_OF_A_NODE: usize = 400;

/// Returns the step of a leaf on batch `number`.
pub(super) fn leaf_step<'p>(
    query: &Query<'_>,
    leaf: &'p Leaf,
    lookup: &'p IndexLookup<'p>,
    number: usize,
    batch: &'p Batch,
) -> PlanStep<'p> {
    if leaf.test.elements().is_some() {
        return plan_elements(leaf, batch, query.pace());
    }
    if let Some(rows) = batch.few_rows() {
        let all = row_at_a_time::all(rows.len());
        return PlanStep::tested(row_at_a_time::passing_of_batch(leaf, rows, all), batch.rows());
    }
    if let IndexLookup::Strings(found, wanted) = lookup
        && let Some(step) = plan_bitmaps(&leaf.test, found, *wanted, number, batch.rows())
    {
        return step;
    }
    match batch.column(leaf.field) {
        Some(column) => plan_leaf(leaf, lookup, number, column, query),
        // An engine has the columns of every filter that it runs. A missing column is treated as a column without values.
        None => PlanStep::Settled(leaf.test.is_negated()),
    }
}

/// Plans a branch. Constant children are dropped, or decide the branch. The other children are put in the order of evaluation.
fn plan_branch<'p>(
    connective: Connective,
    children: &[usize],
    steps: &[PlanStep<'p>],
    rows: usize,
) -> PlanStep<'p> {
    let neutral = connective == Connective::And;
    let mut open: SmallVec<[usize; 4]> = SmallVec::new();
    for child in children {
        match steps[*child] {
            PlanStep::Settled(value) if value == neutral => {}
            PlanStep::Settled(_) => return PlanStep::Settled(!neutral),
            _ => open.push(*child),
        }
    }
    match open.as_slice() {
        [] => return PlanStep::Settled(neutral),
        [only] => return PlanStep::Same(*only),
        _ => {}
    }
    // Children that decide the most rows per cost come first.
    let rank = |child: &usize| {
        let Estimate { rows: selected, cost, .. } = estimate(steps, *child);
        let decided = if neutral { rows - selected } else { selected };
        ((cost + COST_OF_A_STEP).per_decided(decided, rows), *child)
    };
    let mut ranked: SmallVec<[(usize, usize); 4]> = open.iter().map(rank).collect();
    ranked.sort_unstable();
    for (place, (_, child)) in open.iter_mut().zip(ranked) {
        *place = child;
    }
    let mut total = Estimate { rows: if neutral { rows } else { 0 }, is_exact: false, cost: Cost::NONE };
    for child in &open {
        let next = estimate(steps, *child);
        total.cost += next.cost;
        total.rows = match connective {
            // Assumes that the children are independent.
            Connective::And => share(total.rows, next.rows, rows),
            Connective::Or => (total.rows + next.rows).min(rows),
        };
    }
    PlanStep::Branch(connective, open, total)
}
