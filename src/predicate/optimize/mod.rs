//! The normal form of a predicate: same truth for every case, no larger than a constant factor.
//!
//! Built from the leaves up by one smart constructor, [`Builder::make`], whose rules, in order, are:
//!
//! 1. **flatten**: a conjunction in a conjunction becomes one; constants vanish or decide;
//! 2. **merge**: tests on one field become one set or range, which finds contradictions and tautologies;
//! 3. **absorb**: `a and (a or b)` is `a`, also where the first only implies the second;
//! 4. **factor**: `(a and b) or (a and c)` is `a and (b or c)`.
//!
//! Each has its dual. Nothing is ever distributed. Equal subtrees become one node, and children
//! are put into an order that depends on their structure alone, so that filters which differ in
//! the order of criteria, or in repetition, have equal normal forms.

mod builder;
mod factor;
mod finish;
mod merge;
mod numbers;
mod test;
#[cfg(test)]
mod tests;

pub(super) use self::builder::Builder;
pub(super) use self::merge::{decides, implies};
pub(super) use self::test::test;
use super::tree::{Children, Comparison, Leaf, Node, Tree};
use crate::catalog::Catalog;
use crate::operator::Connective;

/// The normal form of trees joined by a connective, each in normal form already; at least one.
pub(crate) fn joined<'t>(
    connective: Connective,
    trees: impl Iterator<Item = &'t Tree<Leaf>> + Clone,
    catalog: &Catalog,
) -> Tree<Leaf> {
    let nodes = trees.clone().map(|tree| tree.nodes().len()).fold(0, usize::saturating_add);
    let mut builder = Builder::new(catalog, nodes);
    let roots: Children = trees.map(|tree| builder.tree(tree)).collect();
    let root = builder.make(connective, &roots);
    builder.finish(root)
}

/// The tests of a tree as written, one for one, without any rule applied.
pub(crate) fn normalize(tree: &Tree<Comparison<'_>>, catalog: &Catalog) -> Tree<Leaf> {
    let nodes = tree.nodes().iter().map(|node| match node {
        Node::Constant(value) => Node::Constant(*value),
        Node::Leaf(comparison) => match test(comparison, catalog.field(comparison.field).is_many()) {
            Ok(test) => Node::Leaf(Leaf { field: comparison.field, test }),
            Err(constant) => Node::Constant(constant),
        },
        Node::Branch(connective, children) => Node::Branch(*connective, children.clone()),
    });
    Tree::from_nodes(nodes.collect::<Vec<_>>())
}
