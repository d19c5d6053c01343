//! Collects or counts the live rows of a batch that a query selects, or tests single rows. If the plan determines the exact number
//! of selected rows, and no row of the batch is deleted, this number is used as the count.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indexes into a list of rows, and counts of the work of one search, in 64 bits; `Cost` saturates"
)]

use smallvec::SmallVec;

use super::cost::{COST_OF_A_ROW, Cost};
use super::elements::passing_elements;
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

/// The live rows of a batch that a query selects, as a program that has not been executed yet.
pub(crate) struct Selected<'q> {
    program: Program<'q>,
    query: &'q Query<'q>,
    /// The number of rows of the batch.
    rows: usize,
    /// The estimated number of selected rows.
    likely: usize,
    /// The estimated cost of collecting the selected rows.
    effort: Cost,
    /// The number of selected rows, if it is known without executing the program.
    exact: Option<usize>,
}

/// Plans the query on batch `number`. The plan selects only rows in `live`.
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
            let passing = |_, leaf: &Leaf, tested| match query.pace.spend(row_at_a_time::WORK_OF_A_LEAF) {
                true => 0,
                false if leaf.test.elements().is_some() => passing_elements(leaf, batch, tested, &query.pace),
                false => row_at_a_time::passing_of_batch(leaf, rows, tested),
            };
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

/// Returns the rows that a step without children selects, deleted rows included.
pub(super) fn rows_of<'q>(query: &'q Query<'q>, step: PlanStep<'q>, batch: &Batch) -> RowSet<'q> {
    static ALL: Selection = Selection::All;
    let program = Program::new(vec![step], 0, &ALL);
    let rows = batch.rows();
    let program = program.paced(&query.pace);
    Selected { program, query, rows, likely: rows, effort: Cost::of_bitmap(rows), exact: None }.rows_now()
}

/// The maximum length of a list of rows for row-by-row evaluation. If the first set of a program is such a list, each of its rows
/// is tested by the rest of the program. For longer lists and for bitmaps, the executor combines the sets of the program, because
/// that costs less per row.
const FEW_ROWS: usize = 64;

impl<'q> Selected<'q> {
    /// Creates the selection of a program, whose result is the result of the step `root`.
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
        // The result is written once, in addition to the cost of the sets.
        let effort = cost + Cost::of_bitmap(batch.rows());
        let program = program.paced(&query.pace);
        Self { program, query, rows: batch.rows(), likely, effort, exact }
    }

    /// Returns the number of selected rows.
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

    /// Counts the selected rows that are also rows of left-out branches. `number` is the batch number. See
    /// [`Query::without_indexed_branches`].
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

    /// Prefetches the first two sets of the program.
    pub(crate) fn prefetch_start(&self) {
        if self.exact.is_none() {
            self.program.prefetch_start(0);
            self.program.prefetch_start(1);
        }
    }

    /// Returns the estimated cost of counting the rows. The unit is the time to process one 64-row word. Returns 0 if the number of
    /// rows is already known.
    pub(crate) fn effort(&self) -> usize {
        if self.exact.is_some() { 0 } else { self.effort.get() }
    }

    /// Returns true if the plan already shows that no row is selected.
    pub(crate) fn is_known_none(&self) -> bool {
        self.exact == Some(0)
    }

    /// Returns the estimated number of selected rows.
    pub(crate) fn likely(&self) -> usize {
        self.likely
    }

    /// Returns the number of rows that can be [tested](Self::retain) one by one for the same cost as collecting all selected rows.
    pub(crate) fn questions(&self) -> usize {
        let each = self.members().map(|at| self.program.cost_of_testing(at)).sum::<Cost>();
        self.effort.pays(each)
    }

    /// Returns the indexes of the instructions at which the members of the outermost conjunction start.
    fn members(&self) -> impl Iterator<Item = usize> {
        let ops = self.program.ops.len();
        std::iter::successors(Some(0), |at| Some(self.program.after(*at))).take_while(move |at| *at < ops)
    }

    /// Retains the rows of the list that are selected. The list may be in any order.
    pub(crate) fn retain(&self, rows: &mut Vec<u16>) {
        self.note(|work| work.rows_asked += rows.len() as u64);
        for at in self.members() {
            if self.program.spend(self.program.cost_of_testing(at) * rows.len()) {
                return rows.clear();
            }
            self.program.filter_rows(at, rows);
        }
    }

    /// Returns true if a row is selected.
    pub(crate) fn contains(&self, row: usize) -> bool {
        self.note(|work| work.rows_asked += 1);
        row < self.rows && self.program.passes(0, row)
    }

    /// Returns the selected rows as a set.
    pub(crate) fn rows(&self) -> RowSet<'q> {
        match self.query.trace {
            None => self.rows_now(),
            Some(trace) => trace.evaluate(self.evaluated(), || self.rows_now()),
        }
    }

    /// Records work, if the search is traced.
    #[inline]
    pub(crate) fn note(&self, note: impl FnOnce(&mut Work)) {
        if let Some(trace) = self.query.trace {
            trace.note(note);
        }
    }

    /// Returns the number of rows that are tested to find all selected rows.
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

    /// Returns the selected rows if the first set of the program is a [short list](Self::short_list). Tests each row of the list
    /// with the rest of the program.
    fn few(&self) -> Option<SmallVec<[u16; FEW_ROWS]>> {
        let each = COST_OF_A_ROW * self.program.ops.len();
        let rest = |row: &u16| !self.program.spend(each) && self.program.passes(1, usize::from(*row));
        Some(self.short_list()?.iter().copied().filter(rest).collect())
    }

    /// Returns the first set of the program, if this set is a list of at most [`FEW_ROWS`] rows.
    fn short_list(&self) -> Option<&[u16]> {
        match self.program.ops.first()? {
            Op::Rows { rows: RowSet::List(list), negated: false } if list.len() <= FEW_ROWS => Some(list),
            _ => None,
        }
    }
}
