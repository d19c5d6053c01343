//! Prints a normal form as a JSON body.

use super::super::tree::{Leaf, Node, Tree};
use super::body::PrintedBody;
use super::pieces::{Piece, push_reversed};
use crate::catalog::Catalog;
use crate::operator::{Complex, Syntax};
use crate::value::{Operand, Value};

/// Prints the canonical JSON body of a normal form on one line.
pub(crate) fn body_json(tree: &Tree<Leaf>, catalog: &Catalog) -> String {
    let body = PrintedBody::new(tree, catalog, Syntax::Json);
    let mut out = String::from("{");
    if let Some(ids) = &body.ids {
        out.push_str("\"ids\":");
        json_values(ids, &mut out);
    }
    if let Some(criteria) = &body.criteria {
        out.push_str(if body.ids.is_some() { ",\"criteria\":[" } else { "\"criteria\":[" });
        let mut pieces = Vec::new();
        push_reversed(&mut pieces, criteria, ",");
        while let Some(piece) = pieces.pop() {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Node(id) => match body.node(id) {
                    Some(Node::Branch(operator, children)) => {
                        out.push_str("{\"op\":");
                        json_string(operator.name(), &mut out);
                        if let Complex::Elem(array) = operator {
                            out.push_str(",\"field\":");
                            json_string(catalog.array_name(*array), &mut out);
                        }
                        out.push_str(",\"children\":[");
                        pieces.push(Piece::Text("]}"));
                        push_reversed(&mut pieces, children, ",");
                    }
                    Some(Node::Leaf(comparison)) => {
                        out.push_str("{\"field\":");
                        json_string(catalog.field(comparison.field).name(), &mut out);
                        out.push_str(",\"op\":");
                        json_string(comparison.operator.name(), &mut out);
                        out.push_str(",\"values\":");
                        json_values(&comparison.values, &mut out);
                        out.push('}');
                    }
                    Some(Node::Constant(_)) | None => {}
                },
            }
        }
        out.push(']');
    }
    out.push('}');
    out
}

fn json_values(values: &[Operand<'_>], out: &mut String) {
    out.push('[');
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        match value.first() {
            Value::String(text) => json_string(text, out),
            _ => json_string(&value.to_string(), out),
        }
    }
    out.push(']');
}

/// Writes a string in JSON, with quotes and escapes. The text syntax accepts this form, too.
pub(crate) fn json_string(text: &str, out: &mut String) {
    // Serialising a string cannot fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}
