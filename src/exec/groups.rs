//! Keeps the open groups of a running program, and combines the sets of rows of their members.
#![expect(clippy::arithmetic_side_effects, reason = "indexes of instructions")]

use std::borrow::Cow;

use smallvec::SmallVec;

use super::program::{Op, Program};
use super::scratch::Scratch;
use crate::kernels::{self, Combine, Uniform};
use crate::operator::Connective;
use crate::rows::{RowSet, clear_tail};

/// The rows that the members of a group select so far.
pub(super) enum GroupState<'p> {
    /// A set: no row, every row, a bitmap of an index, or a bitmap that the executor owns.
    Rows(RowSet<'p>),
    /// The few rows that remain in a conjunction, distinct and in any order. Each row is tested by the remaining members.
    Few(Vec<u16>),
}

/// A group whose members are being evaluated.
pub(super) struct OpenGroup<'p> {
    pub(super) connective: Connective,
    /// The index of the instruction that closes the group.
    pub(super) close: usize,
    pub(super) state: GroupState<'p>,
    /// A bitmap that has not been combined with `state` yet. If there is one, `state` is also a bitmap. The executor keeps both
    /// bitmaps. It combines them with a third bitmap in one pass, or counts them with the last set of the program.
    pub(super) pending: Option<(Combine, Cow<'p, [u64]>)>,
}

impl OpenGroup<'_> {
    /// Returns true if the members so far have not changed the initial state.
    pub(super) fn is_neutral(&self) -> bool {
        matches!(
            (self.connective, &self.state),
            (Connective::And, GroupState::Rows(RowSet::All))
                | (Connective::Or, GroupState::Rows(RowSet::None))
        )
    }
}

/// The state of the execution of a program on the rows of one batch.
pub(super) struct Executor<'m, 'q> {
    pub(super) program: &'m Program<'q>,
    /// The number of rows of the batch.
    pub(super) rows: usize,
    pub(super) scratch: &'m mut Scratch,
    /// The open groups, innermost last. The outermost group is a conjunction around the whole program.
    pub(super) groups: SmallVec<[OpenGroup<'q>; 8]>,
    /// The index of the last instruction that adds a set of rows to a group. All later instructions only close groups. `None` if
    /// the caller needs the selected rows themselves. If the caller needs only their number, the executor can compute it from this
    /// set and the sets of the open groups. It then does not combine the sets into one bitmap.
    pub(super) last: Option<usize>,
    /// The number of selected rows, if it was counted from the last set and the sets of the open groups.
    pub(super) counted: Option<usize>,
}

impl<'q> Executor<'_, 'q> {
    /// Opens a group that ends at instruction `close`.
    pub(super) fn open(&mut self, connective: Connective, close: usize) {
        let neutral = if connective == Connective::And { RowSet::All } else { RowSet::None };
        self.groups.push(OpenGroup { connective, close, state: GroupState::Rows(neutral), pending: None });
    }

    /// Returns the index of the instruction to execute after `at`. If the result of the innermost group is already decided, this
    /// is the instruction that closes it.
    pub(super) fn next(&self, at: usize) -> usize {
        match self.groups.last() {
            Some(
                OpenGroup {
                    connective: Connective::And, close, state: GroupState::Rows(RowSet::None), ..
                }
                | OpenGroup { connective: Connective::Or, close, state: GroupState::Rows(RowSet::All), .. },
            ) if *close > at => *close,
            _ => at + 1,
        }
    }

    /// Replaces the state of the innermost group by a set.
    pub(super) fn settle(&mut self, set: RowSet<'q>) {
        if let Some(group) = self.groups.last_mut() {
            group.state = GroupState::Rows(set);
            group.pending = None;
        }
    }

    /// Replaces the state of the innermost group by a bitmap.
    pub(super) fn settle_bitmap(&mut self, words: Vec<u64>, uniform: Uniform) {
        match uniform {
            None => self.settle(RowSet::Bitmap(Cow::Owned(words))),
            Some(all) => {
                self.scratch.put_bitmap(words);
                self.settle(if all { RowSet::All } else { RowSet::None });
            }
        }
    }

    /// Replaces the state of the innermost group, a conjunction, by a list.
    pub(super) fn settle_few(&mut self, list: Vec<u16>) {
        if list.is_empty() {
            self.scratch.put_list(list);
            self.settle(RowSet::None);
        } else if let Some(group) = self.groups.last_mut() {
            group.state = GroupState::Few(list);
        }
    }

    /// Takes the state of the innermost group. The caller must then set a new state.
    pub(super) fn take_state(&mut self) -> GroupState<'q> {
        let none = GroupState::Rows(RowSet::None);
        self.groups
            .last_mut()
            .map_or(none, |group| std::mem::replace(&mut group.state, GroupState::Rows(RowSet::None)))
    }

    /// Adds a constant to the innermost group: every row if `value` is true, otherwise no row.
    pub(super) fn constant(&mut self, value: bool) {
        match self.groups.last().map(|group| (group.connective, value)) {
            Some((Connective::And, false)) => self.settle(RowSet::None),
            Some((Connective::Or, true)) => self.settle(RowSet::All),
            _ => {}
        }
    }

    /// Adds the rows of a bitmap to the innermost group. If `negated`, adds all other rows.
    pub(super) fn join(&mut self, words: Cow<'q, [u64]>, negated: bool, at: usize) {
        if self.groups.last().is_some_and(|group| group.pending.is_some()) {
            self.combine_three(&words, negated);
            if let Cow::Owned(words) = words {
                self.scratch.put_bitmap(words);
            }
            return;
        }
        let Some(group) = self.groups.last_mut() else { return };
        if group.is_neutral() {
            let words = if negated { Cow::Owned(self.inverted(words)) } else { words };
            return self.settle(RowSet::Bitmap(words));
        }
        if matches!(group.state, GroupState::Rows(RowSet::Bitmap(_))) {
            group.pending = Some((combination(group.connective, negated), words));
            self.combine_unless_joined(at);
        }
    }

    /// Returns the complement of a bitmap.
    fn inverted(&mut self, words: Cow<'q, [u64]>) -> Vec<u64> {
        let mut inverted = match words {
            Cow::Owned(words) => words,
            Cow::Borrowed(words) => {
                let mut own = self.scratch.bitmap(self.rows);
                own.copy_from_slice(words);
                own
            }
        };
        inverted.iter_mut().for_each(|word| *word = !*word);
        clear_tail(&mut inverted, self.rows);
        inverted
    }

    /// Combines the two bitmaps of the innermost group after instruction `at`. Keeps both if a third bitmap follows, or if the
    /// last set of the program may be counted together with both.
    pub(super) fn combine_unless_joined(&mut self, at: usize) {
        let Some(group) = self.groups.last() else { return };
        let may_be_joined = match self.program.ops.get(at + 1) {
            Some(Op::Rows { rows: RowSet::Bitmap(_), .. }) => true,
            Some(Op::Close { .. }) => self.last.is_some(),
            // The last set may be in the last group of a disjunction. In a conjunction, both bitmaps are combined before its last
            // group, because the remaining rows may be few enough to be tested one by one.
            Some(Op::Open { close, .. }) => {
                group.connective == Connective::Or && self.last.is_some_and(|last| last < *close)
            }
            _ => false,
        };
        if !may_be_joined {
            self.combine_pending();
        }
    }

    /// Combines the two bitmaps of the innermost group and a third bitmap in one pass.
    fn combine_three(&mut self, words: &[u64], negated: bool) {
        let Some(group) = self.groups.last_mut() else { return };
        let second = combination(group.connective, negated);
        let Some((first, other)) = group.pending.take() else { return };
        let GroupState::Rows(RowSet::Bitmap(one)) = self.take_state() else { return };
        let mut combined = self.scratch.bitmap(self.rows);
        let uniform = kernels::combine_three([first, second], &mut combined, [&one, &other, words]);
        clear_tail(&mut combined, self.rows);
        for set in [one, other] {
            if let Cow::Owned(set) = set {
                self.scratch.put_bitmap(set);
            }
        }
        self.settle_bitmap(combined, uniform);
    }

    /// Combines the two bitmaps of the innermost group, if it has a pending bitmap.
    pub(super) fn combine_pending(&mut self) {
        let Some((how, other)) = self.groups.last_mut().and_then(|group| group.pending.take()) else {
            return;
        };
        let GroupState::Rows(RowSet::Bitmap(one)) = self.take_state() else { return };
        let (mut words, uniform) = match (one, other) {
            (Cow::Owned(mut words), other) => {
                let uniform = kernels::combine(how, &mut words, &other);
                if let Cow::Owned(other) = other {
                    self.scratch.put_bitmap(other);
                }
                (words, uniform)
            }
            (Cow::Borrowed(one), Cow::Borrowed(other)) => {
                let mut words = self.scratch.bitmap(self.rows);
                let uniform = kernels::combine_into(how, &mut words, one, other);
                (words, uniform)
            }
            (Cow::Borrowed(one), Cow::Owned(mut words)) => {
                if matches!(how, Combine::AndNot | Combine::OrNot) {
                    words.iter_mut().for_each(|word| *word = !*word);
                }
                let any = matches!(how, Combine::Or | Combine::OrNot);
                let uniform = kernels::combine(if any { Combine::Or } else { Combine::And }, &mut words, one);
                (words, uniform)
            }
        };
        clear_tail(&mut words, self.rows);
        self.settle_bitmap(words, uniform);
    }
}

/// Returns the operation that combines a member of a group with the members before it.
pub(super) fn combination(connective: Connective, negated: bool) -> Combine {
    match (connective, negated) {
        (Connective::And, false) => Combine::And,
        (Connective::And, true) => Combine::AndNot,
        (Connective::Or, false) => Combine::Or,
        (Connective::Or, true) => Combine::OrNot,
    }
}
