//! The optimiser: builds the normal form of a predicate.
//!
//! The normal form has the same result for every case as the criteria as written, and is larger by a constant factor at most.
//! It is built from the leaves to the root by one smart constructor, [`Builder::make`]. Its rules, in this order, are:
//!
//! 1. **flatten**: a conjunction in a conjunction becomes one; constants are dropped or decide the branch;
//! 2. **merge**: the tests on one field become one set or range, which finds contradictions and tautologies;
//! 3. **absorb**: `a and (a or b)` becomes `a`, also if the first `a` only implies the second;
//! 4. **factor**: `(a and b) or (a and c)` becomes `a and (b or c)`.
//!
//! Negations are pushed down to the tests by De Morgan's laws before the first rule, so that a normal form has none.
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
mod lists;
mod merge;
mod numbers;
mod patterns;
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

/// Joins trees by a connective, or negates the only one, and returns the normal form. Each tree must be in normal form; there must be at
/// least one.
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

/// Converts each comparison of a tree as written to its test and pushes negations down to the tests, without applying any other rule of
/// the optimiser.
pub(crate) fn normalize(tree: &Written<'_>, catalog: &Catalog) -> Tree<Leaf> {
    let needed = polarities(tree);
    let mut nodes: Vec<Node<Leaf>> = Vec::with_capacity(tree.nodes().len());
    // For each node as written: the nodes of itself and of its negation.
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
    // The root of the written tree may be a negation, whose node is that of a child.
    let root = made.last().map_or(0, |[root, _]| *root);
    nodes.truncate(root.saturating_add(1));
    Tree::from_nodes(nodes)
}

/// Returns for each node of a tree as written whether its value is needed, and whether its negation is.
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
            // Elements are tested alike for both.
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
