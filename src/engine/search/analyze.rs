//! Explains how requests are answered, and measures what they cost.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "batches of one view, those that are visited among them; a plan and a measurement for each node of the filter, which \
              has at least one"
)]

use std::time::Duration;

use super::bound_request::{BoundRequest, Watch};
use super::explanation::{Analysis, Answered, Batches, Explanation, Node, Page, Phase, Total};
use super::run::{CheckedRequest, run};
use super::strategy::{PageStrategy, SearchOutcome, TotalStrategy};
use crate::engine::snapshot::View;
use crate::engine::{Engine, Snapshot};
use crate::error::Error;
use crate::exec::{self, Clock, Explained, Measured, Trace, Work};
use crate::filter::SearchRequest;
use crate::stop::StopCheck;
use crate::topk::BatchWalk;

impl Engine {
    /// Explains how a request would be answered. Does not run the search.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter, SearchRequest};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a","tags":["vip"]},{"id":"b","tags":["cash"]}]"#)?;
    /// let filter = Filter::compile_text(engine.catalog(), "tags in (vip) and priority = medium")?;
    /// let explanation = engine.explain(&SearchRequest::new(filter))?;
    /// let tests: Vec<_> = explanation.nodes.iter().map(|node| (node.test.as_str(), node.expected)).collect();
    /// assert_eq!(tests, [("all of", 1), ("tags = vip", 1), ("priority = medium", 2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the same errors as [`search`](Self::search).
    ///
    /// # Complexity
    /// O(criteria × batches), like the planning of a search.
    pub fn explain(&self, request: &SearchRequest) -> Result<Explanation, Error> {
        self.explained(&self.current.load(), request, None)
    }

    /// Explains how a request is answered, and measures it: the cost of one search, and the cost of each criterion alone on every
    /// batch.
    ///
    /// `clock` returns the time since an arbitrary but fixed start.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine, Filter, SearchRequest};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"[{"id":"a","tags":["vip"]},{"id":"b","tags":["cash"]}]"#)?;
    /// let filter = Filter::compile_text(engine.catalog(), "tags in (vip) and priority = medium")?;
    /// let start = std::time::Instant::now();
    /// let explanation = engine.analyze(&SearchRequest::new(filter), &|| start.elapsed())?;
    /// assert_eq!(explanation.nodes[2].kept, Some(2));
    /// assert_eq!(explanation.analysis.unwrap().selected, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the same errors as [`search`](Self::search).
    ///
    /// # Complexity
    /// O(criteria × documents).
    pub fn analyze(
        &self,
        request: &SearchRequest,
        clock: &(dyn Fn() -> Duration + Sync),
    ) -> Result<Explanation, Error> {
        self.explained(&self.current.load(), request, Some(clock))
    }

    /// Explains how a request is answered in a snapshot. With a clock, also measures it.
    pub(crate) fn explained(
        &self,
        snapshot: &Snapshot,
        request: &SearchRequest,
        clock: Option<&Clock<'_>>,
    ) -> Result<Explanation, Error> {
        let keys = self.check(request)?;
        let checked = CheckedRequest { catalog: &self.catalog, request, keys: &keys };
        let view = snapshot.view(&self.catalog, self.keep);
        // The search runs first, so that it has the same conditions as any other search. Later steps cache look-ups that would make
        // it faster.
        let stop = request.stop.check();
        let searched = clock.map(|clock| searched(checked, view, clock, stop.as_ref()));
        let searched = searched.transpose()?;
        let watch = Watch { trace: None, stop: stop.as_ref() };
        let bound = BoundRequest::new(&self.catalog, (request, &keys), view, watch);
        bound.check_stop()?;
        let query = bound.query();
        let total_by = checked.total_strategy(&bound);
        let page_by = match checked.is_key_by_key() && request.limit > 0 {
            true => PageStrategy::KeyByKey,
            false => PageStrategy::candidates(&bound, total_by).next().unwrap_or(PageStrategy::Sorted),
        };

        let mut plans = vec![Explained::default(); request.filter.searched().nodes().len()];
        let mut asked: u64 = 0;
        let mut page = Page {
            by: page_by,
            order: request.order.as_ref().map(ToString::to_string),
            offset: request.offset,
            limit: request.limit,
            stops_early: total_by != TotalStrategy::WithPage,
            by_sorted_rows: 0,
            by_strings: 0,
            by_gathering: 0,
        };
        for visit in bound.visits() {
            bound.check_stop()?;
            asked += 1;
            exec::explain(query, visit.number, visit.batch, visit.live, &mut plans);
            let walk = match BatchWalk::new(visit.batch, bound.sort_by()) {
                BatchWalk::Sorted(_) => &mut page.by_sorted_rows,
                BatchWalk::Strings(_) => &mut page.by_strings,
                BatchWalk::Gather => &mut page.by_gathering,
            };
            if let PageStrategy::Seek | PageStrategy::Estimated | PageStrategy::Sorted = page_by {
                *walk += 1;
            }
        }
        let measure = |clock: &Clock<'_>| -> Result<_, Error> {
            let mut measured = vec![Measured::default(); plans.len()];
            for (number, slot) in view.numbered() {
                bound.check_stop()?;
                exec::measure(query, number, &slot.batch, &slot.live, clock, &mut measured);
            }
            Ok(measured)
        };
        let measured = clock.map(measure).transpose()?;

        let root = plans.len() - 1;
        let all = view.slots().count() as u64;
        let known_batches = plans[root].exact;
        let selected = measured.as_ref().map_or(0, |nodes| nodes[root].rows);
        let from_index = (total_by == TotalStrategy::Index).then(|| bound.index_total()).flatten();
        // If the search was stopped, plans or counts may be incomplete. Then this returns the error.
        bound.verdict()?;
        Ok(Explanation {
            documents: view.cases() as u64,
            batches: Batches { all, ruled_out: all - asked },
            nodes: nodes(request, &plans, measured.as_deref(), asked),
            page,
            total: Total {
                by: total_by,
                documents: from_index.map(|counted| counted.selected),
                known_batches,
            },
            analysis: searched.map(|(found, work, phases)| Analysis {
                selected,
                on_page: found.rows.len() as u64,
                page_by: found.page_by,
                work,
                phases,
            }),
        })
    }
}

/// Runs the search in the usual way, and records its work.
fn searched(
    checked: CheckedRequest<'_>,
    view: &View,
    clock: &Clock<'_>,
    stop: Option<&StopCheck<'_>>,
) -> Result<(SearchOutcome, Work, Vec<Phase>), Error> {
    let trace = Trace::new(clock);
    let start = trace.now();
    let watch = Watch { trace: Some(&trace), stop };
    let found = run(checked, view, watch)?;
    let end = trace.now();
    let (work, planning, evaluating) = trace.finish();
    let rest = end.saturating_sub(start).saturating_sub(planning).saturating_sub(evaluating);
    let phase = |name, time| Phase { name, time };
    Ok((found, work, vec![phase("plan", planning), phase("evaluate", evaluating), phase("page", rest)]))
}

/// Returns the nodes of the explanation, in the order of evaluation.
fn nodes(
    request: &SearchRequest,
    plans: &[Explained],
    measured: Option<&[Measured]>,
    asked: u64,
) -> Vec<Node> {
    let lines = request.filter.lines(|parent, children| {
        children.sort_by_key(|child| plans[parent].places.get(child).copied());
    });
    let lines = lines.into_iter().map(|line| {
        let plan = &plans[line.node];
        let measured = measured.map(|measured| &measured[line.node]);
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
