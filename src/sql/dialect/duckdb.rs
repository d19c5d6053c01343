//! Writes SQL for DuckDB: literals, parameters, conditions, and the script that creates the table.

use std::borrow::Cow;

use super::syntax::{Form, Operand, Syntax, columns, heading, separated, table_name};
use crate::sql::column::Column;
use crate::sql::datum::{ColumnType, Datum};
use crate::sql::table::Table;

pub(super) struct DuckDb;

/// Up to this length, a list is tested by `list_contains`. Longer lists are tested by a subquery, for which DuckDB plans a hash
/// join. Short lists are not joined, because planning many joins is slow.
const FEW_ELEMENTS: usize = 64;

fn type_name(kind: ColumnType) -> Cow<'static, str> {
    Cow::Borrowed(match kind {
        ColumnType::Text => "VARCHAR",
        ColumnType::Number => "DOUBLE",
        ColumnType::Integer => "BIGINT",
        ColumnType::Decimal { scale } => return Cow::Owned(format!("DECIMAL(19,{scale})")),
        ColumnType::Boolean => "BOOLEAN",
    })
}

fn cast(datum: &Datum<'_>) -> String {
    let list = if datum.is_list() { "[]" } else { "" };
    format!("::{}{list}", datum.kind().map_or(Cow::Borrowed("VARCHAR"), type_name))
}

/// Appends a value without a cast. The cast is written once, after the complete literal.
fn bare(datum: &Datum<'_>, out: &mut String) {
    match datum {
        Datum::Null => out.push_str("NULL"),
        Datum::Text(text) => string(text, out),
        Datum::Number(number) => out.push_str(&format!("'{number:e}'")),
        Datum::Integer(integer) => out.push_str(&format!("'{integer}'")),
        Datum::Decimal(decimal) => out.push_str(&format!("'{decimal}'")),
        Datum::Boolean(boolean) => out.push_str(if *boolean { "TRUE" } else { "FALSE" }),
        Datum::Texts(_)
        | Datum::Numbers(_)
        | Datum::Integers(_)
        | Datum::Decimals(_)
        | Datum::Booleans(_) => {
            out.push('[');
            separated(datum.scalars().iter(), ", ", out, bare);
            out.push(']');
        }
    }
}

/// Returns a table expression with a row for each value: the number of its element, `_n`, and the value, `_x`.
fn pairs(numbers: &str, values: &str) -> String {
    format!("(SELECT unnest({numbers}) AS _n, unnest({values}) AS _x)")
}

/// Appends a string literal. A backslash has no special meaning in it. U+0000 would end the statement, and DuckDB's command-line
/// tool drops a carriage return before a line feed. So these two characters are written as calls of `chr`.
fn string(text: &str, out: &mut String) {
    let is_spelled = |c: char| matches!(c, '\0' | '\r');
    if !text.contains(is_spelled) {
        return super::syntax::quoted(text, '\'', out);
    }
    out.push('(');
    for piece in text.split_inclusive(is_spelled) {
        let plain = piece.strip_suffix(is_spelled).unwrap_or(piece);
        super::syntax::quoted(plain, '\'', out);
        if let Some(c) = piece.chars().next_back().filter(|c| is_spelled(*c)) {
            out.push_str(&format!(" || chr({}) || ", u32::from(c)));
        }
    }
    if text.ends_with(is_spelled) {
        out.push_str("''");
    }
    out.push(')');
}

impl DuckDb {
    /// Appends an expression that counts the substrings that the text contains. The count is 0 if the text is null. The lambda
    /// expression has the parameter `_part`, which differs from every column name, because no column name starts with an
    /// underscore.
    fn contained(&self, text: &str, substrings: Operand<'_>, out: &mut String) {
        out.push_str("len(list_filter(");
        substrings.write(self, out);
        out.push_str(&format!(", lambda _part: contains({text}, _part)))"));
    }
}

impl Syntax for DuckDb {
    fn literal(&self, datum: &Datum<'_>, out: &mut String) {
        bare(datum, out);
        out.push_str(&cast(datum));
    }

    fn parameter(&self, number: usize, datum: &Datum<'_>, out: &mut String) {
        out.push_str(&format!("${number}{}", cast(datum)));
    }

    fn member(&self, column: &str, list: Operand<'_>, negated: bool, out: &mut String) {
        if list.datum.len() > FEW_ELEMENTS {
            out.push_str(column);
            out.push_str(if negated { " NOT IN (SELECT unnest(" } else { " IN (SELECT unnest(" });
            list.write(self, out);
            out.push_str("))");
            return;
        }
        match list.form {
            Form::Bound => {
                out.push_str(if negated { "NOT list_contains(" } else { "list_contains(" });
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
        if list.datum.len() > FEW_ELEMENTS {
            let (before, behind) = self.some_element(column, list.datum.len());
            out.push_str(&before);
            self.member("x", list, false, out);
            out.push_str(&behind);
            return;
        }
        out.push_str(&format!("list_has_any({column}, "));
        list.write(self, out);
        out.push(')');
    }

    fn includes(&self, column: &str, list: Operand<'_>, out: &mut String) {
        out.push_str(&format!("len({column}) >= {} AND list_has_all({column}, ", list.datum.len()));
        list.write(self, out);
        out.push(')');
    }

    /// Writes `EXISTS` with a subquery, instead of a lambda, if `longest` is so large that [`member`](Self::member) writes a
    /// subquery. The reason is that a lambda cannot contain a subquery.
    fn some_element(&self, column: &str, longest: usize) -> (String, String) {
        if longest > FEW_ELEMENTS {
            return (format!("EXISTS (SELECT 1 FROM (SELECT unnest({column}) AS x) WHERE "), ")".to_owned());
        }
        (format!("len(list_filter({column}, lambda x: "), ")) > 0".to_owned())
    }

    fn has_elements(&self, column: &str) -> String {
        format!("len({column}) > 0")
    }

    /// Writes a subquery if [`member`](Self::member) writes one, like [`some_element`](Self::some_element). If not, writes
    /// functions on lists, because a subquery would copy the whole list for each of its values.
    fn elements_with(&self, numbers: &str, values: &str, longest: usize) -> (String, String) {
        if longest > FEW_ELEMENTS {
            return (
                format!("(SELECT coalesce(list(_n), []) FROM {} WHERE ", pairs(numbers, values)),
                ")".to_owned(),
            );
        }
        (format!("list_where({numbers}, list_transform({values}, lambda _x: "), "))".to_owned())
    }

    fn elements_with_every(&self, numbers: &str, values: &str, _own: &str, count: usize) -> (String, String) {
        let from = pairs(numbers, values);
        (
            format!("(SELECT coalesce(list(_n), []) FROM (SELECT _n FROM {from} WHERE "),
            format!(" GROUP BY _n HAVING count(DISTINCT _x) = {count}))"),
        )
    }

    fn intersection(&self) -> [&'static str; 3] {
        ["list_intersect(", ", ", ")"]
    }

    fn union(&self) -> [&'static str; 3] {
        ["list_concat(", ", ", ")"]
    }

    /// Counts how often each number occurs in the list of all elements and the set together. A number that occurs once is not in
    /// the set. A test of each element by `list_contains` would take quadratic time. `list_histogram` of an empty list is null.
    fn complement(&self, own: &str) -> (String, String) {
        (
            format!(
                "coalesce(list_transform(list_filter(map_entries(list_histogram(list_concat({own}, list_distinct("
            ),
            ")))), lambda _e: _e.value = 1), lambda _e: _e.key), [])".to_owned(),
        )
    }

    fn outer_elements(&self, _own: &str, outer: &str) -> (String, String) {
        ("list_transform(".to_owned(), format!(", lambda _n: {outer}[_n])"))
    }

    fn is_not_empty(&self) -> (&'static str, &'static str) {
        ("len(", ") > 0")
    }

    fn contains(&self, text: &str, substring: Operand<'_>, out: &mut String) {
        out.push_str(&format!("contains({text}, "));
        substring.write(self, out);
        out.push(')');
    }

    fn contains_any(&self, text: &str, substrings: Operand<'_>, out: &mut String) {
        self.contained(text, substrings, out);
        out.push_str(" > 0");
    }

    fn contains_all(&self, text: &str, substrings: Operand<'_>, out: &mut String) {
        self.contained(text, substrings, out);
        out.push_str(&format!(" = {}", substrings.datum.len()));
    }

    fn each_value(&self, column: &str, _kind: ColumnType) -> (String, String) {
        let list = format!("CASE WHEN len({column}) = 0 THEN [NULL] ELSE list_distinct({column}) END");
        (format!("unnest({list})"), String::new())
    }

    fn quotient(&self, dividend: &str, divisor: i64) -> String {
        format!("({dividend} // {divisor})")
    }

    fn column_type(&self, column: &Column, table: &Table) -> String {
        let mut out = type_name(column.kind()).into_owned();
        if column.is_list() {
            out.push_str("[]");
        }
        if !column.is_nullable() {
            out.push_str(" NOT NULL");
        }
        if let Some(default) = table.default_of(column) {
            out.push_str(" DEFAULT ");
            match &default {
                Datum::Text(text) => string(text, &mut out),
                other => self.literal(other, &mut out),
            }
        }
        out
    }

    fn script(&self, table: &Table, file: &str) -> String {
        let name = table_name(self, table);
        let arguments = table.arguments();
        let mut out = String::new();
        heading(
            &[
                "DuckDB. Export the cases, then run this script:",
                "",
                &format!("    casefilter export CASES --flat{arguments} -o {file}"),
                &format!("    casefilter ddl --dialect duckdb{arguments} | duckdb cases.duckdb"),
                "",
                "Instants are milliseconds since 1970-01-01 00:00:00 UTC. Rows are sorted by time, so that zone maps",
                "skip the rows outside a range of time.",
            ],
            &mut out,
        );
        out.push_str(&format!("\nCREATE TABLE {name} (\n"));
        columns(self, table, &mut out);
        out.push_str("\n);\n\n");
        let mut path = String::new();
        string(file, &mut path);
        let mut by = String::new();
        self.identifier(super::syntax::time_column(table), &mut by);
        out.push_str(&format!("INSERT INTO {name} SELECT * FROM read_parquet({path}) ORDER BY {by};\n"));
        out
    }
}
