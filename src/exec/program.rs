//! A plan laid out flat, so that one loop answers it for all rows of a batch, or for one row.

use std::ops::Range;

use smallvec::SmallVec;

use super::plan::{COST_OF_A_ROW, Estimate, Form, MadeBy, Plan, Source, Step, estimate};
use super::query::Query;
use super::rows::has_bit;
use super::{kernels, source};
use crate::batch::Batch;
use crate::column::{LANES, Posting, Postings, Selection, Sorted};
use crate::index::{GlobalRow, split};
use crate::operator::Connective;

/// One instruction: sets of rows, and groups of them from [`Open`](Self::Open) to [`Close`](Self::Close).
///
/// Negated ones stand for all other rows.
// The tag is as wide as a word for the reason that that of a `Set` is.
#[derive(Debug)]
#[repr(usize)]
pub(super) enum Op<'p> {
    /// What follows is combined thus, up to the instruction `close`.
    Open { connective: Connective, close: usize, effort: usize, by_row: Option<usize> },
    /// Ends a group, which becomes one member of the group around it.
    Close { negated: bool },
    /// The rows whose bit is set.
    Words { words: &'p [u64], negated: bool },
    /// These rows, ascending.
    List { list: &'p [u16], negated: bool },
    /// These rows of the batch, ascending.
    Keys { keys: &'p [GlobalRow], negated: bool },
    /// Rows that stand one behind the other.
    Span { rows: Range<usize>, negated: bool },
    /// The rows of the source of a step, whose bits must be made first.
    Made { step: usize, effort: usize, negated: bool },
    /// Every row, or none.
    Constant(bool),
}

/// The members of a conjunction, in order of evaluation.
pub(super) struct Program<'p> {
    pub(super) plan: Plan<'p>,
    pub(super) ops: Vec<Op<'p>>,
    /// Leaves, by their steps, and where the instructions of each begin.
    leaves: Vec<(usize, usize)>,
    is_all_live: bool,
}

/// What is still to be written.
enum Todo {
    Step(usize),
    /// The group that was opened there.
    Close(usize),
}

impl<'p> Program<'p> {
    /// A plan on a batch of which these rows are live.
    pub(super) fn new(plan: Plan<'p>, root: usize, live: &'p Selection) -> Self {
        let mut ops: Vec<Op<'p>> = Vec::with_capacity(plan.steps.len().saturating_mul(2));
        let mut leaves = Vec::with_capacity(plan.steps.len());
        let mut todo: SmallVec<[Todo; 32]> = SmallVec::new();
        let mut around: SmallVec<[Connective; 8]> = SmallVec::from_slice(&[Connective::And]);
        todo.push(Todo::Step(root));
        while let Some(next) = todo.pop() {
            let step = match next {
                Todo::Step(step) => step,
                Todo::Close(open) => {
                    around.pop();
                    close(&mut ops, open, false);
                    continue;
                }
            };
            let outer = around.last().copied().unwrap_or(Connective::And);
            match plan.steps.get(step) {
                Some(Step::Same(only)) => todo.push(Todo::Step(*only)),
                Some(Step::Branch(connective, children, total)) => {
                    if *connective != outer {
                        todo.push(Todo::Close(ops.len()));
                        around.push(*connective);
                        ops.push(Op::open(*connective, total.cost, None));
                    }
                    todo.extend(children.iter().rev().map(|child| Todo::Step(*child)));
                }
                Some(Step::Leaf { source, negated, estimate }) => {
                    leaves.push((step, ops.len()));
                    push_source(&mut ops, source, (step, estimate.cost), *negated, outer);
                }
                Some(Step::Settled(value)) => ops.push(Op::Constant(*value)),
                None => ops.push(Op::Constant(false)),
            }
        }
        match live {
            Selection::All => {}
            Selection::None => ops.push(Op::Constant(false)),
            Selection::Bitmap(live) => ops.push(Op::Words { words: live.words(), negated: false }),
        }
        Self { plan, ops, leaves, is_all_live: matches!(live, Selection::All) }
    }

    /// These instructions.
    #[cfg(test)]
    pub(super) fn of_ops(steps: Vec<Step<'p>>, ops: Vec<Op<'p>>) -> Self {
        Self { plan: Plan::of_steps(steps), ops, leaves: Vec::new(), is_all_live: true }
    }

    /// Makes the program of one batch that of another batch, if that has the same instructions on other rows; else it has no meaning
    /// any more.
    pub(super) fn rebind(
        &mut self,
        needed: &MadeBy,
        query: &'p Query<'p>,
        number: usize,
        batch: &'p Batch,
        live: &Selection,
    ) -> bool {
        let is_all_live = self.is_all_live && matches!(live, Selection::All);
        if !is_all_live || !self.plan.rebind(needed, query, number, batch) {
            return false;
        }
        for (step, at) in &self.leaves {
            if let Some(Step::Leaf { source, negated, .. }) = self.plan.steps.get(*step) {
                let behind = self.ops.get_mut(*at..).unwrap_or_default();
                match behind {
                    [Op::Open { .. }, members @ ..] => put_source(members, source, false),
                    members => put_source(members, source, *negated),
                }
            }
        }
        true
    }

    /// What is known of the rows, whether live or not.
    pub(super) fn estimate(&self, root: usize) -> Estimate {
        estimate(&self.plan.steps, root)
    }

    /// The instruction behind the member that starts at one.
    pub(super) fn behind(&self, at: usize) -> usize {
        match self.ops.get(at) {
            Some(Op::Open { close, .. }) => close.saturating_add(1),
            _ => at.saturating_add(1),
        }
    }

    /// Whether a row passes the members from an instruction on.
    pub(super) fn passes(&self, mut from: usize, row: usize) -> bool {
        while from < self.ops.len() {
            if !self.member_passes(from, row) {
                return false;
            }
            from = self.behind(from);
        }
        true
    }

    /// Keeps those of some rows, in any order, that are of the member that starts at an instruction.
    pub(super) fn retain(&self, at: usize, rows: &mut Vec<u16>) {
        if let Some(Op::Words { words, negated }) = self.ops.get(at) {
            return kernels::retain(rows, |row| has_bit(words, row) != *negated);
        }
        match self.source_of(at) {
            Some((source, negated)) => source::retain(source, negated, rows),
            None => {
                // The misses of the cache of all rows then overlap.
                rows.iter().for_each(|row| self.prefetch(at, usize::from(*row)));
                kernels::retain(rows, |row| self.member_passes(at, row));
            }
        }
    }

    /// What asking one of many rows for the member that starts at an instruction costs.
    pub(super) fn cost_of_asking(&self, at: usize) -> usize {
        /// Asking a row for a bit.
        const COST_OF_A_BIT: usize = 6;
        match self.ops.get(at) {
            Some(Op::Open { close, .. }) => close.saturating_sub(at).saturating_mul(COST_OF_A_ROW),
            Some(Op::Words { .. } | Op::Span { .. }) => COST_OF_A_BIT,
            _ => COST_OF_A_ROW,
        }
    }

    /// Whether a row is of the member that starts at an instruction.
    pub(super) fn member_passes(&self, from: usize, row: usize) -> bool {
        let mut open: SmallVec<[(Connective, usize); 8]> = SmallVec::new();
        let mut at = from;
        loop {
            let mut value = match self.ops.get(at) {
                Some(Op::Open { close, by_row: Some(step), .. }) => {
                    at = *close;
                    self.source_passes(*step, row) != self.is_negated(at)
                }
                Some(Op::Open { connective, close, by_row: None, .. }) => {
                    open.push((*connective, *close));
                    at = at.saturating_add(1);
                    continue;
                }
                Some(Op::Close { negated }) => match open.pop() {
                    // No member settled the group.
                    Some((connective, _)) => (connective == Connective::And) != *negated,
                    None => return false,
                },
                Some(Op::Words { words, negated }) => has_bit(words, row) != *negated,
                Some(Op::List { list, negated }) => {
                    u16::try_from(row).is_ok_and(|row| list.binary_search(&row).is_ok()) != *negated
                }
                Some(Op::Keys { keys, negated }) => {
                    keys.binary_search_by_key(&row, |key| usize::from(split(*key).1)).is_ok() != *negated
                }
                Some(Op::Span { rows, negated }) => rows.contains(&row) != *negated,
                Some(Op::Made { step, negated, .. }) => self.source_passes(*step, row) != *negated,
                Some(Op::Constant(value)) => *value,
                None => return false,
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
            at = at.saturating_add(1);
        }
    }

    /// Has the processor fetch what an instruction reads.
    pub(super) fn announce(&self, at: usize) {
        match self.ops.get(at) {
            Some(Op::Words { words, .. }) => kernels::announce(words),
            Some(Op::List { list, .. }) => kernels::announce(list),
            Some(Op::Made { step, .. }) => {
                if let Some(Step::Leaf { source, .. }) = self.plan.steps.get(*step) {
                    source::announce(source);
                }
            }
            _ => {}
        }
    }

    /// Has the processor fetch what tells of a row whether it is of the member that starts at an instruction.
    pub(super) fn prefetch(&self, from: usize, row: usize) {
        let (mut at, behind) = (from, self.behind(from));
        while at < behind {
            let step = match self.ops.get(at) {
                Some(Op::Words { words, .. }) => {
                    kernels::prefetch(words, row / LANES);
                    None
                }
                Some(Op::Open { by_row: Some(step), close, .. }) => {
                    at = *close;
                    Some(*step)
                }
                Some(Op::Made { step, .. }) => Some(*step),
                _ => None,
            };
            if let Some(Step::Leaf { source, .. }) = step.and_then(|step| self.plan.steps.get(step)) {
                source::prefetch(source, row);
            }
            at = at.saturating_add(1);
        }
    }

    /// What alone tells of a row whether it is of the member that starts at an instruction, and whether of all other rows.
    pub(super) fn source_of(&self, from: usize) -> Option<(&Source<'p>, bool)> {
        let (step, negated) = match self.ops.get(from)? {
            Op::Made { step, negated, .. } => (step, *negated),
            Op::Open { by_row: Some(step), close, .. } => (step, self.is_negated(*close)),
            _ => return None,
        };
        match self.plan.steps.get(*step)? {
            Step::Leaf { source, .. } => Some((source, negated)),
            _ => None,
        }
    }

    /// Whether a group that closes there stands for all other rows; that around all groups closes behind the last instruction.
    pub(super) fn is_negated(&self, close: usize) -> bool {
        matches!(self.ops.get(close), Some(Op::Close { negated: true }))
    }

    fn source_passes(&self, step: usize, row: usize) -> bool {
        match self.plan.steps.get(step) {
            Some(Step::Leaf { source, .. }) => source::passes(source, row),
            _ => false,
        }
    }
}

impl Op<'_> {
    /// Where it closes is told when it does.
    fn open(connective: Connective, effort: usize, by_row: Option<usize>) -> Self {
        Op::Open { connective, close: 0, effort, by_row }
    }
}

fn close(ops: &mut Vec<Op<'_>>, open: usize, negated: bool) {
    let end = ops.len();
    if let Some(Op::Open { close, .. }) = ops.get_mut(open) {
        *close = end;
    }
    ops.push(Op::Close { negated });
}

/// Writes the rows of a leaf as members of the group `outer`, or as a group of their own.
fn push_source<'p>(
    ops: &mut Vec<Op<'p>>,
    source: &Source<'p>,
    (step, effort): (usize, usize),
    negated: bool,
    outer: Connective,
) {
    let (inner, members) = match source.form() {
        Form::Any(members) => (Connective::Or, members),
        Form::Each(members) => (Connective::And, members),
        Form::One => (outer, 1),
        Form::Made => return ops.push(Op::Made { step, effort, negated }),
    };
    let write = |ops: &mut Vec<Op<'p>>, negated: bool| {
        let from = ops.len();
        ops.extend((0..members).map(|_| Op::Constant(negated)));
        put_source(ops.get_mut(from..).unwrap_or_default(), source, negated);
    };
    // Not one of them: not this one, and not that one.
    if members == 1 || (inner == outer) != negated {
        return write(ops, negated);
    }
    // A row has its code ready, so that it need not be sought in each member.
    let open = ops.len();
    ops.push(Op::open(inner, effort, (members > 2).then_some(step)));
    write(ops, false);
    close(ops, open, negated);
}

/// Writes the rows of a source over the instructions that were made for one of the same [form](Form).
fn put_source<'p>(ops: &mut [Op<'p>], source: &Source<'p>, negated: bool) {
    fn put<'p>(ops: &mut [Op<'p>], members: impl Iterator<Item = Op<'p>>) {
        ops.iter_mut().zip(members).for_each(|(op, member)| *op = member);
    }
    match source {
        Source::Kept(words) => put(ops, std::iter::once(Op::Words { words, negated })),
        Source::Dense(each) => put(ops, each.iter().map(|words| Op::Words { words, negated })),
        Source::Listed(keys) => put(ops, std::iter::once(Op::Keys { keys, negated })),
        Source::AnyPosting(_, postings, codes) | Source::EachPosting(_, postings, codes) => {
            put(ops, codes.iter().map(|code| posting(postings, *code, negated)));
        }
        Source::Sorted { sorted: Sorted::AsStored(_), parts, .. } => {
            put(ops, parts.iter().map(|part| Op::Span { rows: part.clone(), negated }));
        }
        // What makes the rows is found by the step.
        Source::Asked(_) | Source::Sorted { .. } | Source::Scan(..) | Source::Present(_) => {}
    }
}

fn posting<'p>(postings: &'p Postings, code: u32, negated: bool) -> Op<'p> {
    match postings.get(code) {
        Posting::All => Op::Constant(!negated),
        Posting::Words(words) => Op::Words { words, negated },
        Posting::List(list) => Op::List { list, negated },
    }
}
