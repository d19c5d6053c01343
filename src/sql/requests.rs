//! Compiles a request to a statement: `Table::page` and `Table::count`.

use super::column::Column;
use super::condition::write_predicate;
use super::datum::Datum;
use super::dialect::{Dialect, Syntax, separated, table_name};
use super::statement::Statement;
use super::table::{DOCUMENT, PLACE, Table};
use crate::catalog::{Field, FieldId, FieldType};
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
    /// [`ErrorKind::NoFoldedColumn`](crate::ErrorKind::NoFoldedColumn) if the filter has `$match` on a field for which the table has
    /// no [folded](Self::with_folded) column.
    ///
    /// Complexity: linear in the size of the filter's normal form. The same holds for [`count`](Self::count).
    pub fn page(&self, dialect: Dialect, request: &SearchRequest) -> Result<Statement, Error> {
        let keys = request.check(self.catalog(), TABLE)?;
        let syntax = dialect.syntax();
        let mut wanted = String::new();
        separated([self.id_column(), DOCUMENT].iter(), ", ", &mut wanted, |name, out| {
            syntax.identifier(name, out);
        });
        let order = self.order_by(syntax, &keys);
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
    fn order_by(&self, syntax: &dyn Syntax, keys: &[SortKey]) -> String {
        let quote = |name: &str, collation: &str| {
            let mut out = String::new();
            syntax.identifier(name, &mut out);
            out.push_str(collation);
            out
        };
        if keys.is_empty() {
            return quote(PLACE, "");
        }
        let mut terms: Vec<String> = Vec::new();
        for key in keys {
            let Some(column) = self.column_of(key.field) else { continue };
            let field = self.catalog().field(key.field);
            let direction = match (key.descending, column.is_nullable()) {
                (false, false) => "",
                (false, true) => " NULLS LAST",
                (true, false) => " DESC",
                (true, true) => " DESC NULLS LAST",
            };
            if has_ranks(field) {
                terms.push(format!("{}{direction}", self.rank(syntax, column, field)));
            }
            let collation = if field.field_type() == FieldType::String { syntax.collation() } else { "" };
            terms.push(format!("{}{direction}", quote(column.name(), collation)));
        }
        // No two cases have the same id, so keys after the id have no effect.
        if !keys.iter().any(|key| key.field == FieldId::ID) {
            terms.push(quote(self.id_column(), syntax.collation()));
        }
        terms.join(", ")
    }

    /// Returns the expression for the rank of a value: its index among the known values of the field, or their number for another
    /// value. The rank of an absent value is null, so that the case comes last in both directions.
    fn rank(&self, syntax: &dyn Syntax, column: &Column, field: &Field) -> String {
        let mut name = String::new();
        syntax.identifier(column.name(), &mut name);
        let mut out = String::from("CASE");
        if column.is_nullable() {
            out.push_str(&format!(" WHEN {name} IS NULL THEN NULL"));
        }
        for (rank, known) in field.known_values().enumerate() {
            out.push_str(&format!(" WHEN {name} = "));
            syntax.literal(&Datum::Text(known.into()), &mut out);
            out.push_str(&format!(" THEN {rank}"));
        }
        out.push_str(&format!(" ELSE {} END", field.known_values().len()));
        out
    }
}

/// Returns true if the field is sorted by the rank of its values.
fn has_ranks(field: &Field) -> bool {
    field.field_type() == FieldType::String && field.known_values().len() > 0
}
