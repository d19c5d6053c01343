//! Writes SQL for ClickHouse: literals, parameters, conditions, and the script that creates the table.

use std::borrow::Cow;

use super::syntax::{Form, Operand, Syntax, columns, heading, separated, table_name};
use crate::catalog::FieldType;
use crate::sql::column::Column;
use crate::sql::datum::{ColumnType, Datum};
use crate::sql::table::Table;

pub(super) struct ClickHouse;

/// The maximum size of a list in one parameter, in bytes. Longer lists are split, because ClickHouse needs quadratic time to read a
/// parameter of more than 1 MiB. Up to 1 MiB, it needs linear time.
const LIST_BYTES: usize = 512 << 10;

/// Up to this length, a list is tested by `hasAny`. This function compares all pairs of elements, but it can use a skip index.
/// Longer lists are tested by a condition that uses a hash table.
const FEW_ELEMENTS: usize = 64;

/// The maximum number of strings that `multiSearchAny` and `multiSearchAllPositions` accept. Longer lists are split.
const MOST_SUBSTRINGS: usize = 255;

fn type_name(kind: ColumnType) -> Cow<'static, str> {
    Cow::Borrowed(match kind {
        ColumnType::Text => "String",
        ColumnType::Number => "Float64",
        ColumnType::Integer => "Int64",
        ColumnType::Decimal { scale } => return Cow::Owned(format!("Decimal(19, {scale})")),
        ColumnType::Boolean => "Bool",
    })
}

fn push_string(text: &str, quote: char, out: &mut String) {
    out.push(quote);
    for c in text.chars() {
        match c {
            '\0' => out.push_str("\\0"),
            '\'' | '`' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out.push(quote);
}

/// Returns SQL to write before and after a set of elements. The complete expression is the list of those entries of `entries` whose
/// `_count` passes the test. `_count` is 1 if the element of the entry is not in the set, and greater if it is.
///
/// `entries` has one entry for each element in `own`, in the same order. To compute `_count`, the set is appended to `own`.
/// `_count` is the number of occurrences of the element from its place in `own` to the end of this longer list.
fn counted(own: &str, entries: &str, test: &str) -> (String, String) {
    (
        format!(
            "arrayFilter((_entry, _count) -> {test}, {entries}, \
             arrayResize(arrayReverse(arrayEnumerateUniq(arrayReverse(arrayConcat({own}, "
        ),
        format!(")))), length({own})))"),
    )
}

/// Appends a list element without a conversion function. The list determines its type.
fn bare(datum: &Datum<'_>, out: &mut String) {
    match datum {
        Datum::Number(number) => out.push_str(&format!("{number:e}")),
        Datum::Integer(integer) => out.push_str(&integer.to_string()),
        Datum::Decimal(decimal) => out.push_str(&format!("'{decimal}'")),
        _ => ClickHouse.literal(datum, out),
    }
}

impl Syntax for ClickHouse {
    fn identifier(&self, name: &str, out: &mut String) {
        push_string(name, '`', out);
    }

    fn literal(&self, datum: &Datum<'_>, out: &mut String) {
        match datum {
            Datum::Null => out.push_str("NULL"),
            Datum::Text(text) => push_string(text, '\'', out),
            Datum::Number(number) => out.push_str(&format!("toFloat64({number:e})")),
            Datum::Integer(integer) => out.push_str(&format!("toInt64({integer})")),
            Datum::Decimal(decimal) => {
                out.push_str(&format!("'{decimal}'::Decimal(19, {})", decimal.scale()));
            }
            // ClickHouse parses the text of the array as an array of decimals, and rejects quotes around them.
            Datum::Decimals(decimals) => {
                out.push('[');
                separated(decimals.iter(), ", ", out, |decimal, out| out.push_str(&decimal.to_string()));
                out.push_str(&format!("]::Array({})", datum.kind().map(type_name).unwrap_or_default()));
            }
            Datum::Boolean(boolean) => out.push_str(if *boolean { "true" } else { "false" }),
            // Without a cast, integers beyond 32 bits are unsigned, and cannot be compared with a column of signed integers.
            Datum::Integers(_) => {
                out.push('[');
                separated(datum.scalars().iter(), ", ", out, bare);
                out.push_str("]::Array(Int64)");
            }
            Datum::Texts(_) | Datum::Numbers(_) | Datum::Booleans(_) => {
                out.push('[');
                separated(datum.scalars().iter(), ", ", out, bare);
                out.push(']');
            }
        }
    }

    fn parameter(&self, number: usize, datum: &Datum<'_>, out: &mut String) {
        let kind = datum.kind().map_or(Cow::Borrowed("String"), type_name);
        if let Datum::Decimals(_) = datum {
            // Clients quote the members of this list, and ClickHouse rejects quoted decimals in a parameter. So the parameter is a
            // list of strings, which is then cast.
            out.push_str(&format!("{{p{number}:Array(String)}}::Array({kind})"));
        } else if datum.is_list() {
            out.push_str(&format!("{{p{number}:Array({kind})}}"));
        } else {
            out.push_str(&format!("{{p{number}:{kind}}}"));
        }
    }

    fn list_bytes(&self) -> usize {
        LIST_BYTES
    }

    fn member(&self, column: &str, list: Operand<'_>, negated: bool, out: &mut String) {
        out.push_str(column);
        out.push_str(if negated { " NOT IN " } else { " IN " });
        match list.form {
            Form::Bound => list.write(self, out),
            Form::Literal => {
                out.push('(');
                separated(list.datum.scalars().iter(), ", ", out, bare);
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
        out.push_str(&format!("hasAny({column}, "));
        list.write(self, out);
        out.push(')');
    }

    fn includes(&self, column: &str, list: Operand<'_>, out: &mut String) {
        out.push_str(&format!("hasAll({column}, "));
        list.write(self, out);
        out.push(')');
    }

    fn some_element(&self, column: &str, _longest: usize) -> (String, String) {
        ("arrayExists(x -> ".to_owned(), format!(", {column})"))
    }

    fn has_elements(&self, column: &str) -> String {
        format!("notEmpty({column})")
    }

    fn elements_with(&self, numbers: &str, values: &str, _longest: usize) -> (String, String) {
        ("arrayFilter((_n, _x) -> ".to_owned(), format!(", {numbers}, {values})"))
    }

    /// Lists the distinct pairs of an element number and a value that passes the test. Numbers the pairs of each element from 1. So
    /// an element has `count` such values if one of its pairs has the number `count`.
    fn elements_with_every(&self, numbers: &str, values: &str, _own: &str, count: usize) -> (String, String) {
        (
            format!(
                "arrayFlatten(arrayMap(_all -> arrayFilter((_n, _count) -> _count = {count}, _all, arrayEnumerateUniq(_all)), \
                 [arrayMap(_pair -> tupleElement(_pair, 1), arrayDistinct(arrayFilter((_pair, _x) -> "
            ),
            format!(", arrayZip({numbers}, {values}), {values})))]))"),
        )
    }

    fn intersection(&self) -> [&'static str; 3] {
        ["arrayIntersect(", ", ", ")"]
    }

    fn union(&self) -> [&'static str; 3] {
        ["arrayConcat(", ", ", ")"]
    }

    fn complement(&self, own: &str) -> (String, String) {
        counted(own, own, "_count = 1")
    }

    fn outer_elements(&self, own: &str, outer: &str) -> (String, String) {
        counted(own, outer, "_count > 1")
    }

    fn is_not_empty(&self) -> (&'static str, &'static str) {
        ("notEmpty(", ")")
    }

    fn starts_with_name(&self) -> &'static str {
        "startsWith"
    }

    fn first(&self, text: &str, length: usize) -> String {
        format!("substring({text}, 1, {length})")
    }

    /// Returns the length in bytes, because ClickHouse's `substring` counts bytes.
    fn length(&self, text: &str) -> usize {
        text.len()
    }

    fn most_substrings(&self) -> usize {
        MOST_SUBSTRINGS
    }

    fn contains(&self, text: &str, substring: Operand<'_>, out: &mut String) {
        out.push_str(&format!("position({text}, "));
        substring.write(self, out);
        out.push_str(") > 0");
    }

    fn contains_any(&self, text: &str, substrings: Operand<'_>, out: &mut String) {
        out.push_str(&format!("multiSearchAny({text}, "));
        substrings.write(self, out);
        out.push(')');
    }

    /// Writes a separate test that the text is not null: ClickHouse has no nullable arrays, so `multiSearchAllPositions` cannot
    /// return null for a text that is null. The lambda expression has the parameter `_at`, which differs from every column name,
    /// because no column name starts with an underscore.
    fn contains_all(&self, text: &str, substrings: Operand<'_>, out: &mut String) {
        out.push_str(&format!("({text} IS NOT NULL AND arrayAll(_at -> _at > 0, "));
        out.push_str(&format!("multiSearchAllPositions(assumeNotNull({text}), "));
        substrings.write(self, out);
        out.push_str(")))");
    }

    fn each_value(&self, column: &str, kind: ColumnType) -> (String, String) {
        let nullable = format!("Nullable({})", type_name(kind));
        let values = format!("arrayMap(_v -> CAST(_v, '{nullable}'), arrayDistinct({column}))");
        (format!("arrayJoin(if(empty({column}), [NULL], {values}))"), String::new())
    }

    fn wide(&self, value: &str, kind: ColumnType) -> String {
        if kind == ColumnType::Integer { format!("toInt128({value})") } else { value.to_owned() }
    }

    fn units(&self, value: &str, scale: u8) -> String {
        format!("toInt64({value} * {})", 10_i64.saturating_pow(scale.into()))
    }

    fn quotient(&self, dividend: &str, divisor: i64) -> String {
        format!("intDiv({dividend}, {divisor})")
    }

    fn column_type(&self, column: &Column, table: &Table) -> String {
        let field = column.field().map(|field| table.catalog().field(field));
        let few = column.kind() == ColumnType::Text
            && field.is_some_and(|field| field.known_values().len() > 0 || field.path().ends_with("[]"));
        let mut out = type_name(column.kind()).into_owned();
        if column.is_nullable() {
            out = format!("Nullable({out})");
        }
        if few {
            out = format!("LowCardinality({out})");
        }
        if column.is_list() {
            out = format!("Array({out})");
        }
        if let Some(default) = table.default_of(column) {
            out.push_str(" DEFAULT ");
            self.literal(&default, &mut out);
        }
        out
    }

    fn script(&self, table: &Table, file: &str) -> String {
        let name = table_name(self, table);
        let arguments = table.arguments();
        let mut out = String::new();
        heading(
            &[
                "ClickHouse. Export the cases, then run this script:",
                "",
                &format!("    casefilter export CASES --flat{arguments} -o {file}"),
                &format!(
                    "    casefilter ddl --dialect clickhouse{arguments} | clickhouse-client --multiquery"
                ),
                "",
                "Instants are milliseconds since 1970-01-01 00:00:00 UTC, because DateTime64 starts in 1900.",
                "Nullable(String) distinguishes a case without the field from one with an empty string.",
            ],
            &mut out,
        );
        out.push_str(&format!("\nCREATE TABLE {name} (\n"));
        columns(self, table, &mut out);
        let quote = |column: &Column| {
            let mut quoted = String::new();
            self.identifier(column.name(), &mut quoted);
            quoted
        };
        let mut time = String::new();
        for column in table.columns() {
            let Some(field) = column.field().map(|field| table.catalog().field(field)) else { continue };
            let quoted = quote(column);
            let index = match (column.kind(), field.field_type()) {
                (_, FieldType::Timestamp) if !column.is_list() && time.is_empty() => {
                    time = format!("{quoted}, ");
                    continue;
                }
                // A Bloom filter finds complete strings, but a folded column is searched for substrings.
                (ColumnType::Text, _) if column.is_folded() => continue,
                (ColumnType::Text, _) if column.is_list() || field.is_key() => "bloom_filter(0.01)",
                (ColumnType::Integer | ColumnType::Number | ColumnType::Decimal { .. }, _)
                    if !column.is_list() =>
                {
                    "minmax"
                }
                _ => continue,
            };
            out.push_str(&format!(",\n    INDEX {} {quoted} TYPE {index} GRANULARITY 1", {
                let mut index_name = String::new();
                self.identifier(&format!("by_{}", column.name()), &mut index_name);
                index_name
            }));
        }
        let mut id = String::new();
        self.identifier(table.id_column(), &mut id);
        out.push_str(&format!(
            "\n) ENGINE = MergeTree\nORDER BY ({time}{id})\nSETTINGS allow_nullable_key = 1;\n\n"
        ));
        let mut path = String::new();
        self.literal(&Datum::Text(file.into()), &mut path);
        heading(
            &[
                "The file must be in the server's user_files folder. For any other file, replace this statement by",
                &format!(
                    "clickhouse-client --query 'INSERT INTO {} FORMAT Parquet' < FILE",
                    table.name().join(".")
                ),
            ],
            &mut out,
        );
        out.push_str(&format!("INSERT INTO {name} SELECT * FROM file({path}, Parquet);\n\n"));
        let plain = table.name().join(".");
        heading(
            &[
                "On a cluster: create the table above with ON CLUSTER c, then load and search this table instead:",
                &format!("CREATE TABLE {plain}_all ON CLUSTER c AS {plain}"),
                &format!(
                    "ENGINE = Distributed(c, {}, {}, cityHash64(id));",
                    table.name().iter().rev().nth(1).map_or("default", String::as_str),
                    table.name().last().map_or("cases", String::as_str)
                ),
            ],
            &mut out,
        );
        out
    }
}
