//! Prints a normal form in the text syntax.

use super::super::tree::{Comparison, Leaf, Node, NodeId, Tree};
use super::body::{PrintedBody, PrintedNode};
use super::json::json_string;
use crate::catalog::{Catalog, ElementArray, FieldId};
use crate::operator::{Arity, Complex, Connective, Operator, Syntax};
use crate::value::{Operand, Value};

/// Prints the normal form in the text syntax on one line; see [`crate::criteria::text`].
pub(crate) fn text(tree: &Tree<Leaf>, catalog: &Catalog) -> String {
    match tree.get(tree.root()) {
        Some(Node::Constant(true)) => return "true".to_owned(),
        Some(Node::Constant(false)) => return "false".to_owned(),
        _ => {}
    }
    let body = PrintedBody::new(tree, catalog, Syntax::Text);
    let mut out = String::new();
    if let Some(ids) = &body.ids {
        if catalog.is_visible(FieldId::ID) {
            let operator = if ids.len() == 1 { Operator::Equal } else { Operator::Contains };
            text_comparison(
                &Comparison { field: FieldId::ID, operator, values: ids.clone().into() },
                None,
                catalog,
                &mut out,
            );
        } else {
            out.push_str("ids ");
            text_values(ids, &mut out);
        }
    }
    let Some(criteria) = &body.criteria else { return out };
    if body.ids.is_some() {
        out.push_str(" or ");
    }
    text_criteria(&body.nodes, criteria, catalog, &mut out);
    out
}

/// A piece that is left to print.
enum Piece {
    /// A criterion, the operator of the branch around it, and the array whose elements it tests.
    Criterion(NodeId, Complex, Option<ElementArray>),
    Text(&'static str),
}

/// Prints criteria that are joined by `and`. A single disjunction needs no parentheses.
pub(super) fn text_criteria(nodes: &[PrintedNode], criteria: &[NodeId], catalog: &Catalog, out: &mut String) {
    let around = if criteria.len() == 1 { Connective::Or } else { Connective::And };
    let mut pieces = Vec::new();
    push_joined(&mut pieces, criteria, (around.into(), None), " and ");
    while let Some(piece) = pieces.pop() {
        let (id, around, scope) = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Criterion(id, around, scope) => (id, around, scope),
        };
        match nodes.get(id) {
            Some(Node::Branch(operator, children)) => {
                // `not` binds closest, then `and`, then `or`.
                let is_closed = match (around, operator) {
                    (Complex::Not, Complex::Join(_))
                    | (Complex::Join(Connective::And), Complex::Join(Connective::Or)) => true,
                    (Complex::Join(_) | Complex::Not | Complex::Elem(_), _) => false,
                };
                if is_closed {
                    out.push('(');
                    pieces.push(Piece::Text(")"));
                }
                match operator {
                    Complex::Join(Connective::And) => {
                        push_joined(&mut pieces, children, (*operator, scope), " and ");
                    }
                    Complex::Join(Connective::Or) => {
                        push_joined(&mut pieces, children, (*operator, scope), " or ");
                    }
                    Complex::Not => {
                        out.push_str("not ");
                        push_joined(&mut pieces, children, (*operator, scope), "");
                    }
                    Complex::Elem(array) => {
                        text_word(name_within(scope, catalog.array_name(*array), catalog), out);
                        out.push_str(" has (");
                        pieces.push(Piece::Text(")"));
                        // The parentheses enclose a whole expression.
                        let join = if children.len() == 1 { Connective::Or } else { Connective::And };
                        push_joined(&mut pieces, children, (join.into(), Some(*array)), " and ");
                    }
                }
            }
            Some(Node::Leaf(comparison)) => text_comparison(comparison, scope, catalog, out),
            Some(Node::Constant(_)) | None => {}
        }
    }
}

/// Returns the name of a field or an array in the form that is used in criteria on the elements of the array `scope`. This form is
/// the part of the name after the name of `scope`. Returns the complete name if `scope` is `None`, or if the field or array is not
/// below `scope`.
fn name_within<'n>(scope: Option<ElementArray>, name: &'n str, catalog: &Catalog) -> &'n str {
    let around = scope.map(|array| catalog.array_name(array));
    let rest = around.and_then(|around| name.strip_prefix(around)?.strip_prefix('.'));
    rest.unwrap_or(name)
}

/// Pushes criteria in reverse order, so that the first criterion is popped first. The text in `between` separates two criteria.
/// `around` is the operator of the branch around the criteria, and the array whose elements they test.
fn push_joined(
    pieces: &mut Vec<Piece>,
    criteria: &[NodeId],
    around: (Complex, Option<ElementArray>),
    between: &'static str,
) {
    for (at, criterion) in criteria.iter().enumerate().rev() {
        pieces.push(Piece::Criterion(*criterion, around.0, around.1));
        if at > 0 {
            pieces.push(Piece::Text(between));
        }
    }
}

fn text_comparison(
    comparison: &Comparison<'_>,
    scope: Option<ElementArray>,
    catalog: &Catalog,
    out: &mut String,
) {
    text_word(name_within(scope, catalog.field(comparison.field).name(), catalog), out);
    out.push(' ');
    if comparison.operator == Operator::Exists {
        let is_present = comparison.values.first().map(Operand::first) == Some(&Value::Boolean(true));
        out.push_str(if is_present { "is present" } else { "is absent" });
        return;
    }
    out.push_str(comparison.operator.spelled(Syntax::Text));
    out.push(' ');
    match comparison.operator.arity() {
        Arity::One => comparison.values.iter().for_each(|value| text_value(value, out)),
        Arity::OneOrMore => match comparison.values.as_slice() {
            [value] if comparison.operator.is_extended() => text_value(value, out),
            values => text_values(values, out),
        },
    }
}

fn text_values(values: &[Operand<'_>], out: &mut String) {
    out.push('(');
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        text_value(value, out);
    }
    out.push(')');
}

fn text_value(value: &Operand<'_>, out: &mut String) {
    match value.first() {
        Value::String(text) => text_word(text, out),
        // The values `true` and `false` need no quotes, but fields with these names do.
        Value::Boolean(boolean) => out.push_str(if *boolean { "true" } else { "false" }),
        _ => text_word(&value.to_string(), out),
    }
}

/// Prints a name or value: without quotes if the syntax allows it, otherwise as a JSON string.
fn text_word(word: &str, out: &mut String) {
    if crate::value::is_bare_word(word) {
        out.push_str(word);
    } else {
        json_string(word, out);
    }
}
