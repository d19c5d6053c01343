//! The numbers of nodes, so that equal subtrees become one node.

use std::hash::BuildHasher;

use hashbrown::HashTable;

use super::super::tree::{Leaf, Node, NodeId};

/// The key by which nodes are ordered first: the height, that of leaves and constants being 0, above sixteen bits for the field
/// of a leaf, or for the connective of a branch.
pub(super) type Rank = u64;

/// The numbers of nodes by their hash.
pub(super) struct Numbers {
    table: HashTable<NodeId>,
    hasher: foldhash::quality::RandomState,
}

impl Numbers {
    #[cold]
    pub(super) fn new(nodes: &[(Rank, Node<Leaf>)]) -> Self {
        let hasher = foldhash::quality::RandomState::default();
        let mut table = HashTable::with_capacity(nodes.len().saturating_mul(2));
        for (id, (_, node)) in nodes.iter().enumerate() {
            table.insert_unique(hasher.hash_one(node), id, |id| hash_of(nodes, &hasher, *id));
        }
        Self { table, hasher }
    }

    /// Returns the number of a node equal to this one; otherwise enters this one under the next number.
    pub(super) fn find_or_insert(
        &mut self,
        nodes: &[(Rank, Node<Leaf>)],
        node: &Node<Leaf>,
    ) -> Option<NodeId> {
        let hash = self.hasher.hash_one(node);
        let is_equal = |id: &NodeId| nodes.get(*id).is_some_and(|(_, own)| own == node);
        let found = self.table.find(hash, is_equal).copied();
        if found.is_none() {
            self.table.insert_unique(hash, nodes.len(), |id| hash_of(nodes, &self.hasher, *id));
        }
        found
    }
}

/// The hash of the node, not of an option of it.
fn hash_of(nodes: &[(Rank, Node<Leaf>)], hasher: &foldhash::quality::RandomState, id: NodeId) -> u64 {
    nodes.get(id).map_or(0, |(_, node)| hasher.hash_one(node))
}
