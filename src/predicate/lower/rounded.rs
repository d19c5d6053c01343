//! Finds the numbers of a body that change when they are rounded to a double.

use super::scope::scopes;
use crate::catalog::{Catalog, FieldType};
use crate::criteria::{Body, Criterion};
use crate::operator::{Language, Operands};
use crate::predicate::tree::Rounded;
use crate::value::Number;

/// Returns the numbers of a body that change when they are rounded to a double, with their nodes in the tree of
/// [`lower`](super::lower).
///
/// The body must not have errors.
pub(crate) fn rounded_numbers(body: &Body<'_>, catalog: &Catalog) -> Vec<Rounded> {
    let mut rounded = Vec::new();
    let language = Language::new(body.syntax, catalog.grammar());
    let scopes = scopes(body, catalog, language);
    for (node, criterion) in body.nodes.iter().enumerate() {
        let Criterion::Field { field, operator, values } = criterion else { continue };
        if operator.is_some_and(|(operator, _)| operator.operands() != Operands::OfField) {
            continue;
        }
        let scope = scopes.get(node).copied().unwrap_or_default();
        let id = body.text(*field).and_then(|name| scope.field(&name.text, catalog, language));
        let kind = id.map(|id| catalog.field(id).field_type());
        if kind != Some(FieldType::Number) {
            continue;
        }
        for (value, text) in body.texts(values).iter().enumerate() {
            if let Some(number) =
                Number::parse(&text.text).filter(|number| number.is_rounded_from(&text.text))
            {
                rounded.push(Rounded { node, value, written: text.text.to_string(), number });
            }
        }
    }
    rounded
}
