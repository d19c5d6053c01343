//! The optimiser: builds the normal form of a predicate.
//!
//! For every case, the normal form has the same result as the criteria as written. It is larger than these criteria by a constant
//! factor at most. One function, [`Builder::make`], builds it from the leaves to the root. It applies these rules in this order:
//!
//! 1. **flatten**: a conjunction inside a conjunction becomes a part of the outer conjunction. Constants are dropped or decide the
//!    branch.
//! 2. **merge**: the tests on one field become one set or range. This finds contradictions and tautologies.
//! 3. **absorb**: `a and (b or c)` becomes `a` if `a` implies `b`. For example, `a and (a or c)` becomes `a`.
//! 4. **factor**: `(a and b) or (a and c)` becomes `a and (b or c)`.
//!
//! Before the first rule, De Morgan's laws push negations down to the tests, so a normal form has no negation.
//!
//! Each rule also applies with `and` and `or` exchanged. No rule distributes one connective over the other, which could make the
//! tree grow exponentially.
//!
//! ```text
//! status = a and (amount > 1 and amount <= 5)          and: amount: Any (1, 5], status: Any {a}          flatten, merge
//! status = a and (status in (a, b) or amount = 1)      status: Any {a}                                   absorb
//! status = a and amount = 1 or status = a and id = x   and: status: Any {a}, or: amount = 1, id = x      factor
//! status = a and status = b                            false                                             merge
//! ```
//!
//! Equal subtrees become one node, and the order of children depends only on their structure. Filters that differ only in the
//! order or the repetition of criteria therefore have equal normal forms.

mod builder;
mod factor;
mod finish;
mod merge;
mod numbers;
mod subtree;
mod test;
#[cfg(test)]
mod tests;

pub(super) use self::builder::Builder;
pub(super) use self::merge::{decides, implies};
use self::subtree::conjunction;
pub(super) use self::test::test;
use super::tree::{Children, Elements, Leaf, Node, Test, Tree, Written};
use crate::catalog::Catalog;
use crate::operator::{Complex, Connective};

/// Joins trees by a connective, or negates the only tree, and returns the normal form. There must be at least one tree, and each
/// tree must be in normal form.
pub(crate) fn joined<'t>(
    operator: Complex,
    trees: impl Iterator<Item = &'t Tree<Leaf>> + Clone,
    catalog: &Catalog,
) -> Tree<Leaf> {
    let nodes = trees.clone().map(|tree| tree.nodes().len()).fold(0, usize::saturating_add);
    let mut builder = Builder::new(catalog, nodes);
    let (connective, is_negated) = match operator {
        Complex::Join(connective) => (connective, false),
        // No filter is joined by `$elem`.
        Complex::Not | Complex::Elem(_) => (Connective::And, true),
    };
    let roots: Children = trees.map(|tree| builder.tree(tree, is_negated)).collect();
    let root = builder.make(connective, &roots);
    builder.finish(root)
}

/// Converts each comparison of a [`Written`] tree into a test, and pushes negations down to the tests. Applies no other rule of the
/// optimiser.
pub(crate) fn normalize(tree: &Written<'_>, catalog: &Catalog) -> Tree<Leaf> {
    let needed = polarities(tree);
    let mut nodes: Vec<Node<Leaf>> = Vec::with_capacity(tree.nodes().len());
    // For each node as written: the id of its new node, and the id of the new node of its negation.
    let mut made: Vec<[usize; 2]> = Vec::with_capacity(tree.nodes().len());
    for (node, needed) in tree.nodes().iter().zip(needed) {
        let mut own = [0; 2];
        for (negated, place) in
            own.iter_mut().enumerate().filter(|(negated, _)| needed.get(*negated) == Some(&true))
        {
            let child =
                |child: &usize| made.get(*child).and_then(|made| made.get(negated)).copied().unwrap_or(0);
            let is_negated = negated == 1;
            let new = match node {
                Node::Constant(value) => Node::Constant(*value != is_negated),
                Node::Leaf(comparison) => match test(comparison, catalog) {
                    Ok(test) => {
                        let test = if is_negated { test.negated() } else { test };
                        Node::Leaf(Leaf { field: comparison.field, test })
                    }
                    Err(constant) => Node::Constant(constant != is_negated),
                },
                Node::Branch(Complex::Join(connective), children) => {
                    let connective = if is_negated { connective.dual() } else { *connective };
                    Node::Branch(connective, children.iter().map(child).collect())
                }
                Node::Branch(Complex::Not, children) => {
                    let made = children.first().and_then(|child| made.get(*child));
                    let [own, negation] = made.copied().unwrap_or_default();
                    *place = if is_negated { own } else { negation };
                    continue;
                }
                Node::Branch(Complex::Elem(array), children) => {
                    let made = children.iter().filter_map(|child| made.get(*child)).map(|[own, _]| *own);
                    let tree = conjunction(&nodes, made.collect());
                    let elements = Box::new(Elements { array: *array, tree });
                    let test = if is_negated { Test::NoElem(elements) } else { Test::Elem(elements) };
                    Node::Leaf(Leaf { field: array.field, test })
                }
            };
            *place = nodes.len();
            nodes.push(new);
        }
        made.push(own);
    }
    // A negation gets no node of its own: it is built into the nodes of its child. So the root is not always the last node.
    let root = made.last().map_or(0, |[root, _]| *root);
    nodes.truncate(root.saturating_add(1));
    Tree::from_nodes(nodes)
}

/// Returns two flags for each node of a tree as written: true if its value is needed, and true if its negation is needed.
pub(super) fn polarities(tree: &Written<'_>) -> Vec<[bool; 2]> {
    let mut needed = vec![[false; 2]; tree.nodes().len()];
    if let Some(root) = needed.last_mut() {
        *root = [true, false];
    }
    for (id, node) in tree.nodes().iter().enumerate().rev() {
        let Node::Branch(operator, children) = node else { continue };
        let [own, negation] = needed.get(id).copied().unwrap_or_default();
        let of_child = match operator {
            Complex::Join(_) => [own, negation],
            Complex::Not => [negation, own],
            // Both the value and the negation of the node need only the value of its child.
            Complex::Elem(_) => [own || negation, false],
        };
        for child in children {
            if let Some(needed) = needed.get_mut(*child) {
                needed.iter_mut().zip(of_child).for_each(|(needed, more)| *needed |= more);
            }
        }
    }
    needed
}
