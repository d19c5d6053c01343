//! Chooses among rows with equal keys: the rows with the smallest ids.
#![expect(clippy::arithmetic_side_effects, reason = "rows of one batch; rows wanted, at most 2^33")]

use std::cmp::Ordering;
use std::ops::Range;

use crate::batch::Batch;
use crate::rows::RowSet;
use crate::stop::{PART, Pace, sort_window};

/// The time to test one row in the order of ids, in multiples of the time to test one row in the stored order.
const STEP_IN_ORDER_OF_IDS: usize = 4;
/// The minimum number of extra candidates. A list is reduced to its first k candidates when it has k candidates and at least this
/// number of extra ones. For a large k, more extra candidates are collected. There is one exception: [`TopK`](super::top_k::TopK)
/// computes its first bound without extra candidates, unless it has an estimate.
pub(super) const SLACK: usize = 64;
/// The estimated work to test one sorted row or to copy one candidate: 20 units of [`Pace::spend`], which take about 5 ns in total.
pub(super) const WORK_OF_A_STEP: usize = 20;

/// The rows of one batch that are in both of two sets. All of them have the same key.
pub(super) struct EqualKeys<'b, 's> {
    pub(super) batch: &'b Batch,
    pub(super) sets: [&'s RowSet<'s>; 2],
    /// The codes of the ids that rows of the page can have.
    pub(super) id_codes: Range<usize>,
}

impl EqualKeys<'_, '_> {
    /// Returns the `wanted` rows with the smallest ids, in any order. Chooses only among rows whose id code is in `id_codes`.
    pub(super) fn first(&self, wanted: usize, pace: &Pace<'_>) -> Vec<u16> {
        let Self { batch, sets: [one, other], id_codes } = self;
        let count = one.count_both(other, batch.rows());
        // In the order of ids, about `wanted * rows / count` rows are tested, if the rows of the sets are spread evenly.
        if wanted.saturating_mul(batch.rows()) < (count / STEP_IN_ORDER_OF_IDS).saturating_mul(count)
            && let Some(by_id) = batch.rows_by_id()
        {
            let in_order = by_id.starting_at(id_codes.start).take_while(|(code, _)| *code < id_codes.end);
            let in_order = in_order.take_while(|_| !pace.spend(WORK_OF_A_STEP)).map(|(_, row)| row);
            let both = |row: &u16| one.contains(usize::from(*row)) && other.contains(usize::from(*row));
            return in_order.filter(both).take(wanted).collect();
        }
        self.first_of_all(wanted, pace)
    }

    /// Returns the same rows as [`first`](Self::first). Reads the ids of all rows of the sets.
    fn first_of_all(&self, wanted: usize, pace: &Pace<'_>) -> Vec<u16> {
        let Self { batch, sets: [one, other], id_codes: Range { start, mut end } } = *self;
        let codes = batch.id_codes();
        let mut chosen: Vec<(usize, u16)> = Vec::new();
        let rows = one.iter_both(other, batch.rows()).take_while(|_| !pace.spend(WORK_OF_A_STEP));
        for row in rows {
            let code = codes.map_or(start, |codes| codes.get(row));
            let Ok(row) = u16::try_from(row) else { break };
            if !(start..end).contains(&code) {
                continue;
            }
            chosen.push((code, row));
            if chosen.len() >= wanted * 2 + SLACK {
                keep_first(&mut chosen, wanted, pace, Ord::cmp);
                // The list now has `wanted` rows. A row with a greater id than the last of them is not on the page.
                end = chosen.last().map_or(0, |(code, _)| *code);
            }
        }
        keep_first(&mut chosen, wanted, pace, Ord::cmp);
        chosen.into_iter().map(|(_, row)| row).collect()
    }
}

/// Keeps the first `wanted` items in the order of `compare`, and removes the others. If items were removed, the last item that is
/// kept is the last in this order. The items before it are in any order.
pub(super) fn keep_first<T: Copy>(
    items: &mut Vec<T>,
    wanted: usize,
    pace: &Pace<'_>,
    compare: impl Fn(&T, &T) -> Ordering,
) {
    if items.len() > wanted {
        if wanted > 0 && pace.can_stop() && items.len() > PART {
            sort_window(items, wanted - 1..wanted, pace, compare);
        } else if wanted > 0 {
            items.select_nth_unstable_by(wanted - 1, compare);
        }
        items.truncate(wanted);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Catalog, Engine, Filter, Order, SearchRequest};

    /// Reads whole lists page by page. Pages of 7 rows are found in the order of ids, and long pages in the stored order.
    #[test]
    fn pages_among_equal_keys_continue_after_a_cursor() {
        let engine = Engine::builder(Catalog::cases()).batch_rows(3000).build();
        let mut cases = Vec::new();
        for number in 0..10_000_u32 {
            // Every fifth id occurs twice, so that a batch has deleted rows with the ids of other rows.
            let id = format!("{:05}", if number % 5 == 4 { number - 1 } else { number } * 7919 % 10_007);
            let (amount, status) = (number % 3, ["open", "done"][number as usize % 2]);
            let amount = if amount == 0 {
                String::new()
            } else {
                format!(",\"totalAmountInDefaultCurrency\":{amount}")
            };
            cases.push(format!("{{\"id\":\"{id}\"{amount},\"caseReview\":{{\"status\":\"{status}\"}}}}\n"));
        }
        engine.upsert_many(cases.concat().as_bytes()).unwrap();
        let filter = Filter::compile_text(engine.catalog(), "status = open").unwrap();
        let all = SearchRequest::new(filter).with_limit(10_000);
        // No case has a `clientId` or `name`. `status` has postings.
        for order in
            ["-totalAmountInDefaultCurrency", "totalAmountInDefaultCurrency", "status", "-clientId", "-name"]
        {
            let order = Order::parse(engine.catalog(), order).unwrap();
            let all = all.clone().with_order(order.clone());
            let expected: Vec<String> = engine.search(&all).unwrap().ids().map(str::to_owned).collect();
            for limit in [7, 2500] {
                let mut request = all.clone().with_limit(limit).with_cursor(true);
                let mut found: Vec<String> = Vec::new();
                loop {
                    let page = engine.search(&request).unwrap();
                    found.extend(page.ids().map(str::to_owned));
                    let Some(next) = page.next().cloned() else { break };
                    request = request.with_after(Some(next));
                }
                assert_eq!(found, expected, "{order:?}, pages of {limit}");
            }
            let mut sorted = expected.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), expected.len());
        }
    }
}
