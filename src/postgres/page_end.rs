//! Computes the cursor for the next page: detects whether more documents follow the page, and takes the position of its last
//! document.

use std::ops::ControlFlow;

use crate::batch::Row;
use crate::catalog::Catalog;
use crate::error::Error;
use crate::filter::order::{Position, SortKey, SortValue};
use crate::filter::{Cursor, SearchRequest};
use crate::ingest::read_case;
use crate::limits::Limits;
use crate::value::Value;

/// A row of a page.
#[derive(Clone, Copy)]
pub(super) struct PageRow<'r> {
    pub(super) id: &'r str,
    pub(super) document: &'r str,
    /// The insertion order of the document, if the statement returns it.
    pub(super) place: Option<i64>,
}

/// The total and the cursor of an answer.
#[derive(Default)]
pub(crate) struct Ending {
    /// The total, if the request asks for it.
    pub(crate) total: Option<u64>,
    /// The cursor for the next page, if the request asks for it and the page is not the last page.
    pub(crate) next: Option<Cursor>,
}

/// The state that receives the rows of a page, if the request asks for a cursor. The statement returns one row more than the page
/// has.
pub(super) struct PageEnd {
    limit: u64,
    met: u64,
    /// The last row of the page: its document and its insertion order.
    last: Option<(String, Option<i64>)>,
    has_next: bool,
}

impl PageEnd {
    /// Returns the request to run, and the state that receives its rows. The limit of the returned request is greater by 1: an
    /// extra row shows that there is a next page. Returns `None` if `request` does not ask for a cursor, or if its limit is 0.
    pub(super) fn of(request: &SearchRequest) -> Option<(SearchRequest, Self)> {
        let limit = request.limit;
        if !request.cursor || limit == 0 {
            return None;
        }
        let longer = request.clone().with_limit(limit.saturating_add(1));
        Some((longer, Self { limit, met: 0, last: None, has_next: false }))
    }

    /// Passes a row to `take` if it is on the page.
    pub(super) fn meet(
        &mut self,
        row: PageRow<'_>,
        take: &mut impl FnMut(&str, &str) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.met = self.met.saturating_add(1);
        if self.met > self.limit {
            self.has_next = true;
            return ControlFlow::Break(());
        }
        if self.met == self.limit {
            self.last = Some((row.document.to_owned(), row.place));
        }
        take(row.id, row.document)
    }

    /// Returns the cursor for the next page. Returns `None` if this page is the last page.
    ///
    /// # Errors
    /// Returns an error if the cursor would be too long, or if the document is not valid.
    pub(super) fn cursor(self, catalog: &Catalog, keys: &[SortKey]) -> Result<Option<Cursor>, Error> {
        let Some((document, place)) = self.last.filter(|_| self.has_next) else { return Ok(None) };
        let position = if keys.is_empty() {
            Position::Inserted(place.and_then(|place| u64::try_from(place).ok()).unwrap_or_default())
        } else {
            let mut row = Row::default();
            read_case(&document, catalog, &Limits::default().for_stored_documents(), &mut row)?;
            let value = |key: &SortKey| row.values(key.field).next().map_or(SortValue::Absent, sort_value);
            Position::Sorted { values: keys.iter().map(value).collect(), id: row.id().into() }
        };
        Cursor::new(catalog, keys, position).map(Some)
    }
}

fn sort_value(value: &Value<'_>) -> SortValue {
    match value {
        Value::String(text) => SortValue::Text((&**text).into()),
        Value::Boolean(boolean) => SortValue::Boolean(*boolean),
        ordered => ordered.ordinal().map_or(SortValue::Absent, |(_, ordinal)| SortValue::Ordinal(ordinal)),
    }
}
