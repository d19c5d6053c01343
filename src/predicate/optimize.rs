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
use smallvec::{SmallVec, smallvec};

use self::merge::{Merged, merge};
pub(super) use self::merge::{decides, implies};
use super::set::{Intervals, Set};
use super::tree::{Children, Comparison, Leaf, Node, NodeId, Test, Tree};
use crate::catalog::{Catalog, FieldId};
use crate::operator::{Connective, Operator};
use crate::value::{Number, Timestamp, Value};

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

/// The normal form of what both trees select, each in normal form already.
pub(crate) fn both(first: &Tree<Leaf>, second: &Tree<Leaf>, catalog: &Catalog) -> Tree<Leaf> {
    let mut builder = Builder::new(catalog, first.nodes().len().saturating_add(second.nodes().len()));
    let roots = [builder.tree(first), builder.tree(second)];
    let root = builder.make(Connective::And, &roots);
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
    Tree::from_nodes(nodes.collect())
}

/// What a comparison tests, or its truth where that is the same for every case.
pub(super) fn test(comparison: &Comparison<'_>, many: bool) -> Result<Test, bool> {
    let operator = comparison.operator;
    if operator.is_range() {
        let range = match comparison.values.first() {
            Some(Value::Number(bound)) => {
                interval(operator, *bound, Number::MIN, Number::MAX, |number, up| {
                    if up { number.next_up() } else { number.next_down() }
                })
                .map(|range| Set::Numbers(Intervals::new(smallvec![range], true)))
            }
            Some(Value::Timestamp(bound)) => {
                interval(operator, *bound, Timestamp::MIN, Timestamp::MAX, |timestamp, up| {
                    if up { timestamp.next_up() } else { timestamp.next_down() }
                })
                .map(|range| Set::Timestamps(Intervals::new(smallvec![range], true)))
            }
            _ => None,
        };
        return range.map(Test::Any).ok_or(false);
    }
    let Some(set) = Set::from_values(&comparison.values) else { return Err(false) };
    match operator {
        Operator::NotEqual => Ok(Test::None(set)),
        Operator::All if set.len() == 1 => Ok(Test::Any(set)),
        Operator::All if many => Ok(Test::All(set)),
        Operator::All => Err(false),
        _ => Ok(Test::Any(set)),
    }
}

/// The closed interval of what compares so with `bound`; `None` when nothing does.
fn interval<T: Copy>(
    operator: Operator,
    bound: T,
    least: T,
    greatest: T,
    neighbour: impl Fn(T, bool) -> Option<T>,
) -> Option<(T, T)> {
    Some(match operator {
        Operator::Greater => (neighbour(bound, true)?, greatest),
        Operator::GreaterOrEqual => (bound, greatest),
        Operator::Less => (least, neighbour(bound, false)?),
        _ => (least, bound),
    })
}

/// Makes nodes, each once, every one in normal form.
pub(super) struct Builder<'c> {
    catalog: &'c Catalog,
    nodes: Vec<Node<Leaf>>,
    /// The numbers of the nodes by their hash, once there are many.
    numbers: Option<(HashTable<NodeId>, foldhash::quality::RandomState)>,
}

/// Up to this many nodes are compared one by one, which most often ends at the field.
const FEW_NODES: usize = 24;

/// Nodes of the builder, few as a rule.
type Nodes = SmallVec<[NodeId; 8]>;

impl<'c> Builder<'c> {
    /// For about so many nodes.
    pub(super) fn new(catalog: &'c Catalog, likely: usize) -> Self {
        Self { catalog, nodes: Vec::with_capacity(likely), numbers: None }
    }

    /// The number of a node equal to this one.
    fn intern(&mut self, node: Node<Leaf>) -> NodeId {
        let id = self.nodes.len();
        if id < FEW_NODES {
            if let Some(id) = self.nodes.iter().position(|own| *own == node) {
                return id;
            }
            self.nodes.push(node);
            return id;
        }
        // The hash must be that of the node, not of an option of it.
        let hash_of = |nodes: &[Node<Leaf>], hasher: &foldhash::quality::RandomState, id: &NodeId| {
            nodes.get(*id).map_or(0, |node| hasher.hash_one(node))
        };
        let nodes = &self.nodes;
        let (numbers, hasher) = self.numbers.get_or_insert_with(|| {
            let hasher = foldhash::quality::RandomState::default();
            let mut numbers = HashTable::with_capacity(nodes.len().saturating_mul(2));
            for id in 0..nodes.len() {
                numbers.insert_unique(hash_of(nodes, &hasher, &id), id, |id| hash_of(nodes, &hasher, id));
            }
            (numbers, hasher)
        });
        let hash = hasher.hash_one(&node);
        if let Some(id) = numbers.find(hash, |id| nodes.get(*id) == Some(&node)) {
            return *id;
        }
        self.nodes.push(node);
        let nodes = &self.nodes;
        numbers.insert_unique(hash, id, |id| hash_of(nodes, hasher, id));
        id
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
        let many = self.catalog.field(comparison.field).is_many();
        let node = match test(comparison, many) {
            Ok(test) => Node::Leaf(Leaf { field: comparison.field, test }),
            Err(constant) => Node::Constant(constant),
        };
        self.intern(node)
    }

    /// The normal form of a branch whose children are in normal form.
    pub(super) fn make(&mut self, connective: Connective, children: &[NodeId]) -> NodeId {
        if let [only] = children {
            return *only;
        }
        let neutral = connective == Connective::And;
        let mut leaves: SmallVec<[(FieldId, NodeId); 8]> = SmallVec::new();
        let mut branches = Nodes::new();
        for id in children.iter().copied() {
            match self.nodes.get(id) {
                Some(Node::Constant(value)) if *value == neutral => {}
                Some(Node::Constant(_)) => return id,
                Some(Node::Leaf(leaf)) => leaves.push((leaf.field, id)),
                // Normal forms nest no conjunction in a conjunction, so one level of flattening is
                // enough; and they have constants at the root alone.
                Some(Node::Branch(inner, grandchildren)) if *inner == connective => {
                    for id in grandchildren {
                        match self.nodes.get(*id) {
                            Some(Node::Leaf(leaf)) => leaves.push((leaf.field, *id)),
                            _ => branches.push(*id),
                        }
                    }
                }
                _ => branches.push(id),
            }
        }
        let Some(mut children) = self.merge_leaves(connective, leaves) else {
            return self.constant(!neutral);
        };
        branches.sort_unstable();
        branches.dedup();
        self.absorb(connective, &children, &mut branches);
        if children.is_empty()
            && let Some(factored) = self.factor(connective, &branches)
        {
            return factored;
        }
        children.extend(branches);
        children.sort_unstable();
        match children.as_slice() {
            [] => self.constant(neutral),
            [only] => *only,
            _ => self.intern(Node::Branch(connective, Children::from_slice(&children))),
        }
    }

    /// The leaves, ascending by field, with those of each field merged; `None` when they decide the branch.
    ///
    /// The only leaf of its field stays as it is: merging a test with none changes no normal form.
    fn merge_leaves(
        &mut self,
        connective: Connective,
        mut leaves: SmallVec<[(FieldId, NodeId); 8]>,
    ) -> Option<Nodes> {
        leaves.sort_unstable();
        leaves.dedup();
        let mut merged = Nodes::with_capacity(leaves.len());
        for group in leaves.chunk_by(|(a, _), (b, _)| a == b) {
            let field = match group {
                [] => continue,
                [(_, only)] => {
                    merged.push(*only);
                    continue;
                }
                [(field, _), ..] => *field,
            };
            let tests = group.iter().filter_map(|(_, id)| match self.nodes.get(*id) {
                Some(Node::Leaf(leaf)) => Some(leaf.test.clone()),
                _ => None,
            });
            match merge(connective, self.catalog.field(field).is_many(), tests.collect()) {
                Merged::Decided => return None,
                Merged::Tests(tests) => {
                    for test in tests {
                        merged.push(self.intern(Node::Leaf(Leaf { field, test })));
                    }
                }
            }
        }
        Some(merged)
    }

    /// Drops branches that a sibling makes superfluous: a leaf, or a branch of fewer children.
    fn absorb(&self, connective: Connective, leaves: &[NodeId], branches: &mut Nodes) {
        let children = |branch: NodeId| match self.nodes.get(branch) {
            Some(Node::Branch(_, children)) => children.as_slice(),
            _ => &[],
        };
        let leaf = |id: &NodeId| match self.nodes.get(*id) {
            Some(Node::Leaf(leaf)) => Some(leaf),
            _ => None,
        };
        branches.retain(|branch| {
            !children(*branch).iter().any(|child| {
                let Some(inner) = leaf(child) else { return false };
                let from = leaves.partition_point(|id| leaf(id).is_some_and(|leaf| leaf.field < inner.field));
                let siblings = leaves.iter().skip(from).filter_map(leaf);
                siblings.take_while(|outer| outer.field == inner.field).any(|outer| match connective {
                    // The sibling makes an alternative of the branch true, and so the branch.
                    Connective::And => implies(&outer.test, &inner.test),
                    // The branch is true only where the sibling is.
                    Connective::Or => implies(&inner.test, &outer.test),
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
        let children = |nodes: &[Node<Leaf>], id: NodeId| match nodes.get(id) {
            Some(Node::Branch(_, children)) => children.clone(),
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
        if let Some(Node::Constant(_) | Node::Leaf(_)) = self.nodes.get(root) {
            self.nodes.swap(0, root);
            self.nodes.truncate(1);
            return Tree::from_nodes(self.nodes);
        }
        // Children have smaller numbers, so one pass downwards reaches all that is needed.
        let mut places: SmallVec<[Place; 32]> = SmallVec::from_elem(Place::default(), self.nodes.len());
        if let Some(place) = places.get_mut(root) {
            place.wanted = true;
        }
        for id in (0..=root).rev() {
            if let Some(Node::Branch(_, children)) = self.nodes.get(id)
                && places.get(id).is_some_and(|place| place.wanted)
            {
                for child in children {
                    if let Some(place) = places.get_mut(*child) {
                        place.wanted = true;
                    }
                }
            }
        }
        // By level, the leaves first; in a level by what is cheap to compare.
        let mut order: SmallVec<[(u64, NodeId); 24]> = SmallVec::new();
        for (id, node) in self.nodes.iter().enumerate() {
            if !places.get(id).is_some_and(|place| place.wanted) {
                continue;
            }
            let (mut height, mut rank) = (0_u32, 0);
            match node {
                Node::Constant(_) => {}
                Node::Leaf(leaf) => rank = leaf.field.index() as u64,
                Node::Branch(connective, children) => {
                    rank = u64::from(*connective == Connective::Or);
                    for child in children {
                        let below = places.get(*child).map_or(0, |place| place.height);
                        height = height.max(below.saturating_add(1));
                    }
                    if let Some(place) = places.get_mut(id) {
                        place.height = height;
                    }
                }
            }
            order.push((u64::from(height) << 16 | rank, id));
        }
        order.sort_unstable();
        let mut number = 0;
        for alike in order.chunk_by_mut(|(a, _), (b, _)| a == b) {
            for (_, id) in alike.iter() {
                if let Some(Node::Branch(_, children)) = self.nodes.get_mut(*id) {
                    for child in children.iter_mut() {
                        *child = places.get(*child).map_or(0, |place| place.number);
                    }
                    children.sort_unstable();
                }
            }
            if alike.len() > 1 {
                alike.sort_unstable_by(|(_, a), (_, b)| self.nodes.get(*a).cmp(&self.nodes.get(*b)));
            }
            for (_, id) in alike.iter() {
                if let Some(place) = places.get_mut(*id) {
                    place.number = number;
                }
                number = number.saturating_add(1);
            }
        }
        let mut out = Vec::with_capacity(order.len());
        for (_, id) in &order {
            if let Some(node) = self.nodes.get_mut(*id) {
                out.push(std::mem::replace(node, Node::Constant(false)));
            }
        }
        Tree::from_nodes(out)
    }
}

/// What [`Builder::finish`] knows of a node.
#[derive(Clone, Copy, Default)]
struct Place {
    wanted: bool,
    height: u32,
    /// Its number in the finished tree.
    number: NodeId,
}
