//! Finds the fields in which the criteria of a filter search, and the strings for which they search. Hints warn about a field in
//! which no case has a value, and about a string that no case has.

use super::optimize::polarities;
use super::places::Places;
use super::tree::{Comparison, Node, Written};
use crate::catalog::FieldId;
use crate::operator::{Pattern, Quantifier, Shape};
use crate::value::Value;

/// A field in which a criterion searches, and possibly a string for which it searches.
pub(crate) struct Asked {
    pub(crate) field: FieldId,
    /// The path of the criterion in the body.
    pub(crate) path: String,
    /// The path and the text of the string. `None` for order comparisons, and for values of other types.
    pub(crate) value: Option<(String, String)>,
}

/// Returns the field of each criterion, with the path of the criterion in the body. `written` is the tree before the optimiser
/// changes it.
#[cfg(feature = "store")]
pub(crate) fn named(written: &Written<'_>) -> Vec<(FieldId, String)> {
    let places = Places::new(written);
    let nodes = written.nodes().iter().enumerate();
    let fields = nodes.filter_map(|(node, criterion)| match criterion {
        Node::Leaf(Comparison { field, .. }) => Some((*field, places.path(node))),
        _ => None,
    });
    fields.collect()
}

/// Returns the fields in which the criteria search, and the strings for which they search, in the order of the criteria. `written`
/// is the tree as the author of the filter wrote it, before the optimiser changes it.
///
/// Leaves out `<>` and negated criteria, because they select cases without these values. Leaves out tests of presence, which have
/// no value, and patterns, because their operands are only parts of values.
pub(crate) fn asked(written: &Written<'_>) -> Vec<Asked> {
    let places = Places::new(written);
    let mut asked = Vec::new();
    let needed = polarities(written);
    for ((node, criterion), [is_needed, _]) in written.nodes().iter().enumerate().zip(needed) {
        let Node::Leaf(Comparison { field, operator, values }) = criterion else { continue };
        let Shape { quantifier, pattern } = operator.shape();
        if !is_needed
            || quantifier == Quantifier::None
            || !matches!(pattern, Pattern::Points | Pattern::Ray(_))
        {
            continue;
        }
        let (field, path) = (*field, places.path(node));
        // For an order comparison, no case needs to have the operand as its value.
        let is_exact = pattern == Pattern::Points;
        let strings = values.iter().enumerate().filter_map(|(at, value)| match value.value() {
            Some(Value::String(text)) if is_exact => Some((places.value_path(node, at), text.to_string())),
            _ => None,
        });
        let before = asked.len();
        asked.extend(strings.map(|value| Asked { field, path: path.clone(), value: Some(value) }));
        if asked.len() == before {
            asked.push(Asked { field, path, value: None });
        }
    }
    asked
}
