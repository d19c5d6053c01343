//! Compiles counts by value: one statement for each facet.
//!
//! Each of these statements reads a subquery. It has one row for each document and each of its distinct values, `_x`. A document
//! without a value has one row, whose `_x` is null. `_p` is the number of the document, for histograms of list columns.

use super::column::Column;
use super::condition::write_predicate;
use super::datum::{ColumnType, Datum};
use super::dialect::{Dialect, Syntax, table_name};
use super::statement::Statement;
use super::table::{PLACE, Table};
use crate::catalog::{Field, FieldType};
use crate::error::{Error, ErrorKind};
use crate::facet::{Buckets, Facet, FacetForm, FacetInterval, FacetsRequest, MOST_STEPS};
use crate::filter::Filter;
use crate::limits::Limits;
use crate::value::OrderedType;

/// The bucket for doubles whose bucket cannot be numbered, because the width is too small: 2^53.
pub(crate) const NO_BUCKET: i64 = 1 << 53;

/// The word that stands for the table in error messages about mismatched catalogues.
const TABLE: &str = "table";

/// The statements that answer a request for counts by value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FacetStatements {
    /// The statement that counts the selected documents, as [`Table::count`] does.
    pub total: Statement,
    /// A statement for each facet, in the order of the request.
    pub facets: Vec<Statement>,
}

/// Counts by value.
impl Table {
    /// Compiles the statements that count documents by value: one `GROUP BY` statement for each facet.
    ///
    /// The columns of the rows depend on the form of the facet:
    ///
    /// | form | columns | rows |
    /// |---|---|---|
    /// | counts by value | `rank`, `value`, `documents`, `values` | Each rank from 1 up to the limit is one value, and the value with the most documents is first. The next rank combines all other values, and `values` is their number. Rank 0 combines the documents without a value. Booleans are the texts `true` and `false` |
    /// | histogram | `bucket`, `documents` | a bucket with documents, ascending; the bucket null is absent values |
    /// | statistics | `absent`, `count`, `min`, `max`, `sum` | one row; the sum is that of milliseconds for timestamps |
    ///
    /// Known values and buckets without a document have no row. A bucket is a number. If the buckets are given by an interval,
    /// bucket 0 contains 1970-01-01 00:00 in local time. If they are given by a width, bucket 0 starts at 0. If they are given by
    /// edges, bucket `n` starts at edge `n`, counted from 1. If a width of doubles is too small to number the bucket of a value,
    /// the value is in bucket 2^53.
    ///
    /// ```
    /// use casefilter::{Catalog, Facet, FacetsRequest, Filter, sql::{Dialect, Table}};
    /// let catalog = Catalog::cases();
    /// let request = FacetsRequest::new(Filter::all(&catalog))
    ///     .with_facet(Facet::stats(&catalog, "createdAt")?);
    /// assert_eq!(
    ///     Table::new(&catalog).facets(Dialect::Postgres, &request)?.facets[0].to_sql(),
    ///     r#"SELECT count(*) - count(_x) AS "absent", count(_x) AS "count", min(_x) AS "min", max(_x) AS "max", sum(_x) AS "sum" FROM (SELECT "created_at" AS _x FROM "cases") AS _s"#
    /// );
    /// # Ok::<(), casefilter::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`count`](Self::count) for each filter. Also returns the errors of
    /// [`Engine::facets`](crate::Engine::facets) that do not depend on the documents, with the default [`Limits`].
    pub fn facets(&self, dialect: Dialect, request: &FacetsRequest) -> Result<FacetStatements, Error> {
        request.check(self.catalog(), &Limits::default(), TABLE)?;
        let total = self.count(dialect, &request.selected()?)?;
        let facets = request.facets.iter().map(|facet| self.facet(dialect, request, facet));
        Ok(FacetStatements { total, facets: facets.collect::<Result<_, _>>()? })
    }

    fn facet(&self, dialect: Dialect, request: &FacetsRequest, facet: &Facet) -> Result<Statement, Error> {
        let selection = request.selected_for(facet)?;
        let Some(column) = self.column_of(facet.field_id()) else {
            let found = "a facet of a field without a column";
            return Err(Error::new(ErrorKind::CatalogMismatch, 0, found, "a field of the table").at("facets"));
        };
        let field = self.catalog().field(facet.field_id());
        let writer = Writer { syntax: dialect.syntax(), field, column };
        let (before, after) = match facet.form() {
            FacetForm::Values(limit) => writer.values(*limit),
            FacetForm::Histogram(buckets) => writer.histogram(buckets),
            FacetForm::Stats => writer.stats(),
        };
        let mut statement = Statement::new(dialect);
        statement.push(&before);
        self.source(
            &writer,
            matches!(facet.form(), FacetForm::Histogram(_)),
            &selection.filter,
            &mut statement,
        )?;
        statement.push(&after);
        Ok(statement)
    }

    /// Writes the subquery with the values of the selected documents.
    fn source(
        &self,
        writer: &Writer<'_>,
        numbered: bool,
        filter: &Filter,
        statement: &mut Statement,
    ) -> Result<(), Error> {
        let syntax = writer.syntax;
        let name = writer.quoted(writer.column.name());
        let (mut value, join) = match writer.column.is_list() {
            true => syntax.each_value(&name, writer.column.kind()),
            false => (name, String::new()),
        };
        if writer.column.kind() == ColumnType::Boolean && !writer.column.is_list() {
            value = as_text(&value);
        }
        statement.push("(SELECT ");
        if numbered && writer.column.is_list() {
            statement.push(&format!("{} AS _p, ", writer.quoted(PLACE)));
        }
        statement.push(&format!("{value} AS _x FROM {}{join}", table_name(syntax, self)));
        if !filter.is_all() {
            statement.push(" WHERE ");
            write_predicate(filter.predicate(), self, statement)?;
        }
        statement.push(")");
        Ok(())
    }
}

/// Returns an expression for the text of a boolean. Some dialects have no minimum of booleans.
fn as_text(value: &str) -> String {
    format!("CASE WHEN {value} THEN 'true' WHEN NOT {value} THEN 'false' END")
}

/// Writes the parts of a statement around the subquery with the values.
struct Writer<'t> {
    syntax: &'static dyn Syntax,
    field: &'t Field,
    column: &'t Column,
}

impl Writer<'_> {
    fn quoted(&self, name: &str) -> String {
        let mut out = String::new();
        self.syntax.identifier(name, &mut out);
        out
    }

    fn literal(&self, datum: &Datum<'_>) -> String {
        let mut out = String::new();
        self.syntax.literal(datum, &mut out);
        out
    }

    /// Returns the text before and after the subquery of counts by value.
    fn values(&self, limit: u64) -> (String, String) {
        let [rank, value, documents, values] =
            ["rank", "value", "documents", "values"].map(|name| self.quoted(name));
        let others = limit.saturating_add(1);
        let is_bool_list = self.column.kind() == ColumnType::Boolean && self.column.is_list();
        let own = if is_bool_list { as_text("_x") } else { "_x".to_owned() };
        let mut order = String::from("CASE WHEN _w IS NULL THEN 1 ELSE 0 END, _n DESC, ");
        let ranks = self.field.known_values().len();
        if self.field.field_type() == FieldType::String && ranks > 0 {
            order.push_str("CASE");
            for (rank, known) in self.field.known_values().enumerate() {
                let known = self.literal(&Datum::Text(known.into()));
                order.push_str(&format!(" WHEN _w = {known} THEN {rank}"));
            }
            order.push_str(&format!(" ELSE {ranks} END, "));
        }
        let collation = if self.column.kind() == ColumnType::Text { self.syntax.collation() } else { "" };
        let before = format!(
            "SELECT _r AS {rank}, min(_v) AS {value}, sum(_n) AS {documents}, count(*) AS {values} FROM (\
             SELECT CASE WHEN _w IS NULL THEN 0 WHEN _o <= {limit} THEN _o ELSE {others} END AS _r, \
             CASE WHEN _o <= {limit} THEN _w END AS _v, _n FROM (\
             SELECT _w, _n, row_number() OVER (ORDER BY {order}_w{collation}) AS _o FROM (\
             SELECT {own} AS _w, count(*) AS _n FROM "
        );
        (before, format!(" AS _s GROUP BY {own}) AS _c) AS _l) AS _g GROUP BY _r ORDER BY _r"))
    }

    /// Returns the text before and after the subquery of statistics.
    fn stats(&self) -> (String, String) {
        let [absent, count, min, max, sum] =
            ["absent", "count", "min", "max", "sum"].map(|name| self.quoted(name));
        let wide = self.syntax.wide("_x", self.column.kind());
        let before = format!(
            "SELECT count(*) - count(_x) AS {absent}, count(_x) AS {count}, min(_x) AS {min}, max(_x) AS {max}, \
             sum({wide}) AS {sum} FROM "
        );
        (before, " AS _s".to_owned())
    }

    /// Returns the text before and after the subquery of a histogram.
    fn histogram(&self, buckets: &Buckets) -> (String, String) {
        let [bucket, documents] = ["bucket", "documents"].map(|name| self.quoted(name));
        let own = if self.column.is_list() { "_p, " } else { "" };
        let distinct = if self.column.is_list() { "DISTINCT " } else { "" };
        let mut before = format!("SELECT _b AS {bucket}, count(*) AS {documents} FROM (");
        let mut after = String::from(" AS _s");
        for (at, stage) in self.stages(buckets).iter().enumerate() {
            if at > 0 {
                before.push('(');
                after.push_str(&format!(") AS _s{at}"));
            }
            let distinct = if at == 0 { distinct } else { "" };
            before.push_str(&format!("SELECT {distinct}{own}{stage} FROM "));
        }
        after.push_str(") AS _h GROUP BY _b ORDER BY _b");
        (before, after)
    }

    /// Returns the *stages* that compute a bucket number `_b` from a value `_x`. A stage is the list of the columns of one nested
    /// subquery. The first stage is the outermost subquery.
    fn stages(&self, buckets: &Buckets) -> Vec<String> {
        let syntax = self.syntax;
        // A remainder has the sign of the dividend, so that the difference moves toward 0, and cannot overflow.
        let floor = |dividend: &str, divisor: i64| {
            let rest = format!("({dividend}) % {divisor}");
            let quotient = syntax.quotient(&format!("({dividend} - {rest})"), divisor);
            format!("({quotient} - CASE WHEN {rest} < 0 THEN 1 ELSE 0 END)")
        };
        match buckets {
            Buckets::Edges(edges) => {
                let mut cases = String::from("CASE WHEN _x IS NULL THEN NULL");
                for (at, edge) in edges.iter().enumerate() {
                    cases.push_str(&format!(" WHEN _x < {} THEN {at}", self.literal(&self.datum(*edge))));
                }
                vec![format!("{cases} ELSE {} END AS _b", edges.len())]
            }
            Buckets::Width(width) => {
                let units = match self.column.kind() {
                    ColumnType::Decimal { scale } => syntax.units("_x", scale),
                    _ => "_x".to_owned(),
                };
                vec![format!("{} AS _b", floor("_u", *width)), format!("{units} AS _u")]
            }
            Buckets::NumberWidth(width) => self.number_stages(width.get()),
            Buckets::Calendar { interval, offset_s } => {
                let local = format!("_x + {}", i64::from(*offset_s).saturating_mul(1000));
                let local = if *offset_s < 0 { local.replace("+ -", "- ") } else { local };
                const HOUR: i64 = 3_600_000;
                const DAY: i64 = 24 * HOUR;
                match interval {
                    FacetInterval::Hour => {
                        vec![format!("{} AS _b", floor("_t", HOUR)), format!("{local} AS _t")]
                    }
                    FacetInterval::Day => {
                        vec![format!("{} AS _b", floor("_t", DAY)), format!("{local} AS _t")]
                    }
                    FacetInterval::Week => {
                        // 1969-12-29 was a Monday.
                        let from_monday = 3 * DAY;
                        vec![
                            format!("{} AS _b", floor(&format!("_t + {from_monday}"), 7 * DAY)),
                            format!("{local} AS _t"),
                        ]
                    }
                    FacetInterval::Month | FacetInterval::Quarter | FacetInterval::Year => {
                        let months = match interval {
                            FacetInterval::Month => "_m".to_owned(),
                            FacetInterval::Quarter => floor("_m", 3),
                            _ => floor("_m", 12),
                        };
                        let mut stages = vec![format!("{months} AS _b")];
                        stages.extend(self.months());
                        stages.push(format!("{} AS _d", floor("_t", DAY)));
                        stages.push(format!("{local} AS _t"));
                        stages
                    }
                }
            }
        }
    }

    /// Returns the stages that compute the bucket number `_b` of a double `_x`, for buckets of one width.
    ///
    /// Some databases report an error if a result is outside the range of the doubles. So values that are less than one width from
    /// 0 are not divided, and neither are values whose quotient is far too great. For great widths, half of the value is compared
    /// with multiples of half of the width, so that no product is too great.
    fn number_stages(&self, width: f64) -> Vec<String> {
        const GREAT: f64 = 1e290;
        let number = |number: f64| self.literal(&Datum::Number(number));
        let (from, to) = (number(-width), number(width));
        // All cases of a bucket number have the type double, because ClickHouse groups by values of one type only.
        let (zero, below) = (number(0.0), number(-1.0));
        #[expect(clippy::cast_precision_loss, reason = "a power of two")]
        let none = number(NO_BUCKET as f64);
        let (own, step) = match width > GREAT {
            true => (format!("_x * {}", number(0.5)), number(width * 0.5)),
            false => ("_x".to_owned(), to.clone()),
        };
        let too_great = width * MOST_STEPS * 2.0;
        let mut quotient = format!("_x, CASE WHEN _x >= {from} AND _x < {to} THEN {zero}");
        if too_great.is_finite() {
            let (low, high) = (number(-too_great), number(too_great));
            quotient.push_str(&format!(" WHEN _x <= {low} OR _x >= {high} THEN {none}"));
        }
        quotient.push_str(&format!(" ELSE floor(_x / {to}) END AS _k"));
        let most = number(MOST_STEPS);
        let bucket = format!(
            "CASE WHEN _x >= {zero} AND _x < {to} THEN {zero} WHEN _x < {zero} AND _x >= {from} THEN {below} \
             WHEN _k >= {most} OR _k <= -{most} THEN {none} \
             WHEN {own} < _k * {step} THEN _k - 1 WHEN {own} >= (_k + 1) * {step} THEN _k + 1 ELSE _k END AS _b"
        );
        vec![bucket, quotient]
    }

    /// Returns the stages that compute `_m`, the number of months since January 1970, from `_d`, the number of days since
    /// 1970-01-01. Uses H. Hinnant's algorithm `civil_from_days`. First shifts the days by a multiple of 400 years, so that no
    /// dividend is negative.
    fn months(&self) -> Vec<String> {
        const ERAS: i64 = 800_000;
        const DAYS_OF_ERA: i64 = 146_097;
        const MOVED: i64 = 719_468 + ERAS * DAYS_OF_ERA;
        const MONTHS: i64 = (ERAS * 400 + 1970) * 12 - 2;
        let div = |dividend: &str, divisor: i64| self.syntax.quotient(dividend, divisor);
        let year =
            div(&format!("(_o - {} + {} - {})", div("_o", 1460), div("_o", 36_524), div("_o", 146_096)), 365);
        vec![
            format!("(_a * 400 + _y) * 12 + {} - {MONTHS} AS _m", div("(5 * _i + 2)", 153)),
            format!("_a, _y, _o - (365 * _y + {} - {}) AS _i", div("_y", 4), div("_y", 100)),
            format!("_a, _o, {year} AS _y"),
            format!("{} AS _a, _e % {DAYS_OF_ERA} AS _o", div("_e", DAYS_OF_ERA)),
            format!("_d + {MOVED} AS _e"),
        ]
    }

    /// Converts an ordinal to a value of the field's column. An ordinal is the 64-bit integer that stands for a value of an ordered
    /// type.
    fn datum(&self, ordinal: i64) -> Datum<'static> {
        let kind = match self.field.field_type() {
            FieldType::Integer => OrderedType::Integer,
            FieldType::Decimal { scale } => OrderedType::Decimal(scale),
            FieldType::Timestamp => OrderedType::Timestamp,
            _ => OrderedType::Number,
        };
        Datum::of(&kind.value(ordinal))
    }
}
