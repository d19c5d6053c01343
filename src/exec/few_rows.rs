//! Switches from bitmaps to lists of rows in a running program. If a conjunction has few rows left, they are listed, and each row
//! is tested by the remaining members.
#![expect(clippy::arithmetic_side_effects, reason = "`Cost` saturates")]

use std::borrow::Cow;

use super::cost::{COST_OF_A_ROW, COST_OF_LISTING, Cost};
use super::groups::{Executor, GroupState, OpenGroup, combination};
use super::program::Op;
use crate::operator::Connective;
use crate::rows::{RowSet, list_bits, set_rows};

impl<'q> Executor<'_, 'q> {
    /// Adds the listed rows to the innermost group. If `negated`, adds all other rows. The list may be in any order.
    pub(super) fn list(&mut self, rows: &[u16], negated: bool) {
        self.combine_pending();
        let Some(connective) = self.groups.last().map(|group| group.connective) else { return };
        let state = self.take_state();
        if connective == Connective::And && !negated {
            let mut list = self.scratch.list();
            list.extend_from_slice(rows);
            if let GroupState::Rows(before) = state {
                before.retain(&mut list);
                if let RowSet::Bitmap(Cow::Owned(words)) = before {
                    self.scratch.put_bitmap(words);
                }
            }
            return self.settle_few(list);
        }
        let mut words = self.own_bitmap(state);
        let how = combination(connective, negated);
        let uniform = RowSet::List(Cow::Borrowed(rows)).combine_into(how, &mut words, self.rows);
        self.settle_bitmap(words, uniform);
    }

    /// Converts a state to a bitmap that the executor owns.
    fn own_bitmap(&mut self, state: GroupState<'q>) -> Vec<u64> {
        if let GroupState::Rows(RowSet::Bitmap(Cow::Owned(words))) = state {
            return words;
        }
        let mut words = self.scratch.bitmap(self.rows);
        match state {
            GroupState::Rows(set) => set.write(&mut words, self.rows),
            GroupState::Few(list) => {
                words.fill(0);
                set_rows(&mut words, &list);
                self.scratch.put_list(list);
            }
        }
        words
    }

    /// Replaces the bitmap of a conjunction by the list of its rows that pass the member at instruction `at`. Does nothing and
    /// returns false if evaluating the member for all rows is cheaper, or if the state is not a bitmap.
    pub(super) fn filter(&mut self, at: usize, effort: Cost, members: usize) -> bool {
        if effort < (Cost::of_bitmap(self.rows) * 2).max(COST_OF_LISTING) {
            return false;
        }
        let Some(OpenGroup {
            connective: Connective::And,
            state: GroupState::Rows(RowSet::Bitmap(words)),
            pending: None,
            ..
        }) = self.groups.last()
        else {
            return false;
        };
        if are_likely_more(words, effort.pays(COST_OF_A_ROW * members)) {
            return false;
        }
        let mut list = self.scratch.list();
        list_bits(words, &mut list);
        if let GroupState::Rows(RowSet::Bitmap(Cow::Owned(words))) = self.take_state() {
            self.scratch.put_bitmap(words);
        }
        self.program.filter_rows(at, &mut list);
        self.settle_few(list);
        true
    }

    /// Retains the listed rows that the operand at instruction `at` selects. Does nothing and returns false if evaluating the
    /// operand for all rows is cheaper.
    pub(super) fn filter_few(&mut self, op: &Op<'q>, at: usize) -> bool {
        let bitmaps = Cost::of_bitmap(self.rows) * 2;
        let each = self.program.cost_of_testing(at);
        let effort = match op {
            Op::Open { effort, .. } | Op::Computed { effort, .. } => *effort,
            Op::Rows { .. } | Op::Close { .. } => Cost::NONE,
        };
        let Some(OpenGroup { state: GroupState::Few(list), .. }) = self.groups.last_mut() else {
            return false;
        };
        if each * list.len() > effort + bitmaps {
            return false;
        }
        let mut list = std::mem::take(list);
        self.program.filter_rows(at, &mut list);
        self.settle_few(list);
        true
    }

    /// Converts the list of rows of the innermost group to a bitmap.
    pub(super) fn list_to_bitmap(&mut self) {
        let state = self.take_state();
        let words = self.own_bitmap(state);
        self.settle_bitmap(words, None);
    }
}

/// Estimates from every 16th word whether more than `most` bits are set. Stops as soon as the estimate exceeds `most`.
fn are_likely_more(words: &[u64], most: usize) -> bool {
    const STEP: usize = 16;
    let mut left = most / STEP;
    words.iter().step_by(STEP).any(|word| match left.checked_sub(word.count_ones() as usize) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    })
}
