//! The normal form of a predicate: same truth for every case, no larger than a constant factor.
//!
//! Built from the leaves up by one smart constructor whose rules, in order, are:
//!
//! 1. **flatten**: a conjunction in a conjunction becomes one; constants vanish or decide;
//! 2. **merge**: tests on one field become one set or range, which finds contradictions and tautologies;
//! 3. **absorb**: `a and (a or b)` is `a`, also where the first only implies the second;
//! 4. **factor**: `(a and b) or (a and c)` is `a and (b or c)`.
//!
//! Each has its dual. Nothing is ever distributed. Equal subtrees become one node, and children
//! are put into an order that depends on their structure alone, so that filters which differ in
//! the order of criteria, or in repetition, have equal normal forms.

mod merge;
#[cfg(test)]
mod tests;

use std::hash::BuildHasher;

use hashbrown::HashTable;
use smallvec::SmallVec;

use self::merge::{Merged, merge};
pub(super) use self::merge::{decides, implies};
use super::set::Set;
use super::tree::{Children, Comparison, Leaf, Node, NodeId, Test, Tree};
use crate::catalog::{Catalog, FieldId};
use crate::operator::{Connective, Operator};

/// Beyond this many branches in one, they are not compared pairwise.
const PAIRWISE: usize = 64;

/// Makes the normal form of a tree as written, from its nodes in order.
///
/// Time is linear in the criteria and values, but for sorting them.
pub(super) struct Optimizer<'c> {
    builder: Builder<'c>,
    /// For each node, its number in the builder.
    made: SmallVec<[NodeId; 24]>,
}

impl<'c> Optimizer<'c> {
    /// For about so many nodes.
    pub(super) fn new(catalog: &'c Catalog, likely: usize) -> Self {
        Self { builder: Builder::new(catalog, likely), made: SmallVec::new() }
    }

    pub(super) fn push(&mut self, node: &Node<Comparison<'_>>) {
        let id = match node {
            Node::Constant(value) => self.builder.constant(*value),
            Node::Leaf(comparison) => self.builder.comparison(comparison),
            Node::Branch(connective, children) => {
                let made = |child: &NodeId| self.made.get(*child).copied();
                let children: Nodes = children.iter().filter_map(made).collect();
                self.builder.make(*connective, &children)
            }
        };
        self.made.push(id);
    }

    /// The normal form of the last node.
    pub(super) fn finish(self) -> Tree<Leaf> {
        match self.made.last() {
            Some(root) => self.builder.finish(*root),
            None => Tree::constant(false),
        }
    }
}

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

/// What a comparison tests, or its truth where that is the same for every case.
pub(super) fn test(comparison: &Comparison<'_>, many: bool) -> Result<Test, bool> {
    match Set::from_values(&comparison.values) {
        Some(set) => test_of(comparison.operator, set, many),
        None => Err(false),
    }
}

/// As [`test`], of the set of the values.
fn test_of(operator: Operator, set: Set, many: bool) -> Result<Test, bool> {
    match operator {
        Operator::Equal | Operator::Contains => Ok(Test::Any(set)),
        Operator::NotEqual => Ok(Test::None(set)),
        Operator::All if set.len() == 1 => Ok(Test::Any(set)),
        Operator::All if many => Ok(Test::All(set)),
        Operator::All => Err(false),
        Operator::Greater | Operator::GreaterOrEqual | Operator::Less | Operator::LessOrEqual => {
            set.ray(operator).map(Test::Any).ok_or(false)
        }
    }
}

/// Makes nodes, each once, every one in normal form.
pub(super) struct Builder<'c> {
    catalog: &'c Catalog,
    nodes: Vec<(Rank, Node<Leaf>)>,
    /// Once there are many.
    numbers: Option<Numbers>,
}

/// The numbers of nodes by their hash.
struct Numbers {
    table: HashTable<NodeId>,
    hasher: foldhash::quality::RandomState,
}

impl Numbers {
    #[cold]
    fn new(nodes: &[(Rank, Node<Leaf>)]) -> Self {
        let hasher = foldhash::quality::RandomState::default();
        let mut table = HashTable::with_capacity(nodes.len().saturating_mul(2));
        for (id, (_, node)) in nodes.iter().enumerate() {
            table.insert_unique(hasher.hash_one(node), id, |id| hash_of(nodes, &hasher, *id));
        }
        Self { table, hasher }
    }

    /// The number of a node equal to this one; otherwise this one is given the number behind all.
    fn find_or_insert(&mut self, nodes: &[(Rank, Node<Leaf>)], node: &Node<Leaf>) -> Option<NodeId> {
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

/// What orders nodes before anything else: the height, that of leaves and constants being 0, above sixteen bits for the field
/// of a leaf, or for the connective of a branch.
type Rank = u64;

/// Up to this many nodes are compared one by one, which most often ends at the rank, and brought into order without
/// allocating.
const FEW_NODES: usize = 24;

/// Nodes of the builder, few as a rule.
type Nodes = SmallVec<[NodeId; 8]>;

impl<'c> Builder<'c> {
    /// For about so many nodes.
    pub(super) fn new(catalog: &'c Catalog, likely: usize) -> Self {
        Self { catalog, nodes: Vec::with_capacity(likely), numbers: None }
    }

    /// The number of a node equal to this one.
    // The node is made in its place, since to move it costs as much as to look for it.
    #[inline(always)]
    fn intern(&mut self, node: Node<Leaf>) -> NodeId {
        let rank = self.rank(&node);
        self.nodes.push((rank, node));
        self.number_of_last()
    }

    /// The number of the last node, which is gone if there was an equal one.
    #[inline(never)]
    fn number_of_last(&mut self) -> NodeId {
        let Some(((rank, node), before)) = self.nodes.split_last() else { return 0 };
        let id = before.len();
        let equal = if id < FEW_NODES {
            before.iter().position(|(own_rank, own)| own_rank == rank && own == node)
        } else {
            let numbers = self.numbers.get_or_insert_with(|| Numbers::new(before));
            numbers.find_or_insert(before, node)
        };
        match equal {
            Some(equal) => {
                self.nodes.truncate(id);
                equal
            }
            None => id,
        }
    }

    #[inline]
    fn rank(&self, node: &Node<Leaf>) -> Rank {
        match node {
            Node::Constant(_) => 0,
            Node::Leaf(leaf) => leaf.field.index() as u64,
            Node::Branch(connective, children) => {
                let height = |child: &NodeId| self.nodes.get(*child).map_or(0, |(rank, _)| rank >> 16);
                let highest = children.iter().map(height).fold(0, u64::max);
                highest.wrapping_add(1) << 16 | u64::from(*connective == Connective::Or)
            }
        }
    }

    /// The root of a tree, made anew from its nodes.
    fn tree(&mut self, tree: &Tree<Leaf>) -> NodeId {
        let mut made: Vec<NodeId> = Vec::with_capacity(tree.nodes().len());
        for node in tree.nodes() {
            let id = match node {
                Node::Branch(connective, children) => {
                    let children: Nodes =
                        children.iter().filter_map(|child| made.get(*child).copied()).collect();
                    self.make(*connective, &children)
                }
                _ => self.intern(node.clone()),
            };
            made.push(id);
        }
        made.last().copied().unwrap_or_else(|| self.constant(false))
    }

    pub(super) fn constant(&mut self, value: bool) -> NodeId {
        self.intern(Node::Constant(value))
    }

    pub(super) fn comparison(&mut self, comparison: &Comparison<'_>) -> NodeId {
        match Set::from_values(&comparison.values) {
            Some(set) => self.leaf(comparison.field, comparison.operator, set),
            None => self.constant(false),
        }
    }

    /// The field's values compared with these.
    pub(super) fn leaf(&mut self, field: FieldId, operator: Operator, set: Set) -> NodeId {
        let many = self.catalog.field(field).is_many();
        self.intern(match test_of(operator, set, many) {
            Ok(test) => Node::Leaf(Leaf { field, test }),
            Err(constant) => Node::Constant(constant),
        })
    }

    #[inline]
    fn node(&self, id: NodeId) -> Option<&Node<Leaf>> {
        self.nodes.get(id).map(|(_, node)| node)
    }

    /// The normal form of a branch whose children are in normal form.
    pub(super) fn make(&mut self, connective: Connective, children: &[NodeId]) -> NodeId {
        if let [only] = children {
            return *only;
        }
        let neutral = connective == Connective::And;
        let mut leaves: SmallVec<[(Rank, NodeId); 8]> = SmallVec::new();
        let mut branches = Nodes::new();
        for id in children.iter().copied() {
            match self.nodes.get(id) {
                Some((_, Node::Constant(value))) if *value == neutral => {}
                Some((_, Node::Constant(_))) => return id,
                Some((rank, Node::Leaf(_))) => leaves.push((*rank, id)),
                // Normal forms nest no conjunction in a conjunction, so one level of flattening is
                // enough; and they have constants at the root alone.
                Some((_, Node::Branch(inner, grandchildren))) if *inner == connective => {
                    for id in grandchildren {
                        match self.nodes.get(*id) {
                            Some((rank, Node::Leaf(_))) => leaves.push((*rank, *id)),
                            _ => branches.push(*id),
                        }
                    }
                }
                _ => branches.push(id),
            }
        }
        let mut children = Children::new();
        if !self.merge_leaves(connective, &mut leaves, &mut children) {
            return self.constant(!neutral);
        }
        if !branches.is_empty() {
            branches.sort_unstable();
            branches.dedup();
            self.absorb(connective, &children, &mut branches);
            if children.is_empty()
                && let Some(factored) = self.factor(connective, &branches)
            {
                return factored;
            }
            children.extend_from_slice(&branches);
        }
        children.sort_unstable();
        match children.as_slice() {
            [] => self.constant(neutral),
            [only] => *only,
            _ => self.intern(Node::Branch(connective, children)),
        }
    }

    /// The leaves, ascending by field, with those of each field merged; false when they decide the branch.
    ///
    /// The only leaf of its field stays as it is: merging a test with none changes no normal form.
    fn merge_leaves(
        &mut self,
        connective: Connective,
        leaves: &mut SmallVec<[(Rank, NodeId); 8]>,
        merged: &mut Children,
    ) -> bool {
        let sorted = leaves.as_mut_slice();
        sorted.sort_unstable();
        if sorted.is_sorted_by(|(a, _), (b, _)| a < b) {
            merged.reserve(sorted.len());
            for (_, id) in sorted {
                merged.push(*id);
            }
            return true;
        }
        leaves.dedup();
        for group in leaves.chunk_by(|(a, _), (b, _)| a == b) {
            let field = match group {
                [] => continue,
                [(_, only)] => {
                    merged.push(*only);
                    continue;
                }
                [(_, first), ..] => match self.node(*first) {
                    Some(Node::Leaf(leaf)) => leaf.field,
                    _ => continue,
                },
            };
            let tests = group.iter().filter_map(|(_, id)| match self.node(*id) {
                Some(Node::Leaf(leaf)) => Some(&leaf.test),
                _ => None,
            });
            let merged_tests = {
                let tests: SmallVec<[&Test; 4]> = tests.collect();
                merge(connective, self.catalog.field(field).is_many(), &tests)
            };
            match merged_tests {
                Merged::Decided => return false,
                Merged::Tests(tests) => {
                    for test in tests {
                        merged.push(self.intern(Node::Leaf(Leaf { field, test })));
                    }
                }
            }
        }
        true
    }

    /// Drops branches that a sibling makes superfluous: a leaf, or a branch of fewer children.
    fn absorb(&self, connective: Connective, leaves: &[NodeId], branches: &mut Nodes) {
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
    fn factor(&mut self, connective: Connective, branches: &[NodeId]) -> Option<NodeId> {
        let dual = match connective {
            Connective::And => Connective::Or,
            Connective::Or => Connective::And,
        };
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

    /// The nodes below `root` in an order that depends on their structure alone.
    pub(super) fn finish(mut self, root: NodeId) -> Tree<Leaf> {
        if !matches!(self.node(root), Some(Node::Branch(..))) {
            let node = self.nodes.into_iter().nth(root).map_or(Node::Constant(false), |(_, node)| node);
            return Tree::from_nodes([node]);
        }
        // For each node 1 when it is the root or below it, later its number in the finished tree.
        let (mut few, mut many) = ([0; FEW_NODES], Vec::new());
        let places = room(&mut few, &mut many, self.nodes.len());
        if let Some(place) = places.get_mut(root) {
            *place = 1;
        }
        // Children have smaller numbers, so one pass downwards reaches all that is needed.
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
        // By level, the leaves first; in a level by what is cheap to compare.
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

/// So many defaults, in the array if they fit.
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
