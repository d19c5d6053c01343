//! Rows of a group that have become few: a list, whose rows are asked one by one.

use super::super::kernels;
use super::super::plan::COST_OF_A_ROW;
use super::super::program::Op;
use super::super::rows::{has_bit, list_bits};
use super::{Level, Machine, State};
use crate::column::{LANES, set_rows};
use crate::operator::Connective;

impl<'q> Machine<'_, 'q> {
    /// Listed rows join the group.
    pub(super) fn list(&mut self, rows: &[u16], negated: bool, at: usize) {
        self.combine_pair();
        let Some(level) = self.levels.last() else { return };
        if level.connective == Connective::And && !negated {
            let from = self.levels.len().saturating_sub(1);
            let (Some(tile), Some(list)) = (self.room.tiles.get(from), self.room.lists.get_mut(from)) else {
                return;
            };
            list.clear();
            list.extend_from_slice(rows);
            match level.state {
                State::Borrowed(before) => kernels::retain(list, |row| has_bit(before, row)),
                State::Own => kernels::retain(list, |row| has_bit(&tile[..], row)),
                State::Full => {}
                State::Zero | State::Pair(..) | State::Listed | State::Counted(_) => return,
            }
            let is_any = !list.is_empty();
            return self.settle(if is_any { State::Listed } else { State::Zero });
        }
        if level.connective == Connective::Or && !negated && !matches!(level.state, State::Full) {
            let state = &level.state;
            match state {
                State::Borrowed(before) => {
                    let before = *before;
                    self.tiles().0.copy_from_slice(before);
                }
                State::Own => {}
                _ => self.tiles().0.fill(0),
            }
            set_rows(self.tiles().0, rows);
            return self.settle(State::Own);
        }
        self.write_upper(|words| {
            words.fill(0);
            set_rows(words, rows);
        });
        self.upper(negated, at);
    }

    /// The list of the innermost group.
    fn own_list(&mut self) -> Option<&mut Vec<u16>> {
        self.room.lists.get_mut(self.levels.len().saturating_sub(1))
    }

    /// Of a conjunction whose rows have become few, lists those that pass the member at an
    /// instruction, asked one by one; false when they are too many for that.
    pub(super) fn filter(&mut self, at: usize, effort: usize, members: usize) -> bool {
        /// Listing the rows takes about this much.
        const EFFORT_OF_LISTING: usize = 256;
        let rows = self.rows;
        let Some(Level { connective: Connective::And, state, .. }) = self.levels.last() else { return false };
        if effort < rows.div_ceil(LANES).saturating_mul(2).max(EFFORT_OF_LISTING) {
            return false;
        }
        let before = match state {
            State::Borrowed(before) => Some(*before),
            State::Own => None,
            _ => return false,
        };
        let from = self.levels.len().saturating_sub(1);
        let (Some(tile), Some(list)) = (self.room.tiles.get(from), self.room.lists.get_mut(from)) else {
            return false;
        };
        let words = before.unwrap_or_else(|| tile.get(..rows.div_ceil(LANES)).unwrap_or_default());
        if are_likely_more(words, effort.checked_div(members.saturating_mul(COST_OF_A_ROW)).unwrap_or(0)) {
            return false;
        }
        list_bits(words, list);
        // Bits behind the last row mean nothing.
        list.truncate(list.partition_point(|row| usize::from(*row) < rows));
        self.retain_passing(at);
        true
    }

    /// Of listed rows, keeps those that pass the member at an instruction, asked one by one; false
    /// when they are too many for that.
    pub(super) fn filter_listed(&mut self, op: &Op<'q>, at: usize) -> bool {
        let tiles = self.rows.div_ceil(LANES).saturating_mul(2);
        let each = self.program.cost_of_asking(at);
        let effort = match op {
            Op::Open { effort, .. } | Op::Made { effort, .. } => *effort,
            _ => 0,
        };
        let Some(list) = self.own_list() else { return false };
        if list.len().saturating_mul(each) > effort.saturating_add(tiles) {
            return false;
        }
        self.retain_passing(at);
        true
    }

    /// Of listed rows, keeps those that pass the member at an instruction.
    fn retain_passing(&mut self, at: usize) {
        let program = self.program;
        let Some(list) = self.own_list() else { return };
        program.retain(at, list);
        let is_any = !list.is_empty();
        self.settle(if is_any { State::Listed } else { State::Zero });
    }

    /// Sets the bits of listed rows in the tile of the group.
    pub(super) fn spread(&mut self) {
        let Some(list) = self.own_list().map(std::mem::take) else { return };
        let own = self.tiles().0;
        own.fill(0);
        set_rows(own, &list);
        if let Some(room) = self.own_list() {
            *room = list;
        }
        self.settle(State::Own);
    }
}

/// Whether more bits are likely set than so many, judged by some of the words, and by no more of them than it takes.
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
