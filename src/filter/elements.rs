//! Evaluates a leaf on one document, which is an `OwnedRow`. A leaf may test the elements of an array (`$elem` in JSON, `has` in
//! the text syntax).

use std::borrow::Borrow;
use std::ops::Range;

use super::patterns::Patterns;
use crate::batch::OwnedRow;
use crate::catalog::Catalog;
use crate::predicate::Leaf;
use crate::value::Value;

/// Returns true if the document passes a leaf. `catalog` is the catalogue that the document was read for. `patterns` has the
/// searchers of the filter, or is [`Patterns::NONE`].
pub(super) fn passes(leaf: &Leaf, row: &OwnedRow, catalog: &Catalog, patterns: &Patterns) -> bool {
    match leaf.test.elements() {
        None => matches(leaf, row.values(leaf.field), patterns),
        Some(_) => passes_within(leaf, row, &row.places(), catalog, patterns),
    }
}

fn matches<'v, V: Borrow<Value<'v>>>(
    leaf: &Leaf,
    mut values: impl Iterator<Item = V> + Clone,
    patterns: &Patterns,
) -> bool {
    let Some(matcher) = patterns.of_leaf(leaf) else { return leaf.matches(values) };
    let is_match = |value: V| matches!(value.borrow(), Value::String(text) if matcher.is_match(text));
    values.any(is_match) != leaf.test.is_negated()
}

/// Returns true if the values and elements in a range of [places](OwnedRow) pass a leaf. The recursion is at most as deep as the
/// nesting of arrays in the catalogue.
fn passes_within(
    leaf: &Leaf,
    row: &OwnedRow,
    places: &Range<u32>,
    catalog: &Catalog,
    patterns: &Patterns,
) -> bool {
    let Some(elements) = leaf.test.elements() else {
        return matches(leaf, row.values_within(leaf.field, places), patterns);
    };
    let has_passing = catalog.array_id(elements.array).is_some_and(|array| {
        row.elements_within(array, places).any(|element| {
            elements.tree.decides(|leaf| passes_within(leaf, row, &element, catalog, patterns))
        })
    });
    has_passing != leaf.test.is_negated()
}

#[cfg(test)]
mod tests {
    use crate::catalog::{Catalog, Field, FieldType};
    use crate::filter::{Document, Filter};

    fn catalog() -> Catalog {
        Catalog::new([
            Field::new("name", FieldType::String),
            Field::new("legs[].bank", FieldType::String),
            Field::new("legs[].amount", FieldType::Number),
            Field::new("legs[].marks[]", FieldType::String),
            Field::new("legs[].fees[].kind", FieldType::String),
            Field::new("legs[].fees[].amount", FieldType::Number),
            Field::new("grid[][].x", FieldType::Number),
            Field::new("grid[][].y", FieldType::Number),
        ])
        .unwrap()
        .extended()
    }

    #[track_caller]
    fn selects(text: &str, document: &str, expected: bool) {
        let catalog = catalog();
        let filter = Filter::compile_text(&catalog, text).unwrap();
        let parsed = Document::parse(&catalog, document.as_bytes()).unwrap();
        assert_eq!(crate::reference::matches(&filter, document), Ok(expected), "reference: {text}");
        assert_eq!(filter.matches(document.as_bytes()), Ok(expected), "{text}");
        for filter in [filter.clone(), filter.unoptimized()] {
            assert_eq!(filter.selects(&parsed), Ok(expected), "{text} as {filter}");
        }
        for printed in [
            Filter::compile_text(&catalog, &filter.to_text()).unwrap(),
            Filter::compile(&catalog, filter.to_json().as_bytes()).unwrap(),
        ] {
            assert_eq!(printed, filter, "{text} as {filter}");
        }
    }

    #[test]
    fn criteria_hold_of_one_element() {
        let document = r#"{"id":"1","name":"n","legs":[
            {"bank":"a","amount":1,"marks":["x","y"],"fees":[{"kind":"k","amount":5},{"kind":"l","amount":7}]},
            {"bank":"b","amount":9,"marks":["z"]},
            null,
            {"fees":[{"kind":"k","amount":7}]}
        ],"grid":[[{"x":1},{"y":2}],null,[{"x":3,"y":4}]]}"#;
        for (text, expected) in [
            ("legs has (bank = a and amount = 1)", true),
            ("legs has (bank = a and amount = 9)", false),
            ("legs.bank = a and legs.amount = 9", true),
            ("legs has (legs.bank = b and legs.amount > 5)", true),
            ("legs has (bank = a and not amount > 5)", true),
            ("legs has (bank is absent)", true),
            ("legs has (bank is absent and amount is absent and fees.kind is absent)", true),
            ("legs has (bank is absent and fees.kind = k)", true),
            ("legs has (marks all (x, y))", true),
            ("legs has (marks all (x, z))", false),
            ("legs.marks all (x, z)", true),
            ("legs has (marks = x and not marks = y)", false),
            ("legs has (fees.kind = k and fees.amount = 7)", true),
            ("legs has (bank = a and fees has (kind = k and amount = 7))", false),
            ("legs has (bank = a and fees has (kind = l and amount = 7))", true),
            ("legs has (bank is absent and fees has (kind = k and amount = 7))", true),
            ("legs has (bank = b and not fees has (kind is present))", true),
            ("legs has (not fees has (not amount = 7))", true),
            ("legs has (bank = a and not fees has (not amount = 7))", false),
            ("legs.fees has (kind = k and amount = 7)", true),
            ("legs.fees has (kind = l and amount = 5)", false),
            ("not legs has (bank = a and amount = 9)", true),
            ("legs has (bank = c or amount = 9)", true),
            ("legs has ((bank = a or bank = b) and amount = 9)", true),
            ("legs has (bank = x or bank <> x)", true),
            ("grid has (x = 3 and y = 4)", true),
            ("grid has (x = 1 and y = 2)", false),
            ("grid has (x is absent and y = 2)", true),
            ("name = n and legs has (amount >= 9 and amount <= 9)", true),
            ("legs has (amount > 1 and amount < 9)", false),
            ("legs.amount > 1 and legs.amount < 9", true),
        ] {
            selects(text, document, expected);
        }
        for document in
            [r#"{"id":"1"}"#, r#"{"id":"1","legs":[]}"#, r#"{"id":"1","legs":null,"grid":[[],null]}"#]
        {
            selects("legs has (bank = x or bank <> x)", document, false);
            selects("not legs has (bank is absent)", document, true);
            selects("legs has (bank <> x)", document, false);
            selects("grid has (x is absent)", document, false);
        }
        selects("legs has (bank <> x)", r#"{"id":"1","legs":[{}]}"#, true);
        selects(
            "legs has (not fees has (kind is absent or kind is present))",
            r#"{"id":"1","legs":[{}]}"#,
            true,
        );
    }
}
