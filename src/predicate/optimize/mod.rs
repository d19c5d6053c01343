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
mod test;
#[cfg(test)]
mod tests;

pub(super) use self::builder::Builder;
pub(super) use self::merge::{decides, implies};
pub(super) use self::test::test;
use super::tree::{Children, Comparison, Leaf, Node, Tree};
use crate::catalog::Catalog;
use crate::operator::Connective;

/// Joins trees by a connective and returns the normal form. Each tree must be in normal form; there must be at least one.
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

/// Converts each comparison of a tree as written to its test, without applying any rule of the optimiser.
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
