//! Finds a page of an order by several fields, or a page after a cursor. Combines the results of several searches, each sorted by
//! only one field.
//!
//! **Several fields.** The first search finds the page by the first field alone. Its rows fall into groups with equal values in
//! that field. A group that is completely on the page is sorted by the remaining fields, without another search. The first and the
//! last group may continue outside the page. For such a group, a search among all rows of the group finds the rows that belong on
//! the page. This search works in the same way, and begins with the second field.
//!
//! An example is `priority, -createdAt`. The page by `priority` reads one batch if enough cases have the first priority. A second
//! search finds the page by `-createdAt` among the cases with this priority.
//!
//! **Cursors.** Let `a, b` be the order, and let the cursor be a position with the value v in the field a, and w in the field b.
//! The page after this position begins with the cases that have a = v and come after w in the order by b. The rest of the page has
//! the cases that come after v in the order by a. A separate search finds each of the two parts. Each search begins at a position
//! in the order of one field. So zone maps and sorted rows exclude the rows before this position.
//!
//! All searches use the [strategies](super::strategy) for orders by one field. So the benchmark lines of these strategies apply.
#![expect(clippy::arithmetic_side_effects, reason = "rows of one view, at most 2^32")]

use std::cell::Cell;
use std::cmp::Ordering;

use super::bound_request::{BoundRequest, PlainSearch, Watch};
use super::strategy;
use crate::batch::{Batch, RowAddr};
use crate::catalog::Catalog;
use crate::engine::snapshot::View;
use crate::exec::{Collector, Need, Scan, Selected, Visit};
use crate::filter::Filter;
use crate::filter::order::{Position, SortKey, SortValue};
use crate::stop::{Pace, sort_window};
use crate::topk::{Key, SortBy, Ties};

/// The view that all searches of one request use, and the total work of these searches.
pub(super) struct KeyByKey<'s> {
    catalog: &'s Catalog,
    view: &'s View,
    watch: Watch<'s>,
    examined: Cell<u64>,
}

/// The number of rows before a page, and the maximum number of rows on it.
type PageRange = (usize, usize);

impl<'s> KeyByKey<'s> {
    pub(super) fn new(catalog: &'s Catalog, view: &'s View, watch: Watch<'s>) -> Self {
        Self { catalog, view, watch, examined: Cell::new(0) }
    }

    /// Returns the number of rows in the batches that were evaluated so far.
    pub(super) fn examined(&self) -> u64 {
        self.examined.get()
    }

    /// Returns the page of the rows that the filter selects, in the order of the keys.
    pub(super) fn page(&self, filter: &Filter, keys: &[SortKey], range: PageRange) -> Vec<RowAddr> {
        let Some((first, rest)) = keys.split_first() else {
            return self.rows(filter, None, SortBy::Place { after: None }, range);
        };
        let rows = self.rows(filter, Some(*first), self.by(*first, rest), range);
        self.ordered(filter, (*first, rest), rows, range)
    }

    /// Returns the first rows after a position, at most `limit` rows.
    pub(super) fn behind(
        &self,
        filter: &Filter,
        keys: &[SortKey],
        position: &Position,
        limit: usize,
    ) -> Vec<RowAddr> {
        let (values, id) = match position {
            Position::Inserted(place) => {
                return self.rows(filter, None, SortBy::Place { after: Some(*place) }, (0, limit));
            }
            Position::Sorted { values, id } => (values, id),
        };
        // For each key, a filter for the cases that have the values of the position in all earlier keys.
        let mut filters = vec![filter.clone()];
        for (key, value) in keys.iter().zip(values).take(keys.len().saturating_sub(1)) {
            let with_values = filters.last().map(|filter| filter.with_value(key.field, value));
            filters.extend(with_values);
        }
        let mut found: Vec<RowAddr> = Vec::new();
        for (at, (filter, value)) in filters.iter().zip(values).enumerate().rev() {
            let Some((first, rest)) = keys.get(at..).and_then(<[SortKey]>::split_first) else { continue };
            let id = rest.is_empty().then_some(&**id);
            // Cases without the field come last. So if the position has no value, no case has a later value. The searches by later
            // keys have found the other cases without a value.
            let is_last = *value == SortValue::Absent && id.is_none();
            let limit = limit.saturating_sub(found.len());
            if limit == 0 || is_last {
                continue;
            }
            let by = self.by(*first, rest).behind(value, id);
            let rows = self.rows(filter, Some(*first), by, (0, limit));
            found.extend(self.ordered(filter, (*first, rest), rows, (0, limit)));
        }
        found
    }

    /// Returns the order by a key. Without further keys, the ids decide between equal values.
    fn by(&self, key: SortKey, rest: &[SortKey]) -> SortBy<'s> {
        let ties = if rest.is_empty() { Ties::ById } else { Ties::Any };
        SortBy::new(Some(key), self.catalog.fields(), ties)
    }

    /// Runs a search that sorts by at most one field.
    fn rows(
        &self,
        filter: &Filter,
        order: Option<SortKey>,
        by: SortBy<'_>,
        (offset, limit): PageRange,
    ) -> Vec<RowAddr> {
        let (offset, limit) = (offset as u64, limit as u64);
        let search = PlainSearch { filter, order, by, offset, limit, count: false };
        let bound = BoundRequest::of_search(search, self.view, self.watch);
        let (rows, examined) = strategy::page_rows(&bound);
        self.examined.set(self.examined.get() + examined);
        rows
    }

    /// Sorts the rows of a page by all keys. `rows` is the page in the order of the first key, with rows of equal value in any
    /// order.
    fn ordered(
        &self,
        filter: &Filter,
        (first, rest): (SortKey, &[SortKey]),
        mut rows: Vec<RowAddr>,
        (offset, limit): PageRange,
    ) -> Vec<RowAddr> {
        if rest.is_empty() || rows.is_empty() {
            return rows;
        }
        let pace = Pace::new(self.watch.stop);
        let is_full = rows.len() >= limit;
        let all = rows.len();
        let mut start = 0;
        while let Some(value) = rows.get(start).map(|row| self.key(*row, first).value()) {
            let len = self.len_of_group(&rows, start, first);
            let end = start + len;
            let may_begin_earlier = start == 0 && offset > 0;
            let may_end_later = end == all && is_full;
            let Some(group) = rows.get_mut(start..end) else { break };
            start = end;
            if !(may_begin_earlier || may_end_later) {
                sort_window(group, 0..len, &pace, |a, b| self.compare(rest, *a, *b));
                continue;
            }
            let with_value = filter.with_value(first.field, &value);
            let before = match (may_begin_earlier, may_end_later) {
                (false, _) => 0,
                (true, false) => self.count(&with_value).saturating_sub(len),
                (true, true) => offset.saturating_sub(self.count_before(filter, first, &value)),
            };
            let of_page = self.page(&with_value, rest, (before, len));
            // The lengths differ only if the search was stopped.
            group.iter_mut().zip(of_page).for_each(|(row, found)| *row = found);
        }
        rows
    }

    /// Returns the number of rows from `start` on that have the same key as the row at `start`.
    fn len_of_group(&self, rows: &[RowAddr], start: usize, key: SortKey) -> usize {
        let rows = rows.get(start..).unwrap_or_default();
        let Some(own) = rows.first().map(|row| self.key(*row, key)) else { return 0 };
        rows.iter().take_while(|row| self.key(**row, key) == own).count()
    }

    fn key(&self, row: RowAddr, key: SortKey) -> Key<'s> {
        match (self.view.batch(row), self.catalog.get(key.field)) {
            (Some(batch), Some(field)) => Key::of_row(batch, usize::from(row.row), field, key.field),
            _ => Key::Absent,
        }
    }

    /// Compares two rows by keys, and then by their ids.
    fn compare(&self, keys: &[SortKey], a: RowAddr, b: RowAddr) -> Ordering {
        let by_key = |key: &SortKey| self.key(a, *key).compare(&self.key(b, *key), key.descending);
        let decided = keys.iter().map(by_key).find(|ordering| ordering.is_ne());
        decided.unwrap_or_else(|| self.view.id(a).cmp(self.view.id(b)))
    }

    /// Counts the rows that a filter selects.
    fn count(&self, filter: &Filter) -> usize {
        let by = SortBy::Place { after: None };
        let search = PlainSearch { filter, order: None, by, offset: 0, limit: 0, count: true };
        let bound = BoundRequest::of_search(search, self.view, self.watch);
        let (count, examined) = strategy::total(&bound);
        self.examined.set(self.examined.get() + examined);
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    /// Counts the selected rows whose value in the field of the key comes before `value`.
    fn count_before(&self, filter: &Filter, key: SortKey, value: &SortValue) -> usize {
        if let Some(before) = filter.with_values_before(key.field, value, key.descending) {
            return self.count(&before);
        }
        let Some(field) = self.catalog.get(key.field) else { return 0 };
        let by = SortBy::Place { after: None };
        let search = PlainSearch { filter, order: None, by, offset: 0, limit: 0, count: false };
        let bound = BoundRequest::of_search(search, self.view, self.watch);
        let scan = Scan::new(bound.query());
        let is_before = |batch: &Batch, row: usize| {
            let own = Key::of_row(batch, row, field, key.field);
            own.compare(&Key::of_value(value, field), key.descending).is_lt()
        };
        let mut count = CountIf { test: is_before, count: 0 };
        scan.run(bound.visits(), &mut count);
        self.examined.set(self.examined.get() + scan.examined());
        count.count
    }
}

/// A collector that counts the selected rows that pass a test.
struct CountIf<T> {
    test: T,
    count: usize,
}

impl<'q, T: Fn(&Batch, usize) -> bool> Collector<'q> for CountIf<T> {
    type Item = Visit<'q>;

    fn visit<'i>(item: &'i Visit<'q>) -> &'i Visit<'q> {
        item
    }

    fn need(&mut self, _: &Visit<'q>) -> Need {
        Need::Rows
    }

    fn collect(&mut self, visit: &Visit<'q>, selected: Selected<'q>) {
        let rows = selected.rows();
        self.count += rows.iter(visit.batch.rows()).filter(|row| (self.test)(visit.batch, *row)).count();
    }
}
