//! The rules on branches in a branch: absorb and factor.

use super::super::tree::{Children, Leaf, Node, NodeId};
use super::builder::{Builder, Nodes};
use super::merge::implies;
use super::numbers::Rank;
use crate::operator::Connective;

/// Beyond this many branches in one, they are not compared pairwise.
const PAIRWISE: usize = 64;

impl Builder<'_> {
    /// Drops branches that a sibling makes superfluous: a leaf, or a branch of fewer children.
    pub(super) fn absorb(&self, connective: Connective, leaves: &[NodeId], branches: &mut Nodes) {
        let children = |branch: NodeId| match self.node(branch) {
            Some(Node::Branch(_, children)) => children.as_slice(),
            _ => &[],
        };
        // Leaves of one field have one rank, and of the leaves those alone.
        let leaf = |id: &NodeId| match self.nodes.get(*id) {
            Some((rank, Node::Leaf(leaf))) => Some((*rank, &leaf.test)),
            _ => None,
        };
        let rank = |id: &NodeId| self.nodes.get(*id).map_or(0, |(rank, _)| *rank);
        branches.retain(|branch| {
            !children(*branch).iter().any(|child| {
                let Some((of_field, inner)) = leaf(child) else { return false };
                let from = leaves.partition_point(|id| rank(id) < of_field);
                let siblings = leaves.get(from..).unwrap_or_default().iter().map_while(leaf);
                siblings.take_while(|(rank, _)| *rank == of_field).any(|(_, outer)| match connective {
                    // The sibling makes an alternative of the branch true, and so the branch.
                    Connective::And => implies(outer, inner),
                    // The branch is true only where the sibling is.
                    Connective::Or => implies(inner, outer),
                })
            })
        });
        if branches.len() < 2 || branches.len() > PAIRWISE {
            return;
        }
        let all = branches.clone();
        branches.retain(|branch| {
            let own = children(*branch);
            !all.iter().any(|other| {
                let fewer = children(*other);
                fewer.len() < own.len() && fewer.iter().all(|child| own.binary_search(child).is_ok())
            })
        });
    }

    /// Takes what all branches have in common out of them.
    pub(super) fn factor(&mut self, connective: Connective, branches: &[NodeId]) -> Option<NodeId> {
        let dual = connective.dual();
        let [first, others @ ..] = branches else { return None };
        if others.is_empty() {
            return None;
        }
        let children = |nodes: &[(Rank, Node<Leaf>)], id: NodeId| match nodes.get(id) {
            Some((_, Node::Branch(_, children))) => children.clone(),
            _ => Children::new(),
        };
        let mut common = children(&self.nodes, *first);
        for branch in others {
            let theirs = children(&self.nodes, *branch);
            common.retain(|child| theirs.binary_search(child).is_ok());
            if common.is_empty() {
                return None;
            }
        }
        let mut rests = Children::new();
        for branch in branches {
            let mut rest = children(&self.nodes, *branch);
            rest.retain(|child| common.binary_search(child).is_err());
            rests.push(self.make(dual, &rest));
        }
        let rest = self.make(connective, &rests);
        common.push(rest);
        Some(self.make(dual, &common))
    }
}
