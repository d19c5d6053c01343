//! The steps of a plan: how each node of the predicate is answered on one batch, and what that takes.
#![expect(clippy::indexing_slicing, reason = "a step names steps that were planned before it")]

use smallvec::SmallVec;

use super::access_path::AccessPath;
use super::cost::Cost;
use crate::operator::Connective;
use crate::rows::RowSet;

/// The plan of one node of the predicate on one batch.
// The tag is as wide as a word for the reason that that of a `Set` is.
#[repr(usize)]
pub(super) enum PlanStep<'p> {
    /// Settled without reading a row: no row, or all.
    Settled(bool),
    /// The rows of a leaf, or with `negated` all others.
    Leaf { path: AccessPath<'p>, negated: bool, estimate: Estimate },
    /// The children that are not settled, the one to evaluate first in front; at least two.
    Branch(Connective, SmallVec<[usize; 4]>, Estimate),
    /// The same as its only child that is not settled.
    Same(usize),
}

/// An estimate of a step before it runs.
#[derive(Clone, Copy)]
pub(super) struct Estimate {
    /// Rows it will select.
    pub(super) rows: usize,
    /// They are neither more nor fewer.
    pub(super) is_exact: bool,
    pub(super) cost: Cost,
}

impl PlanStep<'_> {
    /// Returns the step of a leaf that is true of the other rows of the batch, which has `rows` rows.
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

    /// Returns the step of a leaf that few rows, a bit each, are known to pass.
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

/// Returns the estimate of a step; of one that every row passes, however many there are, `usize::MAX` rows.
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
