//! Writes SQL for Spark: literals, parameters, conditions, and the script that creates the table.

use std::borrow::Cow;

use super::syntax::{Form, MAX_ROWS, Operand, Syntax, columns, heading, quoted, separated, table_name};
use crate::sql::column::Column;
use crate::sql::datum::{ColumnType, Datum};
use crate::sql::table::Table;

pub(super) struct Spark;

/// Up to this length, a literal list is tested by `arrays_overlap`. For every row, this function builds a hash table of its
/// arguments again. Longer literal lists are tested by a condition for which Spark builds the hash table once. A bound list is
/// always tested by `arrays_overlap`.
const FEW_ELEMENTS: usize = 64;
/// The maximum sum of limit and offset for `LIMIT` and `OFFSET`, which Spark stores in 32 bits. For a greater sum, the page is
/// selected by `row_number()`.
const MAX_LIMIT: u64 = i32::MAX.cast_unsigned() as u64;

fn type_name(kind: ColumnType) -> Cow<'static, str> {
    Cow::Borrowed(match kind {
        ColumnType::Text => "STRING",
        ColumnType::Number => "DOUBLE",
        ColumnType::Integer => "BIGINT",
        ColumnType::Decimal { scale } => return Cow::Owned(format!("DECIMAL(19,{scale})")),
        ColumnType::Boolean => "BOOLEAN",
    })
}

/// Appends a string literal with the escapes of Java.
///
/// `$` is escaped because Spark replaces variables, such as `${…}`, before it parses a statement, even inside strings. Line breaks
/// and other control characters are escaped because `spark-sql` reads a file line by line. It treats any line that starts with `--`
/// as a comment. If it reads from a pipe, it ends a statement at a line that ends in `;`, even inside a string.
fn string(text: &str, out: &mut String) {
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            _ if c == '$' || c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('\'');
}

impl Syntax for Spark {
    fn identifier(&self, name: &str, out: &mut String) {
        quoted(name, '`', out);
    }

    fn literal(&self, datum: &Datum<'_>, out: &mut String) {
        match datum {
            Datum::Null => out.push_str("NULL"),
            Datum::Text(text) => string(text, out),
            Datum::Number(number) => out.push_str(&format!("{number:e}D")),
            // Spark has no literal for the smallest integer.
            Datum::Integer(i64::MIN) => out.push_str("CAST('-9223372036854775808' AS BIGINT)"),
            Datum::Integer(integer) => out.push_str(&format!("{integer}L")),
            Datum::Decimal(decimal) => {
                out.push_str(&format!("CAST('{decimal}' AS DECIMAL(19,{}))", decimal.scale()));
            }
            Datum::Boolean(boolean) => out.push_str(if *boolean { "TRUE" } else { "FALSE" }),
            Datum::Texts(_)
            | Datum::Numbers(_)
            | Datum::Integers(_)
            | Datum::Decimals(_)
            | Datum::Booleans(_) => {
                out.push_str("array(");
                separated(datum.scalars().iter(), ", ", out, |scalar, out| self.literal(scalar, out));
                out.push(')');
            }
        }
    }

    /// Appends a parameter. Parameters of decimals are strings, so they get a cast. Without the cast, Spark would compare them as
    /// doubles.
    fn parameter(&self, _number: usize, datum: &Datum<'_>, out: &mut String) {
        match (datum, datum.kind().map(type_name)) {
            (Datum::Decimal(_), Some(kind)) => out.push_str(&format!("CAST(? AS {kind})")),
            (Datum::Decimals(_), Some(kind)) => out.push_str(&format!("CAST(? AS ARRAY<{kind}>)")),
            _ => out.push('?'),
        }
    }

    fn member(&self, column: &str, list: Operand<'_>, negated: bool, out: &mut String) {
        match list.form {
            Form::Bound => {
                out.push_str(if negated { "NOT array_contains(" } else { "array_contains(" });
                list.write(self, out);
                out.push_str(&format!(", {column})"));
            }
            Form::Literal => {
                out.push_str(column);
                out.push_str(if negated { " NOT IN (" } else { " IN (" });
                list.write_members(self, out);
                out.push(')');
            }
        }
    }

    fn overlaps(&self, column: &str, list: Operand<'_>, out: &mut String) {
        if list.form == Form::Literal && list.datum.len() > FEW_ELEMENTS {
            let (before, behind) = self.some_element(column, list.datum.len());
            out.push_str(&before);
            self.member("x", list, false, out);
            out.push_str(&behind);
            return;
        }
        out.push_str(&format!("arrays_overlap({column}, "));
        list.write(self, out);
        out.push(')');
    }

    fn includes(&self, column: &str, list: Operand<'_>, out: &mut String) {
        out.push_str("size(array_except(");
        list.write(self, out);
        out.push_str(&format!(", {column})) = 0"));
    }

    fn some_element(&self, column: &str, _longest: usize) -> (String, String) {
        (format!("exists({column}, x -> "), ")".to_owned())
    }

    fn has_elements(&self, column: &str) -> String {
        format!("size({column}) > 0")
    }

    fn elements_with(&self, numbers: &str, values: &str, _longest: usize) -> (String, String) {
        (format!("array_compact(zip_with({numbers}, {values}, (_n, _x) -> IF("), ", _n, NULL)))".to_owned())
    }

    /// Compares each element number with the element number of every value. Spark has no function that counts how often each member
    /// of a list occurs.
    fn elements_with_every(&self, numbers: &str, values: &str, own: &str, count: usize) -> (String, String) {
        (
            format!(
                "filter({own}, _e -> size(array_distinct(array_compact(zip_with({numbers}, {values}, (_n, _x) -> IF(_n = _e AND "
            ),
            format!(", _x, NULL))))) = {count})"),
        )
    }

    fn intersection(&self) -> [&'static str; 3] {
        ["array_intersect(", ", ", ")"]
    }

    fn union(&self) -> [&'static str; 3] {
        ["concat(", ", ", ")"]
    }

    fn complement(&self, own: &str) -> (String, String) {
        (format!("array_except({own}, "), ")".to_owned())
    }

    fn outer_elements(&self, _own: &str, outer: &str) -> (String, String) {
        ("transform(".to_owned(), format!(", _n -> {outer}[_n - 1])"))
    }

    fn is_not_empty(&self) -> (&'static str, &'static str) {
        ("size(", ") > 0")
    }

    fn starts_with_name(&self) -> &'static str {
        "startswith"
    }

    fn first(&self, text: &str, length: usize) -> String {
        format!("substring({text}, 1, {length})")
    }

    fn contains(&self, text: &str, substring: Operand<'_>, out: &mut String) {
        out.push_str(&format!("contains({text}, "));
        substring.write(self, out);
        out.push(')');
    }

    /// Uses a lambda expression of Spark SQL. Its parameter is named `_part`, because no column name starts with an underscore.
    fn contains_any(&self, text: &str, substrings: Operand<'_>, out: &mut String) {
        out.push_str("exists(");
        substrings.write(self, out);
        out.push_str(&format!(", _part -> contains({text}, _part))"));
    }

    fn contains_all(&self, text: &str, substrings: Operand<'_>, out: &mut String) {
        out.push_str("forall(");
        substrings.write(self, out);
        out.push_str(&format!(", _part -> contains({text}, _part))"));
    }

    /// Selects rows by `row_number()` if the sum of limit and offset is too large for Spark.
    fn page(&self, wanted: &str, order: &str, offset: u64, limit: u64) -> (String, String) {
        let (offset, limit) = (offset.min(MAX_ROWS), limit.min(MAX_ROWS));
        // `offset` and `limit` are at most half of the largest `i64`, so the sum does not overflow.
        let end = offset.saturating_add(limit);
        if end <= MAX_LIMIT {
            let skip = if offset == 0 { String::new() } else { format!(" OFFSET {offset}") };
            return (format!("SELECT {wanted}"), format!(" ORDER BY {order} LIMIT {limit}{skip}"));
        }
        let numbered = format!("row_number() OVER (ORDER BY {order}) AS `number`");
        let range = format!("`number` > {offset}L AND `number` <= {end}L");
        (
            format!("SELECT {wanted} FROM (SELECT {wanted}, {numbered}"),
            format!(") WHERE {range} ORDER BY `number`"),
        )
    }

    fn each_value(&self, column: &str, _kind: ColumnType) -> (String, String) {
        (format!("explode_outer(array_distinct({column}))"), String::new())
    }

    fn wide(&self, value: &str, kind: ColumnType) -> String {
        if kind == ColumnType::Integer { format!("CAST({value} AS DECIMAL(38,0))") } else { value.to_owned() }
    }

    fn quotient(&self, dividend: &str, divisor: i64) -> String {
        format!("({dividend} div {divisor})")
    }

    fn column_type(&self, column: &Column, _table: &Table) -> String {
        let name = type_name(column.kind());
        if column.is_list() { format!("ARRAY<{name}>") } else { name.into_owned() }
    }

    fn script(&self, table: &Table, file: &str) -> String {
        let name = table_name(self, table);
        let arguments = table.arguments();
        let mut out = String::new();
        heading(
            &[
                "Spark SQL. Export the cases, then run this script:",
                "",
                &format!("    casefilter export CASES --flat{arguments} -o {file}"),
                &format!("    casefilter ddl --dialect spark{arguments} > ddl.sql && spark-sql -f ddl.sql"),
                "",
                "Instants are milliseconds since 1970-01-01 00:00:00 UTC. Each file of the table covers a range of time,",
                "sorted, so that its statistics skip the rows outside a range.",
            ],
            &mut out,
        );
        out.push_str(&format!("\nCREATE TABLE {name} (\n"));
        columns(self, table, &mut out);
        out.push_str("\n) USING parquet;\n\n");
        let mut by = String::new();
        self.identifier(super::syntax::time_column(table), &mut by);
        let mut path = String::new();
        quoted(file, '`', &mut path);
        out.push_str(&format!(
            "INSERT INTO {name}\nSELECT /*+ REPARTITION_BY_RANGE({by}) */ * FROM parquet.{path} SORT BY {by};\n"
        ));
        out
    }
}
