//! Chooses rows with equal keys for a page, in the order of their ids.
#![expect(clippy::arithmetic_side_effects, reason = "rows of one batch; rows wanted, at most 2^33")]

use std::ops::Range;

use super::{Candidate, SLACK, SourceBatch, TopK, WORK_OF_A_STEP, keep_first};
use crate::batch::Batch;
use crate::column::ColumnLayout;
use crate::kernels::Combine;
use crate::rows::RowSet;
use crate::topk::key::Key;

/// The time to test one row in the order of ids, in multiples of the time to test one row in the stored order.
const STEP_IN_ORDER_OF_IDS: usize = 4;

impl<'b> TopK<'b, '_> {
    /// Appends selected rows without a value, as many as are still wanted.
    pub(super) fn absent(
        &self,
        source: &SourceBatch<'b, '_, '_>,
        rows: &RowSet<'_>,
        found: &mut Vec<Candidate<'b>>,
    ) {
        if found.len() >= self.wanted {
            return;
        }
        let present = match source.keys.column.map(|column| &column.layout) {
            Some(ColumnLayout::Single(present)) => present.set(),
            _ => RowSet::None,
        };
        let absent = RowSet::All.combined(Combine::AndNot, &present, source.batch.rows());
        self.closest(source, Key::Absent, [rows, &absent], found);
    }

    /// Appends rows that are in both of `sets`, which all have the key `key`, until `found` has the wanted number of rows. If ties
    /// are sorted by id, chooses the smallest ids that can be on the page. Otherwise, takes the first rows.
    pub(super) fn closest(
        &self,
        source: &SourceBatch<'b, '_, '_>,
        key: Key<'b>,
        sets: [&RowSet<'_>; 2],
        found: &mut Vec<Candidate<'b>>,
    ) {
        let need = self.wanted.saturating_sub(found.len());
        let [one, other] = sets;
        let batch = source.batch;
        let rows = one.iter_both(other, batch.rows()).filter_map(|row| u16::try_from(row).ok());
        let candidate = |row| source.candidate(key, row, self.descending);
        if self.by.leaves_ties() {
            found.extend(rows.take(need).map(candidate));
            return;
        }
        let on_page = self.id_codes_on_page(batch, &key);
        let count = one.count_both(other, batch.rows());
        // In the order of ids, about `need * rows / count` rows are tested, if the rows of the sets are spread evenly.
        if need.saturating_mul(batch.rows()) < (count / STEP_IN_ORDER_OF_IDS).saturating_mul(count)
            && let Some(by_id) = batch.rows_by_id()
        {
            let in_order = by_id.starting_at(on_page.start).take_while(|(code, _)| *code < on_page.end);
            let in_order = in_order.take_while(|_| !self.pace.spend(WORK_OF_A_STEP));
            let wanted = in_order.map(|(_, row)| row).filter(|row| {
                let row = usize::from(*row);
                one.contains(row) && other.contains(row)
            });
            found.extend(wanted.take(need).map(candidate));
            return;
        }
        let codes = source.ids(self.by);
        let mut end = on_page.end;
        let mut chosen: Vec<(usize, u16)> = Vec::new();
        for row in rows {
            let code = codes.map_or(on_page.start, |codes| codes.get(usize::from(row)));
            if !(on_page.start..end).contains(&code) {
                continue;
            }
            chosen.push((code, row));
            if chosen.len() >= need * 2 + SLACK {
                keep_first(&mut chosen, need, self.pace, Ord::cmp);
                // The list now has `need` rows. A row whose id is greater than the id of the last kept row cannot be on the page.
                end = chosen.last().map_or(0, |(code, _)| *code);
            }
        }
        keep_first(&mut chosen, need, self.pace, Ord::cmp);
        found.extend(chosen.into_iter().map(|(_, row)| candidate(row)));
    }

    /// Returns the codes of the ids that rows with the key `key` can have on the page.
    fn id_codes_on_page(&self, batch: &Batch, key: &Key<'_>) -> Range<usize> {
        let start = self.by.id_before(key).map_or(0, |id| batch.ids_up_to(id));
        let bound = self.bound.filter(|bound| bound.key == *key);
        start..bound.map_or(usize::MAX, |bound| batch.ids_below(bound.id()))
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
