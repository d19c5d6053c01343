//! Leaves out the criteria that name a given field and no other field. Facets that are counted without the criteria on their own
//! field use this module.

use super::tree::{Node, NodeId, Written};
use crate::catalog::FieldId;
use crate::operator::{Complex, Connective};

/// Criteria as written, without the criteria on one field.
pub(crate) struct Apart {
    /// The tree. Each criterion that was left out is replaced by the constant true.
    pub(crate) tree: Written<'static>,
    /// True if a criterion was left out.
    pub(crate) is_changed: bool,
    /// True if a criterion that names the field stays, because it also names other fields, or is below an `$or` or a `$not`.
    pub(crate) has_others: bool,
}

/// Returns the criteria without those that name `field` and no other field. Leaves out a criterion only if it is in the list of the
/// body, or if all operators around it are `$and`. `written` must come from one body or text, not from joined filters.
///
/// The list `ids` of a body is not a criterion. So it stays, and is still joined with the criteria by `$or`.
pub(crate) fn apart(written: &Written<'static>, field: FieldId) -> Apart {
    let names = names(written, field);
    let of = |id: NodeId| names.get(id).copied().unwrap_or_default();
    let mut nodes = written.nodes().to_vec();
    let mut is_changed = false;
    let root = written.root();
    // Only a body with both `ids` and criteria has a disjunction as its root. Its last child is the list of criteria.
    let mut open = match written.get(root) {
        Some(Node::Branch(Complex::Join(Connective::Or), children)) => {
            children.last().copied().into_iter().collect()
        }
        _ => vec![root],
    };
    while let Some(id) = open.pop() {
        if of(id) == (Names { own: true, others: false }) {
            if let Some(node) = nodes.get_mut(id) {
                *node = Node::Constant(true);
                is_changed = true;
            }
        } else if let Some(Node::Branch(Complex::Join(Connective::And), children)) = written.get(id) {
            open.extend_from_slice(children);
        }
    }
    let tree = Written::from_nodes(nodes);
    let has_others = names_of(&tree, field);
    Apart { tree, is_changed, has_others }
}

/// Two flags: whether a criterion names the given field, and whether it names other fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Names {
    /// True if the criterion names the given field.
    own: bool,
    /// True if the criterion names another field.
    others: bool,
}

/// Returns, for each node, whether its criteria name `field`, and whether they name other fields.
fn names(written: &Written<'_>, field: FieldId) -> Vec<Names> {
    let mut all: Vec<Names> = Vec::with_capacity(written.nodes().len());
    for node in written.nodes() {
        let names = match node {
            Node::Constant(_) => Names::default(),
            Node::Leaf(comparison) => {
                let own = comparison.field == field;
                Names { own, others: !own }
            }
            Node::Branch(_, children) => {
                let below = children.iter().filter_map(|child| all.get(*child));
                below.fold(Names::default(), |names, child| Names {
                    own: names.own || child.own,
                    others: names.others || child.others,
                })
            }
        };
        all.push(names);
    }
    all
}

/// Returns true if a criterion of the tree names the field.
pub(crate) fn names_of(written: &Written<'_>, field: FieldId) -> bool {
    names(written, field).get(written.root()).is_some_and(|names| names.own)
}
