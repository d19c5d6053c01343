//! Defines the trait that each dialect implements, and writes SQL text that is the same in all dialects.

use crate::catalog::FieldType;
use crate::sql::column::Column;
use crate::sql::datum::{ColumnType, Datum};
use crate::sql::table::Table;

/// The form in which a value is written in a statement: as a bound parameter or as a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum Form {
    /// A bound parameter: the statement contains a placeholder.
    Bound,
    /// A literal: the statement contains the value.
    Literal,
}

/// A value that a statement uses, with the number of its parameter, counted from 1.
#[derive(Clone, Copy)]
pub(in crate::sql) struct Operand<'o> {
    pub(in crate::sql) number: usize,
    pub(in crate::sql) datum: &'o Datum<'static>,
    pub(in crate::sql) form: Form,
}

/// The syntax of one dialect.
///
/// Column names that are passed to these methods are already quoted. A test that a method writes is true or false. If its column is
/// null, the test can also be null, which `WHERE` treats as false. No operand contains a null.
pub(in crate::sql) trait Syntax: Sync {
    /// Appends a quoted name. Names consist of ASCII letters, digits and `_`.
    fn identifier(&self, name: &str, out: &mut String) {
        quoted(name, '"', out);
    }

    /// Appends a value as a literal: one token, possibly with a sign or a cast.
    fn literal(&self, datum: &Datum<'_>, out: &mut String);

    /// Appends the placeholder of a parameter.
    fn parameter(&self, number: usize, datum: &Datum<'_>, out: &mut String);

    /// Returns false if no column can store the string. Then no case in the table contains it.
    fn can_hold(&self, _text: &str) -> bool {
        true
    }

    /// Returns the maximum size of a list in one parameter, in bytes. Longer lists are split.
    fn list_bytes(&self) -> usize {
        usize::MAX
    }

    /// Appends a test: the column's value is in the list, or is not in the list if `negated` is true.
    fn member(&self, column: &str, list: Operand<'_>, negated: bool, out: &mut String);

    /// Appends a test: the list column contains at least one value of the operand.
    fn overlaps(&self, column: &str, list: Operand<'_>, out: &mut String);

    /// Appends a test: the list column contains every value of the operand.
    fn includes(&self, column: &str, list: Operand<'_>, out: &mut String);

    /// Returns SQL to write before and after a test of an element `x`. The complete condition is true if at least one element of
    /// the column passes the test.
    ///
    /// `longest` is the length of the longest list that the test of `x` may use as an operand.
    fn some_element(&self, column: &str, longest: usize) -> (String, String);

    /// Returns a test: the list column has at least one element.
    fn has_elements(&self, column: &str) -> String;

    /// Returns SQL to write before and after a test of a value `_x`. The complete expression is the set of the array elements with
    /// a value that passes the test.
    ///
    /// A *set* of elements is an expression of the dialect: a list of element numbers that can have repetitions, or a subquery.
    /// `numbers` is an element column, and `values` is the column of the values. `longest` is as for
    /// [`some_element`](Self::some_element).
    fn elements_with(&self, numbers: &str, values: &str, longest: usize) -> (String, String);

    /// Returns SQL to write before and after a test of a value `_x`. The complete expression is a set of elements. It contains an
    /// element if `count` different values of the element pass the test. `own` is the column of all elements.
    fn elements_with_every(&self, numbers: &str, values: &str, own: &str, count: usize) -> (String, String);

    /// Returns the set of the elements in a column.
    fn all_elements(&self, numbers: &str) -> String {
        numbers.to_owned()
    }

    /// Returns SQL to write before, between and after two sets. The complete expression is their intersection.
    fn intersection(&self) -> [&'static str; 3];

    /// Returns SQL to write before, between and after two sets. The complete expression is their union.
    fn union(&self) -> [&'static str; 3];

    /// Returns SQL to write before and after a set. The complete expression is the set of all other elements. `own` is the column
    /// of all elements.
    fn complement(&self, own: &str) -> (String, String);

    /// Returns SQL to write before and after a set. The complete expression is the set of the outer elements that contain an
    /// element of the set. `own` is the column of all elements of the inner array, and `outer` has, for each of these elements, the
    /// number of the outer element.
    fn outer_elements(&self, own: &str, outer: &str) -> (String, String);

    /// Returns SQL to write before and after a set. The complete expression is a test: the set is not empty.
    fn is_not_empty(&self) -> (&'static str, &'static str);

    /// Appends a test: a text starts with the operand, which is not empty. Like all tests of texts, it compares code points.
    fn starts_with(&self, text: &str, prefix: Operand<'_>, out: &mut String) {
        out.push_str(&format!("{}({text}, ", self.starts_with_name()));
        prefix.write(self, out);
        out.push(')');
    }

    /// Returns the name of the function that tests whether a text starts with a prefix. The function compares bytes or code points.
    /// In PostgreSQL, `starts_with` can use B-tree indexes with the collation `C` from version 15 on.
    fn starts_with_name(&self) -> &'static str {
        "starts_with"
    }

    /// Returns an expression for the first `length` units of a text. The unit is that of [`length`](Self::length).
    fn first(&self, text: &str, length: usize) -> String {
        format!("left({text}, {length})")
    }

    /// Returns the length of a text in the unit of [`first`](Self::first): code points, unless the dialect overrides this method.
    fn length(&self, text: &str) -> usize {
        text.chars().count()
    }

    /// Converts a substring to the operand of [`contains`](Self::contains), such as a `LIKE` pattern.
    fn substring(&self, substring: &str) -> String {
        substring.to_owned()
    }

    /// Returns the maximum number of substrings in one list.
    fn most_substrings(&self) -> usize {
        usize::MAX
    }

    /// Appends a test: a text contains the operand, which is not empty.
    fn contains(&self, text: &str, substring: Operand<'_>, out: &mut String);

    /// Appends a test: a text contains at least one of the substrings in the list.
    fn contains_any(&self, text: &str, substrings: Operand<'_>, out: &mut String);

    /// Appends a test: a text contains every substring in the list.
    fn contains_all(&self, text: &str, substrings: Operand<'_>, out: &mut String);

    /// Returns the `COLLATE` clause that sorts text by code point. Empty if the column type already sorts like this.
    fn collation(&self) -> &'static str {
        ""
    }

    /// Returns SQL to write before and after `FROM … WHERE …`. The complete statement selects a page of the columns `wanted`,
    /// sorted by `order`.
    fn page(&self, wanted: &str, order: &str, offset: u64, limit: u64) -> (String, String) {
        let (offset, limit) = (offset.min(MAX_ROWS), limit.min(MAX_ROWS));
        let skip = if offset == 0 { String::new() } else { format!(" OFFSET {offset}") };
        (format!("SELECT {wanted}"), format!(" ORDER BY {order} LIMIT {limit}{skip}"))
    }

    /// Returns an expression that gives one row for each distinct value of a list column. For an empty list, it gives one row with
    /// a null. Also returns the text to write after the name of the table.
    fn each_value(&self, column: &str, kind: ColumnType) -> (String, String);

    /// Returns an expression that converts `value` to a type in which a sum of such values does not overflow.
    fn wide(&self, value: &str, _kind: ColumnType) -> String {
        value.to_owned()
    }

    /// Returns an SQL expression for the decimal `value` times 10^`scale`, as an integer.
    fn units(&self, value: &str, scale: u8) -> String {
        format!("CAST({value} * {} AS BIGINT)", 10_i64.saturating_pow(scale.into()))
    }

    /// Returns an expression for the quotient of two integers. They must not be negative, unless the division has no remainder.
    fn quotient(&self, dividend: &str, divisor: i64) -> String {
        format!("({dividend} / {divisor})")
    }

    /// Returns the SQL type of a column.
    fn column_type(&self, column: &Column, table: &Table) -> String;

    /// Returns the script that creates the table and loads an export into it.
    fn script(&self, table: &Table, file: &str) -> String;
}

/// The maximum limit and the maximum offset. Greater values are reduced to this number, because not every dialect accepts them. The
/// page is the same, because no table has more rows.
pub(super) const MAX_ROWS: u64 = i64::MAX.cast_unsigned() / 2;

impl Operand<'_> {
    /// Appends the operand as a placeholder or as a literal, by its form.
    pub(in crate::sql) fn write(&self, syntax: &(impl Syntax + ?Sized), out: &mut String) {
        match self.form {
            Form::Bound => syntax.parameter(self.number, self.datum, out),
            Form::Literal => syntax.literal(self.datum, out),
        }
    }

    /// Appends the elements of the list as literals, separated by commas.
    pub(super) fn write_members(&self, syntax: &(impl Syntax + ?Sized), out: &mut String) {
        separated(self.datum.scalars().iter(), ", ", out, |datum, out| syntax.literal(datum, out));
    }
}

/// Writes items with the separator `between`.
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

/// Appends a text in quotes. Doubles the quotes inside it.
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

/// Appends lines to a script as SQL comments. Replaces control characters by spaces.
pub(super) fn heading(lines: &[&str], out: &mut String) {
    for line in lines {
        out.push_str("--");
        if !line.is_empty() {
            out.push(' ');
        }
        // A file name may contain line breaks, which would end the comment.
        out.extend(line.chars().map(|c| if c.is_control() { ' ' } else { c }));
        out.push('\n');
    }
}

/// Appends the columns with their SQL types, one per line.
pub(super) fn columns(syntax: &impl Syntax, table: &Table, out: &mut String) {
    separated(table.columns().iter(), ",\n", out, |column, out| {
        out.push_str("    ");
        syntax.identifier(column.name(), out);
        out.push(' ');
        out.push_str(&syntax.column_type(column, table));
    });
}

/// Returns the name of the first timestamp column that is not a list, or of the id if there is no such column. The scripts sort or
/// index the rows by this column.
pub(super) fn time_column(table: &Table) -> &str {
    let is_time = |column: &&Column| {
        let kind = column.field().map(|field| table.catalog().field(field).field_type());
        kind == Some(FieldType::Timestamp) && !column.is_list()
    };
    table.columns().iter().find(is_time).map_or(table.id_column(), Column::name)
}

/// Returns the qualified name of the table, with each part quoted.
pub(in crate::sql) fn table_name(syntax: &(impl Syntax + ?Sized), table: &Table) -> String {
    let mut out = String::new();
    separated(table.name().iter(), ".", &mut out, |word, out| syntax.identifier(word, out));
    out
}
