//! Trees of conjunctions and disjunctions, flat in memory.

use std::borrow::{Borrow, Cow};

use smallvec::{SmallVec, smallvec};

use super::set::Set;
use crate::catalog::{Catalog, FieldId, FieldType};
use crate::operator::{Connective, Operator};
use crate::value::{Number, Value, ValueClass};

/// The number of a node in its [`Tree`].
pub(crate) type NodeId = usize;

/// The children of a node.
pub(crate) type Children = SmallVec<[NodeId; 4]>;

/// One node of a [`Tree`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Node<L> {
    /// True, or false, for every case.
    Constant(bool),
    Leaf(L),
    Branch(Connective, Children),
}

/// An n-ary tree. Invariants: children have smaller numbers than their parent, and the root is last.
///
/// So a loop over the nodes in order is a walk from the leaves to the root: nothing that walks,
/// clones or drops a tree recurses. Equal subtrees may be one node with several parents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tree<L> {
    nodes: TreeNodes<L>,
}

/// The nodes of a tree; one, as many trees have, needs no allocation.
pub(crate) type TreeNodes<L> = SmallVec<[Node<L>; 1]>;

impl<L> Tree<L> {
    pub(crate) fn constant(value: bool) -> Self {
        Self { nodes: smallvec![Node::Constant(value)] }
    }

    /// A tree of these nodes, the last of which is the root. `nodes` must keep the invariants.
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

    /// Returns a node of this tree.
    #[expect(
        clippy::indexing_slicing,
        reason = "a number is that of the root, or of a child, which `validate` holds to it"
    )]
    pub(crate) fn node(&self, id: NodeId) -> &Node<L> {
        &self.nodes[id]
    }

    /// Says which invariant does not hold.
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

    /// Returns the truth of the tree, given that of its leaves.
    pub(crate) fn evaluate(&self, leaf: impl FnMut(&L) -> bool) -> bool {
        self.truths(leaf).pop().unwrap_or(false)
    }

    /// Returns the truth of each node, given that of the leaves.
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

/// The values of a criterion, few as a rule.
pub(crate) type Values<'a> = SmallVec<[Value<'a>; 4]>;

/// A field criterion as written, its values parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comparison<'a> {
    pub(crate) field: FieldId,
    pub(crate) operator: Operator,
    /// The operands, of the field's type and as many as the operator's arity says. Only `ids: []` has none.
    pub(crate) values: Values<'a>,
}

/// A number of a criterion that a double rounds.
pub(crate) struct Rounded {
    /// The criterion.
    pub(crate) node: NodeId,
    /// Which of its values.
    pub(crate) value: usize,
    /// Its digits in the body.
    pub(crate) written: String,
    /// The number that it stands for.
    pub(crate) number: Number,
}

/// A test on the value set V of one field.
///
/// On a field with one value or none, `Any` and `None` are closed under conjunction and
/// disjunction, so that a normal form has at most one of them in a branch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Test {
    /// V has a member in the set, which is not empty.
    Any(Set),
    /// V has no member in the set, which is not empty and holds points only.
    None(Set),
    /// V has every member of the set: two points or more, and the field has many values.
    All(Set),
}

/// A test on a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Leaf {
    pub(crate) field: FieldId,
    pub(crate) test: Test,
}

impl Leaf {
    /// The truth of this test for a value set.
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

/// A value of the type, for a criterion that is true whatever it compares with.
pub(crate) fn any_value(kind: FieldType) -> Value<'static> {
    match ValueClass::of_field(kind) {
        ValueClass::Strings => Value::String(Cow::Borrowed("")),
        ValueClass::Ordered(kind) => kind.value(0),
        ValueClass::Booleans => Value::Boolean(true),
    }
}

impl Tree<Leaf> {
    /// About how many bytes of memory the tree takes.
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
    /// The same tree, owning its strings.
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
    /// Puts the nodes of this tree after others, its root last.
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
    /// A tree as criteria can write it that is true for every case.
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
