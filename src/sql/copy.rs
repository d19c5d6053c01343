//! Writes rows of the export in the text format of PostgreSQL's `COPY`.

use super::datum::Datum;
use super::table::Table;
use crate::error::{Error, ErrorKind};

/// Appends a row of `table` in the text format of `COPY`, with a line feed at the end.
///
/// ```
/// use casefilter::{Catalog, sql::{Table, write_copy}};
/// let table = Table::new(&Catalog::cases().allow(["name", "tags"])?);
/// let mut out = String::new();
/// write_copy(&table, &table.row(0, r#"{"id":"a","tags":["x","NULL"]}"#)?, &mut out)?;
/// assert_eq!(out, "0\ta\t\\N\t{\"x\",\"NULL\"}\t{\"id\":\"a\",\"tags\":[\"x\",\"NULL\"]}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error, and appends nothing, if a string contains U+0000, which PostgreSQL cannot store. The error names the path of
/// the field.
pub fn write_copy(table: &Table, row: &[Datum<'_>], out: &mut String) -> Result<(), Error> {
    let start = out.len();
    for (at, (column, datum)) in table.columns().iter().zip(row).enumerate() {
        if at > 0 {
            out.push('\t');
        }
        let can_hold = match datum {
            Datum::Null => {
                out.push_str("\\N");
                true
            }
            datum if datum.is_list() => push_list(datum, out),
            Datum::Text(text) => push_escaped(text, out),
            scalar => {
                push_plain(scalar, out);
                true
            }
        };
        if !can_hold {
            out.truncate(start);
            let path = column.field().map_or(column.name(), |field| table.catalog().field(field).name());
            let expected = "text without zero characters, which PostgreSQL cannot store";
            return Err(Error::new(ErrorKind::BadValue, 0, "a zero character (U+0000)", expected).at(path));
        }
    }
    out.push('\n');
    Ok(())
}

fn push_plain(scalar: &Datum<'_>, out: &mut String) {
    match scalar {
        Datum::Number(number) => out.push_str(&format!("{number:e}")),
        Datum::Integer(integer) => out.push_str(&integer.to_string()),
        Datum::Decimal(decimal) => out.push_str(&decimal.to_string()),
        Datum::Boolean(boolean) => out.push(if *boolean { 't' } else { 'f' }),
        _ => {}
    }
}

/// Appends a list as a PostgreSQL array literal: in braces, with strings in double quotes. Returns false if a string contains
/// U+0000.
fn push_list(list: &Datum<'_>, out: &mut String) -> bool {
    let mut can_hold = true;
    out.push('{');
    for (at, scalar) in list.scalars().iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let Datum::Text(text) = scalar else {
            push_plain(scalar, out);
            continue;
        };
        let mut quoted = String::with_capacity(text.len().saturating_add(2));
        quoted.push('"');
        for c in text.chars() {
            if matches!(c, '"' | '\\') {
                quoted.push('\\');
            }
            quoted.push(c);
        }
        quoted.push('"');
        can_hold &= push_escaped(&quoted, out);
    }
    out.push('}');
    can_hold
}

/// Appends text with the escapes of the `COPY` format. Returns false if the text contains U+0000.
fn push_escaped(text: &str, out: &mut String) -> bool {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0' => return false,
            _ => out.push(c),
        }
    }
    true
}
