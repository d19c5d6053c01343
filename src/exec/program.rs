//! Lays out a plan as a program, which is a flat list of instructions. If the batch has deleted rows, the last
//! instruction removes them.
//!
//! The list represents a tree of connectives and operands, in the order of evaluation. One loop evaluates this tree for all rows
//! of a batch, or for one row.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indexes of instructions, the members of a group before its end, and of the steps that the program was created from; \
              `Cost` saturates"
)]

use smallvec::SmallVec;

use super::access_path::AccessPath;
use super::cost::{COST_OF_A_ROW, COST_OF_A_TESTED_BIT, Cost};
use super::step::{Estimate, PlanStep, estimate};
use crate::column::Sorted;
use crate::kernels;
use crate::operator::Connective;
use crate::rows::{RowSet, Selection};
use crate::stop::{CHECK_EVERY, Pace};

/// An instruction: an operand, or the start or the end of a group of members.
///
/// An operand is an existing set of rows, or a set that must be computed from a column. A negated operand selects all other rows.
// The tag has the size of a word. With a narrower tag, copying a value would be slower, for the reason that is given at
// `predicate::Set`.
#[derive(Debug)]
#[repr(usize)]
pub(super) enum Op<'p> {
    /// The start of a group that ends at the instruction `close`.
    ///
    /// `by_row` is a step whose access path, tested on a single row, gives the result of the whole group.
    Open { connective: Connective, close: usize, effort: Cost, by_row: Option<usize> },
    /// The end of a group. The group becomes one member of the group around it.
    Close { negated: bool },
    /// An existing set of rows.
    Rows { rows: RowSet<'p>, negated: bool },
    /// The rows of the access path of a step. These rows must be computed first.
    Computed { step: usize, effort: Cost, negated: bool },
}

/// A program: the steps of a plan, and the instructions that evaluate them. The outermost group is an implicit conjunction.
pub(super) struct Program<'p> {
    pub(super) steps: Vec<PlanStep<'p>>,
    pub(super) ops: Vec<Op<'p>>,
    /// The work counter of the search, which checks if the search must stop. `None` for a program outside a search.
    pub(super) pace: Option<&'p Pace<'p>>,
}

/// A task of [`Program::new`], which lays out the steps with a stack of tasks instead of recursion.
enum Todo {
    /// A step that is to be laid out.
    PlanStep(usize),
    /// The end of the group that starts at the instruction with this index.
    Close(usize),
}

impl<'p> Program<'p> {
    /// Lays out the steps below `root` for a batch in which the rows `live` are not deleted.
    pub(super) fn new(steps: Vec<PlanStep<'p>>, root: usize, live: &'p Selection) -> Self {
        let mut ops: Vec<Op<'p>> = Vec::with_capacity(2 * steps.len());
        let mut todo: SmallVec<[Todo; 32]> = SmallVec::new();
        let mut around: SmallVec<[Connective; 8]> = SmallVec::from_slice(&[Connective::And]);
        todo.push(Todo::PlanStep(root));
        while let Some(next) = todo.pop() {
            let step = match next {
                Todo::PlanStep(step) => step,
                Todo::Close(open) => {
                    around.pop();
                    close(&mut ops, open, false);
                    continue;
                }
            };
            let outer = around.last().copied().unwrap_or(Connective::And);
            match &steps[step] {
                PlanStep::Same(only) => todo.push(Todo::PlanStep(*only)),
                PlanStep::Branch(connective, children, total) => {
                    if *connective != outer {
                        todo.push(Todo::Close(ops.len()));
                        around.push(*connective);
                        ops.push(Op::open(*connective, total.cost, None));
                    }
                    todo.extend(children.iter().rev().map(|child| Todo::PlanStep(*child)));
                }
                PlanStep::Leaf { path, negated, estimate } => {
                    push_path(&mut ops, path, (step, estimate.cost), *negated, outer);
                }
                PlanStep::Settled(value) => ops.push(Op::constant(*value)),
            }
        }
        if *live != Selection::All {
            ops.push(Op::Rows { rows: live.set(), negated: false });
        }
        Self { steps, ops, pace: None }
    }

    /// Returns the program with the work counter of a search. If the search is stopped, the result of the program is unspecified.
    pub(super) fn paced(self, pace: &'p Pace<'p>) -> Self {
        Self { pace: Some(pace), ..self }
    }

    /// Adds `cost` to the work of the search. Returns true if the search must stop.
    #[inline]
    pub(super) fn spend(&self, cost: Cost) -> bool {
        self.pace.is_some_and(|pace| pace.spend(cost.get()))
    }

    /// Returns the estimated cost of an instruction for a batch of `rows` rows.
    pub(super) fn cost(&self, op: &Op<'_>, rows: usize) -> Cost {
        match op {
            Op::Computed { effort, .. } => *effort + Cost::of_bitmap(rows),
            Op::Open { .. } | Op::Close { .. } | Op::Rows { .. } => Cost::of_bitmap(rows),
        }
    }

    /// Returns the estimate of the step `root`, deleted rows included.
    pub(super) fn estimate(&self, root: usize) -> Estimate {
        estimate(&self.steps, root)
    }

    /// Returns the index of the instruction after the member that starts at `at`.
    pub(super) fn after(&self, at: usize) -> usize {
        match self.ops.get(at) {
            Some(Op::Open { close, .. }) => close + 1,
            _ => at + 1,
        }
    }

    /// Returns true if a row passes all members of the outermost group from instruction `from` on.
    pub(super) fn passes(&self, mut from: usize, row: usize) -> bool {
        while from < self.ops.len() {
            if !self.member_passes(from, row) {
                return false;
            }
            from = self.after(from);
        }
        true
    }

    /// Retains the rows of the list that the member at instruction `at` selects. The list may be in any order.
    pub(super) fn filter_rows(&self, at: usize, rows: &mut Vec<u16>) {
        if let Op::Rows { rows: set @ RowSet::Bitmap(_), negated } = &self.ops[at] {
            return set.retain_unless(*negated, rows);
        }
        match self.path_of(at) {
            Some((path, negated)) => path.filter_rows(negated, rows),
            None => {
                // Prefetch for all rows first, so that their cache misses overlap.
                rows.iter().for_each(|row| self.prefetch(at, usize::from(*row)));
                let each = self.cost_of_testing(at);
                // A stop check for each row would slow down groups of few members, which are tested fast.
                if (each * rows.len()).get() <= CHECK_EVERY || self.pace.is_none() {
                    kernels::retain(rows, |row| self.member_passes(at, row));
                } else {
                    kernels::retain(rows, |row| !self.spend(each) && self.member_passes(at, row));
                }
            }
        }
    }

    /// Returns the cost per row of testing many rows by the member at instruction `at`.
    pub(super) fn cost_of_testing(&self, at: usize) -> Cost {
        match &self.ops[at] {
            Op::Open { close, .. } => COST_OF_A_ROW * (close - at),
            Op::Rows { rows: RowSet::Bitmap(_) | RowSet::Range(_), .. } => COST_OF_A_TESTED_BIT,
            _ => COST_OF_A_ROW,
        }
    }

    /// Returns true if the member at instruction `from` selects a row.
    pub(super) fn member_passes(&self, from: usize, row: usize) -> bool {
        let mut open: SmallVec<[(Connective, usize); 8]> = SmallVec::new();
        let mut at = from;
        loop {
            let mut value = match &self.ops[at] {
                Op::Open { close, by_row: Some(step), .. } => {
                    at = *close;
                    self.path_matches(*step, row) != self.is_negated(at)
                }
                Op::Open { connective, close, by_row: None, .. } => {
                    open.push((*connective, *close));
                    at += 1;
                    continue;
                }
                Op::Close { negated } => match open.pop() {
                    // No member decided the group.
                    Some((connective, _)) => (connective == Connective::And) != *negated,
                    None => return false,
                },
                Op::Rows { rows, negated } => rows.contains(row) != *negated,
                Op::Computed { step, negated, .. } => self.path_matches(*step, row) != *negated,
            };
            // A value that decides a group is the value of the group.
            while let Some((connective, close)) = open.last().copied() {
                if value == (connective == Connective::And) {
                    break;
                }
                open.pop();
                value ^= self.is_negated(close);
                at = close;
            }
            if open.is_empty() {
                return value;
            }
            at += 1;
        }
    }

    /// Prefetches the start of the data that an instruction reads, if it reads data.
    pub(super) fn prefetch_start(&self, at: usize) {
        match self.ops.get(at) {
            Some(Op::Rows { rows, .. }) => rows.prefetch_start(),
            Some(Op::Computed { step, .. }) => {
                if let PlanStep::Leaf { path, .. } = &self.steps[*step] {
                    path.prefetch_start();
                }
            }
            _ => {}
        }
    }

    /// Prefetches the data that decides whether the member at instruction `from` selects a row.
    pub(super) fn prefetch(&self, from: usize, row: usize) {
        let (mut at, end) = (from, self.after(from));
        while at < end {
            let step = match &self.ops[at] {
                Op::Rows { rows, .. } => {
                    rows.prefetch(row);
                    None
                }
                Op::Open { by_row: Some(step), close, .. } => {
                    at = *close;
                    Some(*step)
                }
                Op::Computed { step, .. } => Some(*step),
                _ => None,
            };
            if let Some(PlanStep::Leaf { path, .. }) = step.map(|step| &self.steps[step]) {
                path.prefetch(row);
            }
            at += 1;
        }
    }

    /// Returns the access path that evaluates the member at instruction `from`, and true if the member is negated.
    fn path_of(&self, from: usize) -> Option<(&AccessPath<'p>, bool)> {
        let (step, negated) = match &self.ops[from] {
            Op::Computed { step, negated, .. } => (step, *negated),
            Op::Open { by_row: Some(step), close, .. } => (step, self.is_negated(*close)),
            _ => return None,
        };
        match &self.steps[*step] {
            PlanStep::Leaf { path, .. } => Some((path, negated)),
            _ => None,
        }
    }

    /// Returns true if the group that ends at instruction `close` is negated. The implicit outermost group is never negated.
    pub(super) fn is_negated(&self, close: usize) -> bool {
        matches!(self.ops.get(close), Some(Op::Close { negated: true }))
    }

    fn path_matches(&self, step: usize, row: usize) -> bool {
        match &self.steps[step] {
            PlanStep::Leaf { path, .. } => path.matches_row(row),
            _ => false,
        }
    }
}

impl Op<'_> {
    /// Creates an operand that selects every row, or no row.
    fn constant(value: bool) -> Self {
        Op::Rows { rows: if value { RowSet::All } else { RowSet::None }, negated: false }
    }

    /// Creates the start of a group. [`close`] sets its end.
    fn open(connective: Connective, effort: Cost, by_row: Option<usize>) -> Self {
        Op::Open { connective, close: 0, effort, by_row }
    }
}

/// Appends the end of the group that starts at instruction `open`.
fn close(ops: &mut Vec<Op<'_>>, open: usize, negated: bool) {
    let end = ops.len();
    if let Op::Open { close, .. } = &mut ops[open] {
        *close = end;
    }
    ops.push(Op::Close { negated });
}

/// Appends the operands of a leaf. If the rows of the leaf must be computed, this is one operand. If existing sets of rows can be
/// combined to give these rows, each of these sets is an operand. `outer` is the connective of the enclosing group. If this
/// connective can combine the operands, they become members of the enclosing group. If it cannot, they become members of a new
/// group.
fn push_path<'p>(
    ops: &mut Vec<Op<'p>>,
    path: &AccessPath<'p>,
    (step, effort): (usize, Cost),
    negated: bool,
    outer: Connective,
) {
    let mut members: SmallVec<[RowSet<'p>; 4]> = SmallVec::new();
    let inner = match path {
        AccessPath::Rows(rows) => {
            members.push(rows.clone());
            outer
        }
        AccessPath::StringBitmaps(each) => {
            members.extend(each.iter().map(|words| RowSet::bits(words)));
            Connective::And
        }
        AccessPath::AnyPosting(_, postings, codes) => {
            members.extend(codes.iter().map(|code| postings.get(*code)));
            Connective::Or
        }
        AccessPath::EachPosting(_, postings, codes) => {
            members.extend(codes.iter().map(|code| postings.get(*code)));
            Connective::And
        }
        AccessPath::Sorted { sorted: Sorted::AsStored(_), parts, .. } => {
            members.extend(parts.iter().map(|part| RowSet::Range(part.clone())));
            Connective::Or
        }
        AccessPath::Sorted { .. }
        | AccessPath::Scan(..)
        | AccessPath::Present(_)
        | AccessPath::Elements(_) => {
            return ops.push(Op::Computed { step, effort, negated });
        }
    };
    // By De Morgan's laws, the negation of an `or` is an `and` of negated members.
    if members.len() == 1 || (inner == outer) != negated {
        return ops.extend(members.into_iter().map(|rows| Op::Rows { rows, negated }));
    }
    // For a single row, it is faster to test the code of the row than to look the row up in each member.
    let open = ops.len();
    let by_row = (members.len() > 2).then_some(step);
    ops.push(Op::open(inner, effort, by_row));
    ops.extend(members.into_iter().map(|rows| Op::Rows { rows, negated: false }));
    close(ops, open, negated);
}
