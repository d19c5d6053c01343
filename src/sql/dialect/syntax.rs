//! The trait that each dialect implements, and text that the dialects share.

use crate::catalog::FieldType;
use crate::sql::column::Column;
use crate::sql::datum::Datum;
use crate::sql::table::Table;

/// The form in which a value is written in a statement: as a bound parameter or as a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum Form {
    /// A placeholder of a parameter.
    Bound,
    /// Literals.
    Literal,
}

/// A value in a statement, with its number, counted from 1.
#[derive(Clone, Copy)]
pub(in crate::sql) struct Operand<'o> {
    pub(in crate::sql) number: usize,
    pub(in crate::sql) datum: &'o Datum<'static>,
    pub(in crate::sql) form: Form,
}

/// The syntax of one dialect.
///
/// Column names are already quoted. Tests must be true or false, with one exception: a test may be null if its column is null, which acts
/// as false. No operand contains a null.
pub(in crate::sql) trait Syntax: Sync {
    /// Appends a name in quotes. Names consist of ASCII letters, digits and `_`.
    fn identifier(&self, name: &str, out: &mut String) {
        quoted(name, '"', out);
    }

    /// Appends a value as a literal: one token, possibly with a sign or a cast.
    fn literal(&self, datum: &Datum<'_>, out: &mut String);

    /// Appends the placeholder of a parameter.
    fn parameter(&self, number: usize, datum: &Datum<'_>, out: &mut String);

    /// Returns false if no column can store the string, so that no case has it.
    fn can_hold(&self, _text: &str) -> bool {
        true
    }

    /// Returns the size in bytes above which a bound list is split.
    fn list_bytes(&self) -> usize {
        usize::MAX
    }

    /// Appends a test whether the column is a member of the list or, if `negated`, is not a member.
    fn member(&self, column: &str, list: Operand<'_>, negated: bool, out: &mut String);

    /// Appends a test whether the list column has at least one member of the list.
    fn overlaps(&self, column: &str, list: Operand<'_>, out: &mut String);

    /// Appends a test whether the list column has every member of the list.
    fn includes(&self, column: &str, list: Operand<'_>, out: &mut String);

    /// Returns the text before and after a test on an element `x`. Together they test whether any element of the column passes.
    ///
    /// `longest` is the length of the longest list of which the test may require `x` to be a member.
    fn some_element(&self, column: &str, longest: usize) -> (String, String);

    /// Returns a test whether the list column has an element.
    fn has_elements(&self, column: &str) -> String;

    /// Appends a test whether a text starts with the operand, which is not empty. Compares code points, as do all tests of texts.
    fn starts_with(&self, text: &str, prefix: Operand<'_>, out: &mut String) {
        out.push_str(&format!("{}({text}, ", self.starts_with_name()));
        prefix.write(self, out);
        out.push(')');
    }

    /// Returns the name of the function that tests a prefix, by bytes or code points. In PostgreSQL, B-tree indexes of the collation `C`
    /// support `starts_with` from version 15 on.
    fn starts_with_name(&self) -> &'static str {
        "starts_with"
    }

    /// Returns the first part of a text, of this length in the unit of [`length`](Self::length).
    fn first(&self, text: &str, length: usize) -> String {
        format!("left({text}, {length})")
    }

    /// Returns the length of a text in the unit of [`first`](Self::first): code points, unless the dialect counts otherwise.
    fn length(&self, text: &str) -> usize {
        text.chars().count()
    }

    /// Returns the operand of [`contains`](Self::contains) for a substring.
    fn substring(&self, substring: &str) -> String {
        substring.to_owned()
    }

    /// Returns the maximum length of a list of substrings.
    fn most_substrings(&self) -> usize {
        usize::MAX
    }

    /// Appends a test whether a text contains the operand, which is not empty.
    fn contains(&self, text: &str, substring: Operand<'_>, out: &mut String);

    /// Appends a test whether a text contains at least one member of the list.
    fn contains_any(&self, text: &str, substrings: Operand<'_>, out: &mut String);

    /// Appends a test whether a text contains every member of the list.
    fn contains_all(&self, text: &str, substrings: Operand<'_>, out: &mut String);

    /// Returns the clause that sorts text by code point. Empty if the column type implies it.
    fn collation(&self) -> &'static str {
        ""
    }

    /// Returns the text before and after `FROM … WHERE …` that selects a page of these columns in this order.
    fn page(&self, wanted: &str, order: &str, offset: u64, limit: u64) -> (String, String) {
        let (offset, limit) = (offset.min(MAX_ROWS), limit.min(MAX_ROWS));
        let skip = if offset == 0 { String::new() } else { format!(" OFFSET {offset}") };
        (format!("SELECT {wanted}"), format!(" ORDER BY {order} LIMIT {limit}{skip}"))
    }

    /// Returns the type of a column.
    fn column_type(&self, column: &Column, table: &Table) -> String;

    /// Returns the script that creates the table and loads an export into it.
    fn script(&self, table: &Table, file: &str) -> String;
}

/// The maximum limit and offset: more rows than any table has, and small enough for every dialect.
pub(super) const MAX_ROWS: u64 = i64::MAX.cast_unsigned() / 2;

impl Operand<'_> {
    /// Appends the operand in its form.
    pub(in crate::sql) fn write(&self, syntax: &(impl Syntax + ?Sized), out: &mut String) {
        match self.form {
            Form::Bound => syntax.parameter(self.number, self.datum, out),
            Form::Literal => syntax.literal(self.datum, out),
        }
    }

    /// Appends the members of the list as literals, separated by commas.
    pub(super) fn write_members(&self, syntax: &(impl Syntax + ?Sized), out: &mut String) {
        separated(self.datum.scalars().iter(), ", ", out, |datum, out| syntax.literal(datum, out));
    }
}

/// Writes items with a separator.
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

/// Appends a text in quotes, with quotes inside it doubled.
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

/// Appends the head of a script, as comments.
pub(super) fn heading(lines: &[&str], out: &mut String) {
    for line in lines {
        out.push_str("--");
        if !line.is_empty() {
            out.push(' ');
        }
        // The name of a file may contain line breaks, which would end the comment.
        out.extend(line.chars().map(|c| if c.is_control() { ' ' } else { c }));
        out.push('\n');
    }
}

/// Appends the columns with their types, one per line.
pub(super) fn columns(syntax: &impl Syntax, table: &Table, out: &mut String) {
    separated(table.columns().iter(), ",\n", out, |column, out| {
        out.push_str("    ");
        syntax.identifier(column.name(), out);
        out.push(' ');
        out.push_str(&syntax.column_type(column, table));
    });
}

/// Returns the first single-valued timestamp column, by which rows should be clustered, or else `id`.
pub(super) fn time_column(table: &Table) -> &str {
    let is_time = |column: &&Column| {
        let kind = column.field().map(|field| table.catalog().field(field).field_type());
        kind == Some(FieldType::Timestamp) && !column.is_list()
    };
    table.columns().iter().find(is_time).map_or("id", Column::name)
}

/// Returns the name of the table, with its parts quoted.
pub(in crate::sql) fn table_name(syntax: &(impl Syntax + ?Sized), table: &Table) -> String {
    let mut out = String::new();
    separated(table.name().iter(), ".", &mut out, |word, out| syntax.identifier(word, out));
    out
}
