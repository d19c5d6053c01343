//! The rows of a batch that a query selects: found, counted, or tested one by one.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "places among some rows, and counts of what one search does, in 64 bits; `Cost` saturates"
)]

use smallvec::SmallVec;

use super::cost::Cost;
use super::executor;
use super::plan::needed_steps;
use super::program::{Op, Program};
use super::query::Query;
use super::row_at_a_time;
use super::step::{Estimate, PlanStep};
use super::trace::Work;
use crate::batch::Batch;
use crate::index::{places_of_batch, split};
use crate::predicate::Leaf;
use crate::rows::{RowSet, Selection};

/// The live rows of a batch that a query selects, not yet gathered.
pub(crate) struct Selected<'q> {
    program: Program<'q>,
    query: &'q Query<'q>,
    rows: usize,
    likely: usize,
    effort: Cost,
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
            let passing = |_, leaf: &Leaf, tested| row_at_a_time::passing_of_batch(leaf, rows, tested);
            let all = row_at_a_time::all(rows.len());
            let selected = row_at_a_time::selected(query.predicate, all, passing);
            let step = PlanStep::tested(selected, batch.rows());
            Selected::of_program(query, Program::new(vec![step], 0, live), 0, batch, live)
        }
        None => {
            let (steps, root) = needed_steps(query, number, batch);
            Selected::of_program(query, Program::new(steps, root, live), root, batch, live)
        }
    }
}

/// The rows, live or not, that a step without children selects by itself.
pub(super) fn rows_of<'q>(query: &'q Query<'q>, step: PlanStep<'q>, batch: &Batch) -> RowSet<'q> {
    static ALL: Selection = Selection::All;
    let program = Program::new(vec![step], 0, &ALL);
    let rows = batch.rows();
    Selected { program, query, rows, likely: rows, effort: Cost::of_bitmap(rows), exact: None }.rows_now()
}

/// Up to this many rows of the first set are tested one by one for all that follows.
const FEW_ROWS: usize = 64;

impl<'q> Selected<'q> {
    /// Makes the selected rows of a program whose outcome is that of the step `root`.
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
        let effort = cost + Cost::of_bitmap(batch.rows());
        Self { program, query, rows: batch.rows(), likely, effort, exact }
    }

    /// Counts the rows.
    pub(crate) fn count(&self) -> usize {
        if let Some(exact) = self.exact {
            self.note(|work| work.counts_known += 1);
            return exact;
        }
        match self.query.trace {
            None => self.count_now(),
            Some(trace) => trace.evaluate(self.evaluated(), || self.count_now()),
        }
    }

    fn count_now(&self) -> usize {
        match self.few() {
            Some(few) => few.len(),
            None => executor::count(&self.program, self.rows, &mut self.query.scratch.borrow()),
        }
    }

    /// Counts the rows of left-out branches that are selected all the same; `number` is that of the batch.
    pub(crate) fn count_left_out(&self, number: usize) -> usize {
        let rows = self.query.left_out_rows();
        let listed = &rows[places_of_batch(rows, number)];
        if listed.is_empty() || self.is_known_none() {
            return 0;
        }
        let mut rows = listed.iter().map(|row| split(*row).1).collect();
        self.retain(&mut rows);
        rows.len()
    }

    /// Has the processor fetch what finding the rows begins with.
    pub(crate) fn prefetch_start(&self) {
        if self.exact.is_none() {
            self.program.prefetch_start(0);
            self.program.prefetch_start(1);
        }
    }

    /// Returns the cost of gathering the rows, in the time that a word of 64 rows takes.
    pub(crate) fn effort(&self) -> usize {
        if self.exact.is_some() { 0 } else { self.effort.get() }
    }

    /// True when it is known without reading a row that there are none.
    pub(crate) fn is_known_none(&self) -> bool {
        self.exact == Some(0)
    }

    /// Returns about how many rows there are.
    pub(crate) fn likely(&self) -> usize {
        self.likely
    }

    /// Returns how many rows may be [tested](Self::retain) before gathering all is cheaper.
    pub(crate) fn questions(&self) -> usize {
        let each = self.members().map(|at| self.program.cost_of_testing(at)).sum::<Cost>();
        self.effort.pays(each)
    }

    /// Returns the instructions at which the members of the conjunction start.
    fn members(&self) -> impl Iterator<Item = usize> {
        let ops = self.program.ops.len();
        std::iter::successors(Some(0), |at| Some(self.program.after(*at))).take_while(move |at| *at < ops)
    }

    /// Keeps those of some rows of the batch, in any order, that are selected.
    pub(crate) fn retain(&self, rows: &mut Vec<u16>) {
        self.note(|work| work.rows_asked += rows.len() as u64);
        self.members().for_each(|at| self.program.filter_rows(at, rows));
    }

    /// True when a row is selected.
    pub(crate) fn contains(&self, row: usize) -> bool {
        self.note(|work| work.rows_asked += 1);
        row < self.rows && self.program.passes(0, row)
    }

    /// Returns the rows.
    pub(crate) fn rows(&self) -> RowSet<'q> {
        match self.query.trace {
            None => self.rows_now(),
            Some(trace) => trace.evaluate(self.evaluated(), || self.rows_now()),
        }
    }

    /// Notes work, if the search is traced.
    #[inline]
    pub(crate) fn note(&self, note: impl FnOnce(&mut Work)) {
        if let Some(trace) = self.query.trace {
            trace.note(note);
        }
    }

    /// Returns how many rows are considered when all that are selected are to be found.
    fn evaluated(&self) -> usize {
        self.short_list().map_or(self.rows, <[u16]>::len)
    }

    fn rows_now(&self) -> RowSet<'q> {
        if let [Op::Rows { rows, negated: false }] = self.program.ops.as_slice() {
            return rows.clone();
        }
        match self.few() {
            Some(few) => RowSet::from_list(few.into_vec()),
            None => executor::run(&self.program, self.rows, &mut self.query.scratch.borrow()),
        }
    }

    /// Returns the rows, when the first set has so few that each is tested for what follows.
    fn few(&self) -> Option<SmallVec<[u16; FEW_ROWS]>> {
        let rest = |row: &u16| self.program.passes(1, usize::from(*row));
        Some(self.short_list()?.iter().copied().filter(rest).collect())
    }

    /// Returns the first set, if it is a list so short that its rows are tested one by one for all that follows.
    fn short_list(&self) -> Option<&[u16]> {
        match self.program.ops.first()? {
            Op::Rows { rows: RowSet::List(list), negated: false } if list.len() <= FEW_ROWS => Some(list),
            _ => None,
        }
    }
}
