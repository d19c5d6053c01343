//! Running a program on all rows of a batch at once: the machine puts sets of rows together, group by group.
//!
//! The bits of a batch are one tile of 8 KiB: every set of rows that the indexes hold ready is read
//! once, from front to back, and combined into the tile of its group, which stays in the nearest
//! cache. Tiles of a sixteenth to a half of that were slower, in cache and out of it: the machine
//! fetches ahead along 8 KiB, and each piece costs a turn of the loop. Two sets are combined when it is known
//! what follows them: with a third, a further one of the group or what the group around has come to, they are combined
//! in one pass; if nothing follows and the rows are counted, bits are popped from the sets themselves, those of
//! up to two groups of two, and written nowhere. A conjunction whose rows have become few is a list of them,
//! each of which is asked for what follows.
//!
//! Out of cache, time goes into misses. So the processor is told of the next set of rows before one is
//! combined, of the first ones of the next batch before a batch is counted, and of all values that
//! rows are asked for before the first is.

mod listed;

use smallvec::SmallVec;

use super::kernels::{
    Combine, Outcome, Pair, Three, {self},
};
use super::plan::{Source, Step};
use super::program::{Op, Program};
use super::rows::clear_tail;
use super::source;
use crate::batch::MAX_ROWS;
use crate::column::LANES;
use crate::index::split;
use crate::operator::Connective;

/// The bits of a batch.
type Tile = [u64; MAX_ROWS / LANES];

/// Room for the rows of groups, kept from batch to batch: a tile and a list for each level of groups, and one more tile.
#[derive(Default)]
pub(super) struct Room {
    tiles: Vec<Box<Tile>>,
    lists: Vec<Vec<u16>>,
}

impl Room {
    /// The bits that a program left behind, of a batch of so many rows.
    pub(super) fn bits(&self, rows: usize) -> &[u64] {
        let tile = self.tiles.first().map_or(&[][..], |tile| &tile[..]);
        tile.get(..rows.div_ceil(LANES)).unwrap_or_default()
    }

    /// True when there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.tiles.is_empty()
    }

    /// Gives back what searches seldom need, so that a room can be kept: 16 KiB a level stay, 128 KiB in all.
    pub(super) fn shrink(&mut self) {
        const LEVELS: usize = 8;
        const LISTED: usize = 1 << 12;
        self.tiles.truncate(LEVELS);
        self.lists.truncate(LEVELS);
        self.lists.iter_mut().for_each(|list| {
            list.clear();
            list.shrink_to(LISTED);
        });
    }

    /// The rows that a program listed.
    pub(super) fn list(&self) -> &[u16] {
        self.lists.first().map_or(&[], |list| list)
    }
}

/// Combines all sets of rows of a batch of so many rows; what is owned lies in the first tile, what is listed in the
/// first list, ascending. With `count` the rows may be counted only, and a list is in any order.
pub(super) fn run<'q>(program: &Program<'q>, rows: usize, room: &mut Room, count: bool) -> State<'q> {
    let ops = &program.ops;
    let is_set = |op: &Op<'_>| !matches!(op, Op::Close { .. });
    let last = if count { ops.iter().rposition(is_set) } else { None };
    let mut machine = Machine { program, rows, room, levels: SmallVec::new(), last };
    machine.open(Connective::And, ops.len());
    let mut at: usize = 0;
    while let Some(op) = ops.get(at) {
        program.announce(at.saturating_add(1));
        at = machine.step(op, at);
    }
    machine.combine_pair();
    let state = machine.levels.pop().map_or(State::Zero, |level| level.state);
    match &state {
        State::Own => {
            if let Some(tile) = room.tiles.first_mut() {
                clear_tail(tile.get_mut(..rows.div_ceil(LANES)).unwrap_or_default(), rows);
            }
        }
        State::Listed if !count => {
            if let Some(list) = room.lists.first_mut() {
                list.sort_unstable();
            }
        }
        _ => {}
    }
    state
}

/// What the members of a group have come to.
pub(super) enum State<'p> {
    Zero,
    Full,
    Borrowed(&'p [u64]),
    /// Two sets that are still to be put together; when all is done, there are none.
    Pair(Combine, Side<'p>, Side<'p>),
    /// The bits in the tile of the level; those behind the last row mean nothing.
    Own,
    /// Some rows in the list of the level, each once; of a conjunction only.
    Listed,
    /// This many rows, of the outermost group.
    Counted(usize),
}

/// One of two sets.
#[derive(Clone, Copy)]
pub(super) enum Side<'p> {
    Borrowed(&'p [u64]),
    /// The bits in the tile of the level, for one side at most.
    Own,
}

impl<'p> Side<'p> {
    /// The bits, when those of the level are its own.
    fn words<'w>(self, own: &'w [u64]) -> &'w [u64]
    where
        'p: 'w,
    {
        match self {
            Self::Borrowed(words) => words,
            Self::Own => own,
        }
    }
}

/// A group that is open.
struct Level<'p> {
    connective: Connective,
    close: usize,
    state: State<'p>,
}

struct Machine<'m, 'q> {
    program: &'m Program<'q>,
    rows: usize,
    room: &'m mut Room,
    levels: SmallVec<[Level<'q>; 8]>,
    /// The last set of rows, behind which groups are but closed, when its rows may be counted with all before.
    last: Option<usize>,
}

impl<'q> Machine<'_, 'q> {
    fn open(&mut self, connective: Connective, close: usize) {
        let state = if connective == Connective::And { State::Full } else { State::Zero };
        self.levels.push(Level { connective, close, state });
        while self.room.tiles.len() <= self.levels.len() {
            self.room.tiles.push(Box::new([0; MAX_ROWS / LANES]));
        }
        while self.room.lists.len() <= self.levels.len() {
            self.room.lists.push(Vec::new());
        }
    }

    /// Does one instruction and gives the next.
    fn step(&mut self, op: &Op<'q>, at: usize) -> usize {
        if let Some(Level { state: State::Listed, .. }) = self.levels.last()
            && !matches!(op, Op::Close { .. } | Op::Constant(_))
        {
            if self.filter_listed(op, at) {
                return self.next(self.program.behind(at).saturating_sub(1));
            }
            self.spread();
        }
        match op {
            Op::Open { connective, close, effort, .. } => {
                if self.filter(at, *effort, close.saturating_sub(at)) {
                    return self.next(*close);
                }
                self.open(*connective, *close);
                return at.saturating_add(1);
            }
            Op::Close { negated } => {
                if self.join_pair(*negated) {
                    return self.next(at);
                }
                if *negated || !self.levels.iter().rev().nth(1).is_some_and(is_neutral) {
                    self.combine_pair();
                }
                let state = self.levels.pop().map_or(State::Zero, |level| level.state);
                match state {
                    State::Zero | State::Counted(_) => self.constant(*negated),
                    State::Full => self.constant(!*negated),
                    State::Borrowed(words) => self.words(words, *negated, at),
                    State::Pair(how, one, other) => {
                        self.swap_tiles();
                        self.pair((how, one, other), at);
                    }
                    State::Own => self.upper(*negated, at),
                    State::Listed => {
                        let inner = self.levels.len();
                        let list = self.room.lists.get_mut(inner).map(std::mem::take).unwrap_or_default();
                        self.list(&list, *negated, at);
                        if let Some(room) = self.room.lists.get_mut(inner) {
                            *room = list;
                        }
                    }
                }
            }
            Op::Words { words, negated } => {
                if let Some(count) = self.count(at, Some(words), *negated) {
                    return self.finish(count);
                }
                self.words(words, *negated, at);
            }
            Op::List { list, negated } => self.list(list, *negated, at),
            Op::Keys { keys, negated } => {
                let list: SmallVec<[u16; 64]> = keys.iter().map(|key| split(*key).1).collect();
                self.list(&list, *negated, at);
            }
            Op::Span { rows, negated } => {
                self.write_upper(|words| {
                    words.fill(0);
                    kernels::set_range(rows.clone(), words);
                });
                self.upper(*negated, at);
            }
            Op::Made { step, effort, negated } => {
                if !self.filter(at, *effort, 1) {
                    let (program, rows) = (self.program, self.rows);
                    if let Some(Step::Leaf { source, .. }) = program.plan.steps.get(*step) {
                        if let Some(count) = self.count_beside(at, source, *negated) {
                            return self.finish(count);
                        }
                        if let Some(list) = source::listed(source) {
                            self.list(list, *negated, at);
                            return self.next(at);
                        }
                        self.write_upper(|words| source::write(source, rows, words));
                    }
                    if let Some(count) = self.count(at, None, *negated) {
                        return self.finish(count);
                    }
                    self.upper(*negated, at);
                }
            }
            Op::Constant(value) => self.constant(*value),
        }
        self.next(at)
    }

    /// The instruction behind one that was done: where the group closes, when that settled it.
    fn next(&self, at: usize) -> usize {
        self.settled(at).unwrap_or(at.saturating_add(1))
    }

    /// Where the innermost group closes, behind an instruction, when its members so far have settled it.
    fn settled(&self, at: usize) -> Option<usize> {
        match self.levels.last() {
            Some(Level { connective: Connective::And, close, state: State::Zero })
            | Some(Level { connective: Connective::Or, close, state: State::Full })
                if *close > at =>
            {
                Some(*close)
            }
            _ => None,
        }
    }

    fn constant(&mut self, value: bool) {
        if let Some(level) = self.levels.last_mut() {
            match (level.connective, value) {
                (Connective::And, false) => level.state = State::Zero,
                (Connective::Or, true) => level.state = State::Full,
                _ => {}
            }
        }
    }

    /// The tile of the innermost group, and the one above it, which is free.
    fn tiles(&mut self) -> (&mut [u64], &mut [u64]) {
        let words = self.rows.div_ceil(LANES);
        let from = self.levels.len().saturating_sub(1);
        let (own, upper) = match self.room.tiles.get_mut(from..) {
            Some([own, upper, ..]) => (&mut own[..], &mut upper[..]),
            _ => (&mut [][..], &mut [][..]),
        };
        (own.get_mut(..words).unwrap_or_default(), upper.get_mut(..words).unwrap_or_default())
    }

    fn write_upper(&mut self, write: impl FnOnce(&mut [u64])) {
        write(self.tiles().1);
    }

    /// A set of rows that an index holds ready joins the group.
    fn words(&mut self, words: &'q [u64], negated: bool, at: usize) {
        let Some(level) = self.levels.last() else { return };
        let how = combination(level.connective, negated);
        let state = match level.state {
            State::Zero | State::Full if is_neutral(level) => {
                if !negated {
                    State::Borrowed(words)
                } else {
                    for (own, word) in self.tiles().0.iter_mut().zip(words) {
                        *own = !word;
                    }
                    State::Own
                }
            }
            State::Borrowed(before) => {
                return self.pair((how, Side::Borrowed(before), Side::Borrowed(words)), at);
            }
            State::Own => return self.pair((how, Side::Own, Side::Borrowed(words)), at),
            State::Pair(first, one, other) => {
                let (own, upper) = self.tiles();
                let [one, other] = [one, other].map(|side| side.words(own));
                let how = Three { first, turned: false, second: how };
                let outcome = kernels::combine_three(how, upper, [one, other, words]);
                self.swap_tiles();
                owned(outcome)
            }
            State::Zero | State::Full | State::Listed | State::Counted(_) => return,
        };
        self.settle(state);
    }

    /// Ends the innermost group, if that has come to two sets and the group around it to one: all three are put together.
    fn join_pair(&mut self, negated: bool) -> bool {
        let [.., around, inner] = self.levels.as_slice() else { return false };
        let State::Pair(first, one, other) = &inner.state else { return false };
        let before = match around.state {
            State::Borrowed(before) => Side::Borrowed(before),
            State::Own => Side::Own,
            _ => return false,
        };
        // Where the group stands for all other rows, these are what joins the group around it.
        let how = Three { first: *first, turned: negated, second: combination(around.connective, false) };
        let words = self.rows.div_ceil(LANES);
        let outer = self.levels.len().saturating_sub(2);
        let Some([own_before, own, free, ..]) = self.room.tiles.get_mut(outer..) else { return false };
        let [own_words, before_words] =
            [&*own, &*own_before].map(|tile| tile.get(..words).unwrap_or_default());
        let sets = [one.words(own_words), other.words(own_words), before.words(before_words)];
        let outcome = kernels::combine_three(how, free.get_mut(..words).unwrap_or_default(), sets);
        std::mem::swap(own_before, free);
        self.levels.pop();
        self.settle(owned(outcome));
        true
    }

    /// Puts the two sets of the innermost group together, if there are two.
    fn combine_pair(&mut self) {
        let Some(Level { state: State::Pair(how, one, other), .. }) = self.levels.last() else { return };
        let (how, one, other) = (*how, *one, *other);
        let own = self.tiles().0;
        let outcome = match (one, other) {
            (Side::Borrowed(one), Side::Borrowed(other)) => kernels::combine_into(how, own, one, other),
            (Side::Own, Side::Borrowed(other)) => kernels::combine(how, own, other),
            (Side::Borrowed(one), Side::Own) => {
                if matches!(how, Combine::AndNot | Combine::OrNot) {
                    own.iter_mut().for_each(|word| *word = !*word);
                }
                let any = matches!(how, Combine::Or | Combine::OrNot);
                kernels::combine(if any { Combine::Or } else { Combine::And }, own, one)
            }
            (Side::Own, Side::Own) => Outcome::Mixed,
        };
        self.settle(owned(outcome));
    }

    /// Makes the upper tile that of the innermost group.
    fn swap_tiles(&mut self) {
        let own = self.levels.len().saturating_sub(1);
        let upper = own.saturating_add(1);
        if upper < self.room.tiles.len() {
            self.room.tiles.swap(own, upper);
        }
    }

    /// The rows in the upper tile join the group.
    fn upper(&mut self, negated: bool, at: usize) {
        self.combine_pair();
        let Some(level) = self.levels.last() else { return };
        let how = combination(level.connective, negated);
        let state = match level.state {
            State::Zero | State::Full if is_neutral(level) => {
                self.swap_tiles();
                if negated {
                    self.tiles().0.iter_mut().for_each(|word| *word = !*word);
                }
                State::Own
            }
            State::Borrowed(before) => {
                self.swap_tiles();
                return self.pair((how, Side::Borrowed(before), Side::Own), at);
            }
            State::Own => {
                let (own, upper) = self.tiles();
                owned(kernels::combine(how, own, upper))
            }
            State::Zero | State::Full | State::Pair(..) | State::Listed | State::Counted(_) => return,
        };
        self.settle(state);
    }

    /// The innermost group has come to two sets, behind an instruction: they are put together, or stay apart to be put together with a
    /// third, or counted with the last set.
    fn pair(&mut self, (how, one, other): (Combine, Side<'q>, Side<'q>), at: usize) {
        self.settle(State::Pair(how, one, other));
        let is_any = self.levels.last().is_some_and(|level| level.connective == Connective::Or);
        let stays = match self.program.ops.get(at.saturating_add(1)) {
            Some(Op::Words { .. } | Op::Close { .. }) => true,
            // The last group, with which they are counted. A conjunction with few rows asks each of them for what follows.
            Some(Op::Open { close, .. }) => is_any && self.last.is_some_and(|last| last < *close),
            _ => false,
        };
        if !stays {
            self.combine_pair();
        }
    }

    /// How many rows there are, when the set of an instruction, that in the upper tile or this one, is the last and all
    /// that it meets on its way out are two sets, or two groups of two.
    fn count(&self, at: usize, words: Option<&[u64]>, negated: bool) -> Option<usize> {
        if self.last != Some(at) {
            return None;
        }
        let tile = |level: usize| {
            let tile = self.room.tiles.get(level)?;
            tile.get(..self.rows.div_ceil(LANES))
        };
        let side = |at: usize, side: Side<'q>| match side {
            Side::Borrowed(words) => Some(words),
            Side::Own => tile(at),
        };
        let set = |at: usize, level: &Level<'q>| match level.state {
            State::Borrowed(words) => Some(Pair::of(words)),
            State::Own => tile(at).map(Pair::of),
            State::Pair(how, one, other) => Some(Pair { how, one: side(at, one)?, other: side(at, other)? }),
            State::Zero | State::Full | State::Listed | State::Counted(_) => None,
        };
        let last = words.or_else(|| tile(self.levels.len()))?;
        let mut found = Found { pair: Pair::of(last), is_negated: negated, beside: None };
        for (at, level) in self.levels.iter().enumerate().rev() {
            if !is_neutral(level) {
                found = found.joined(level.connective, set(at, level)?)?;
            }
            found.is_negated ^= self.program.is_negated(level.close);
        }
        Some(found.count(self.rows))
    }

    /// How many rows there are, when the source of an instruction is the last set, and can be counted beside all that came before
    /// without the bits of a batch being made.
    fn count_beside(&self, at: usize, source: &Source<'q>, negated: bool) -> Option<usize> {
        let [Level { connective: Connective::And, state, .. }] = self.levels.as_slice() else { return None };
        if self.last != Some(at) || negated {
            return None;
        }
        let before = match state {
            State::Borrowed(words) => words,
            State::Own => self.room.tiles.first()?.get(..self.rows.div_ceil(LANES))?,
            _ => return None,
        };
        source::count_beside(source, before, self.rows)
    }

    /// Ends the program: so many rows were counted.
    fn finish(&mut self, count: usize) -> usize {
        self.levels.truncate(1);
        self.settle(State::Counted(count));
        self.program.ops.len()
    }

    fn settle(&mut self, state: State<'q>) {
        if let Some(level) = self.levels.last_mut() {
            level.state = state;
        }
    }
}

/// True when the members so far have decided nothing.
fn is_neutral(level: &Level<'_>) -> bool {
    matches!((level.connective, &level.state), (Connective::And, State::Full) | (Connective::Or, State::Zero))
}

fn combination(connective: Connective, negated: bool) -> Combine {
    match (connective, negated) {
        (Connective::And, false) => Combine::And,
        (Connective::And, true) => Combine::AndNot,
        (Connective::Or, false) => Combine::Or,
        (Connective::Or, true) => Combine::OrNot,
    }
}

fn owned<'p>(outcome: Outcome) -> State<'p> {
    match outcome {
        Outcome::Zero => State::Zero,
        Outcome::Full => State::Full,
        Outcome::Mixed => State::Own,
    }
}

/// What the last set of rows comes to on its way out of its groups.
struct Found<'t> {
    pair: Pair<'t>,
    /// Of what there is, all other rows are meant.
    is_negated: bool,
    /// What the pair, or all other rows, is combined with.
    beside: Option<(Combine, Pair<'t>)>,
}

impl<'t> Found<'t> {
    /// With what was there before in a group; `None` when that makes too many sets.
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
        if self.is_negated { rows.saturating_sub(count) } else { count }
    }
}

#[cfg(test)]
mod tests;
