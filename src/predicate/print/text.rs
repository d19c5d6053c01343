//! Printing of a normal form in the text syntax.

use super::super::tree::{Comparison, Leaf, Node, Tree};
use super::body::PrintedBody;
use super::json::json_string;
use super::pieces::{Piece, push_reversed};
use crate::catalog::{Catalog, FieldId};
use crate::operator::{Arity, Connective, Operator, Syntax};
use crate::value::Value;

/// Prints the normal form in the text syntax on one line; see [`crate::criteria::text`].
pub(crate) fn text(tree: &Tree<Leaf>, catalog: &Catalog) -> String {
    match tree.get(tree.root()) {
        Some(Node::Constant(true)) => return "true".to_owned(),
        Some(Node::Constant(false)) => return "false".to_owned(),
        _ => {}
    }
    let body = PrintedBody::new(tree, catalog);
    let mut out = String::new();
    if let Some(ids) = &body.ids {
        if catalog.is_visible(FieldId::ID) {
            let operator = if ids.len() == 1 { Operator::Equal } else { Operator::Contains };
            text_comparison(
                &Comparison { field: FieldId::ID, operator, values: ids.clone().into() },
                catalog,
                &mut out,
            );
        } else {
            out.push_str("ids ");
            text_values(ids, &mut out);
        }
    }
    let Some(criteria) = &body.criteria else { return out };
    let mut pieces = Vec::new();
    if body.ids.is_some() {
        out.push_str(" or ");
    }
    push_reversed(&mut pieces, criteria, " and ");
    let single = criteria.len() == 1;
    while let Some(piece) = pieces.pop() {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Node(id) => match body.node(id) {
                Some(Node::Branch(Connective::Or, children)) => {
                    // A disjunction needs no parentheses if it is the only criterion.
                    let bare = single && criteria.contains(&id);
                    if !bare {
                        out.push('(');
                        pieces.push(Piece::Text(")"));
                    }
                    push_reversed(&mut pieces, children, " or ");
                }
                Some(Node::Branch(Connective::And, children)) => {
                    push_reversed(&mut pieces, children, " and ");
                }
                Some(Node::Leaf(comparison)) => text_comparison(comparison, catalog, &mut out),
                Some(Node::Constant(_)) | None => {}
            },
        }
    }
    out
}

pub(super) fn text_comparison(comparison: &Comparison<'_>, catalog: &Catalog, out: &mut String) {
    text_word(catalog.field(comparison.field).name(), out);
    out.push(' ');
    out.push_str(comparison.operator.spelled(Syntax::Text));
    out.push(' ');
    match comparison.operator.arity() {
        Arity::One => comparison.values.iter().for_each(|value| text_value(value, out)),
        Arity::OneOrMore => text_values(&comparison.values, out),
    }
}

fn text_values(values: &[Value<'_>], out: &mut String) {
    out.push('(');
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        text_value(value, out);
    }
    out.push(')');
}

fn text_value(value: &Value<'_>, out: &mut String) {
    match value {
        Value::String(text) => text_word(text, out),
        // Values `true` and `false` need no quotes, but names do.
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
