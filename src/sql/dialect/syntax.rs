//! What the dialects write in ways of their own, and what they have in common.

use crate::catalog::FieldType;
use crate::sql::column::Column;
use crate::sql::datum::Datum;
use crate::sql::table::Table;

/// How values stand in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum Form {
    /// As parameters.
    Bound,
    /// As literals.
    Literal,
}

/// A value of a statement where it stands: its number, counted from 1, and itself.
#[derive(Clone, Copy)]
pub(in crate::sql) struct Operand<'o> {
    pub(in crate::sql) number: usize,
    pub(in crate::sql) datum: &'o Datum<'static>,
    pub(in crate::sql) form: Form,
}

/// What one dialect writes otherwise than the others.
///
/// Columns come as they are to be written, already quoted. All tests are of two truth values: no operand
/// holds a null, and where a column is null a test may be null too, which counts as false.
pub(in crate::sql) trait Syntax: Sync {
    /// A name in quotes. Names are made of ASCII letters, digits and `_` alone.
    fn identifier(&self, name: &str, out: &mut String) {
        quoted(name, '"', out);
    }

    /// A value as a literal, which is one token but for a sign or a cast.
    fn literal(&self, datum: &Datum<'_>, out: &mut String);

    /// The place of a parameter.
    fn parameter(&self, number: usize, datum: &Datum<'_>, out: &mut String);

    /// False for strings that no column can hold, so that no case has them.
    fn can_hold(&self, _text: &str) -> bool {
        true
    }

    /// How many bytes of text a bound list may have before it is bound in parts.
    fn list_bytes(&self) -> usize {
        usize::MAX
    }

    /// The column is a member of the list, or is not.
    fn member(&self, column: &str, list: Operand<'_>, negated: bool, out: &mut String);

    /// The column, which holds lists, has a member of the list.
    fn overlaps(&self, column: &str, list: Operand<'_>, out: &mut String);

    /// The column, which holds lists, has every member of the list.
    fn includes(&self, column: &str, list: Operand<'_>, out: &mut String);

    /// What stands before and behind a test on `x`, an element, that some element of the column passes.
    fn some_element(&self, column: &str) -> (String, String);

    /// What makes text sort by code point where its column does not say so.
    fn collation(&self) -> &'static str {
        ""
    }

    /// What stands before and behind `FROM … WHERE …` to have a page of these columns in this order.
    fn page(&self, wanted: &str, order: &str, offset: u64, limit: u64) -> (String, String) {
        let (offset, limit) = (offset.min(MAX_ROWS), limit.min(MAX_ROWS));
        let skip = if offset == 0 { String::new() } else { format!(" OFFSET {offset}") };
        (format!("SELECT {wanted}"), format!(" ORDER BY {order} LIMIT {limit}{skip}"))
    }

    /// The type of a column.
    fn column_type(&self, column: &Column, table: &Table) -> String;

    /// The script that makes the table and loads an export into it.
    fn script(&self, table: &Table, file: &str) -> String;
}

/// More rows than any table has, and what every dialect can count.
pub(super) const MAX_ROWS: u64 = i64::MAX.cast_unsigned() / 2;

impl Operand<'_> {
    /// The operand as its form has it.
    pub(in crate::sql) fn write(&self, syntax: &(impl Syntax + ?Sized), out: &mut String) {
        match self.form {
            Form::Bound => syntax.parameter(self.number, self.datum, out),
            Form::Literal => syntax.literal(self.datum, out),
        }
    }

    /// The members of the list as literals, commas between them.
    pub(super) fn write_members(&self, syntax: &(impl Syntax + ?Sized), out: &mut String) {
        separated(self.datum.scalars().iter(), ", ", out, |datum, out| syntax.literal(datum, out));
    }
}

/// Writes items with something between them.
pub(in crate::sql) fn separated<T>(
    items: impl Iterator<Item = T>,
    between: &str,
    out: &mut String,
    mut write: impl FnMut(T, &mut String),
) {
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push_str(between);
        }
        write(item, out);
    }
}

/// A text in quotes, those in it doubled.
pub(super) fn quoted(text: &str, quote: char, out: &mut String) {
    out.push(quote);
    for c in text.chars() {
        if c == quote {
            out.push(quote);
        }
        out.push(c);
    }
    out.push(quote);
}

/// The script's first lines, as comments.
pub(super) fn heading(lines: &[&str], out: &mut String) {
    for line in lines {
        out.push_str("--");
        if !line.is_empty() {
            out.push(' ');
        }
        // A name of a file may have line breaks, behind which no comment goes on.
        out.extend(line.chars().map(|c| if c.is_control() { ' ' } else { c }));
        out.push('\n');
    }
}

/// The columns with their types, a line each.
pub(super) fn columns(syntax: &impl Syntax, table: &Table, out: &mut String) {
    separated(table.columns().iter(), ",\n", out, |column, out| {
        out.push_str("    ");
        syntax.identifier(column.name(), out);
        out.push(' ');
        out.push_str(&syntax.column_type(column, table));
    });
}

/// The column of the first timestamp that a case has once, by which rows are best kept together; else `id`.
pub(super) fn time_column(table: &Table) -> &str {
    let is_time = |column: &&Column| {
        let kind = column.field().map(|field| table.catalog().field(field).kind());
        kind == Some(FieldType::Timestamp) && !column.is_list()
    };
    table.columns().iter().find(is_time).map_or("id", Column::name)
}

/// The name of the table, its words quoted.
pub(in crate::sql) fn table_name(syntax: &(impl Syntax + ?Sized), table: &Table) -> String {
    let mut out = String::new();
    separated(table.name().iter(), ".", &mut out, |word, out| syntax.identifier(word, out));
    out
}
