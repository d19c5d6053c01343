//! Applies the rules *absorb* and *factor*, which simplify the branches inside a branch.

use super::super::set::Set;
use super::super::tree::{Children, Leaf, Node, NodeId};
use super::builder::{Builder, Nodes};
use super::merge::implies;
use super::numbers::Rank;
use crate::operator::Connective;

/// Up to this number of branches inside a branch, each pair of branches is compared. Above it, superfluous branches stay, because
/// comparing all pairs takes quadratic time.
const PAIRWISE: usize = 64;

/// The maximum number of string patterns with which a leaf inside a branch is compared. These are the patterns of the leaves beside
/// the branch. After this number, no more leaves are compared, because comparing two patterns takes much longer than comparing two
/// lists.
const PATTERNS: usize = 16;

impl Builder<'_> {
    /// Drops branches that a sibling makes superfluous. The sibling is a leaf, or a branch with only some of the children of the
    /// dropped branch.
    ///
    /// ```text
    /// a and (a or b)                    becomes  a
    /// a or (a and b)                    becomes  a
    /// (a or b) and (a or b or c)        becomes  a or b
    /// ```
    pub(super) fn absorb(&self, connective: Connective, leaves: &[NodeId], branches: &mut Nodes) {
        let children = |branch: NodeId| match self.node(branch) {
            Some(Node::Branch(_, children)) => children.as_slice(),
            _ => &[],
        };
        // Two leaves have the same rank if and only if they are of one field, or are both tests of elements.
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
                let mut patterns = 0_usize;
                siblings.take_while(|(rank, _)| *rank == of_field).any(|(_, outer)| {
                    patterns = patterns.saturating_add(usize::from(outer.set().is_some_and(Set::is_pattern)));
                    match connective {
                        _ if patterns > PATTERNS => false,
                        // If the sibling is true, an alternative of the branch is true, so the branch is true.
                        Connective::And => implies(outer, inner),
                        // If the branch is true, its child is true, so the sibling is true.
                        Connective::Or => implies(inner, outer),
                    }
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

    /// Factors out the children that all branches share: `(a and b) or (a and c)` becomes `a and (b or c)`.
    ///
    /// Returns `None` if the branches share no child.
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
