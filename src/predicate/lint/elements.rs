//! Warns about criteria that are joined by `$and` although two different elements of one array can satisfy them.
//!
//! `checklist.name = identity and checklist.checked = true` also selects a case with a checked item `address` and an unchecked
//! item `identity`. The reason is that each criterion is tested on all elements separately.

use smallvec::SmallVec;

use super::super::tree::{Comparison, Node, NodeId, Written};
use crate::catalog::{Catalog, FieldId};
use crate::error::quote;
use crate::operator::{Complex, Connective, Language, Operator, Side};

/// The maximum number of tested fields ([`Use`]) that are kept for one node. Further fields are dropped, and cause no warning.
const MOST_FIELDS: usize = 64;

/// A field within an array that one or more criteria test, with the kind of bound that they set.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Use {
    field: FieldId,
    bound: Bound,
    /// The first criterion with this field and bound.
    leaf: NodeId,
}

/// The kind of bound that a criterion sets: `>` and `>=` set a lower bound, `<` and `<=` an upper bound.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Lower,
    Upper,
    Neither,
}

impl Bound {
    fn of(operator: Operator) -> Self {
        match operator.ray().map(|ray| ray.side) {
            Some(Side::Above) => Self::Lower,
            Some(Side::Below) => Self::Upper,
            None => Self::Neither,
        }
    }
}

/// Warns about every conjunction with two criteria on one array, once for each array. The warning is on the later criterion. Two
/// criteria on the same field cause a warning only if they set a lower and an upper bound.
///
/// Criteria inside `$elem` are about the same element, so they cause no warning. But two of them on an inner array may be about
/// different elements of the inner array.
///
/// Two criteria in different branches of one disjunction are not joined by `$and`. A criterion in such a branch and a criterion
/// beside the disjunction are joined by `$and`.
pub(super) fn separate(
    tree: &Written<'_>,
    catalog: &Catalog,
    language: Language,
    warn: &mut impl FnMut(NodeId, String),
) {
    let levels = levels(tree);
    let mut uses: Vec<SmallVec<[Use; 2]>> = Vec::with_capacity(tree.nodes().len());
    for (id, node) in tree.nodes().iter().enumerate() {
        uses.push(match node {
            Node::Constant(_) => SmallVec::new(),
            Node::Leaf(Comparison { field, operator, .. }) => {
                let bound = Bound::of(*operator);
                let level = levels.get(id).copied().unwrap_or(0);
                let is_within = !array_of(catalog, *field, level).is_empty();
                is_within.then_some(Use { field: *field, bound, leaf: id }).into_iter().collect()
            }
            Node::Branch(operator, children) => {
                let mut before: SmallVec<[Use; 2]> = SmallVec::new();
                let mut told: Vec<&str> = Vec::new();
                for child in children {
                    let of_child = uses.get(*child).map(SmallVec::as_slice).unwrap_or_default();
                    if matches!(operator, Complex::Join(Connective::And) | Complex::Elem(_)) {
                        let level = levels.get(*child).copied().unwrap_or(0);
                        for (own, other) in of_child.iter().filter_map(|own| {
                            before
                                .iter()
                                .find(|other| may_be_apart(own, other, level, catalog))
                                .map(|other| (own, other))
                        }) {
                            let array = array_of(catalog, own.field, level);
                            if !told.contains(&array) {
                                told.push(array);
                                warn(own.leaf, message(own, other, array, catalog, language));
                            }
                        }
                    }
                    for own in of_child {
                        let is_known = |other: &Use| other.field == own.field && other.bound == own.bound;
                        if before.len() < MOST_FIELDS && !before.iter().any(is_known) {
                            before.push(*own);
                        }
                    }
                }
                // The criteria of `$elem` are not passed on: a criterion beside `$elem` is not meant for the same element.
                if matches!(operator, Complex::Elem(_)) { SmallVec::new() } else { before }
            }
        });
    }
}

/// Returns true if two different elements of one array can satisfy the two criteria, but the author probably meant one element.
fn may_be_apart(one: &Use, other: &Use, level: usize, catalog: &Catalog) -> bool {
    if one.field == other.field {
        return matches!(
            (one.bound, other.bound),
            (Bound::Lower, Bound::Upper) | (Bound::Upper, Bound::Lower)
        );
    }
    array_of(catalog, one.field, level) == array_of(catalog, other.field, level)
}

/// Returns, for each node, the level of the array of objects whose elements the node tests. The level is 0 if it tests the whole
/// case.
fn levels(tree: &Written<'_>) -> Vec<usize> {
    let mut levels = vec![0; tree.nodes().len()];
    // In reverse order, a parent comes before its children.
    for (id, node) in tree.nodes().iter().enumerate().rev() {
        let Node::Branch(operator, children) = node else { continue };
        let level = match operator {
            Complex::Elem(array) => usize::from(array.level),
            _ => levels.get(id).copied().unwrap_or(0),
        };
        for child in children {
            if let Some(slot) = levels.get_mut(*child) {
                *slot = level;
            }
        }
    }
    levels
}

/// Skips the outermost `level` arrays around the values of a field, and returns the path of the next array. Empty if there is no
/// such array.
fn array_of(catalog: &Catalog, field: FieldId, level: usize) -> &str {
    let field = catalog.field(field);
    let mut end = 0_usize;
    let mut left = level;
    for segment in field.path().split('.') {
        let key = segment.trim_end_matches("[]");
        end = end.saturating_add(usize::from(end > 0)).saturating_add(key.len());
        if key.len() < segment.len() {
            match left.checked_sub(1) {
                Some(rest) => left = rest,
                None => return field.name().get(..end).unwrap_or_default(),
            }
        }
    }
    ""
}

fn message(own: &Use, other: &Use, array: &str, catalog: &Catalog, language: Language) -> String {
    let name = |field| quote(catalog.field(field).name());
    let what = if own.field == other.field {
        format!("the two bounds on {}", name(own.field))
    } else {
        format!("this and the criterion on {}", name(other.field))
    };
    // The elements of an array of scalars are values. No criterion tests several conditions on one value, so nothing is suggested.
    let meant = match language {
        _ if catalog.find_array(array).is_none() => String::new(),
        Language::Interface => String::new(),
        Language::Extended => {
            format!("; {} with the field {} tests one element", quote(Complex::ELEM.name()), quote(array))
        }
        Language::Text => format!("; {} tests one element", quote(&format!("{array} has (…)"))),
    };
    format!(
        "{what} may be satisfied by two different elements of {}: each criterion is tested separately on all elements{meant}",
        quote(array)
    )
}
