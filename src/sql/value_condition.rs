//! Writes the test of a column or of a single value as an SQL condition.
//!
//! `condition.rs` says when a test may be null.

use super::column::Column;
use super::datum::Datum;
use super::lists::{split, write_lists};
use super::pattern::PatternTests;
use super::statement::{OperandTest, Statement};
use super::table::Table;
use crate::catalog::FieldId;
use crate::error::{Error, ErrorKind};
use crate::operator::Operator;
use crate::predicate::{Leaf, Set, Test, bound};
use crate::value::{OrdinalRange, Value};

/// Returns the column that a test reads. For `$match`, this is the folded column. Returns `None` if the catalogue hides the field.
pub(super) fn column_of<'t>(leaf: &Leaf, table: &'t Table) -> Result<Option<&'t Column>, Error> {
    let has_words = matches!(leaf.test.set(), Some(Set::Matching(pattern)) if pattern.has_words());
    let column = table.column_of(leaf.field);
    if column.is_none() || !has_words {
        return Ok(column);
    }
    table.folded_column_of(leaf.field).map(Some).ok_or_else(|| no_folded_column(leaf.field, table))
}

fn no_folded_column(field: FieldId, table: &Table) -> Error {
    let found = format!("`{}` on a field without a folded column in the table", Operator::Match.name());
    let expected = "a table and an export with folded columns: `--folded` of `casefilter export`, `ddl` and `sql`, or `Table::with_folded`";
    Error::new(ErrorKind::NoFoldedColumn, 0, found, expected).at(table.catalog().field(field).name())
}

/// Writes a test of a column.
pub(super) fn write_test(test: &Test, column: &Column, statement: &mut Statement) {
    let mut name = String::new();
    statement.syntax().identifier(column.name(), &mut name);
    match test {
        Test::Any(set) => write_any(Wanted::new(set, statement), &name, column, statement),
        // Not reached: `write_elements` writes these tests.
        Test::Elem(_) | Test::NoElem(_) => statement.push("FALSE"),
        Test::None(set) => write_none(Wanted::new(set, statement), &name, column, statement),
        Test::All(set) | Test::NotAll(set) => {
            let points = storable_points(set, statement);
            let is_negated = test.is_negated();
            if points.len() < set.len() {
                // At least one of the values cannot be stored in the column, so no document contains all of them.
                statement.push(if is_negated { "TRUE" } else { "FALSE" });
            } else {
                statement.push(if is_negated { "NOT (" } else { "" });
                write_points(OperandTest::Includes, &name, points, statement);
                statement.push(if is_negated { ")" } else { "" });
            }
        }
    }
}

/// Returns the values of a set that the column can store.
pub(super) fn storable_points(set: &Set, statement: &Statement) -> Vec<Value<'static>> {
    let syntax = statement.syntax();
    let mut points = set.points();
    points.retain(|value| !matches!(value, Value::String(text) if !syntax.can_hold(text)));
    points
}

/// The set of values that a test accepts, without values that the column cannot store.
pub(super) enum Wanted {
    /// The empty set: the column can store none of the values.
    Nothing,
    /// Every value.
    Everything,
    /// A list of one or more values.
    Points(Vec<Value<'static>>),
    Ranges {
        points: Vec<Value<'static>>,
        ranges: Vec<Range>,
    },
    Pattern(PatternTests),
}

/// A range: a list with a comparison operator and a value for each of its bounds.
type Range = Vec<(&'static str, Value<'static>)>;

impl Wanted {
    pub(super) fn new(set: &Set, statement: &Statement) -> Self {
        match set {
            set if set.is_every() => Self::Everything,
            Set::Strings(_) | Set::Booleans(_) => match storable_points(set, statement) {
                points if points.is_empty() => Self::Nothing,
                points => Self::Points(points),
            },
            Set::Matching(pattern) => {
                PatternTests::new(pattern, statement).map_or(Self::Nothing, Self::Pattern)
            }
            Set::Ordered(intervals) => {
                let kind = intervals.kind();
                let (least, greatest) = kind.range();
                let ranges = intervals.as_slice().iter().copied();
                let (points, ranges): (Vec<_>, Vec<_>) = ranges.partition(|(low, high)| low == high);
                let points: Vec<_> = points.into_iter().map(|(point, _)| kind.value(point)).collect();
                if ranges.is_empty() {
                    return Self::Points(points);
                }
                let ends = |(low, high): OrdinalRange| {
                    let low = (low != least).then(|| bound(kind, low, true));
                    let high = (high != greatest).then(|| bound(kind, high, false));
                    low.into_iter().chain(high).map(|(operator, at)| (operator.sql(), at)).collect()
                };
                Self::Ranges { points, ranges: ranges.into_iter().map(ends).collect() }
            }
        }
    }

    /// Returns the length of the longest list that the test of one value may use as the operand of `IN`.
    pub(super) fn longest(&self) -> usize {
        match self {
            Self::Nothing | Self::Everything => 0,
            Self::Points(points) | Self::Ranges { points, .. } => points.len(),
            Self::Pattern(tests) => tests.longest(),
        }
    }
}

/// Writes a condition that is true if the column's value, or at least one element of its list, is in `wanted`. The condition may be
/// null if the column is null.
fn write_any(wanted: Wanted, name: &str, column: &Column, statement: &mut Statement) {
    match wanted {
        Wanted::Nothing => statement.push("FALSE"),
        Wanted::Everything if column.is_list() => {
            let test = statement.syntax().has_elements(name);
            statement.push(&test);
        }
        Wanted::Everything => statement.push(&format!("{name} IS NOT NULL")),
        Wanted::Points(points) if column.is_list() => {
            write_points(OperandTest::Overlaps, name, points, statement);
        }
        wanted if column.is_list() => {
            let (before, after) = statement.syntax().some_element(name, wanted.longest());
            statement.push(&before);
            write_value(wanted, "x", false, statement);
            statement.push(&after);
        }
        wanted => write_value(wanted, name, true, statement),
    }
}

/// Writes a condition that is true if neither the column's value nor any element of its list is in `wanted`. It is also true if
/// there is no value. It is never null.
fn write_none(wanted: Wanted, name: &str, column: &Column, statement: &mut Statement) {
    let or_null = if column.is_nullable() { format!("({name} IS NULL OR ") } else { String::new() };
    match wanted {
        Wanted::Nothing => return statement.push("TRUE"),
        Wanted::Everything if !column.is_list() => return statement.push(&format!("{name} IS NULL")),
        Wanted::Points(points) if !column.is_list() => {
            statement.push(&or_null);
            match points.as_slice() {
                [point] => {
                    statement.push(&format!("{name} {} ", Operator::NotEqual.sql()));
                    statement.push_value(Datum::of(point));
                }
                _ => write_points(OperandTest::NoMember, name, points, statement),
            }
        }
        wanted if column.is_list() => {
            statement.push("NOT (");
            write_any(wanted, name, column, statement);
            statement.push(")");
        }
        wanted => {
            statement.push(&or_null);
            statement.push("NOT (");
            write_value(wanted, name, false, statement);
            statement.push(")");
        }
    }
    if !or_null.is_empty() {
        statement.push(")");
    }
}

/// Writes a condition that is true if a single value is in `wanted`. The condition is null only if the value is null.
pub(super) fn write_value(wanted: Wanted, name: &str, in_parentheses: bool, statement: &mut Statement) {
    match wanted {
        Wanted::Nothing => statement.push("FALSE"),
        Wanted::Everything => statement.push(&format!("{name} IS NOT NULL")),
        Wanted::Points(points) => write_member(points, name, statement),
        Wanted::Ranges { points, ranges } => write_ranges(points, &ranges, name, in_parentheses, statement),
        Wanted::Pattern(tests) => tests.write(name, in_parentheses, statement),
    }
}

/// Writes a condition that is true if a value equals one of `points`.
fn write_member(points: Vec<Value<'static>>, name: &str, statement: &mut Statement) {
    match points.as_slice() {
        [point] => {
            statement.push(&format!("{name} {} ", Operator::Equal.sql()));
            statement.push_value(Datum::of(point));
        }
        _ => write_points(OperandTest::Member, name, points, statement),
    }
}

/// Writes a test of a column against a list of points. Splits it into several tests if the dialect limits the length of lists.
pub(super) fn write_points(
    test: OperandTest,
    name: &str,
    points: Vec<Value<'static>>,
    statement: &mut Statement,
) {
    let lists = split(points.iter().map(Datum::of), usize::MAX, statement);
    write_lists(test, name, lists, statement);
}

/// Writes a condition that is true if the value is in one of the ranges or equals one of the points.
fn write_ranges(
    points: Vec<Value<'static>>,
    ranges: &[Range],
    name: &str,
    in_parentheses: bool,
    statement: &mut Statement,
) {
    let several = ranges.len() > 1 || !points.is_empty();
    if several && in_parentheses {
        statement.push("(");
    }
    for (at, range) in ranges.iter().enumerate() {
        if at > 0 {
            statement.push(" OR ");
        }
        match range.as_slice() {
            [] => statement.push(&format!("{name} IS NOT NULL")),
            [(operator, value)] => {
                statement.push(&format!("{name} {operator} "));
                statement.push_value(Datum::of(value));
            }
            ends => {
                statement.push("(");
                for (at, (operator, value)) in ends.iter().enumerate() {
                    statement.push(if at > 0 { " AND " } else { "" });
                    statement.push(&format!("{name} {operator} "));
                    statement.push_value(Datum::of(value));
                }
                statement.push(")");
            }
        }
    }
    if !points.is_empty() {
        statement.push(" OR ");
        write_member(points, name, statement);
    }
    if several && in_parentheses {
        statement.push(")");
    }
}
