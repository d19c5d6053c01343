//! An SQL statement: its text, and the values of its parameters.

use super::datum::Datum;
use super::dialect::{Dialect, Form, Operand, Syntax};

/// An SQL statement in one dialect, with the values of its parameters.
///
/// ```
/// use casefilter::{Catalog, Filter, SearchRequest, sql::{Datum, Dialect, Table}};
/// let catalog = Catalog::cases();
/// let filter = Filter::compile_text(&catalog, "status = open and tags in (vip, cash)")?;
/// let statement = Table::new(&catalog).page(Dialect::Postgres, &SearchRequest::new(filter))?;
/// assert_eq!(
///     statement.to_sql(),
///     r#"SELECT "id", "document" FROM "cases" WHERE "case_review_status" = $1::text AND "tags" && $2::text[] ORDER BY "place" LIMIT 100"#
/// );
/// assert_eq!(statement.params(), [Datum::Text("open".into()), Datum::Texts(vec!["cash".into(), "vip".into()])]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    dialect: Dialect,
    pieces: Vec<Piece>,
    params: Vec<Datum<'static>>,
}

/// A part of the text of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A parameter, given by its index in `params`.
    Value(usize),
    /// A test of a column or of an expression against a parameter, given by its index in `params`.
    Test(OperandTest, String, usize),
}

/// A test of a column or of an expression against an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperandTest {
    /// The value of the column or expression is in the list.
    Member,
    /// The value of the column or expression is not in the list.
    NoMember,
    /// The list column contains at least one value of the operand.
    Overlaps,
    /// The list column contains every value of the operand.
    Includes,
    /// The text starts with the operand.
    StartsWith,
    /// The text contains the operand.
    Contains,
    /// The text contains at least one of the substrings in the list.
    ContainsAny,
    /// The text contains every substring in the list.
    ContainsAll,
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

    pub(super) fn push_test(&mut self, test: OperandTest, tested: &str, operand: Datum<'static>) {
        self.pieces.push(Piece::Test(test, tested.to_owned(), self.params.len()));
        self.params.push(operand);
    }

    pub(super) fn syntax(&self) -> &'static dyn Syntax {
        self.dialect.syntax()
    }

    /// Returns the dialect.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the values of the parameters, in the order in which the text first uses them.
    ///
    /// The dialect determines the form of a placeholder: `$1`, `$2` and so on for PostgreSQL and DuckDB, `{p1:…}`, `{p2:…}` and so
    /// on for ClickHouse, and `?` for Spark.
    #[must_use]
    pub fn params(&self) -> &[Datum<'static>] {
        &self.params
    }

    /// Returns the SQL text with placeholders for the parameters.
    #[must_use]
    pub fn to_sql(&self) -> String {
        self.write(Form::Bound)
    }

    /// Returns the SQL text with literals instead of parameters.
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
                Piece::Test(test, tested, at) => {
                    let Some(operand) = operand(*at) else { continue };
                    match test {
                        OperandTest::Member => syntax.member(tested, operand, false, &mut out),
                        OperandTest::NoMember => syntax.member(tested, operand, true, &mut out),
                        OperandTest::Overlaps => syntax.overlaps(tested, operand, &mut out),
                        OperandTest::Includes => syntax.includes(tested, operand, &mut out),
                        OperandTest::StartsWith => syntax.starts_with(tested, operand, &mut out),
                        OperandTest::Contains => syntax.contains(tested, operand, &mut out),
                        OperandTest::ContainsAny => syntax.contains_any(tested, operand, &mut out),
                        OperandTest::ContainsAll => syntax.contains_all(tested, operand, &mut out),
                    }
                }
            }
        }
        out
    }
}
