//! Running a program on all rows of a batch at once.
//!
//! The bits of a batch are one tile of 8 KiB: every set of rows that the indexes hold ready is read
//! once, from front to back, and combined into the tile of its group, which stays in the nearest
//! cache. Tiles of a sixteenth to a half of that were slower, in cache and out of it: the machine
//! fetches ahead along 8 KiB, and each piece costs a turn of the loop. What is counted is popped
//! from the tile, or from the last two or three sets themselves, and written nowhere. A conjunction whose rows
//! have become few is a list of them, each of which is asked for what follows.
//!
//! Out of cache, time goes into misses. So the processor is told of the next set of rows before one is
//! combined, of the first ones of the next batch before a batch is counted, and of all values that
//! rows are asked for before the first is.

use std::borrow::Cow;
use std::cell::RefCell;

use smallvec::SmallVec;

use super::few;
use super::kernels::{self, Combine, Outcome};
use super::plan::{COST_OF_A_ROW, Estimate, Plan, Step};
use super::program::{Op, Program};
use super::query::Query;
use super::rows::{Rows, clear_tail, list_bits};
use super::source;
use super::trace::Work;
use crate::batch::{Batch, MAX_ROWS, split};
use crate::column::{LANES, Selection, set_rows};
use crate::operator::Connective;

/// The bits of a batch.
type Tile = [u64; MAX_ROWS / LANES];

/// Room for the rows of groups, kept from batch to batch.
#[derive(Default)]
pub(super) struct Tiles(RefCell<Room>);

/// A tile and a list for each level of groups, and one more tile.
#[derive(Default)]
struct Room {
    tiles: Vec<Box<Tile>>,
    lists: Vec<Vec<u16>>,
}

/// The live rows of a batch that a query selects, not yet gathered.
pub(crate) struct Selected<'q> {
    program: Program<'q>,
    query: &'q Query<'q>,
    rows: usize,
    likely: usize,
    effort: usize,
    exact: Option<usize>,
}

/// The live rows of a batch that a query selects.
pub(crate) fn select<'q>(
    query: &'q Query<'q>,
    number: usize,
    batch: &'q Batch,
    live: &'q Selection,
) -> Selected<'q> {
    match query.trace {
        None => plan(query, number, batch, live),
        Some(trace) => trace.plan(number, || plan(query, number, batch, live)),
    }
}

#[inline]
fn plan<'q>(query: &'q Query<'q>, number: usize, batch: &'q Batch, live: &'q Selection) -> Selected<'q> {
    let (plan, root) = match batch.few_rows() {
        Some(rows) => {
            rows.note_filter();
            let step = Step::asked(few::selected(query.predicate, rows), batch.rows());
            (Plan { steps: vec![step] }, 0)
        }
        None => (Plan::needed(query, number, batch), query.predicate.root()),
    };
    let program = Program::new(plan, root, live);
    let Estimate { rows: likely, is_exact, cost } = program.estimate(root);
    let likely = likely.min(batch.rows());
    let exact = (is_exact && matches!(live, Selection::All)).then_some(likely);
    // Besides what the sets cost, the rows are written once.
    let effort = cost.saturating_add(batch.rows() / LANES);
    Selected { program, query, rows: batch.rows(), likely, effort, exact }
}

/// The rows, live or not, that a step without children selects by itself.
pub(super) fn rows_of<'q>(query: &'q Query<'q>, step: Step<'q>, batch: &Batch) -> Rows<'q> {
    static ALL: Selection = Selection::All;
    let program = Program::new(Plan { steps: vec![step] }, 0, &ALL);
    let rows = batch.rows();
    Selected { program, query, rows, likely: rows, effort: rows, exact: None }.rows_now()
}

/// Up to so many rows of the first set are asked one by one for all that follows.
const FEW_ROWS: usize = 64;

impl<'q> Selected<'q> {
    /// How many rows there are; that they are none may be found out more cheaply than how many.
    pub(crate) fn count(&self) -> usize {
        if let Some(exact) = self.exact {
            self.note(|work| work.counts_known = work.counts_known.saturating_add(1));
            return exact;
        }
        match self.query.trace {
            None => self.count_now(),
            Some(trace) => trace.evaluate(self.evaluated(), || self.count_now()),
        }
    }

    fn count_now(&self) -> usize {
        if let Some(few) = self.few() {
            return few.len();
        }
        let mut room = self.query.tiles.0.borrow_mut();
        match self.run(&mut room, true) {
            State::Zero => 0,
            State::Full => self.rows,
            State::Borrowed(words) => kernels::count_ones(words),
            State::Own => room.tiles.first().map_or(0, |tile| kernels::count_ones(self.bits(tile))),
            State::Listed => room.lists.first().map_or(0, Vec::len),
            State::Counted(count) => count,
        }
    }

    /// Has the processor fetch what finding the rows begins with.
    pub(crate) fn announce(&self) {
        if self.exact.is_none() {
            self.program.announce(0);
            self.program.announce(1);
        }
    }

    /// What gathering the rows takes, in the time that a word of 64 rows takes.
    #[cfg(feature = "parallel")]
    pub(crate) fn effort(&self) -> usize {
        if self.exact.is_some() { 0 } else { self.effort }
    }

    /// True when it is known without a look at a row that there are none.
    pub(crate) fn is_known_none(&self) -> bool {
        self.exact == Some(0)
    }

    /// About how many rows there are.
    pub(crate) fn likely(&self) -> usize {
        self.likely
    }

    /// How many rows may be [asked](Self::retain) before gathering all is cheaper.
    pub(crate) fn questions(&self) -> usize {
        let each = self.members().map(|at| self.program.cost_of_asking(at)).sum::<usize>();
        self.effort.checked_div(each).unwrap_or(usize::MAX)
    }

    /// The instructions at which the members of the conjunction start.
    fn members(&self) -> impl Iterator<Item = usize> {
        let ops = self.program.ops.len();
        std::iter::successors(Some(0), |at| Some(self.program.behind(*at))).take_while(move |at| *at < ops)
    }

    /// Keeps those of some rows of the batch, in any order, that are among them.
    pub(crate) fn retain(&self, rows: &mut Vec<u16>) {
        self.note(|work| work.rows_asked = work.rows_asked.saturating_add(rows.len() as u64));
        self.members().for_each(|at| self.program.retain(at, rows));
    }

    /// Whether a row is one of them.
    pub(crate) fn contains(&self, row: usize) -> bool {
        self.note(|work| work.rows_asked = work.rows_asked.saturating_add(1));
        row < self.rows && self.program.passes(0, row)
    }

    /// The rows.
    pub(crate) fn rows(&self) -> Rows<'q> {
        match self.query.trace {
            None => self.rows_now(),
            Some(trace) => trace.evaluate(self.evaluated(), || self.rows_now()),
        }
    }

    /// Notes something that is being done, when somebody wants to know.
    #[inline]
    pub(crate) fn note(&self, note: impl FnOnce(&mut Work)) {
        if let Some(trace) = self.query.trace {
            trace.note(note);
        }
    }

    /// How many rows are considered when all that are selected are to be found.
    fn evaluated(&self) -> usize {
        match self.program.ops.first() {
            Some(Op::List { list, negated: false }) if list.len() <= FEW_ROWS => list.len(),
            Some(Op::Keys { keys, negated: false }) if keys.len() <= FEW_ROWS => keys.len(),
            _ => self.rows,
        }
    }

    fn rows_now(&self) -> Rows<'q> {
        if let [Op::List { list, negated: false }] = self.program.ops.as_slice() {
            return Rows::List(Cow::Borrowed(list));
        }
        if let Some(few) = self.few() {
            return Rows::from_list(few.into_vec());
        }
        let mut room = self.query.tiles.0.borrow_mut();
        match self.run(&mut room, false) {
            State::Zero | State::Counted(_) => Rows::None,
            State::Full => Rows::All,
            State::Borrowed(words) => Rows::Words(Cow::Borrowed(words)),
            State::Listed => Rows::from_list(room.lists.first().cloned().unwrap_or_default()),
            State::Own => {
                let words = room.tiles.first().map_or(&[][..], |tile| self.bits(tile));
                let count = kernels::count_ones(words);
                if count.saturating_mul(LANES) > self.rows {
                    return Rows::Words(Cow::Owned(words.to_vec()));
                }
                let mut list = Vec::with_capacity(count);
                let rows = Rows::Words(Cow::Borrowed(words));
                list.extend(rows.iter(self.rows).filter_map(|row| u16::try_from(row).ok()));
                Rows::from_list(list)
            }
        }
    }

    /// The rows, when the first set has so few that each is asked for what follows.
    fn few(&self) -> Option<SmallVec<[u16; FEW_ROWS]>> {
        let rest = |row: &u16| self.program.passes(1, usize::from(*row));
        match self.program.ops.first()? {
            Op::List { list, negated: false } if list.len() <= FEW_ROWS => {
                Some(list.iter().copied().filter(rest).collect())
            }
            Op::Keys { keys, negated: false } if keys.len() <= FEW_ROWS => {
                Some(keys.iter().map(|key| split(*key).1).filter(rest).collect())
            }
            _ => None,
        }
    }

    fn bits<'t>(&self, tile: &'t Tile) -> &'t [u64] {
        tile.get(..self.rows.div_ceil(LANES)).unwrap_or_default()
    }

    /// Combines all sets of rows; what is owned lies in the first tile, what is listed in the first list.
    fn run(&self, room: &mut Room, count: bool) -> State<'q> {
        let ops = &self.program.ops;
        let mut machine = Machine { selected: self, room, levels: SmallVec::new() };
        machine.open(Connective::And, ops.len());
        let mut at: usize = 0;
        while let Some(op) = ops.get(at) {
            self.program.announce(at.saturating_add(1));
            if count
                && let [Level { state: state @ (State::Borrowed(_) | State::Own), .. }] =
                    machine.levels.as_slice()
            {
                let own = machine.room.tiles.first().map_or(&[][..], |tile| self.bits(tile));
                let so_far = if let State::Borrowed(words) = state { words } else { own };
                match ops.get(at..).unwrap_or_default() {
                    [Op::Words { words, negated: false }] => {
                        return State::Counted(kernels::count_both(so_far, words));
                    }
                    [Op::Words { words, negated: false }, Op::Words { words: last, negated: false }] => {
                        return State::Counted(kernels::count_three(so_far, words, last));
                    }
                    _ => {}
                }
            }
            at = machine.step(op, at);
        }
        let state = machine.levels.pop().map_or(State::Zero, |level| level.state);
        if let (State::Own, Some(tile)) = (&state, machine.room.tiles.first_mut()) {
            let words = self.rows.div_ceil(LANES);
            clear_tail(tile.get_mut(..words).unwrap_or_default(), self.rows);
        }
        state
    }
}

/// What the members of a group have come to.
enum State<'p> {
    Zero,
    Full,
    Borrowed(&'p [u64]),
    /// The bits in the tile of the level; those behind the last row mean nothing.
    Own,
    /// Some rows in the list of the level, ascending, each once; of a conjunction only.
    Listed,
    /// This many rows, of the outermost group.
    Counted(usize),
}

/// A group that is open.
struct Level<'p> {
    connective: Connective,
    close: usize,
    state: State<'p>,
}

struct Machine<'m, 'q> {
    selected: &'m Selected<'q>,
    room: &'m mut Room,
    levels: SmallVec<[Level<'q>; 8]>,
}

impl<'q> Machine<'_, 'q> {
    fn open(&mut self, connective: Connective, close: usize) {
        let state = if connective == Connective::And { State::Full } else { State::Zero };
        self.levels.push(Level { connective, close, state });
        while self.room.tiles.len() <= self.levels.len() {
            self.room.tiles.push(Box::new([0; MAX_ROWS / LANES]));
            self.room.lists.push(Vec::new());
        }
    }

    /// Does one instruction and gives the next.
    fn step(&mut self, op: &Op<'q>, at: usize) -> usize {
        if let Some(Level { state: State::Listed, .. }) = self.levels.last()
            && !matches!(op, Op::Close { .. } | Op::Constant(_))
        {
            if self.filter_listed(op, at) {
                return self.next(self.selected.program.behind(at).saturating_sub(1));
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
                let state = self.levels.pop().map_or(State::Zero, |level| level.state);
                match state {
                    State::Zero | State::Counted(_) => self.constant(*negated),
                    State::Full => self.constant(!*negated),
                    State::Borrowed(words) => self.words(words, *negated),
                    State::Own => self.upper(*negated),
                    State::Listed => {
                        let inner = self.levels.len();
                        let list = self.room.lists.get_mut(inner).map(std::mem::take).unwrap_or_default();
                        self.list(&list, *negated);
                        if let Some(room) = self.room.lists.get_mut(inner) {
                            *room = list;
                        }
                    }
                }
            }
            Op::Words { words, negated } => self.words(words, *negated),
            Op::List { list, negated } => self.list(list, *negated),
            Op::Keys { keys, negated } => {
                let list: SmallVec<[u16; FEW_ROWS]> = keys.iter().map(|key| split(*key).1).collect();
                self.list(&list, *negated);
            }
            Op::Span { rows, negated } => {
                self.write_upper(|words| {
                    words.fill(0);
                    kernels::set_range(rows.clone(), words);
                });
                self.upper(*negated);
            }
            Op::Made { step, effort, negated } => {
                if !self.filter(at, *effort, 1) {
                    let selected = self.selected;
                    if let Some(Step::Leaf { source, .. }) = selected.program.plan.steps.get(*step) {
                        self.write_upper(|words| source::write(source, selected.rows, words));
                    }
                    self.upper(*negated);
                }
            }
            Op::Constant(value) => self.constant(*value),
        }
        self.next(at)
    }

    /// The instruction behind one that was done: where the group closes, when that settled it.
    fn next(&self, at: usize) -> usize {
        match self.levels.last() {
            Some(Level { connective: Connective::And, close, state: State::Zero })
            | Some(Level { connective: Connective::Or, close, state: State::Full })
                if *close > at =>
            {
                *close
            }
            _ => at.saturating_add(1),
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
        let words = self.selected.rows.div_ceil(LANES);
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
    fn words(&mut self, words: &'q [u64], negated: bool) {
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
            State::Borrowed(before) => owned(kernels::combine_into(how, self.tiles().0, before, words)),
            State::Own => owned(kernels::combine(how, self.tiles().0, words)),
            State::Zero | State::Full | State::Listed | State::Counted(_) => return,
        };
        self.settle(state);
    }

    /// The rows in the upper tile join the group.
    fn upper(&mut self, negated: bool) {
        let Some(level) = self.levels.last() else { return };
        let how = combination(level.connective, negated);
        let state = match level.state {
            State::Zero | State::Full if is_neutral(level) => {
                let from = self.levels.len().saturating_sub(1);
                if from.saturating_add(1) < self.room.tiles.len() {
                    self.room.tiles.swap(from, from.saturating_add(1));
                }
                if negated {
                    self.tiles().0.iter_mut().for_each(|word| *word = !*word);
                }
                State::Own
            }
            State::Borrowed(before) => {
                let (own, upper) = self.tiles();
                owned(kernels::combine_into(how, own, before, upper))
            }
            State::Own => {
                let (own, upper) = self.tiles();
                owned(kernels::combine(how, own, upper))
            }
            State::Zero | State::Full | State::Listed | State::Counted(_) => return,
        };
        self.settle(state);
    }

    /// Listed rows, ascending, join the group.
    fn list(&mut self, rows: &[u16], negated: bool) {
        let Some(level) = self.levels.last() else { return };
        if level.connective == Connective::And && !negated && is_neutral(level) {
            let is_any = self.own_list().is_some_and(|list| {
                list.clear();
                list.extend_from_slice(rows);
                !list.is_empty()
            });
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
        self.upper(negated);
    }

    fn settle(&mut self, state: State<'q>) {
        if let Some(level) = self.levels.last_mut() {
            level.state = state;
        }
    }

    /// The list of the innermost group.
    fn own_list(&mut self) -> Option<&mut Vec<u16>> {
        self.room.lists.get_mut(self.levels.len().saturating_sub(1))
    }

    /// Of a conjunction whose rows have become few, lists those that pass the member at an
    /// instruction, asked one by one; false when they are too many for that.
    fn filter(&mut self, at: usize, effort: usize, members: usize) -> bool {
        /// Listing the rows takes about this much.
        const EFFORT_OF_LISTING: usize = 256;
        let rows = self.selected.rows;
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
        let words = before.unwrap_or_else(|| self.selected.bits(tile));
        if likely_count(words).saturating_mul(members).saturating_mul(COST_OF_A_ROW) > effort {
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
    fn filter_listed(&mut self, op: &Op<'q>, at: usize) -> bool {
        let tiles = self.selected.rows.div_ceil(LANES).saturating_mul(2);
        let each = self.selected.program.cost_of_asking(at);
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
        let program = &self.selected.program;
        let Some(list) = self.own_list() else { return };
        program.retain(at, list);
        let is_any = !list.is_empty();
        self.settle(if is_any { State::Listed } else { State::Zero });
    }

    /// Sets the bits of listed rows in the tile of the group.
    fn spread(&mut self) {
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

/// About how many bits are set, judged by some of the words.
fn likely_count(words: &[u64]) -> usize {
    const STEP: usize = 16;
    let mut some = [0; MAX_ROWS / LANES / STEP];
    some.iter_mut().zip(words.iter().step_by(STEP)).for_each(|(some, word)| *some = *word);
    kernels::count_ones(&some).saturating_mul(STEP)
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
