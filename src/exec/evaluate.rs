//! The rows of a batch that a query selects: found, counted, or asked one by one.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use smallvec::SmallVec;

use super::machine::{
    Room, State, {self},
};
use super::plan::{Estimate, MadeBy, Plan, Step, rows_of_batch};
use super::program::{Op, Program};
use super::query::Query;
use super::rows::Rows;
use super::trace::Work;
use super::{few, kernels};
use crate::batch::Batch;
use crate::column::{LANES, Selection};
use crate::index::split;
use crate::predicate::Leaf;

thread_local! {
    /// The room of the last search of this thread, for the next one: clearing new memory takes as long as a small search.
    static ROOM: Cell<Room> = Cell::default();
}

/// Room for the rows of groups, kept from batch to batch.
pub(super) struct Tiles(RefCell<Room>);

impl Tiles {
    /// The room, for a query that runs instead of this one's.
    pub(super) fn hand_on(&self) -> Self {
        Self(RefCell::new(self.0.take()))
    }
}

impl Default for Tiles {
    fn default() -> Self {
        // A thread that is about to end may have given up its room.
        Self(RefCell::new(ROOM.try_with(Cell::take).unwrap_or_default()))
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        let mut room = std::mem::take(self.0.get_mut());
        // What was handed on is given back by whom it was handed to.
        if room.is_empty() {
            return;
        }
        room.shrink();
        ROOM.try_with(|kept| kept.set(room)).unwrap_or_default();
    }
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
    match batch.few_rows() {
        Some(rows) => {
            rows.note_filter();
            let passing = |_, leaf: &Leaf, asked| few::passing_of_batch(leaf, rows, asked);
            let selected = few::selected(query.predicate, few::all(rows.len()), passing);
            let step = Step::asked(selected, batch.rows());
            let program = Program::new(Plan::of_steps(vec![step]), 0, live);
            Selected::of_program(query, program, 0, batch, live)
        }
        None => plan_anew(query, MadeBy::needed(query, number, batch), number, batch, live),
    }
}

/// As [`select`]; `spent` are the rows of another batch that the query selects, which nobody needs any more.
#[inline]
pub(crate) fn select_after<'q>(
    query: &'q Query<'q>,
    spent: Option<Selected<'q>>,
    number: usize,
    batch: &'q Batch,
    live: &'q Selection,
) -> Selected<'q> {
    let Some(Selected { mut program, .. }) = spent else { return select(query, number, batch, live) };
    if query.trace.is_some() || batch.few_rows().is_some() {
        return select(query, number, batch, live);
    }
    let needed = MadeBy::needed(query, number, batch);
    if program.rebind(&needed, query, number, batch, live) {
        return Selected::of_program(query, program, needed.root, batch, live);
    }
    plan_anew(query, needed, number, batch, live)
}

fn plan_anew<'q>(
    query: &'q Query<'q>,
    needed: MadeBy,
    number: usize,
    batch: &'q Batch,
    live: &'q Selection,
) -> Selected<'q> {
    let root = needed.root;
    let program = Program::new(Plan::needed(needed, query, number, batch), root, live);
    Selected::of_program(query, program, root, batch, live)
}

/// The rows, live or not, that a step without children selects by itself.
pub(super) fn rows_of<'q>(query: &'q Query<'q>, step: Step<'q>, batch: &Batch) -> Rows<'q> {
    static ALL: Selection = Selection::All;
    let program = Program::new(Plan::of_steps(vec![step]), 0, &ALL);
    let rows = batch.rows();
    Selected { program, query, rows, likely: rows, effort: rows, exact: None }.rows_now()
}

/// Up to so many rows of the first set are asked one by one for all that follows.
const FEW_ROWS: usize = 64;

impl<'q> Selected<'q> {
    /// What a program selects whose outcome is that of the step `root`.
    fn of_program(
        query: &'q Query<'q>,
        program: Program<'q>,
        root: usize,
        batch: &Batch,
        live: &Selection,
    ) -> Self {
        let Estimate { rows: likely, is_exact, cost } = program.estimate(root);
        let likely = likely.min(batch.rows());
        let exact = (is_exact && matches!(live, Selection::All)).then_some(likely);
        // Besides what the sets cost, the rows are written once.
        let effort = cost.saturating_add(batch.rows() / LANES);
        Self { program, query, rows: batch.rows(), likely, effort, exact }
    }

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
        match machine::run(&self.program, self.rows, &mut room, true) {
            State::Zero | State::Pair(..) => 0,
            State::Full => self.rows,
            State::Borrowed(words) => kernels::count_ones(words),
            State::Own => kernels::count_ones(room.bits(self.rows)),
            State::Listed => room.list().len(),
            State::Counted(count) => count,
        }
    }

    /// How many of the rows that the query leaves out are selected all the same; `number` is that of the batch.
    pub(crate) fn count_left_out(&self, number: usize) -> usize {
        let listed = rows_of_batch(self.query.left_out_rows(), number);
        if listed.is_empty() || self.is_known_none() {
            return 0;
        }
        let mut rows = listed.iter().map(|row| split(*row).1).collect();
        self.retain(&mut rows);
        rows.len()
    }

    /// Has the processor fetch what finding the rows begins with.
    pub(crate) fn announce(&self) {
        if self.exact.is_none() {
            self.program.announce(0);
            self.program.announce(1);
        }
    }

    /// What gathering the rows takes, in the time that a word of 64 rows takes.
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
        match machine::run(&self.program, self.rows, &mut room, false) {
            State::Zero | State::Pair(..) | State::Counted(_) => Rows::None,
            State::Full => Rows::All,
            State::Borrowed(words) => Rows::Words(Cow::Borrowed(words)),
            State::Listed => Rows::from_list(room.list().to_vec()),
            State::Own => {
                let words = room.bits(self.rows);
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
}
