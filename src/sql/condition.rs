//! Writes the predicate of a filter as an SQL condition, for `WHERE`.
//!
//! A test can be null only if its column is null, because the case does not have the field. If such a case passes the test, the
//! test includes `IS NULL`, so it is true. If such a case fails the test, the test is false or null. `AND` and `OR` are the only
//! operators that combine conditions, so null acts as false everywhere. `NOT` is written only before a condition that is never
//! null, or together with a separate test for null.

use super::element_condition::write_elements;
use super::statement::Statement;
use super::table::Table;
use super::value_condition::{column_of, write_test};
use crate::error::Error;
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Tree};

/// An item on the stack of the writer. The last item is written next.
enum StackItem {
    Node(usize, bool),
    Text(&'static str),
}

/// Appends the condition of a predicate, without recursion.
///
/// # Errors
/// Returns [`ErrorKind::NotInSql`](crate::ErrorKind::NotInSql) if the predicate tests elements of an array for which the table has
/// no element columns. Returns [`ErrorKind::NoFoldedColumn`](crate::ErrorKind::NoFoldedColumn) if the predicate uses `$match` on a
/// field that has no folded column in the table.
pub(super) fn write_predicate(
    tree: &Tree<Leaf>,
    table: &Table,
    statement: &mut Statement,
) -> Result<(), Error> {
    let mut steps = vec![StackItem::Node(tree.root(), true)];
    while let Some(step) = steps.pop() {
        let (id, is_root) = match step {
            StackItem::Text(text) => {
                statement.push(text);
                continue;
            }
            StackItem::Node(id, is_root) => (id, is_root),
        };
        match tree.get(id) {
            Some(Node::Branch(connective, children)) => {
                let between = match connective {
                    Connective::And => " AND ",
                    Connective::Or => " OR ",
                };
                if !is_root {
                    statement.push("(");
                    steps.push(StackItem::Text(")"));
                }
                for (at, child) in children.iter().enumerate().rev() {
                    steps.push(StackItem::Node(*child, false));
                    if at > 0 {
                        steps.push(StackItem::Text(between));
                    }
                }
            }
            Some(Node::Leaf(leaf)) => match (leaf.test.elements(), column_of(leaf, table)?) {
                (Some(elements), _) => {
                    write_elements(elements, leaf.test.is_negated(), table, statement)?;
                }
                (None, Some(column)) => write_test(&leaf.test, column, statement),
                (None, None) => statement.push("FALSE"),
            },
            Some(Node::Constant(true)) => statement.push("TRUE"),
            Some(Node::Constant(false)) | None => statement.push("FALSE"),
        }
    }
    Ok(())
}
