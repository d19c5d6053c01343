//! A plan laid out flat: a tree of connectives and operands in the order of evaluation, so that one loop answers it for all
//! rows of a batch, or for one row.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indexes of instructions, the members of a group before its end, and of the steps that the program was made of; \
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

/// One instruction: an operand, or the start or the end of a group of them.
///
/// An operand is a set of rows that is at hand, or one that is computed from a column. Negated ones stand for all other rows.
// The tag is as wide as a word for the reason that that of a `Set` is.
#[derive(Debug)]
#[repr(usize)]
pub(super) enum Op<'p> {
    /// Begins a group, which ends at the instruction `close`. `by_row` is the step whose access path tests one row for
    /// the whole group.
    Open { connective: Connective, close: usize, effort: Cost, by_row: Option<usize> },
    /// Ends a group, which becomes one member of the group around it.
    Close { negated: bool },
    /// A set of rows that is at hand.
    Rows { rows: RowSet<'p>, negated: bool },
    /// The rows of the access path of a step, whose bits must be computed first.
    Computed { step: usize, effort: Cost, negated: bool },
}

/// The members of a conjunction, in order of evaluation.
pub(super) struct Program<'p> {
    pub(super) steps: Vec<PlanStep<'p>>,
    pub(super) ops: Vec<Op<'p>>,
}

/// An entry of the stack of the layout.
enum Todo {
    PlanStep(usize),
    /// The end of the group that was opened at this instruction.
    Close(usize),
}

impl<'p> Program<'p> {
    /// Lays out the steps below a root, on a batch of which these rows are live.
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
        Self { steps, ops }
    }

    /// Returns what is known of the rows, whether live or not.
    pub(super) fn estimate(&self, root: usize) -> Estimate {
        estimate(&self.steps, root)
    }

    /// Returns the instruction after the member that starts at one.
    pub(super) fn after(&self, at: usize) -> usize {
        match self.ops.get(at) {
            Some(Op::Open { close, .. }) => close + 1,
            _ => at + 1,
        }
    }

    /// True when a row passes the members from an instruction on.
    pub(super) fn passes(&self, mut from: usize, row: usize) -> bool {
        while from < self.ops.len() {
            if !self.member_passes(from, row) {
                return false;
            }
            from = self.after(from);
        }
        true
    }

    /// Keeps those of some rows, in any order, that are of the member that starts at an instruction.
    pub(super) fn filter_rows(&self, at: usize, rows: &mut Vec<u16>) {
        if let Op::Rows { rows: set @ RowSet::Bitmap(_), negated } = &self.ops[at] {
            return set.retain_unless(*negated, rows);
        }
        match self.path_of(at) {
            Some((path, negated)) => path.filter_rows(negated, rows),
            None => {
                // The misses of the cache of all rows then overlap.
                rows.iter().for_each(|row| self.prefetch(at, usize::from(*row)));
                kernels::retain(rows, |row| self.member_passes(at, row));
            }
        }
    }

    /// Returns what testing one of many rows for the member that starts at an instruction costs.
    pub(super) fn cost_of_testing(&self, at: usize) -> Cost {
        match &self.ops[at] {
            Op::Open { close, .. } => COST_OF_A_ROW * (close - at),
            Op::Rows { rows: RowSet::Bitmap(_) | RowSet::Range(_), .. } => COST_OF_A_TESTED_BIT,
            _ => COST_OF_A_ROW,
        }
    }

    /// True when a row is of the member that starts at an instruction.
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
                    // No member settled the group.
                    Some((connective, _)) => (connective == Connective::And) != *negated,
                    None => return false,
                },
                Op::Rows { rows, negated } => rows.contains(row) != *negated,
                Op::Computed { step, negated, .. } => self.path_matches(*step, row) != *negated,
            };
            // What settles its group is the value of the group.
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

    /// Has the processor fetch what an instruction reads, if there is one.
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

    /// Has the processor fetch what tests a row for the member that starts at an instruction.
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

    /// Returns the access path that decides the member that starts at an instruction, and whether it is negated.
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

    /// True when a group that closes at an instruction is negated; the outermost group closes after the last instruction.
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
    /// Every row, or none.
    fn constant(value: bool) -> Self {
        Op::Rows { rows: if value { RowSet::All } else { RowSet::None }, negated: false }
    }

    /// Makes the start of a group; [`close`] sets its end.
    fn open(connective: Connective, effort: Cost, by_row: Option<usize>) -> Self {
        Op::Open { connective, close: 0, effort, by_row }
    }
}

fn close(ops: &mut Vec<Op<'_>>, open: usize, negated: bool) {
    let end = ops.len();
    if let Op::Open { close, .. } = &mut ops[open] {
        *close = end;
    }
    ops.push(Op::Close { negated });
}

/// Writes the rows of a leaf as members of the group `outer`, or as a group of their own.
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
        AccessPath::Sorted { .. } | AccessPath::Scan(..) | AccessPath::Present(_) => {
            return ops.push(Op::Computed { step, effort, negated });
        }
    };
    // Not one of them: not this one, and not that one.
    if members.len() == 1 || (inner == outer) != negated {
        return ops.extend(members.into_iter().map(|rows| Op::Rows { rows, negated }));
    }
    // Testing one row reads its code, which is faster than looking the row up in each member.
    let open = ops.len();
    let by_row = (members.len() > 2).then_some(step);
    ops.push(Op::open(inner, effort, by_row));
    ops.extend(members.into_iter().map(|rows| Op::Rows { rows, negated: false }));
    close(ops, open, negated);
}
