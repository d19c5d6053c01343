//! Warns about criteria that are joined by `$and` although two different elements of one array can satisfy them.
//!
//! `checklist.name = identity and checklist.checked = true` also selects a case with a checked item `address` and an unchecked
//! item `identity`. The reason is that each criterion is tested on all elements separately.

use smallvec::SmallVec;

use super::super::tree::{Comparison, Node, NodeId, Written};
use crate::catalog::{Catalog, FieldId};
use crate::error::quote;
use crate::operator::{Complex, Connective, Operator, Side};

/// The maximum number of uses that are kept for one node. Further uses are dropped, and cause no warning.
const MOST_FIELDS: usize = 64;

/// A use of a field within an array by one or more criteria.
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

/// Warns about every conjunction with two criteria on one array, once for each array. The warning is on the later criterion.
///
/// Two criteria in different branches of one disjunction are not joined by `$and`. A criterion in such a branch and a criterion
/// beside the disjunction are joined by `$and`.
pub(super) fn separate(tree: &Written<'_>, catalog: &Catalog, warn: &mut impl FnMut(NodeId, String)) {
    let mut uses: Vec<SmallVec<[Use; 2]>> = Vec::with_capacity(tree.nodes().len());
    for (id, node) in tree.nodes().iter().enumerate() {
        uses.push(match node {
            Node::Constant(_) => SmallVec::new(),
            Node::Leaf(Comparison { field, operator, .. }) => {
                let bound = Bound::of(*operator);
                let is_within = catalog.field(*field).is_many();
                is_within.then_some(Use { field: *field, bound, leaf: id }).into_iter().collect()
            }
            Node::Branch(operator, children) => {
                let mut before: SmallVec<[Use; 2]> = SmallVec::new();
                let mut told: Vec<&str> = Vec::new();
                for child in children {
                    let of_child = uses.get(*child).map(SmallVec::as_slice).unwrap_or_default();
                    if *operator == Complex::Join(Connective::And) {
                        for (own, other) in of_child.iter().filter_map(|own| {
                            before
                                .iter()
                                .find(|other| may_be_apart(own, other, catalog))
                                .map(|other| (own, other))
                        }) {
                            let array = array_of(catalog, own.field);
                            if !told.contains(&array) {
                                told.push(array);
                                warn(own.leaf, message(own, other, array, catalog));
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
                before
            }
        });
    }
}

/// Returns true if two different elements of one array can satisfy the two criteria, but the author probably meant one element.
fn may_be_apart(one: &Use, other: &Use, catalog: &Catalog) -> bool {
    if one.field == other.field {
        return matches!(
            (one.bound, other.bound),
            (Bound::Lower, Bound::Upper) | (Bound::Upper, Bound::Lower)
        );
    }
    array_of(catalog, one.field) == array_of(catalog, other.field)
}

/// Returns the path of the outermost array around the values of a field.
fn array_of(catalog: &Catalog, field: FieldId) -> &str {
    let path = catalog.field(field).path();
    path.split_once("[]").map_or(path, |(array, _)| array)
}

fn message(own: &Use, other: &Use, array: &str, catalog: &Catalog) -> String {
    let name = |field| quote(catalog.field(field).name());
    let what = if own.field == other.field {
        format!("the two bounds on {}", name(own.field))
    } else {
        format!("this and the criterion on {}", name(other.field))
    };
    format!(
        "{what} may be satisfied by two different elements of {}: each criterion is tested separately on all elements",
        quote(array)
    )
}
