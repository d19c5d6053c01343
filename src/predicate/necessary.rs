//! Derives necessary conditions from tests of elements. If an element satisfies `a = x and b = y`, its document satisfies `a = x`
//! and `b = y`.
//!
//! Tests of elements read the columns of a batch value by value. They cannot use indexes, zone maps or postings, because these do
//! not contain the element to which a value belongs. The necessary conditions can use them. So a search evaluates these conditions
//! first: they skip batches, and leave few rows for the test of the elements (`benches/evaluate.rs`).

use super::tree::{Children, Leaf, Node, NodeId, Test, Tree};
use crate::operator::Connective;

/// Returns the tree that searches evaluate instead of `tree`: each test of elements is joined with its necessary conditions. Both
/// trees select the same documents. Returns `None` if there are no necessary conditions.
pub(crate) fn with_necessary_conditions(tree: &Tree<Leaf>) -> Option<Tree<Leaf>> {
    let has_elements = |node: &Node<Leaf>| matches!(node, Node::Leaf(leaf) if leaf.test.elements().is_some());
    if !tree.nodes().iter().any(has_elements) {
        return None;
    }
    let mut nodes: Vec<Node<Leaf>> = Vec::with_capacity(tree.nodes().len().saturating_mul(2));
    let mut made: Vec<Made> = Vec::with_capacity(tree.nodes().len());
    let mut is_changed = false;
    for node in tree.nodes() {
        let node = match node {
            Node::Constant(value) => Node::Constant(*value),
            Node::Leaf(leaf) => {
                let is_negated = leaf.test.is_negated();
                let condition =
                    leaf.test.elements().and_then(|own| conditions(&own.tree, is_negated, &mut nodes));
                if let Some(condition) = condition {
                    is_changed = true;
                    // If `N` is necessary for `E`, then `E` is equivalent to `N and E`, and `not E` is equivalent to
                    // `not N or not E`.
                    let connective = if is_negated { Connective::Or } else { Connective::And };
                    let is_last = condition.saturating_add(1) == nodes.len();
                    let mut children = match nodes.get(condition) {
                        Some(Node::Branch(inner, children)) if is_last && *inner == connective => {
                            children.clone()
                        }
                        _ => Children::from_slice(&[condition]),
                    };
                    if children.len() > 1 {
                        // The branch of the conditions is the last node. Its children are merged with the test.
                        nodes.pop();
                    }
                    children.push(nodes.len());
                    nodes.push(Node::Leaf(leaf.clone()));
                    made.push(Made::Joined(connective, children));
                    continue;
                }
                Node::Leaf(leaf.clone())
            }
            Node::Branch(connective, children) => {
                let mut all = Children::new();
                for child in children {
                    match made.get_mut(*child) {
                        Some(Made::Joined(inner, merged)) if inner == connective => {
                            all.extend_from_slice(merged);
                        }
                        Some(other) => all.push(other.id(&mut nodes)),
                        None => {}
                    }
                }
                Node::Branch(*connective, all)
            }
        };
        made.push(Made::Node(nodes.len()));
        nodes.push(node);
    }
    if let Some(root) = made.last_mut() {
        root.id(&mut nodes);
    }
    is_changed.then(|| Tree::from_nodes(nodes))
}

/// The new form of a node.
enum Made {
    Node(NodeId),
    /// A test of elements and its conditions, as children of a branch with this connective. If the enclosing branch has the same
    /// connective, they become its children.
    Joined(Connective, Children),
}

impl Made {
    /// Returns the id of the node. For `Joined`, first appends a branch with the test and its conditions as children.
    fn id(&mut self, nodes: &mut Vec<Node<Leaf>>) -> NodeId {
        if let Self::Joined(connective, children) = self {
            nodes.push(Node::Branch(*connective, std::mem::take(children)));
            *self = Self::Node(nodes.len().saturating_sub(1));
        }
        match self {
            Self::Node(id) => *id,
            Self::Joined(..) => 0,
        }
    }
}

/// Appends a condition to `nodes` that is true for every document with an element that passes `tree`. If `negated` is true, appends
/// the negation of this condition. Returns the id of its node, which is the last node. Returns `None` if there is no such
/// condition.
fn conditions(tree: &Tree<Leaf>, negated: bool, nodes: &mut Vec<Node<Leaf>>) -> Option<NodeId> {
    let needed = needed_nodes(tree)?;
    let mut made: Vec<Option<NodeId>> = Vec::with_capacity(tree.nodes().len());
    for (node, is_needed) in tree.nodes().iter().zip(needed) {
        let node = match node {
            Node::Leaf(Leaf { field, test }) if is_needed => match test {
                // The depth of the recursion is the depth of nested arrays in the catalogue.
                Test::Elem(inner) => {
                    made.push(conditions(&inner.tree, negated, nodes));
                    continue;
                }
                test => {
                    let test = if negated { test.clone().negated() } else { test.clone() };
                    Node::Leaf(Leaf { field: *field, test })
                }
            },
            Node::Branch(connective, children) if is_needed => {
                let children: Children =
                    children.iter().filter_map(|child| made.get(*child).copied().flatten()).collect();
                if let [only] = children.as_slice() {
                    made.push(Some(*only));
                    continue;
                }
                Node::Branch(if negated { connective.dual() } else { *connective }, children)
            }
            _ => {
                made.push(None);
                continue;
            }
        };
        made.push(Some(nodes.len()));
        nodes.push(node);
    }
    made.last().copied().flatten()
}

/// Returns a flag for each node: true if the condition of the root contains the condition of the node. Returns `None` if the root
/// has no condition.
fn needed_nodes(tree: &Tree<Leaf>) -> Option<Vec<bool>> {
    let mut has: Vec<bool> = Vec::with_capacity(tree.nodes().len());
    for node in tree.nodes() {
        let of_child = |child: &NodeId| has.get(*child).copied().unwrap_or(false);
        has.push(match node {
            // The optimiser removes constants.
            Node::Constant(_) => false,
            Node::Leaf(leaf) => match &leaf.test {
                Test::Any(_) | Test::All(_) => true,
                // There is no condition: an element without a value passes a negated test, and its document may have any values.
                Test::None(_) | Test::NotAll(_) | Test::NoElem(_) => false,
                Test::Elem(inner) => needed_nodes(&inner.tree).is_some(),
            },
            Node::Branch(Connective::And, children) => children.iter().any(of_child),
            Node::Branch(Connective::Or, children) => !children.is_empty() && children.iter().all(of_child),
        });
    }
    let mut needed = vec![false; has.len()];
    if let Some(root) = needed.last_mut().filter(|_| has.last() == Some(&true)) {
        *root = true;
    } else {
        return None;
    }
    // Parents come after their children.
    for (id, node) in tree.nodes().iter().enumerate().rev() {
        if let Node::Branch(_, children) = node
            && needed.get(id) == Some(&true)
        {
            for child in children {
                let has_condition = has.get(*child).copied().unwrap_or(false);
                if let Some(needed) = needed.get_mut(*child) {
                    *needed |= has_condition;
                }
            }
        }
    }
    Some(needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Catalog, Field, FieldType};
    use crate::filter::Filter;
    use crate::predicate::plan;

    fn catalog() -> Catalog {
        let fields = [
            Field::new("name", FieldType::String),
            Field::new("legs[].bank", FieldType::String),
            Field::new("legs[].amount", FieldType::Number),
            Field::new("legs[].steps[].done", FieldType::Boolean),
            Field::new("legs[].tags[]", FieldType::String),
        ];
        Catalog::new(fields).unwrap()
    }

    fn searched(text: &str) -> String {
        let catalog = catalog();
        let filter = Filter::compile_text(&catalog, text).unwrap();
        let tree = with_necessary_conditions(filter.predicate());
        tree.map_or("unchanged".to_owned(), |tree| {
            tree.validate().unwrap();
            plan(&tree, &catalog).lines().map(str::trim).collect::<Vec<_>>().join("; ")
        })
    }

    #[test]
    fn conditions_are_those_that_an_element_implies() {
        for (text, expected) in [
            ("name = a", "unchanged"),
            ("legs has (bank <> a)", "unchanged"),
            ("legs has (bank = a or amount is absent)", "unchanged"),
            (
                "legs has (bank = a and amount > 5)",
                "all of; legs.bank = a; legs.amount > 5; legs has (bank = a and amount > 5)",
            ),
            (
                "not legs has (bank = a and amount > 5)",
                "any of; legs.bank <> a; not legs.amount > 5; not legs has (bank = a and amount > 5)",
            ),
            (
                "name = b and legs has (bank = a and not amount > 5)",
                "all of; name = b; legs.bank = a; legs has (bank = a and not amount > 5)",
            ),
            (
                "name = b or legs has (bank = a and tags = x)",
                "any of; name = b; all of; legs.bank = a; legs.tags = x; legs has (bank = a and tags = x)",
            ),
            (
                "legs has (bank = a and steps has (done = true) or tags all (x, y) and amount = 1)",
                "all of; any of; all of; legs.bank = a; legs.steps.done = true; all of; legs.tags all (x, y); legs.amount = 1; legs has (bank = a and steps has (done = true) or tags all (x, y) and amount = 1)",
            ),
        ] {
            let found = searched(text);
            let sorted = |text: &str| {
                let mut parts: Vec<String> = text.split("; ").map(str::to_owned).collect();
                parts.sort();
                parts
            };
            assert_eq!(found.matches("; ").count(), expected.matches("; ").count(), "{text}: {found}");
            let wanted: Vec<String> = sorted(expected);
            let simple = |parts: Vec<String>| -> Vec<String> {
                parts.into_iter().filter(|part| !part.contains(" has (")).collect()
            };
            assert_eq!(simple(sorted(&found)), simple(wanted), "{text}: {found}");
        }
    }
}
