//! Compiles a request to a statement: `Table::page` and `Table::count`.

use super::condition::write_predicate;
use super::datum::Datum;
use super::dialect::{Dialect, Syntax, separated, table_name};
use super::statement::Statement;
use super::table::{DOCUMENT, PLACE, Table};
use crate::catalog::{FieldId, FieldType};
use crate::error::Error;
use crate::filter::Filter;
use crate::filter::SearchRequest;
use crate::filter::order::SortKey;

/// The word for the table in the errors of mismatched catalogues.
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
    /// This method does not check the limit of the request.
    ///
    /// # Errors
    /// Returns [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch) if the catalogue of the filter is not
    /// [within](crate::Catalog::is_within) the catalogue of the table, or if the catalogue of the filter hides the sort field. This
    /// is a bug in the host program. Returns [`ErrorKind::NotInSql`](crate::ErrorKind::NotInSql) if the filter tests elements of an
    /// array for which the table has no [element columns](Self::with_elements). Returns
    /// [`ErrorKind::NoFoldedColumn`](crate::ErrorKind::NoFoldedColumn) if the filter has `$match` on a field for which the table
    /// has no [folded](Self::with_folded) column.
    ///
    /// Complexity: linear in the size of the filter's normal form. The same holds for [`count`](Self::count).
    pub fn page(&self, dialect: Dialect, request: &SearchRequest) -> Result<Statement, Error> {
        let order = request.check(self.catalog(), TABLE)?;
        let syntax = dialect.syntax();
        let mut wanted = String::new();
        separated([self.id_column(), DOCUMENT].iter(), ", ", &mut wanted, |name, out| {
            syntax.identifier(name, out);
        });
        let order = self.order_by(syntax, order);
        let (before, after) = syntax.page(&wanted, &order, request.offset, request.limit);
        let mut statement = self.select(dialect, &before, &request.filter)?;
        statement.push(&after);
        Ok(statement)
    }

    /// Compiles the statement that counts the documents that a filter selects.
    ///
    /// # Errors
    /// Returns the same errors as [`page`](Self::page).
    pub fn count(&self, dialect: Dialect, filter: &Filter) -> Result<Statement, Error> {
        filter.catalog().check_within(self.catalog(), TABLE)?;
        self.select(dialect, "SELECT count(*)", filter)
    }

    fn select(&self, dialect: Dialect, what: &str, filter: &Filter) -> Result<Statement, Error> {
        let mut statement = Statement::new(dialect);
        statement.push(what);
        statement.push(" FROM ");
        statement.push(&table_name(statement.syntax(), self));
        if !filter.is_all() {
            statement.push(" WHERE ");
            write_predicate(filter.predicate(), self, &mut statement)?;
        }
        Ok(statement)
    }

    /// Returns the `ORDER BY` list. Known values come first, and absent values come last in both directions. Cases with equal
    /// values are sorted by `id`.
    fn order_by(&self, syntax: &dyn Syntax, order: Option<SortKey>) -> String {
        let quote = |name: &str, collation: &str| {
            let mut out = String::new();
            syntax.identifier(name, &mut out);
            out.push_str(collation);
            out
        };
        let Some((order, column)) = order.and_then(|order| Some((order, self.column_of(order.field)?)))
        else {
            return quote(PLACE, "");
        };
        let field = self.catalog().field(order.field);
        let direction = match (order.descending, column.is_nullable()) {
            (false, false) => "",
            (false, true) => " NULLS LAST",
            (true, false) => " DESC",
            (true, true) => " DESC NULLS LAST",
        };
        let mut out = String::new();
        let has_ranks = field.field_type() == FieldType::String && field.known_values().len() > 0;
        if has_ranks {
            // The rank of an absent field is null, so that the case comes last in both directions.
            let name = quote(column.name(), "");
            out.push_str("CASE");
            if column.is_nullable() {
                out.push_str(&format!(" WHEN {name} IS NULL THEN NULL"));
            }
            for (rank, known) in field.known_values().enumerate() {
                out.push_str(&format!(" WHEN {name} = "));
                syntax.literal(&Datum::Text(known.into()), &mut out);
                out.push_str(&format!(" THEN {rank}"));
            }
            out.push_str(&format!(" ELSE {} END{direction}, ", field.known_values().len()));
        }
        let collation = if field.field_type() == FieldType::String { syntax.collation() } else { "" };
        out.push_str(&quote(column.name(), collation));
        out.push_str(direction);
        if order.field != FieldId::ID {
            out.push_str(", ");
            out.push_str(&quote(self.id_column(), syntax.collation()));
        }
        out
    }
}
