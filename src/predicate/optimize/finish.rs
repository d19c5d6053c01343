//! The last step of the optimiser: removes unused nodes and brings all other nodes into a canonical order.

use super::super::tree::{Leaf, Node, NodeId, Tree};
use super::builder::{Builder, FEW_NODES};

impl Builder<'_> {
    /// Returns the tree below `root`. The order of its nodes depends only on their structure, so equal normal forms are equal
    /// trees.
    pub(in crate::predicate) fn finish(mut self, root: NodeId) -> Tree<Leaf> {
        if !matches!(self.node(root), Some(Node::Branch(..))) {
            let node = self.nodes.into_iter().nth(root).map_or(Node::Constant(false), |(_, node)| node);
            return Tree::from_nodes([node]);
        }
        // At first, 1 for the root and each node below it, and 0 for all other nodes. Later, the id of each node in the finished
        // tree.
        let (mut few, mut many) = ([0; FEW_NODES], Vec::new());
        let places = room(&mut few, &mut many, self.nodes.len());
        if let Some(place) = places.get_mut(root) {
            *place = 1;
        }
        // Children have smaller ids, so one pass from the last node to the first finds all nodes below the root.
        let (mut few, mut many) = ([(0, 0); FEW_NODES], Vec::new());
        let order = room(&mut few, &mut many, self.nodes.len());
        let mut from = order.len();
        for (id, (rank, node)) in self.nodes.iter().enumerate().rev() {
            if places.get(id).is_none_or(|place| *place == 0) {
                continue;
            }
            from = from.wrapping_sub(1);
            if let Some(entry) = order.get_mut(from) {
                *entry = (*rank, id);
            }
            if let Node::Branch(_, children) = node {
                for child in children {
                    if let Some(place) = places.get_mut(*child) {
                        *place = 1;
                    }
                }
            }
        }
        let order = order.get_mut(from..).unwrap_or_default();
        // Sort by height, so that leaves come first, and within a height by field or connective. The rank contains all of these.
        order.sort_by_key(|(rank, _)| *rank);
        let mut out = Vec::with_capacity(order.len());
        for alike in order.chunk_by_mut(|(a, _), (b, _)| a == b) {
            if alike.first().is_some_and(|(rank, _)| rank >> 16 > 0) {
                for (_, id) in alike.iter() {
                    if let Some((_, Node::Branch(_, children))) = self.nodes.get_mut(*id) {
                        let children = children.as_mut_slice();
                        for child in children.iter_mut() {
                            *child = places.get(*child).copied().unwrap_or(0);
                        }
                        children.sort_unstable();
                    }
                }
            }
            if alike.len() > 1 {
                alike.sort_unstable_by(|(_, a), (_, b)| self.node(*a).cmp(&self.node(*b)));
            }
            for (_, id) in alike.iter() {
                if let (Some(place), Some((_, node))) = (places.get_mut(*id), self.nodes.get_mut(*id)) {
                    *place = out.len();
                    out.push(std::mem::replace(node, Node::Constant(false)));
                }
            }
        }
        Tree::from_nodes(out)
    }
}

/// Returns a slice of `len` default values, in the array `few` if they fit and in `many` otherwise.
#[inline]
fn room<'r, T: Clone + Default>(
    few: &'r mut [T; FEW_NODES],
    many: &'r mut Vec<T>,
    len: usize,
) -> &'r mut [T] {
    if let Some(few) = few.get_mut(..len) {
        return few;
    }
    many.resize(len, T::default());
    many
}
