//! Copies some nodes of a list, with all nodes below them, to a new tree. Such a copy is the tree inside a test of elements.

use std::collections::HashSet;

use super::super::tree::{Children, Leaf, Node, Tree};
use crate::operator::Connective;

/// Returns the tree of a conjunction of some of these nodes. The time is proportional to the size of the tree, not to the size of
/// the list.
pub(super) fn conjunction(nodes: &[Node<Leaf>], children: Children) -> Tree<Leaf> {
    let ids = below(children.as_slice(), |id| nodes.get(id));
    let place = |child: &usize| ids.binary_search(child).unwrap_or(0);
    let mut kept: Vec<Node<Leaf>> = Vec::with_capacity(ids.len().saturating_add(1));
    for node in ids.iter().filter_map(|id| nodes.get(*id)) {
        kept.push(match node {
            Node::Branch(connective, children) => {
                Node::Branch(*connective, children.iter().map(place).collect())
            }
            node => node.clone(),
        });
    }
    kept.push(Node::Branch(Connective::And, children.iter().map(place).collect()));
    Tree::from_nodes(kept)
}

/// Returns the ids of these nodes and of all nodes below them, in ascending order.
pub(super) fn below<'n>(roots: &[usize], node: impl Fn(usize) -> Option<&'n Node<Leaf>>) -> Vec<usize> {
    let mut found: HashSet<usize> = HashSet::new();
    let mut open = roots.to_vec();
    while let Some(id) = open.pop() {
        if found.insert(id)
            && let Some(Node::Branch(_, children)) = node(id)
        {
            open.extend_from_slice(children);
        }
    }
    let mut ids: Vec<usize> = found.into_iter().collect();
    ids.sort_unstable();
    ids
}
