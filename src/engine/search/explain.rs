//! How a request is answered, and what that cost: what [`Engine::explain`] and [`Engine::analyze`] tell.

mod text;

use std::time::Duration;

use serde::{Serialize, Serializer};

pub use super::strategy::{PageStrategy, TotalStrategy};
pub use crate::exec::{Means, Work};

use super::strategy::{Search, query, ready_total};
use crate::batch::RowAddr;
use crate::engine::Engine;
use crate::engine::snapshot::View;
use crate::error::Error;
use crate::exec::{
    Explained, Measured, Trace, {self},
};
use crate::filter::Request;
use crate::filter::order::SortKey;
use crate::topk::Walk;

/// How a request is answered, and after [`Engine::analyze`] what that cost.
///
/// It is made by the planner that searches use, on the cases as they are now. Printed, it is a tree to read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// How many cases there are.
    pub cases: u64,
    /// The batches that they lie in.
    pub batches: Batches,
    /// The criteria of the normal form, each before those it is made of; those come in the order in which
    /// most batches evaluate them.
    pub nodes: Vec<Node>,
    /// How the page is found.
    pub page: Page,
    /// How the number of all selected cases is found.
    pub total: Total,
    /// What a search did and took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Analysis>,
}

/// The batches of an engine, as one request sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Batches {
    /// All that there are.
    pub all: u64,
    /// Those that indexes over all batches rule out, and that are not asked. Counting [beside](TotalStrategy::Beside) what is
    /// listed may ask fewer.
    pub ruled_out: u64,
}

/// A criterion of the normal form.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Node {
    /// How many criteria it lies in.
    pub depth: usize,
    /// What it demands: `all of`, `any of`, `every case`, `no case`, or a test in the text syntax.
    pub test: String,
    /// What answers it in the batches that are not ruled out.
    pub answered: Vec<Answered>,
    /// How many rows of those the planner expects it to select, replaced and deleted cases counted too.
    pub expected: u64,
    /// True when that is known, not guessed.
    pub exact: bool,
    /// What the planner expects evaluating it to take; one is about what combining 64 rows takes.
    pub work: u64,
    /// How many cases it selects by itself, in all batches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
    /// What it takes by itself, in all batches: a test to be planned and answered, a branch to combine what is below it.
    #[serde(rename = "time_us", serialize_with = "microseconds", skip_serializing_if = "Option::is_none")]
    pub time: Option<Duration>,
}

/// By what a criterion is answered, in how many batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Answered {
    /// What answers it.
    pub by: Means,
    /// Whether it is settled so for every row, or for none, and nothing is left to evaluate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settles: Option<bool>,
    /// In how many batches.
    pub batches: u64,
}

/// How the page of a request is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Page {
    /// Which way.
    pub by: PageStrategy,
    /// The field that cases are sorted by, `-` in front for descending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// How many selected cases are passed over.
    pub offset: u64,
    /// How many are wanted.
    pub limit: u64,
    /// Whether the search ends when the page is full; otherwise every batch is asked.
    pub stops_early: bool,
    /// Batches whose rows can be met in the order of their sorted values.
    pub by_sorted_rows: u64,
    /// Batches whose rows can be met string by string.
    pub by_strings: u64,
    /// Batches whose selected rows have to be gathered and sorted.
    pub by_gathering: u64,
}

/// How the number of all selected cases is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Total {
    /// Which way.
    #[serde(flatten)]
    pub by: TotalStrategy,
    /// Batches whose indexes know how many they have, so that no row of them need be evaluated for it.
    pub known_batches: u64,
}

/// What one search did and took.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Analysis {
    /// How many cases are selected.
    pub selected: u64,
    /// How many are on the page.
    pub on_page: u64,
    /// What was done.
    pub work: Work,
    /// What it took, in order; whoever compiled the filter may put that in front.
    pub phases: Vec<Phase>,
}

/// A part of the time that a request takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// `plan`: looking the filter up in indexes and ordering its evaluation. `evaluate`: finding the rows of
    /// whole batches. `page`: everything else, such as asking rows one by one in the order of the page.
    pub name: &'static str,
    /// How long.
    #[serde(rename = "time_us", serialize_with = "microseconds")]
    pub time: Duration,
}

fn microseconds<'t, S: Serializer>(
    time: impl Into<Option<&'t Duration>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    // Nanoseconds are as fine as clocks are.
    time.into().map(|time| time.as_nanos() as f64 / 1e3).serialize(serializer)
}

impl Engine {
    /// How a request is answered; nothing is searched.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter, Request};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a","tags":["vip"]},{"id":"b","tags":["cash"]}]"#)?;
    /// let filter = Filter::compile_text(engine.catalog(), "tags in (vip) and priority = medium")?;
    /// let explanation = engine.explain(&Request::new(filter))?;
    /// let tests: Vec<_> = explanation.nodes.iter().map(|node| (node.test.as_str(), node.expected)).collect();
    /// assert_eq!(tests, [("all of", 1), ("tags = vip", 1), ("priority = medium", 2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`search`](Self::search).
    ///
    /// # Complexity
    /// As planning a search: criteria times batches.
    pub fn explain(&self, request: &Request) -> Result<Explanation, Error> {
        self.explained(request, None)
    }

    /// How a request is answered, and what that cost: one search, and each criterion by itself on every batch.
    ///
    /// `clock` gives the time since any fixed moment.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter, Request};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a","tags":["vip"]},{"id":"b","tags":["cash"]}]"#)?;
    /// let filter = Filter::compile_text(engine.catalog(), "tags in (vip) and priority = medium")?;
    /// let start = std::time::Instant::now();
    /// let explanation = engine.analyze(&Request::new(filter), &|| start.elapsed())?;
    /// assert_eq!(explanation.nodes[2].kept, Some(2));
    /// assert_eq!(explanation.analysis.unwrap().selected, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`search`](Self::search).
    ///
    /// # Complexity
    /// Criteria times cases.
    pub fn analyze(&self, request: &Request, clock: &dyn Fn() -> Duration) -> Result<Explanation, Error> {
        self.explained(request, Some(clock))
    }

    fn explained(
        &self,
        request: &Request,
        clock: Option<&dyn Fn() -> Duration>,
    ) -> Result<Explanation, Error> {
        let order = self.check(request)?;
        let snapshot = self.current.load();
        let view = snapshot.view(&self.catalog, self.keep);
        // First, so that it meets the cases as any other search does.
        let searched = clock.map(|clock| self.searched((request, order), view, clock));
        let query = query(request, view);
        let search = Search::new(&self.catalog, (request, order), view, &query);

        let mut plans = vec![Explained::default(); request.filter.size()];
        let mut asked: u64 = 0;
        let mut page = self.page(request, &search);
        for visit in search.visits() {
            asked = asked.saturating_add(1);
            exec::explain(&query, visit.number, visit.batch, visit.live, &mut plans);
            let walk = match Walk::new(visit.batch, search.sort_by()) {
                Walk::Sorted(_) => &mut page.by_sorted_rows,
                Walk::Strings(_) => &mut page.by_strings,
                Walk::Gather => &mut page.by_gathering,
            };
            if page.by == PageStrategy::Sorted {
                *walk = walk.saturating_add(1);
            }
        }
        let measured = clock.map(|clock| {
            let mut measured = vec![Measured::default(); plans.len()];
            for (number, slot) in view.numbered() {
                exec::measure(&query, number, &slot.batch, &slot.live, clock, &mut measured);
            }
            measured
        });

        let root = plans.len().saturating_sub(1);
        let all = view.slots().count() as u64;
        let known_batches = plans.get(root).map_or(0, |plan| plan.exact);
        let selected = measured.as_ref().and_then(|nodes| nodes.get(root)).map_or(0, |node| node.rows);
        Ok(Explanation {
            cases: view.cases() as u64,
            batches: Batches { all, ruled_out: all.saturating_sub(asked) },
            nodes: nodes(request, &plans, measured.as_deref(), asked),
            page,
            total: Total { by: search.strategy().total, known_batches },
            analysis: searched.map(|(rows, work, phases)| Analysis {
                selected,
                on_page: rows.len() as u64,
                work,
                phases,
            }),
        })
    }

    /// A search with notes taken of it.
    fn searched(
        &self,
        (request, order): (&Request, Option<SortKey>),
        view: &View,
        clock: &dyn Fn() -> Duration,
    ) -> (Vec<RowAddr>, Work, Vec<Phase>) {
        let trace = Trace::new(clock);
        let start = trace.now();
        let (rows, looked_up) = if ready_total(request, view).is_some() {
            (Vec::new(), trace.now())
        } else {
            let query = query(request, view).traced(&trace);
            let search = Search::new(&self.catalog, (request, order), view, &query);
            let strategy = search.strategy();
            let looked_up = trace.now();
            (search.run(&strategy).0, looked_up)
        };
        let end = trace.now();
        let (work, planning, evaluating) = trace.finish();
        let rest = end.saturating_sub(looked_up).saturating_sub(planning).saturating_sub(evaluating);
        let plan = looked_up.saturating_sub(start).saturating_add(planning);
        let phase = |name, time| Phase { name, time };
        (rows, work, vec![phase("plan", plan), phase("evaluate", evaluating), phase("page", rest)])
    }

    fn page(&self, request: &Request, search: &Search<'_>) -> Page {
        let strategy = search.strategy();
        let order = request.order.as_ref().map(ToString::to_string);
        Page {
            by: strategy.page,
            order,
            offset: request.offset,
            limit: request.limit,
            stops_early: strategy.total != TotalStrategy::WithPage,
            by_sorted_rows: 0,
            by_strings: 0,
            by_gathering: 0,
        }
    }
}

/// The nodes in the order in which they are evaluated.
fn nodes(request: &Request, plans: &[Explained], measured: Option<&[Measured]>, asked: u64) -> Vec<Node> {
    let lines = request.filter.lines(|parent, children| {
        if let Some(plan) = plans.get(parent) {
            children.sort_by_key(|child| plan.places.get(child).copied());
        }
    });
    let none = Explained::default();
    let lines = lines.into_iter().map(|line| {
        let plan = plans.get(line.node).unwrap_or(&none);
        let measured = measured.and_then(|measured| measured.get(line.node));
        let answered = plan.by.iter().map(|((by, settles), batches)| Answered {
            by: *by,
            settles: *settles,
            batches: *batches,
        });
        Node {
            depth: line.depth,
            test: line.text,
            answered: answered.collect(),
            expected: plan.rows,
            exact: plan.exact == asked,
            work: plan.cost,
            kept: measured.map(|measured| measured.rows),
            time: measured.map(|measured| measured.time),
        }
    });
    lines.collect()
}
