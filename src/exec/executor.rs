//! Executes a program on all rows of a batch: combines sets of rows, group by group.
//!
//! A bitmap of a full batch has 8 KiB. A *group* is a branch of the predicate. Its *members* are the children of the branch, and
//! their sets of rows are combined. Each set of an index is read once, sequentially, and combined into the bitmap of its group.
//! This bitmap stays in the L1 cache. Combining smaller pieces (1/16 to 1/2 of a bitmap) was slower, both with data in the cache
//! and with data in memory. While a whole bitmap is read, the hardware prefetcher loads its next bytes in advance. Also, each
//! smaller piece costs an iteration of the loop.
//!
//! If rows are only counted, the last set is not combined into a bitmap. Instead, bits are counted directly from up to four sets:
//! two groups of two sets. If few rows of an `and` group remain, they become a list. The remaining members of the group then test
//! each row.
//!
//! If the data is not in the cache, cache misses take most of the time. So memory is prefetched:
//!
//! - the next set, before the current set is combined;
//! - the first sets of the next batch, before a batch is counted;
//! - the values of all rows that are tested, before the first test.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indexes of instructions and of steps, the members of a group before its end, and counts of rows of one batch"
)]

use std::borrow::Cow;

use smallvec::SmallVec;

use super::access_path::AccessPath;
use super::count_beside::count_beside;
use super::groups::{Executor, GroupState, OpenGroup, combination};
use super::program::{Op, Program};
use super::scratch::Scratch;
use super::step::PlanStep;
use super::write_rows::write;
use crate::kernels::{self, Pair};
use crate::operator::Connective;
use crate::rows::{LANES, RowSet};

/// Returns the rows of a batch of `rows` rows that a program selects.
pub(super) fn run<'q>(program: &Program<'q>, rows: usize, scratch: &mut Scratch) -> RowSet<'q> {
    let (state, _) = execute(program, rows, scratch, None);
    match state {
        GroupState::Few(mut list) => {
            list.sort_unstable();
            let set = RowSet::from_list(list.to_vec());
            scratch.put_list(list);
            set
        }
        GroupState::Rows(RowSet::Bitmap(Cow::Owned(words))) => {
            let count = kernels::count_ones(&words);
            let set = if count * LANES > rows {
                RowSet::Bitmap(Cow::Owned(words.to_vec()))
            } else {
                let mut list = Vec::with_capacity(count);
                RowSet::bits(&words).list_within(0..rows, &mut list);
                RowSet::from_list(list)
            };
            scratch.put_bitmap(words);
            set
        }
        GroupState::Rows(set) => set,
    }
}

/// Returns the number of rows that a program selects in a batch of `rows` rows.
pub(super) fn count(program: &Program<'_>, rows: usize, scratch: &mut Scratch) -> usize {
    let last = program.ops.iter().rposition(|op| !matches!(op, Op::Close { .. }));
    let (state, counted) = execute(program, rows, scratch, last);
    match state {
        GroupState::Few(list) => {
            let count = list.len();
            scratch.put_list(list);
            count
        }
        GroupState::Rows(set) => {
            let count = counted.unwrap_or_else(|| set.count(rows));
            if let RowSet::Bitmap(Cow::Owned(words)) = set {
                scratch.put_bitmap(words);
            }
            count
        }
    }
}

/// Executes a program. If `last` is given, the set at this instruction may be counted together with the sets before it, instead of
/// being combined with them.
///
/// If the search must stop, returns no rows.
fn execute<'q>(
    program: &Program<'q>,
    rows: usize,
    scratch: &mut Scratch,
    last: Option<usize>,
) -> (GroupState<'q>, Option<usize>) {
    let mut executor = Executor { program, rows, scratch, groups: SmallVec::new(), last, counted: None };
    executor.open(Connective::And, program.ops.len());
    let mut at: usize = 0;
    while let Some(op) = program.ops.get(at) {
        if program.spend(program.cost(op, rows)) {
            return (GroupState::Rows(RowSet::None), Some(0));
        }
        program.prefetch_start(at + 1);
        at = executor.step(op, at);
    }
    executor.combine_pending();
    (executor.take_state(), executor.counted)
}

impl<'q> Executor<'_, 'q> {
    /// Executes one instruction, and returns the index of the next instruction.
    fn step(&mut self, op: &Op<'q>, at: usize) -> usize {
        if let Some(OpenGroup { state: GroupState::Few(_), .. }) = self.groups.last()
            && !matches!(op, Op::Close { .. } | Op::Rows { rows: RowSet::None | RowSet::All, .. })
        {
            if self.filter_few(op, at) {
                return self.next(self.program.after(at) - 1);
            }
            self.list_to_bitmap();
        }
        match op {
            Op::Open { connective, close, effort, .. } => {
                if self.filter(at, *effort, close - at) {
                    return self.next(*close);
                }
                self.open(*connective, *close);
                return at + 1;
            }
            Op::Close { negated } => self.close(*negated, at),
            Op::Rows { rows, negated } => return self.join_set(rows, *negated, at),
            Op::Computed { step, effort, negated } => {
                if !self.filter(at, *effort, 1)
                    && let PlanStep::Leaf { path, .. } = &self.program.steps[*step]
                {
                    return self.join_path(path, *negated, at);
                }
            }
        }
        self.next(at)
    }

    /// Adds a set to the innermost group, and returns the index of the next instruction.
    fn join_set(&mut self, rows: &RowSet<'q>, negated: bool, at: usize) -> usize {
        match rows {
            RowSet::None => self.constant(negated),
            RowSet::All => self.constant(!negated),
            RowSet::List(list) => self.list(list, negated),
            RowSet::Range(_) => {
                let mut words = self.scratch.bitmap(self.rows);
                rows.write(&mut words, self.rows);
                return self.count_or_join(Cow::Owned(words), negated, at);
            }
            RowSet::Bitmap(words) => return self.count_or_join(words.clone(), negated, at),
        }
        self.next(at)
    }

    /// Adds the rows of an access path to the innermost group, and returns the index of the next instruction.
    fn join_path(&mut self, path: &AccessPath<'q>, negated: bool, at: usize) -> usize {
        if let Some(count) = self.count_beside(at, path, negated) {
            return self.finish(count);
        }
        if let Some(list) = path.listed() {
            self.list(list, negated);
            return self.next(at);
        }
        let mut words = self.scratch.bitmap(self.rows);
        write(path, self.rows, &mut words);
        self.count_or_join(Cow::Owned(words), negated, at)
    }

    /// Adds a bitmap to the innermost group, and returns the index of the next instruction. If the bitmap is the last set, it may
    /// be counted instead, together with the sets before it.
    fn count_or_join(&mut self, words: Cow<'q, [u64]>, negated: bool, at: usize) -> usize {
        if let Some(count) = self.count_together(at, &words, negated) {
            if let Cow::Owned(words) = words {
                self.scratch.put_bitmap(words);
            }
            return self.finish(count);
        }
        self.join(words, negated, at);
        self.next(at)
    }

    /// Closes the innermost group, which becomes a member of the group around it.
    fn close(&mut self, negated: bool, at: usize) {
        let outer = self.groups.iter().nth_back(1);
        if negated || !outer.is_some_and(OpenGroup::is_neutral) {
            self.combine_pending();
        }
        let Some(OpenGroup { state, pending, .. }) = self.groups.pop() else { return };
        match state {
            GroupState::Few(list) => {
                self.list(&list, negated);
                self.scratch.put_list(list);
            }
            GroupState::Rows(set) if pending.is_some() => {
                self.settle(set);
                if let Some(outer) = self.groups.last_mut() {
                    outer.pending = pending;
                }
                self.combine_unless_joined(at);
            }
            GroupState::Rows(RowSet::Bitmap(words)) => self.join(words, negated, at),
            // Any other set of a group is `None` or `All`.
            GroupState::Rows(set) => self.constant(matches!(set, RowSet::All) != negated),
        }
    }

    /// Counts the selected rows from the set of instruction `at` and the sets of the open groups. Returns `None` if the set is not
    /// the last set of the program, or if there are too many sets. At most four sets can be counted together: two groups of two
    /// sets.
    fn count_together(&self, at: usize, words: &[u64], negated: bool) -> Option<usize> {
        if self.last != Some(at) {
            return None;
        }
        let mut found = LastSet { pair: Pair::of(words), is_negated: negated, beside: None };
        for group in self.groups.iter().rev() {
            if !group.is_neutral() {
                let GroupState::Rows(RowSet::Bitmap(one)) = &group.state else { return None };
                let before = match &group.pending {
                    None => Pair::of(one),
                    Some((how, other)) => Pair { how: *how, one, other },
                };
                found = found.joined(group.connective, before)?;
            }
            found.is_negated ^= self.program.is_negated(group.close);
        }
        Some(found.count(self.rows))
    }

    /// Counts the selected rows without a bitmap of the rows of `path`, the access path of instruction `at`. Returns `None` unless
    /// all of these conditions hold:
    ///
    /// - The instruction adds the last set of the program, and is not negated.
    /// - Only the outermost group is open. The rows that its earlier members select are one bitmap.
    /// - The rows that are in both this bitmap and the access path can be counted without another bitmap.
    fn count_beside(&self, at: usize, path: &AccessPath<'q>, negated: bool) -> Option<usize> {
        match self.groups.as_slice() {
            [
                OpenGroup {
                    connective: Connective::And,
                    state: GroupState::Rows(RowSet::Bitmap(before)),
                    pending: None,
                    ..
                },
            ] if self.last == Some(at) && !negated => count_beside(path, before, self.rows),
            _ => None,
        }
    }

    /// Ends the program with the number of selected rows. Returns the end of the program.
    fn finish(&mut self, count: usize) -> usize {
        for group in self.groups.drain(..) {
            let bitmaps =
                [Some(group.state), group.pending.map(|(_, words)| GroupState::Rows(RowSet::Bitmap(words)))];
            for state in bitmaps.into_iter().flatten() {
                match state {
                    GroupState::Rows(RowSet::Bitmap(Cow::Owned(words))) => self.scratch.put_bitmap(words),
                    GroupState::Rows(_) => {}
                    GroupState::Few(list) => self.scratch.put_list(list),
                }
            }
        }
        self.counted = Some(count);
        self.program.ops.len()
    }
}

/// The last set of a program, combined with the sets of the open groups, from the innermost to the outermost.
struct LastSet<'t> {
    pair: Pair<'t>,
    /// True if the result is the complement of the rows that the pairs give.
    is_negated: bool,
    /// A second pair, and the operation that combines it with `pair`.
    beside: Option<(kernels::Combine, Pair<'t>)>,
}

impl<'t> LastSet<'t> {
    /// Combines the set with the state of a group. Returns `None` if there are too many sets to count in one pass.
    fn joined(self, connective: Connective, before: Pair<'t>) -> Option<Self> {
        let how = combination(connective, self.is_negated);
        match (self.beside, self.pair.single(), before.single()) {
            (None, Some(last), Some(before)) => {
                Some(Self { pair: Pair { how, one: before, other: last }, is_negated: false, beside: None })
            }
            (None, _, _) => Some(Self { pair: self.pair, is_negated: false, beside: Some((how, before)) }),
            (Some(_), _, _) => None,
        }
    }

    fn count(&self, rows: usize) -> usize {
        let count = match self.beside {
            None => kernels::count_pair(self.pair, rows),
            Some((how, before)) => kernels::count_pairs(before, how, self.pair, rows),
        };
        if self.is_negated { rows - count } else { count }
    }
}

#[cfg(test)]
mod tests;
