//! Builds nodes in normal form (a *smart constructor*), and stores equal nodes only once (*hash-consing*).

use smallvec::SmallVec;

use super::super::set::Set;
use super::super::tree::{Children, Elements, Leaf, Node, NodeId, Test, Tree};
use super::merge::Merged;
use super::merge::merge;
use super::numbers::{Numbers, Rank};
use super::subtree::below;
use super::test::{canonical, test_of};
use crate::catalog::{Catalog, ElementArray, FieldId};
use crate::operator::{Connective, Operator};

/// A builder of nodes in normal form.
///
/// Invariants: no two nodes are equal, and each node is the root of a tree in normal form. Equal subtrees therefore have equal
/// ids, and comparing ids compares subtrees.
pub(in crate::predicate) struct Builder<'c> {
    catalog: &'c Catalog,
    pub(super) nodes: Vec<(Rank, Node<Leaf>)>,
    /// The hash table of the nodes. `None` while there are at most [`FEW_NODES`] nodes.
    numbers: Option<Numbers>,
}

/// Up to this number of nodes, equal nodes are found by a linear search, and the arrays for sorting are on the stack. Above it, the
/// builder uses a hash table, and the arrays are on the heap.
///
/// Most comparisons of the linear search compare only the ranks of two nodes.
pub(super) const FEW_NODES: usize = 24;

/// The rank of all tests of elements. No field has this number.
pub(super) const ELEMENTS: Rank = u16::MAX as Rank;

/// A list of node ids. Most lists are short.
pub(super) type Nodes = SmallVec<[NodeId; 8]>;

impl<'c> Builder<'c> {
    /// Returns a builder with capacity for `likely` nodes.
    pub(in crate::predicate) fn new(catalog: &'c Catalog, likely: usize) -> Self {
        Self { catalog, nodes: Vec::with_capacity(likely), numbers: None }
    }

    /// Adds a node, unless an equal node exists. Returns the id of the new node or of the equal node.
    // Pushes the node before the search for an equal node, so that the node is built at its final address in the list. Otherwise
    // the node would be moved there after the search, and the move costs as much as the search.
    #[inline(always)]
    pub(super) fn intern(&mut self, node: Node<Leaf>) -> NodeId {
        let rank = self.rank(&node);
        self.nodes.push((rank, node));
        self.number_of_last()
    }

    /// Returns the id of the last node. If an equal node exists, removes the last node and returns the id of the equal node.
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
            Node::Leaf(leaf) if leaf.test.elements().is_some() => ELEMENTS,
            Node::Leaf(leaf) => leaf.field.index() as u64,
            Node::Branch(connective, children) => {
                let height = |child: &NodeId| self.nodes.get(*child).map_or(0, |(rank, _)| rank >> 16);
                let highest = children.iter().map(height).fold(0, u64::max);
                highest.wrapping_add(1) << 16 | u64::from(*connective == Connective::Or)
            }
        }
    }

    /// Adds the nodes of a tree, or of its negation by De Morgan's laws, and brings them into normal form. Returns the id of the
    /// root.
    pub(super) fn tree(&mut self, tree: &Tree<Leaf>, is_negated: bool) -> NodeId {
        let mut made: Vec<NodeId> = Vec::with_capacity(tree.nodes().len());
        for node in tree.nodes() {
            let id = match node {
                Node::Branch(connective, children) => {
                    let children: Nodes =
                        children.iter().filter_map(|child| made.get(*child).copied()).collect();
                    let connective = if is_negated { connective.dual() } else { *connective };
                    self.make(connective, &children)
                }
                Node::Leaf(Leaf { test: Test::Elem(elements), .. }) => {
                    let tree = self.nested(&elements.tree);
                    self.test_elements(elements.array, tree, is_negated)
                }
                Node::Leaf(Leaf { test: Test::NoElem(elements), .. }) => {
                    let tree = self.nested(&elements.tree);
                    self.test_elements(elements.array, tree, !is_negated)
                }
                Node::Leaf(Leaf { field, test }) if is_negated => {
                    self.intern(Node::Leaf(Leaf { field: *field, test: test.clone().negated() }))
                }
                Node::Constant(value) => self.constant(*value != is_negated),
                Node::Leaf(_) => self.intern(node.clone()),
            };
            made.push(id);
        }
        made.last().copied().unwrap_or_else(|| self.constant(false))
    }

    pub(in crate::predicate) fn constant(&mut self, value: bool) -> NodeId {
        self.intern(Node::Constant(value))
    }

    /// Adds the test that compares the values of a field with a set of operands. If `is_negated` is true, adds the negation of this
    /// test instead.
    ///
    /// `amount` with `>` and `{5}` becomes the leaf `Any (5, max]`. A test with the same result for every case becomes a constant.
    pub(in crate::predicate) fn leaf(
        &mut self,
        field: FieldId,
        operator: Operator,
        operands: Set,
        is_negated: bool,
    ) -> NodeId {
        self.intern(match test_of(field, operator, operands, self.catalog) {
            Ok(test) => Node::Leaf(Leaf { field, test: if is_negated { test.negated() } else { test } }),
            Err(constant) => Node::Constant(constant != is_negated),
        })
    }

    /// Adds the test that some element of an array passes the tests of the node `child`. If `is_negated` is true, adds the negation
    /// of this test instead.
    ///
    /// The child must have been made from tests of fields and arrays below the array.
    pub(in crate::predicate) fn elements(
        &mut self,
        array: ElementArray,
        child: NodeId,
        is_negated: bool,
    ) -> NodeId {
        let ids = below(&[child], |id| self.node(id));
        let mut inner = Builder::new(self.catalog, ids.len());
        for node in ids.iter().filter_map(|id| self.node(*id)) {
            inner.intern(match node {
                Node::Branch(connective, children) => {
                    let place = |child: &NodeId| ids.binary_search(child).unwrap_or(0);
                    Node::Branch(*connective, children.iter().map(place).collect())
                }
                node => node.clone(),
            });
        }
        let root = inner.nodes.len().saturating_sub(1);
        self.test_elements(array, inner.finish(root), is_negated)
    }

    /// Returns the normal form of a tree that is nested in another one.
    fn nested(&self, tree: &Tree<Leaf>) -> Tree<Leaf> {
        let mut inner = Builder::new(self.catalog, tree.nodes().len());
        let root = inner.tree(tree, false);
        inner.finish(root)
    }

    /// Adds the test that some element of an array passes the tests of a tree in normal form. If `is_negated` is true, adds the
    /// negation of this test instead.
    fn test_elements(&mut self, array: ElementArray, tree: Tree<Leaf>, is_negated: bool) -> NodeId {
        if let Some(Node::Constant(false)) = tree.get(tree.root()) {
            return self.constant(is_negated);
        }
        let array = self.catalog.same_array(array);
        let elements = Box::new(Elements { array, tree });
        let test = if is_negated { Test::NoElem(elements) } else { Test::Elem(elements) };
        self.intern(Node::Leaf(Leaf { field: array.field, test }))
    }

    #[inline]
    pub(super) fn node(&self, id: NodeId) -> Option<&Node<Leaf>> {
        self.nodes.get(id).map(|(_, node)| node)
    }

    /// Adds a branch and brings it into normal form. The children must be ids of this builder.
    ///
    /// Applies the rules in the order of the module docs of `optimize`. The result can be a branch, one of the children, or a
    /// constant:
    ///
    /// ```text
    /// And [status: Any {a, b}, status: None {a}]      becomes  status: Any {b}
    /// And [status: Any {a}, status: Any {b}]          becomes  false
    /// Or  [And [x, y], And [x, z]]                    becomes  And [x, Or [y, z]]
    /// And [x]                                         becomes  x
    /// ```
    pub(in crate::predicate) fn make(&mut self, connective: Connective, children: &[NodeId]) -> NodeId {
        if let [only] = children {
            return *only;
        }
        let neutral = connective.neutral();
        let mut leaves: SmallVec<[(Rank, NodeId); 8]> = SmallVec::new();
        let mut branches = Nodes::new();
        for id in children.iter().copied() {
            match self.nodes.get(id) {
                Some((_, Node::Constant(value))) if *value == neutral => {}
                Some((_, Node::Constant(_))) => return id,
                Some((rank, Node::Leaf(_))) => leaves.push((*rank, id)),
                // Flattening one level is enough: a branch in normal form has no child with the same connective, and no
                // constant as a child.
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

    /// Sorts the leaves by field and merges the leaves of each field. Returns false if the leaves of a field decide the branch.
    ///
    /// If a field has only one leaf, this leaf stays unchanged.
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
            if let [(ELEMENTS, _), ..] = group {
                if self.has_opposites(group) {
                    return false;
                }
                merged.extend(group.iter().map(|(_, id)| *id));
                continue;
            }
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
                        match canonical(field, test, self.catalog) {
                            Err(value) if value == connective.neutral() => {}
                            Err(_) => return false,
                            Ok(test) => merged.push(self.intern(Node::Leaf(Leaf { field, test }))),
                        }
                    }
                }
            }
        }
        true
    }

    /// Returns true if one of these tests of elements is the negation of another.
    fn has_opposites(&self, group: &[(Rank, NodeId)]) -> bool {
        let tests = group.iter().filter_map(|(_, id)| match self.node(*id) {
            Some(Node::Leaf(leaf)) => Some((leaf.test.elements()?, leaf.test.is_negated())),
            _ => None,
        });
        let mut tests: Vec<(&Elements, bool)> = tests.collect();
        tests.sort_unstable();
        !tests.is_sorted_by(|(one, _), (other, _)| one != other)
    }
}
