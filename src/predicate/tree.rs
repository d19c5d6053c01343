//! Trees of conjunctions and disjunctions, stored as a flat list of nodes.
//!
//! ```text
//! status = open and (priority = high or tags $all (a, b))
//!
//! id   node
//! 0    Leaf     status: Any {open}
//! 1    Leaf     priority: Any {high}
//! 2    Leaf     tags: All {a, b}
//! 3    Branch   Or [1, 2]
//! 4    Branch   And [0, 3]          the root
//! ```
//!
//! The same shape holds the criteria as written ([`Comparison`] leaves) and the normal form ([`Leaf`] leaves).

use std::borrow::{Borrow, Cow};

use smallvec::{SmallVec, smallvec};

use super::set::Set;
use crate::catalog::{Catalog, FieldId, FieldType};
use crate::operator::{Connective, Operator};
use crate::value::{Number, Value, ValueClass};

/// The id of a node: its index in the list of nodes of its [`Tree`].
pub(crate) type NodeId = usize;

/// The ids of the children of a node.
pub(crate) type Children = SmallVec<[NodeId; 4]>;

/// One node of a [`Tree`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Node<L> {
    /// True for every case, or false for every case. In a normal form only the root can be a constant.
    Constant(bool),
    /// A test of one field, or a criterion on one field.
    Leaf(L),
    /// A branch, which is true if all children are true (`And`), or if any child is true (`Or`).
    ///
    /// Without children, it has the [neutral](Connective::neutral) value of its connective. In a normal form it has two children
    /// or more, in ascending order, and none of them is a branch of the same connective.
    Branch(Connective, Children),
}

/// A tree with any number of children per branch.
///
/// Invariants, which [`validate`](Self::validate) checks:
///
/// - There is at least one node, and the last node is the root.
/// - The id of a child is smaller than the id of its parent.
///
/// A loop over the nodes in order therefore visits children before parents. Code that walks, clones or drops a tree does not
/// recurse, so a deep filter cannot overflow the call stack. A node may have several parents: equal subtrees can share one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tree<L> {
    nodes: TreeNodes<L>,
}

/// The nodes of a tree. A single node, which is a common case, needs no allocation.
pub(crate) type TreeNodes<L> = SmallVec<[Node<L>; 1]>;

impl<L> Tree<L> {
    pub(crate) fn constant(value: bool) -> Self {
        Self { nodes: smallvec![Node::Constant(value)] }
    }

    /// Returns the tree of these nodes. They must satisfy the invariants; debug builds check that.
    pub(crate) fn from_nodes(nodes: impl Into<TreeNodes<L>>) -> Self {
        let tree = Self { nodes: nodes.into() };
        debug_assert_eq!(tree.validate(), Ok(()));
        tree
    }

    pub(crate) fn nodes(&self) -> &[Node<L>] {
        &self.nodes
    }

    pub(crate) fn root(&self) -> NodeId {
        self.nodes.len().saturating_sub(1)
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<&Node<L>> {
        self.nodes.get(id)
    }

    /// Returns the node with an id of this tree.
    #[expect(
        clippy::indexing_slicing,
        reason = "an id is the root's or a child's; `validate` checks that it is in the list"
    )]
    pub(crate) fn node(&self, id: NodeId) -> &Node<L> {
        &self.nodes[id]
    }

    /// Checks the invariants. Returns a description of the first violated invariant.
    pub(crate) fn validate(&self) -> Result<(), String> {
        if self.nodes.is_empty() {
            return Err("a tree without a root".into());
        }
        for (id, node) in self.nodes.iter().enumerate() {
            if let Node::Branch(_, children) = node
                && let Some(child) = children.iter().find(|child| **child >= id)
            {
                return Err(format!("node {id} has child {child}"));
            }
        }
        Ok(())
    }

    /// Evaluates the tree. `leaf` evaluates its leaves.
    pub(crate) fn evaluate(&self, leaf: impl FnMut(&L) -> bool) -> bool {
        self.truths(leaf).pop().unwrap_or(false)
    }

    /// Evaluates every node, in the order of ids. `leaf` evaluates the leaves.
    pub(crate) fn truths(&self, mut leaf: impl FnMut(&L) -> bool) -> Vec<bool> {
        let mut truths: Vec<bool> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let truth = |child: &NodeId| truths.get(*child).copied().unwrap_or(false);
            let value = match node {
                Node::Constant(value) => *value,
                Node::Leaf(test) => leaf(test),
                Node::Branch(Connective::And, children) => children.iter().all(truth),
                Node::Branch(Connective::Or, children) => children.iter().any(truth),
            };
            truths.push(value);
        }
        truths
    }
}

/// The values of a criterion. Most criteria have few.
pub(crate) type Values<'a> = SmallVec<[Value<'a>; 4]>;

/// A field criterion as written, with its field resolved and its values parsed.
///
/// `status $contains [open, blocked]` is the field `status`, the operator [`Contains`](Operator::Contains) and two strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comparison<'a> {
    pub(crate) field: FieldId,
    pub(crate) operator: Operator,
    /// The operands. They are of the field's type, and their number fits the operator's arity. Only `ids: []` has none.
    pub(crate) values: Values<'a>,
}

/// A number in a criterion that changes when it is rounded to a double.
pub(crate) struct Rounded {
    /// The criterion.
    pub(crate) node: NodeId,
    /// The index among the values of the criterion.
    pub(crate) value: usize,
    /// The digits in the body.
    pub(crate) written: String,
    /// The rounded number, which the filter uses.
    pub(crate) number: Number,
}

/// A test of V, the set of the values that a case has in one field. V is empty if the case does not have the field.
///
/// ```text
/// status = open                    Any {open}
/// status <> open                   None {open}
/// amount > 5                       Any (5, max]
/// tags $contains [a, b]            Any {a, b}
/// tags $all [a, b]                 All {a, b}
/// tags $all [a]                    Any {a}
/// status $all [open, blocked]      no test: false, since `status` has only one value
/// ```
///
/// The tests of a single-valued field are closed under conjunction and disjunction: each combination of `Any` and `None` tests
/// equals one such test or a constant. A branch of a normal form therefore has at most one leaf for each single-valued field:
///
/// ```text
/// status in (a, b) and status <> a     Any {b}
/// status <> a or status = b            None {a}
/// status <> a or status = a            true
/// ```
///
/// Many-valued fields do not have this property. `tags = a and tags <> b` stays two tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Test {
    /// V has a member in the set. The set is not empty.
    Any(Set),
    /// V has no member in the set. True for an empty V. The set is not empty and has only [points](Set::are_points), because
    /// criteria have no operator for a negated range.
    None(Set),
    /// V has every member of the set. The set has two points or more, and the field is many-valued.
    All(Set),
}

/// A test of one field: the leaf of a normal form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Leaf {
    pub(crate) field: FieldId,
    pub(crate) test: Test,
}

impl Leaf {
    /// Evaluates the test on the values that a case has in the field.
    pub(crate) fn matches<'v, V: Borrow<Value<'v>>>(
        &self,
        mut values: impl Iterator<Item = V> + Clone,
    ) -> bool {
        match &self.test {
            Test::Any(set) => values.any(|value| set.contains(value.borrow())),
            Test::None(set) => !values.any(|value| set.contains(value.borrow())),
            Test::All(set) => {
                set.points().iter().all(|point| values.clone().any(|value| value.borrow() == point))
            }
        }
    }
}

/// Returns some value of the type, for a criterion whose result does not depend on its value.
pub(crate) fn any_value(kind: FieldType) -> Value<'static> {
    match ValueClass::of_field(kind) {
        ValueClass::Strings => Value::String(Cow::Borrowed("")),
        ValueClass::Ordered(kind) => kind.value(0),
        ValueClass::Booleans => Value::Boolean(true),
    }
}

impl Tree<Leaf> {
    /// Returns the approximate memory of the tree in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        let of_node = |node: &Node<Leaf>| match node {
            Node::Branch(_, children) if children.spilled() => size_of_val(children.as_slice()),
            Node::Constant(_) | Node::Branch(..) => 0,
            Node::Leaf(Leaf { test: Test::Any(set) | Test::None(set) | Test::All(set), .. }) => {
                set.size_bytes()
            }
        };
        let nodes = if self.nodes.spilled() { size_of_val(self.nodes.as_slice()) } else { 0 };
        self.nodes.iter().map(of_node).fold(nodes, usize::saturating_add)
    }
}

impl Tree<Comparison<'_>> {
    /// Copies borrowed strings, so that the tree owns all of its strings.
    pub(crate) fn into_owned(self) -> Tree<Comparison<'static>> {
        let owned = |node| match node {
            Node::Constant(value) => Node::Constant(value),
            Node::Leaf(Comparison { field, operator, values }) => {
                let values = values.into_iter().map(Value::into_owned).collect();
                Node::Leaf(Comparison { field, operator, values })
            }
            Node::Branch(connective, children) => Node::Branch(connective, children),
        };
        Tree { nodes: self.nodes.into_iter().map(owned).collect() }
    }
}

impl<L> Tree<L> {
    /// Appends the nodes of this tree to `nodes` and adjusts the ids of children. The root is the last node.
    pub(crate) fn append_to(self, nodes: &mut Vec<Node<L>>) {
        let first = nodes.len();
        nodes.extend(self.nodes.into_iter().map(|node| match node {
            Node::Branch(connective, mut children) => {
                children.iter_mut().for_each(|child| *child = child.saturating_add(first));
                Node::Branch(connective, children)
            }
            node => node,
        }));
    }
}

impl Tree<Comparison<'static>> {
    /// Returns a tree that is true for every case and that criteria can express: `id = x or id <> x`.
    ///
    /// It uses the first visible field of the catalogue.
    pub(crate) fn tautology(catalog: &Catalog) -> Self {
        let field = catalog.visible_fields().next().map_or(FieldId::ID, |(field, _)| field);
        let value = any_value(catalog.field(field).field_type());
        let compare = |operator| Node::Leaf(Comparison { field, operator, values: smallvec![value.clone()] });
        let both = Children::from_slice(&[0, 1]);
        Self::from_nodes(vec![
            compare(Operator::Equal),
            compare(Operator::NotEqual),
            Node::Branch(Connective::Or, both),
        ])
    }
}
