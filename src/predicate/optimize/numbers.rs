//! A hash table from nodes to their ids (hash-consing), so that equal subtrees become one node.

use std::hash::BuildHasher;

use hashbrown::HashTable;

use super::super::tree::{Leaf, Node, NodeId};

/// The first sort key of nodes.
///
/// The low sixteen bits are the field of a leaf or the connective of a branch. The bits above are the height, which is 0 for
/// leaves and constants.
pub(super) type Rank = u64;

/// A hash table from nodes to ids. It stores only ids; the builder stores the nodes.
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

    /// Returns the id of a node that is equal to `node`. If there is no equal node, inserts `node` with the next id and returns
    /// `None`.
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

/// Hashes the node with this id. Hashes the node and not an `Option` of it, so that the hash is the same as in `find_or_insert`.
fn hash_of(nodes: &[(Rank, Node<Leaf>)], hasher: &foldhash::quality::RandomState, id: NodeId) -> u64 {
    nodes.get(id).map_or(0, |(_, node)| hasher.hash_one(node))
}
