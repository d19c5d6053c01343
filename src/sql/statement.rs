//! Requests as statements.

use super::datum::Datum;
use super::dialect::{Dialect, Form, Operand, Syntax, separated, table_name};
use super::table::{DOCUMENT, PLACE, Table};
use super::test::write_predicate;
use crate::catalog::FieldId;
use crate::error::Error;
use crate::filter::order::SortKey;
use crate::filter::{Filter, Request};

/// A statement of one dialect, and the values of its parameters.
///
/// ```
/// use casefilter::{Catalog, Filter, Request, sql::{Dialect, Table}};
/// let catalog = Catalog::cases();
/// let filter = Filter::compile_text(&catalog, "status = open and tags in (vip, cash)")?;
/// let statement = Table::new(&catalog).page(Dialect::Postgres, &Request::new(filter))?;
/// assert_eq!(
///     statement.sql(),
///     r#"SELECT "id", "document" FROM "cases" WHERE "case_review_status" = $1::text AND "tags" && $2::text[] ORDER BY "place" LIMIT 100"#
/// );
/// assert_eq!(serde_json::to_string(statement.params())?, r#"["open",["cash","vip"]]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Statement {
    dialect: Dialect,
    pieces: Vec<Piece>,
    params: Vec<Datum<'static>>,
}

/// A part of a statement.
#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    /// The parameter of this place among the parameters.
    Value(usize),
    /// A test of a column with a parameter that is a list.
    List(ListTest, String, usize),
}

/// A test of a column with a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListTest {
    Member,
    NoMember,
    Overlaps,
    Includes,
}

impl Statement {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, pieces: Vec::new(), params: Vec::new() }
    }

    pub(super) fn push(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    pub(super) fn push_value(&mut self, datum: Datum<'static>) {
        self.pieces.push(Piece::Value(self.params.len()));
        self.params.push(datum);
    }

    pub(super) fn push_list(&mut self, test: ListTest, column: &str, list: Datum<'static>) {
        self.pieces.push(Piece::List(test, column.to_owned(), self.params.len()));
        self.params.push(list);
    }

    pub(super) fn syntax(&self) -> &'static dyn Syntax {
        self.dialect.syntax()
    }

    /// The dialect.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The values of the parameters, in the order of their first places in the text.
    ///
    /// A parameter is named in the way of the dialect: `$1`, `$2` and so on for PostgreSQL and DuckDB, `p1`,
    /// `p2` and so on for ClickHouse, one `?` after the other for Spark.
    #[must_use]
    pub fn params(&self) -> &[Datum<'static>] {
        &self.params
    }

    /// The text with parameters.
    #[must_use]
    pub fn sql(&self) -> String {
        self.write(Form::Bound)
    }

    /// The text with literals in place of the parameters.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, sql::{Dialect, Table}};
    /// let filter = Filter::compile_text(&Catalog::cases(), "name = \"O'Hara\\\\\"")?;
    /// let statement = Table::new(&Catalog::cases()).count(Dialect::ClickHouse, &filter)?;
    /// assert_eq!(statement.to_literal(), r"SELECT count(*) FROM `cases` WHERE `name` = 'O\'Hara\\'");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_literal(&self) -> String {
        self.write(Form::Literal)
    }

    fn write(&self, form: Form) -> String {
        let mut out = String::new();
        let syntax = self.syntax();
        let operand = |at: usize| {
            let datum = self.params.get(at)?;
            Some(Operand { number: at.saturating_add(1), datum, form })
        };
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Value(at) => {
                    if let Some(operand) = operand(*at) {
                        operand.write(syntax, &mut out);
                    }
                }
                Piece::List(test, column, at) => {
                    let Some(list) = operand(*at) else { continue };
                    match test {
                        ListTest::Member => syntax.member(column, list, false, &mut out),
                        ListTest::NoMember => syntax.member(column, list, true, &mut out),
                        ListTest::Overlaps => syntax.overlaps(column, list, &mut out),
                        ListTest::Includes => syntax.includes(column, list, &mut out),
                    }
                }
            }
        }
        out
    }
}

/// What errors about catalogues call a table.
const TABLE: &str = "table";

/// Statements over a table.
impl Table {
    /// The statement that gives `id` and document of the cases on the page that a request wants.
    ///
    /// ```
    /// use casefilter::{Catalog, Filter, Order, Request, sql::{Dialect, Table}};
    /// let catalog = Catalog::cases();
    /// let request = Request::new(Filter::all(&catalog)).order(Order::parse(&catalog, "-createdAt")?).limit(20);
    /// assert_eq!(
    ///     Table::new(&catalog).page(Dialect::DuckDb, &request)?.sql(),
    ///     r#"SELECT "id", "document" FROM "cases" ORDER BY "created_at" DESC NULLS LAST, "id" LIMIT 20"#
    /// );
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    ///
    /// The limit is taken as it is.
    ///
    /// # Errors
    /// [`ErrorKind::CatalogMismatch`](crate::ErrorKind::CatalogMismatch), a mistake of the host: the filter was compiled for
    /// a catalogue that is not [within](crate::Catalog::is_within) the table's, or for one that hides the field of the order.
    ///
    /// Complexity: linear in the normal form of the filter, as for [`count`](Self::count).
    pub fn page(&self, dialect: Dialect, request: &Request) -> Result<Statement, Error> {
        let order = request.check(self.catalog(), TABLE)?;
        let syntax = dialect.syntax();
        let mut wanted = String::new();
        separated(["id", DOCUMENT].iter(), ", ", &mut wanted, |name, out| syntax.identifier(name, out));
        let order = self.order_by(syntax, order);
        let (before, behind) = syntax.page(&wanted, &order, request.offset, request.limit);
        let mut statement = self.select(dialect, &before, &request.filter);
        statement.push(&behind);
        Ok(statement)
    }

    /// The statement that counts the cases that a filter selects.
    ///
    /// # Errors
    /// As [`page`](Self::page).
    pub fn count(&self, dialect: Dialect, filter: &Filter) -> Result<Statement, Error> {
        filter.catalog().check_within(self.catalog(), TABLE)?;
        Ok(self.select(dialect, "SELECT count(*)", filter))
    }

    fn select(&self, dialect: Dialect, what: &str, filter: &Filter) -> Statement {
        let mut statement = Statement::new(dialect);
        statement.push(what);
        statement.push(" FROM ");
        statement.push(&table_name(statement.syntax(), self));
        if !filter.is_all() {
            statement.push(" WHERE ");
            write_predicate(filter.predicate(), self, &mut statement);
        }
        statement
    }

    /// What an order sorts by: absent last in both directions, known values first, ties by `id`.
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
        if field.known_values().len() > 0 {
            // Null where the field is null, so that it is the last whichever the direction.
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
        let collation =
            if field.kind() == crate::catalog::FieldType::String { syntax.collation() } else { "" };
        out.push_str(&quote(column.name(), collation));
        out.push_str(direction);
        if order.field != FieldId::ID {
            out.push_str(", ");
            out.push_str(&quote("id", syntax.collation()));
        }
        out
    }
}
