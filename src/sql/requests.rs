//! Compiles a request to a statement: `Table::page` and `Table::count`.

use super::condition::write_predicate;
use super::dialect::{Dialect, separated, table_name};
use super::statement::Statement;
#[cfg(feature = "postgres")]
use super::table::PLACE;
use super::table::{DOCUMENT, Table};
use crate::error::Error;
use crate::filter::Filter;
use crate::filter::SearchRequest;
use crate::filter::order::{Position, SortKey};

/// The word that stands for the table in error messages about mismatched catalogues.
const TABLE: &str = "table";

/// Methods that compile requests.
impl Table {
    /// Compiles the statement that returns the `id` and the text of each document on a page.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, Order, SearchRequest, sql::{Dialect, Table}};
    /// let catalog = Catalog::cases();
    /// let request = SearchRequest::new(Filter::all(&catalog)).with_order(Order::parse(&catalog, "-createdAt")?).with_limit(20);
    /// assert_eq!(
    ///     Table::new(&catalog).page(Dialect::DuckDb, &request)?.to_sql(),
    ///     r#"SELECT "id", "document" FROM "cases" ORDER BY "created_at" DESC NULLS LAST, "id" LIMIT 20"#
    /// );
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    ///
    /// If the request has a [cursor](SearchRequest::with_after), the statement also tests that documents come after its position.
    /// This method does not check the limit of the request, and returns no cursor.
    ///
    /// # Errors
    /// Returns [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch) if the catalogue of the filter is not
    /// [within](crate::Catalog::is_within) the catalogue of the table, or hides a sort field. This is a bug in the host program.
    /// Returns [`ErrorKind::NotInSql`](crate::ErrorKind::NotInSql) if the filter tests elements of an array for which the table has
    /// no [element columns](Self::with_elements). Returns [`ErrorKind::NoFoldedColumn`](crate::ErrorKind::NoFoldedColumn) if the
    /// filter has `$match` on a field for which the table has no [folded](Self::with_folded) column. Returns
    /// [`ErrorKind::BadCursor`](crate::ErrorKind::BadCursor) if the [cursor](SearchRequest::with_after) belongs to another order or
    /// another catalogue. Returns [`ErrorKind::BadValue`](crate::ErrorKind::BadValue) if the request has both a cursor and an
    /// offset.
    ///
    /// Complexity: linear in the size of the filter's normal form. The same holds for [`count`](Self::count).
    pub fn page(&self, dialect: Dialect, request: &SearchRequest) -> Result<Statement, Error> {
        self.page_of(dialect, request, &[self.id_column(), DOCUMENT])
    }

    /// Compiles the same statement as [`page`](Self::page), but with a third column: the insertion order of each document.
    #[cfg(feature = "postgres")]
    pub(crate) fn page_with_places(
        &self,
        dialect: Dialect,
        request: &SearchRequest,
    ) -> Result<Statement, Error> {
        self.page_of(dialect, request, &[self.id_column(), DOCUMENT, PLACE])
    }

    fn page_of(
        &self,
        dialect: Dialect,
        request: &SearchRequest,
        columns: &[&str],
    ) -> Result<Statement, Error> {
        let keys = request.check(self.catalog(), TABLE)?;
        let syntax = dialect.syntax();
        let mut wanted = String::new();
        separated(columns.iter(), ", ", &mut wanted, |name, out| syntax.identifier(name, out));
        let order = self.order_by(syntax, &keys);
        let (before, after) = syntax.page(&wanted, &order, request.offset, request.limit);
        let position = request.after.as_ref().map(|cursor| (&*keys, cursor.position()));
        let mut statement = self.select(dialect, &before, &request.filter, position)?;
        statement.push(&after);
        Ok(statement)
    }

    /// Compiles the statement that counts the documents that a filter selects.
    ///
    /// # Errors
    /// Returns the same errors as [`page`](Self::page), except those about the order and the cursor.
    pub fn count(&self, dialect: Dialect, filter: &Filter) -> Result<Statement, Error> {
        filter.catalog().check_within(self.catalog(), TABLE)?;
        self.select(dialect, "SELECT count(*)", filter, None)
    }

    /// Returns the statement that consists of `what`, `FROM`, the table and the condition, if one is needed. The condition tests
    /// the filter. If `behind` is given, a document must also come after the position in `behind`, in the order of the sort keys in
    /// `behind`.
    fn select(
        &self,
        dialect: Dialect,
        what: &str,
        filter: &Filter,
        behind: Option<(&[SortKey], &Position)>,
    ) -> Result<Statement, Error> {
        let mut statement = Statement::new(dialect);
        statement.push(what);
        statement.push(" FROM ");
        statement.push(&table_name(statement.syntax(), self));
        let joins = behind.is_some() && !filter.is_all();
        if behind.is_some() || !filter.is_all() {
            statement.push(" WHERE ");
        }
        if !filter.is_all() {
            statement.push(if joins { "(" } else { "" });
            write_predicate(filter.predicate(), self, &mut statement)?;
            statement.push(if joins { ") AND " } else { "" });
        }
        if let Some((keys, position)) = behind {
            statement.push(if joins { "(" } else { "" });
            self.write_behind(keys, position, &mut statement);
            statement.push(if joins { ")" } else { "" });
        }
        Ok(statement)
    }
}
