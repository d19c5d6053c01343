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

use hashbrown::HashTable;

use self::merge::{Merged, merge};
pub(super) use self::merge::{decides, implies};
use super::set::{Intervals, Set};
use super::tree::{Children, Comparison, Leaf, Node, NodeId, Test, Tree};
use crate::catalog::Catalog;
use crate::operator::{Connective, Operator};
use crate::value::{Number, Timestamp, Value};

/// Beyond this many branches in one, they are not compared pairwise.
const PAIRWISE: usize = 64;

/// The normal form of a tree as written.
///
/// Time is linear in the criteria and values, but for sorting them.
pub(crate) fn optimize(tree: &Tree<Comparison>, catalog: &Catalog) -> Tree<Leaf> {
    let mut builder = Builder::new(catalog);
    let mut made: Vec<NodeId> = Vec::with_capacity(tree.nodes().len());
    for node in tree.nodes() {
        let id = match node {
            Node::Constant(value) => builder.constant(*value),
            Node::Leaf(comparison) => builder.comparison(comparison),
            Node::Branch(connective, children) => {
                let children = children.iter().filter_map(|child| made.get(*child)).copied().collect();
                builder.make(*connective, children)
            }
        };
        made.push(id);
    }
    match made.last() {
        Some(root) => builder.finish(*root),
        None => Tree::constant(false),
    }
}

/// The tests of a tree as written, one for one, without any rule applied.
pub(crate) fn normalize(tree: &Tree<Comparison>, catalog: &Catalog) -> Tree<Leaf> {
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
pub(super) fn test(comparison: &Comparison, many: bool) -> Result<Test, bool> {
    let Some(set) = Set::from_values(&comparison.values) else { return Err(false) };
    match comparison.operator {
        Operator::Equal | Operator::Contains => Ok(Test::Any(set)),
        Operator::NotEqual => Ok(Test::None(set)),
        Operator::All if set.len() == 1 => Ok(Test::Any(set)),
        Operator::All if many => Ok(Test::All(set)),
        Operator::All => Err(false),
        Operator::Greater | Operator::GreaterOrEqual | Operator::Less | Operator::LessOrEqual => {
            let range = match comparison.values.first() {
                Some(Value::Number(bound)) => {
                    interval(comparison.operator, *bound, Number::MIN, Number::MAX, |number, up| {
                        if up { number.next_up() } else { number.next_down() }
                    })
                    .map(|range| Set::Numbers(Intervals::new(vec![range], true)))
                }
                Some(Value::Timestamp(bound)) => {
                    interval(comparison.operator, *bound, Timestamp::MIN, Timestamp::MAX, |timestamp, up| {
                        if up { timestamp.next_up() } else { timestamp.next_down() }
                    })
                    .map(|range| Set::Timestamps(Intervals::new(vec![range], true)))
                }
                _ => None,
            };
            range.map(Test::Any).ok_or(false)
        }
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
struct Builder<'c> {
    catalog: &'c Catalog,
    nodes: Vec<Node<Leaf>>,
    numbers: HashTable<NodeId>,
    hasher: ahash::RandomState,
}

impl<'c> Builder<'c> {
    fn new(catalog: &'c Catalog) -> Self {
        Self { catalog, nodes: Vec::new(), numbers: HashTable::new(), hasher: ahash::RandomState::new() }
    }

    /// The number of a node equal to this one.
    fn intern(&mut self, node: Node<Leaf>) -> NodeId {
        let hash = self.hasher.hash_one(&node);
        let nodes = &self.nodes;
        if let Some(id) = self.numbers.find(hash, |id| nodes.get(*id) == Some(&node)) {
            return *id;
        }
        let id = self.nodes.len();
        self.nodes.push(node);
        let (nodes, hasher) = (&self.nodes, &self.hasher);
        // The hash must be that of the node, not of an option of it.
        self.numbers.insert_unique(hash, id, |id| nodes.get(*id).map_or(0, |node| hasher.hash_one(node)));
        id
    }

    fn constant(&mut self, value: bool) -> NodeId {
        self.intern(Node::Constant(value))
    }

    fn comparison(&mut self, comparison: &Comparison) -> NodeId {
        let many = self.catalog.field(comparison.field).is_many();
        let node = match test(comparison, many) {
            Ok(test) => Node::Leaf(Leaf { field: comparison.field, test }),
            Err(constant) => Node::Constant(constant),
        };
        self.intern(node)
    }

    /// The normal form of a branch whose children are in normal form.
    fn make(&mut self, connective: Connective, children: Children) -> NodeId {
        let neutral = connective == Connective::And;
        let mut leaves: Vec<Leaf> = Vec::new();
        let mut branches: Vec<NodeId> = Vec::new();
        let mut open = children;
        // Normal forms nest no conjunction in a conjunction, so one level of flattening is enough.
        for at in 0..open.len() {
            if let Some(Node::Branch(inner, grandchildren)) = open.get(at).and_then(|id| self.nodes.get(*id))
                && *inner == connective
            {
                open.extend(grandchildren.clone());
            }
        }
        for id in open {
            match self.nodes.get(id) {
                Some(Node::Constant(value)) if *value == neutral => {}
                Some(Node::Constant(_)) => return id,
                Some(Node::Leaf(leaf)) => leaves.push(leaf.clone()),
                Some(Node::Branch(inner, _)) if *inner == connective => {}
                _ => branches.push(id),
            }
        }
        let Some(merged) = self.merge_leaves(connective, leaves) else { return self.constant(!neutral) };
        branches.sort_unstable();
        branches.dedup();
        self.absorb(connective, &merged, &mut branches);
        if merged.is_empty()
            && let Some(factored) = self.factor(connective, &branches)
        {
            return factored;
        }
        let mut children: Children = merged.into_iter().map(|leaf| self.intern(Node::Leaf(leaf))).collect();
        children.extend(branches);
        children.sort_unstable();
        match children.as_slice() {
            [] => self.constant(neutral),
            [only] => *only,
            _ => self.intern(Node::Branch(connective, children)),
        }
    }

    /// The leaves with those of each field merged; `None` when they decide the branch.
    fn merge_leaves(&self, connective: Connective, mut leaves: Vec<Leaf>) -> Option<Vec<Leaf>> {
        leaves.sort_by_key(|leaf| leaf.field);
        let mut merged = Vec::with_capacity(leaves.len());
        let mut rest = leaves.into_iter().peekable();
        while let Some(leaf) = rest.next() {
            let field = leaf.field;
            let mut tests = vec![leaf.test];
            while let Some(leaf) = rest.next_if(|leaf| leaf.field == field) {
                tests.push(leaf.test);
            }
            match merge(connective, self.catalog.field(field).is_many(), tests) {
                Merged::Decided => return None,
                Merged::Tests(tests) => merged.extend(tests.into_iter().map(|test| Leaf { field, test })),
            }
        }
        Some(merged)
    }

    /// Drops branches that a sibling makes superfluous: a leaf, or a branch of fewer children.
    fn absorb(&self, connective: Connective, leaves: &[Leaf], branches: &mut Vec<NodeId>) {
        let children = |branch: NodeId| match self.nodes.get(branch) {
            Some(Node::Branch(_, children)) => children.as_slice(),
            _ => &[],
        };
        branches.retain(|branch| {
            !children(*branch).iter().any(|child| {
                let Some(Node::Leaf(inner)) = self.nodes.get(*child) else { return false };
                let from = leaves.partition_point(|leaf| leaf.field < inner.field);
                let mut same_field = leaves.iter().skip(from).take_while(|leaf| leaf.field == inner.field);
                same_field.any(|outer| match connective {
                    // The sibling makes an alternative of the branch true, and so the branch.
                    Connective::And => implies(&outer.test, &inner.test),
                    // The branch is true only where the sibling is.
                    Connective::Or => implies(&inner.test, &outer.test),
                })
            })
        });
        if branches.len() > PAIRWISE {
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
            rests.push(self.make(dual, rest));
        }
        let rest = self.make(connective, rests);
        common.push(rest);
        Some(self.make(dual, common))
    }

    /// The nodes below `root` in an order that depends on their structure alone.
    fn finish(mut self, root: NodeId) -> Tree<Leaf> {
        let mut wanted = vec![false; self.nodes.len()];
        if let Some(flag) = wanted.get_mut(root) {
            *flag = true;
        }
        // Children have smaller numbers, so one pass downwards reaches all that is needed.
        let mut heights = vec![0_usize; self.nodes.len()];
        for id in (0..=root).rev() {
            if let (Some(true), Some(Node::Branch(_, children))) = (wanted.get(id), self.nodes.get(id)) {
                for child in children {
                    if let Some(flag) = wanted.get_mut(*child) {
                        *flag = true;
                    }
                }
            }
        }
        for id in 0..=root {
            if let Some(Node::Branch(_, children)) = self.nodes.get(id) {
                let tallest =
                    children.iter().filter_map(|child| heights.get(*child)).max().copied().unwrap_or(0);
                if let Some(height) = heights.get_mut(id) {
                    *height = tallest.saturating_add(1);
                }
            }
        }
        let mut order: Vec<NodeId> = (0..=root).filter(|id| wanted.get(*id) == Some(&true)).collect();
        order.sort_by_key(|id| heights.get(*id).copied());
        let mut numbers = vec![0; self.nodes.len()];
        let mut out: Vec<Node<Leaf>> = Vec::with_capacity(order.len());
        let mut rest = order.as_slice();
        while let Some(first) = rest.first() {
            let height = heights.get(*first);
            let (level, higher) = rest.split_at(rest.partition_point(|id| heights.get(*id) <= height));
            let mut level: Vec<(Node<Leaf>, NodeId)> = level
                .iter()
                .filter_map(|id| {
                    Some((std::mem::replace(self.nodes.get_mut(*id)?, Node::Constant(false)), *id))
                })
                .collect();
            for (node, _) in &mut level {
                if let Node::Branch(_, children) = node {
                    for child in children.iter_mut() {
                        *child = numbers.get(*child).copied().unwrap_or(0);
                    }
                    children.sort_unstable();
                }
            }
            level.sort_unstable();
            for (node, id) in level {
                if let Some(number) = numbers.get_mut(id) {
                    *number = out.len();
                }
                out.push(node);
            }
            rest = higher;
        }
        Tree::from_nodes(out)
    }
}
