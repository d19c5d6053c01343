//! The steps of a plan: the evaluation of each node of the predicate on one batch, with its estimated cost.
#![expect(clippy::indexing_slicing, reason = "a step refers to steps that were planned before it")]

use smallvec::SmallVec;

use super::access_path::AccessPath;
use super::cost::Cost;
use crate::operator::Connective;
use crate::rows::RowSet;

/// The plan of one node of the predicate on one batch.
// The tag has the size of a word. With a narrower tag, copying a value would be slower, for the reason that is given at
// `predicate::Set`.
#[repr(usize)]
pub(super) enum PlanStep<'p> {
    /// A constant: the node selects no row, or every row. Planning decided this without reading a row.
    Settled(bool),
    /// The rows of the access path of a leaf. If `negated`, all other rows.
    Leaf { path: AccessPath<'p>, negated: bool, estimate: Estimate },
    /// The steps of the children that are not constant, in the order of evaluation. There are at least two.
    Branch(Connective, SmallVec<[usize; 4]>, Estimate),
    /// The step of the only child that is not constant.
    Same(usize),
}

/// An estimate of a step before it runs.
#[derive(Clone, Copy)]
pub(super) struct Estimate {
    /// The number of rows that the step will select.
    pub(super) rows: usize,
    /// True if `rows` is the exact number.
    pub(super) is_exact: bool,
    pub(super) cost: Cost,
}

impl PlanStep<'_> {
    /// Returns the step that selects all other rows of the batch, which has `rows` rows. `self` must be the step of a leaf.
    pub(super) fn negated(self, rows: usize) -> Self {
        match self {
            PlanStep::Settled(value) => PlanStep::Settled(!value),
            PlanStep::Leaf { path, negated, estimate } => {
                let estimate = Estimate { rows: rows.saturating_sub(estimate.rows), ..estimate };
                PlanStep::Leaf { path, negated: !negated, estimate }
            }
            branch @ (PlanStep::Branch(..) | PlanStep::Same(_)) => {
                debug_assert!(false, "a leaf has no children");
                branch
            }
        }
    }

    /// Returns the step of a leaf in a batch of at most 64 rows. `bits` has the rows that pass the leaf.
    pub(super) fn tested(bits: u64, rows: usize) -> Self {
        match bits.count_ones() as usize {
            0 => PlanStep::Settled(false),
            all if all == rows => PlanStep::Settled(true),
            rows => {
                let path = AccessPath::Rows(RowSet::Bitmap(vec![bits].into()));
                PlanStep::Leaf {
                    path,
                    negated: false,
                    estimate: Estimate { rows, is_exact: true, cost: Cost::of_words(1) },
                }
            }
        }
    }
}

/// Returns the estimate of a step. For a step that every row passes, the number of rows is `usize::MAX`.
pub(super) fn estimate(steps: &[PlanStep<'_>], mut step: usize) -> Estimate {
    loop {
        match &steps[step] {
            PlanStep::Same(only) => step = *only,
            PlanStep::Leaf { estimate, .. } | PlanStep::Branch(_, _, estimate) => return *estimate,
            PlanStep::Settled(value) => {
                return Estimate {
                    rows: if *value { usize::MAX } else { 0 },
                    is_exact: true,
                    cost: Cost::NONE,
                };
            }
        }
    }
}
