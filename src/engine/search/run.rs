//! Runs a request on a view. A page that is sorted by several fields, or that begins after a cursor, is found [key by
//! key](super::key_by_key). Any other page is found by the [strategies](super::strategy) for orders by one field.

use super::bound_request::{BoundRequest, Watch};
use super::key_by_key::KeyByKey;
use super::strategy::{self, PageStrategy, SearchOutcome, TotalStrategy};
use crate::catalog::Catalog;
use crate::engine::snapshot::View;
use crate::error::Error;
use crate::filter::order::SortKey;
use crate::filter::{Cursor, SearchRequest};

/// A request that was checked against the catalogue of an engine, with its sort keys.
#[derive(Clone, Copy)]
pub(super) struct CheckedRequest<'s> {
    pub(super) catalog: &'s Catalog,
    pub(super) request: &'s SearchRequest,
    pub(super) keys: &'s [SortKey],
}

impl CheckedRequest<'_> {
    /// Returns true if the page needs several searches, or begins after a cursor.
    pub(super) fn is_key_by_key(&self) -> bool {
        self.keys.len() > 1 || self.request.after.is_some()
    }

    /// Returns the strategy for the total. `bound` is this request.
    pub(super) fn total_strategy(&self, bound: &BoundRequest<'_>) -> TotalStrategy {
        match TotalStrategy::of(bound) {
            // A page that needs several searches may visit a batch several times, so the total cannot be counted with the page.
            TotalStrategy::WithPage if self.is_key_by_key() => TotalStrategy::Scan,
            total => total,
        }
    }
}

/// Runs the search. If the request asks for a cursor, looks for one row more than the page has. If there is no such row, the page
/// is the last page.
///
/// # Errors
/// Returns an error if the search was stopped. Each stop is recorded, and this function checks the record before it returns. So a
/// returned result is complete.
pub(super) fn run(
    checked: CheckedRequest<'_>,
    view: &View,
    watch: Watch<'_>,
) -> Result<SearchOutcome, Error> {
    let CheckedRequest { catalog, request, keys } = checked;
    let look_ahead = u64::from(request.cursor && request.limit > 0);
    let limit = request.limit.saturating_add(look_ahead);
    let bound = BoundRequest::new(catalog, (request, keys), view, watch).with_limit(limit);
    // A short search may not call the stop check anywhere else.
    bound.check_stop()?;
    let mut outcome = match checked.is_key_by_key() && limit > 0 {
        true => key_by_key(checked, bound, (view, watch)),
        false => strategy::outcome(&bound),
    };
    if let Some(stop) = watch.stop {
        stop.verdict()?;
    }
    let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
    outcome.has_next = look_ahead > 0 && outcome.rows.len() > limit;
    outcome.rows.truncate(limit);
    Ok(outcome)
}

/// Runs a search with [`PageStrategy::KeyByKey`].
fn key_by_key(
    checked: CheckedRequest<'_>,
    bound: BoundRequest<'_>,
    (view, watch): (&View, Watch<'_>),
) -> SearchOutcome {
    let CheckedRequest { catalog, request, keys } = checked;
    let (offset, limit) = bound.page();
    // The searches for the page may visit a batch several times or not at all, so the total is counted separately.
    let total = strategy::outcome(&bound.with_limit(0));
    let search = KeyByKey::new(catalog, view, watch);
    let rows = match request.after.as_ref().map(Cursor::position) {
        Some(position) => search.behind(&request.filter, keys, position, limit),
        None => search.page(&request.filter, keys, (offset, limit)),
    };
    let examined = total.examined.saturating_add(search.examined());
    SearchOutcome { rows, page_by: PageStrategy::KeyByKey, examined, ..total }
}
