//! Writes predicates as SQL conditions.
//!
//! A test may be null if its column is null, provided that no absent field passes the test. Conditions are combined by `AND` and `OR` only,
//! so a null acts as false wherever it occurs. A test that an absent field passes includes `IS NULL`.

use super::column::Column;
use super::datum::Datum;
use super::statement::{ListTest, Statement};
use super::table::Table;
use crate::operator::{Connective, Operator};
use crate::predicate::{Leaf, Node, Set, Test, Tree, bound};
use crate::value::{OrdinalRange, Value};

/// An item still to be written. The last item of the stack is written next.
enum Step {
    Node(usize, bool),
    Text(&'static str),
}

/// Appends the condition of a predicate, without recursion.
pub(super) fn write_predicate(tree: &Tree<Leaf>, table: &Table, statement: &mut Statement) {
    let mut steps = vec![Step::Node(tree.root(), true)];
    while let Some(step) = steps.pop() {
        let (id, is_root) = match step {
            Step::Text(text) => {
                statement.push(text);
                continue;
            }
            Step::Node(id, is_root) => (id, is_root),
        };
        match tree.get(id) {
            Some(Node::Branch(connective, children)) => {
                let between = match connective {
                    Connective::And => " AND ",
                    Connective::Or => " OR ",
                };
                if !is_root {
                    statement.push("(");
                    steps.push(Step::Text(")"));
                }
                for (at, child) in children.iter().enumerate().rev() {
                    steps.push(Step::Node(*child, false));
                    if at > 0 {
                        steps.push(Step::Text(between));
                    }
                }
            }
            Some(Node::Leaf(leaf)) => match table.column_of(leaf.field) {
                Some(column) => write_test(&leaf.test, column, statement),
                None => statement.push("FALSE"),
            },
            Some(Node::Constant(true)) => statement.push("TRUE"),
            Some(Node::Constant(false)) | None => statement.push("FALSE"),
        }
    }
}

fn write_test(test: &Test, column: &Column, statement: &mut Statement) {
    let mut name = String::new();
    statement.syntax().identifier(column.name(), &mut name);
    match test {
        Test::Any(set) => {
            let (points, ranges) = parts(set, statement);
            if ranges.is_empty() {
                write_points(points, &name, column.is_list(), statement);
            } else if column.is_list() {
                let (before, after) = statement.syntax().some_element(&name);
                statement.push(&before);
                write_ranges(points, &ranges, "x", false, statement);
                statement.push(&after);
            } else {
                write_ranges(points, &ranges, &name, true, statement);
            }
        }
        Test::None(set) => {
            let (points, ranges) = parts(set, statement);
            if !ranges.is_empty() {
                statement.push("NOT COALESCE(");
                write_test(&Test::Any(set.clone()), column, statement);
                statement.push(", FALSE)");
            } else if points.is_empty() {
                statement.push("TRUE");
            } else if column.is_list() {
                statement.push("NOT (");
                write_points(points, &name, true, statement);
                statement.push(")");
            } else {
                write_none(points, &name, column.is_nullable(), statement);
            }
        }
        Test::NotAll(set) => {
            statement.push("NOT COALESCE(");
            write_test(&Test::All(set.clone()), column, statement);
            statement.push(", FALSE)");
        }
        Test::All(set) => {
            let (points, _) = parts(set, statement);
            if points.len() < set.len() {
                // The column cannot hold one of the values.
                statement.push("FALSE");
            } else {
                write_lists(ListTest::Includes, &name, points, statement);
            }
        }
    }
}

/// A range: the operator and the value of each bound that it has.
type Range = Vec<(&'static str, Value<'static>)>;

/// Splits a set into points and ranges. Leaves out points that the column cannot store.
fn parts(set: &Set, statement: &Statement) -> (Vec<Value<'static>>, Vec<Range>) {
    match set {
        Set::Strings(_) | Set::Booleans(_) => {
            let syntax = statement.syntax();
            let points = set.points().into_iter().filter(|value| match value {
                Value::String(text) => syntax.can_hold(text),
                _ => true,
            });
            (points.collect(), Vec::new())
        }
        // TODO(sql helper)
        Set::Matching(_) => (Vec::new(), Vec::new()),
        Set::Ordered(intervals) => {
            let kind = intervals.kind();
            let (least, greatest) = kind.range();
            let ranges = intervals.as_slice().iter().copied();
            let (points, ranges): (Vec<_>, Vec<_>) = ranges.partition(|(low, high)| low == high);
            let points = points.into_iter().map(|(point, _)| kind.value(point)).collect();
            let ends = |(low, high): OrdinalRange| {
                let low = (low != least).then(|| bound(kind, low, true));
                let high = (high != greatest).then(|| bound(kind, high, false));
                low.into_iter().chain(high).map(|(operator, at)| (operator.sql(), at)).collect()
            };
            (points, ranges.into_iter().map(ends).collect())
        }
    }
}

/// Writes a condition that is true if the column, or an element of the list column, equals one of `points`.
fn write_points(points: Vec<Value<'static>>, name: &str, is_list: bool, statement: &mut Statement) {
    match points.as_slice() {
        [] => statement.push("FALSE"),
        [_] if !is_list => {
            statement.push(&format!("{name} {} ", Operator::Equal.sql()));
            points.iter().for_each(|point| statement.push_value(Datum::of(point)));
        }
        _ => {
            write_lists(if is_list { ListTest::Overlaps } else { ListTest::Member }, name, points, statement);
        }
    }
}

/// Writes a condition that is true if the column has none of `points`. `points` must not be empty.
fn write_none(points: Vec<Value<'static>>, name: &str, is_nullable: bool, statement: &mut Statement) {
    if is_nullable {
        statement.push(&format!("({name} IS NULL OR "));
    }
    if points.len() == 1 {
        statement.push(&format!("{name} {} ", Operator::NotEqual.sql()));
        points.iter().for_each(|point| statement.push_value(Datum::of(point)));
    } else {
        write_lists(ListTest::NoMember, name, points, statement);
    }
    if is_nullable {
        statement.push(")");
    }
}

/// Writes a list test. Splits it into several tests if the dialect limits the length of lists.
fn write_lists(test: ListTest, name: &str, points: Vec<Value<'static>>, statement: &mut Statement) {
    let between = match test {
        ListTest::Member | ListTest::Overlaps => " OR ",
        ListTest::NoMember | ListTest::Includes => " AND ",
    };
    let lists = lists(points, statement.syntax().list_bytes());
    let several = lists.len() > 1;
    if several {
        statement.push("(");
    }
    for (at, list) in lists.into_iter().enumerate() {
        if at > 0 {
            statement.push(between);
        }
        statement.push_list(test, name, list);
    }
    if several {
        statement.push(")");
    }
}

/// Writes a condition that is true if the value or a list element is in one of the ranges or equals one of the points.
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
        write_points(points, name, false, statement);
    }
    if several && in_parentheses {
        statement.push(")");
    }
}

/// Splits values of one type into lists of at most about `most_bytes` bytes.
fn lists(values: Vec<Value<'static>>, most_bytes: usize) -> Vec<Datum<'static>> {
    let mut lists: Vec<Datum<'static>> = Vec::new();
    let mut bytes = 0_usize;
    for value in values {
        // Twice the length is enough for a string that consists of quotes and backslashes. No number takes more than 24 bytes.
        let own = match &value {
            Value::String(text) => text.len().saturating_mul(2).saturating_add(4),
            _ => 28,
        };
        bytes = bytes.saturating_add(own);
        match lists.last_mut() {
            Some(last) if bytes <= most_bytes => last.push(Datum::of(&value)),
            _ => {
                bytes = own;
                lists.push(Datum::of(&value).into_list());
            }
        }
    }
    lists
}
