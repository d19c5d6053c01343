//! Writes SQL for PostgreSQL and Citus: literals, parameters, conditions, and the script that creates the table.

use std::borrow::Cow;

use super::syntax::{Operand, Syntax, columns, heading, quoted, separated, table_name, time_column};
use crate::catalog::FieldId;
use crate::sql::column::Column;
use crate::sql::datum::{ColumnType, Datum};
use crate::sql::table::Table;

pub(super) struct Postgres;

/// Up to this length, a list is tested by `&&`. This operator compares all pairs of elements, but it can use an index. For longer
/// lists, each element of the column is tested by `= ANY`, which PostgreSQL evaluates with a hash table.
const FEW_ELEMENTS: usize = 64;

fn type_name(kind: ColumnType) -> Cow<'static, str> {
    Cow::Borrowed(match kind {
        ColumnType::Text => "text",
        ColumnType::Number => "double precision",
        ColumnType::Integer => "bigint",
        ColumnType::Decimal { scale } => return Cow::Owned(format!("numeric(19,{scale})")),
        ColumnType::Boolean => "boolean",
    })
}

fn cast(datum: &Datum<'_>) -> Cow<'static, str> {
    Cow::Borrowed(match (datum, datum.is_list()) {
        (Datum::Text(_) | Datum::Null, _) => "::text",
        (Datum::Texts(_), _) => "::text[]",
        (Datum::Number(_), _) => "::float8",
        (Datum::Numbers(_), _) => "::float8[]",
        (Datum::Integer(_), _) => "::bigint",
        (Datum::Integers(_), _) => "::bigint[]",
        (Datum::Boolean(_), _) => "::boolean",
        // The parameter is passed as text and then cast, so that the number stays exact with every driver.
        (Datum::Decimal(_) | Datum::Decimals(_), is_list) => {
            let kind = datum.kind().map(type_name).unwrap_or_default();
            let list = if is_list { "[]" } else { "" };
            return Cow::Owned(format!("::text{list}::{kind}{list}"));
        }
        (Datum::Booleans(_), _) => "::boolean[]",
    })
}

impl Syntax for Postgres {
    /// Writes strings in the escape form, `E'…'`, which does not depend on the setting `standard_conforming_strings`. A string that
    /// contains U+0000 becomes a null, because the type `text` cannot store it.
    fn literal(&self, datum: &Datum<'_>, out: &mut String) {
        match datum {
            Datum::Null => out.push_str("NULL"),
            Datum::Text(text) if !self.can_hold(text) => out.push_str("NULL"),
            Datum::Text(text) => {
                out.push_str("E'");
                for c in text.chars() {
                    if matches!(c, '\'' | '\\') {
                        out.push(c);
                    }
                    out.push(c);
                }
                out.push('\'');
            }
            Datum::Number(number) => out.push_str(&format!("'{number:e}'")),
            Datum::Integer(integer) => out.push_str(&format!("'{integer}'")),
            Datum::Decimal(decimal) => out.push_str(&format!("'{decimal}'")),
            Datum::Boolean(boolean) => out.push_str(if *boolean { "TRUE" } else { "FALSE" }),
            Datum::Texts(_)
            | Datum::Numbers(_)
            | Datum::Integers(_)
            | Datum::Decimals(_)
            | Datum::Booleans(_) => {
                out.push_str("ARRAY[");
                separated(datum.scalars().iter(), ", ", out, |scalar, out| self.literal(scalar, out));
                out.push(']');
            }
        }
        let cast = cast(datum);
        // A literal is already text, so it needs no cast to `text`.
        let is_list = datum.is_list();
        let own = cast.strip_prefix(if is_list { "::text[]::" } else { "::text::" });
        match own {
            Some(kind) => out.push_str(&format!("::{kind}")),
            None => out.push_str(&cast),
        }
    }

    fn parameter(&self, number: usize, datum: &Datum<'_>, out: &mut String) {
        out.push_str(&format!("${number}{}", cast(datum)));
    }

    fn can_hold(&self, text: &str) -> bool {
        !text.contains('\0')
    }

    fn member(&self, column: &str, list: Operand<'_>, negated: bool, out: &mut String) {
        out.push_str(column);
        out.push_str(if negated { " <> ALL (" } else { " = ANY (" });
        list.write(self, out);
        out.push(')');
    }

    fn overlaps(&self, column: &str, list: Operand<'_>, out: &mut String) {
        if list.datum.len() > FEW_ELEMENTS {
            let (before, behind) = self.some_element(column, list.datum.len());
            out.push_str(&before);
            self.member("x", list, false, out);
            out.push_str(&behind);
            return;
        }
        out.push_str(column);
        out.push_str(" && ");
        list.write(self, out);
    }

    fn includes(&self, column: &str, list: Operand<'_>, out: &mut String) {
        out.push_str(column);
        out.push_str(" @> ");
        list.write(self, out);
    }

    fn some_element(&self, column: &str, _longest: usize) -> (String, String) {
        (format!("EXISTS (SELECT 1 FROM unnest({column}) AS element (x) WHERE "), ")".to_owned())
    }

    fn has_elements(&self, column: &str) -> String {
        format!("cardinality({column}) > 0")
    }

    fn elements_with(&self, numbers: &str, values: &str, _longest: usize) -> (String, String) {
        (format!("(SELECT _n FROM unnest({numbers}, {values}) AS _value (_n, _x) WHERE "), ")".to_owned())
    }

    fn elements_with_every(&self, numbers: &str, values: &str, _own: &str, count: usize) -> (String, String) {
        let (before, _) = self.elements_with(numbers, values, 0);
        (before, format!(" GROUP BY _n HAVING count(DISTINCT _x) = {count})"))
    }

    fn all_elements(&self, numbers: &str) -> String {
        format!("(SELECT _n FROM unnest({numbers}) AS _element (_n))")
    }

    fn intersection(&self) -> [&'static str; 3] {
        ["(", " INTERSECT ", ")"]
    }

    fn union(&self) -> [&'static str; 3] {
        ["(", " UNION ", ")"]
    }

    fn complement(&self, own: &str) -> (String, String) {
        (format!("({} EXCEPT ", self.all_elements(own)), ")".to_owned())
    }

    fn outer_elements(&self, own: &str, outer: &str) -> (String, String) {
        let from = format!("unnest({own}, {outer}) AS _element (_n, _outer)");
        (format!("(SELECT _outer FROM {from} WHERE _n IN "), ")".to_owned())
    }

    fn is_not_empty(&self) -> (&'static str, &'static str) {
        ("EXISTS ", "")
    }

    /// Returns a `LIKE` pattern, with escapes. In every collation that a column can have here, `LIKE` compares the bytes between
    /// the wildcards. Unlike `strpos`, `LIKE` is supported by trigram indexes and accepts lists of patterns.
    fn substring(&self, substring: &str) -> String {
        let mut pattern = String::from("%");
        for c in substring.chars() {
            if matches!(c, '%' | '_' | '\\') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        pattern.push('%');
        pattern
    }

    fn contains(&self, text: &str, substring: Operand<'_>, out: &mut String) {
        out.push_str(&format!("{text} LIKE "));
        substring.write(self, out);
    }

    fn contains_any(&self, text: &str, substrings: Operand<'_>, out: &mut String) {
        out.push_str(&format!("{text} LIKE ANY ("));
        substrings.write(self, out);
        out.push(')');
    }

    fn contains_all(&self, text: &str, substrings: Operand<'_>, out: &mut String) {
        out.push_str(&format!("{text} LIKE ALL ("));
        substrings.write(self, out);
        out.push(')');
    }

    fn collation(&self) -> &'static str {
        " COLLATE \"C\""
    }

    fn each_value(&self, column: &str, _kind: ColumnType) -> (String, String) {
        let values = format!("(SELECT DISTINCT _v FROM unnest({column}) AS _element (_v)) AS _value");
        ("_value._v".to_owned(), format!(" LEFT JOIN LATERAL {values} ON TRUE"))
    }

    /// Sums doubles as decimal numbers with all their digits. PostgreSQL would report an error for a sum of doubles that is outside
    /// the range of a double.
    fn wide(&self, value: &str, kind: ColumnType) -> String {
        match kind {
            ColumnType::Number => format!("{value}::text::numeric"),
            _ => value.to_owned(),
        }
    }

    fn column_type(&self, column: &Column, table: &Table) -> String {
        let mut out = type_name(column.kind()).into_owned();
        if column.is_list() {
            out.push_str("[]");
        }
        // Statements never compare documents, so that column needs no collation.
        if column.kind() == ColumnType::Text && column.field().is_some() {
            out.push_str(" COLLATE \"C\"");
        }
        if !column.is_nullable() {
            out.push_str(" NOT NULL");
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
                "PostgreSQL. Export the cases, then run this script with psql:",
                "",
                &format!("    casefilter export CASES{arguments} -o {file}"),
                &format!(
                    "    casefilter ddl --dialect postgres{arguments} | psql -v ON_ERROR_STOP=1 DATABASE"
                ),
                "",
                "Instants are milliseconds since 1970-01-01 00:00:00 UTC. A string with a zero character, which",
                "PostgreSQL cannot store, ends the export. The database must be of encoding UTF8.",
            ],
            &mut out,
        );
        out.push_str(&format!("\nCREATE TABLE {name} (\n"));
        columns(self, table, &mut out);
        out.push_str("\n);\n\n");
        heading(
            &[
                "On Citus: place rows by id, so that each worker has an equal share and sorts its own page.",
                &format!("SELECT create_distributed_table('{}', 'id');", table.qualified_name()),
            ],
            &mut out,
        );
        // psql reads a backslash command only up to the end of the line.
        out.push_str(&format!("\n\\copy {name} FROM "));
        quoted(&file.replace(['\n', '\r'], " "), '\'', &mut out);
        out.push_str(" WITH (FORMAT text, ENCODING 'UTF8')\n\n");
        heading(
            &["Indexes, created after loading. B-tree and GIN reject strings over 2,700 bytes compressed."],
            &mut out,
        );
        indexes(table, &name, &mut out);
        out.push_str(&format!("\nANALYZE {name};\n"));
        out
    }
}

/// Appends the indexes that common requests need. Appends all other indexes as SQL comments.
fn indexes(table: &Table, name: &str, out: &mut String) {
    let mut common = String::new();
    let (mut optional, mut trigrams) = (String::new(), String::new());
    let time = time_column(table);
    let mut id = String::new();
    Postgres.identifier(table.id_column(), &mut id);
    for column in table.columns() {
        let Some(field) = column.field().filter(|field| *field != FieldId::ID) else { continue };
        let field = table.catalog().field(field);
        let mut quoted = String::new();
        Postgres.identifier(column.name(), &mut quoted);
        let on = format!("CREATE INDEX ON {name}");
        if column.is_folded() {
            if !column.is_list() {
                trigrams.push_str(&format!("-- {on} USING gin ({quoted} gin_trgm_ops);\n"));
            }
        } else if column.is_list() {
            common.push_str(&format!("{on} USING gin ({quoted});\n"));
        } else if field.field_type().is_ordered() {
            // Reading an ascending index backwards does not give the descending order: absent values come last in both orders.
            common.push_str(&format!("{on} ({quoted} DESC NULLS LAST, {id});\n"));
            let least_first = format!("{on} ({quoted}, {id});\n");
            if column.name() == time {
                common.push_str(&least_first);
            } else {
                optional.push_str(&format!("-- {least_first}"));
            }
        } else if field.known_values().len() > 0 {
            let then = if time == table.id_column() {
                String::new()
            } else {
                format!("\"{time}\" DESC NULLS LAST, ")
            };
            common.push_str(&format!("{on} ({quoted}, {then}{id});\n"));
        } else if field.is_key() {
            common.push_str(&format!("{on} USING hash ({quoted});\n"));
        } else {
            optional.push_str(&format!("-- {on} USING hash ({quoted});\n"));
        }
    }
    out.push_str(&format!("ALTER TABLE {name} ADD PRIMARY KEY ({id});\n"));
    out.push_str(&format!("CREATE INDEX ON {name} (\"place\");\n{common}\n"));
    heading(
        &["Optional: to sort by a field in ascending order, or to look up single values of a field:"],
        out,
    );
    out.push_str(&optional);
    if !trigrams.is_empty() {
        out.push('\n');
        heading(&["Optional: to search words in a field:", "CREATE EXTENSION pg_trgm;"], out);
        out.push_str(&trigrams);
    }
}
