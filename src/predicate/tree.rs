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
//! The same type stores the normal form (with [`Leaf`] leaves) and the criteria as written (with [`Comparison`] leaves). In
//! criteria as written, a branch can also be a negation or a test of elements (`$elem`).

use std::borrow::{Borrow, Cow};

use smallvec::{SmallVec, smallvec};

use super::set::Set;
use crate::catalog::{Catalog, ElementArray, FieldId, FieldType};
use crate::operator::{Complex, Connective, Operator};
use crate::value::{Number, Operand, Value, ValueClass};

/// The id of a node: its index in the list of nodes of its [`Tree`].
pub(crate) type NodeId = usize;

/// The ids of the children of a node.
pub(crate) type Children = SmallVec<[NodeId; 4]>;

/// One node of a [`Tree`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Node<L, B = Connective> {
    /// True for every case, or false for every case. In a normal form only the root can be a constant.
    Constant(bool),
    /// A test of one field, or a criterion on one field.
    Leaf(L),
    /// True when all children are true (`And`), or when any child is true (`Or`). A negation has one child.
    ///
    /// Without children, it has the [neutral](Connective::neutral) value of its connective. In a normal form it has two children
    /// or more, in ascending order, and none of them is a branch of the same connective.
    Branch(B, Children),
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Tree<L, B = Connective> {
    nodes: TreeNodes<L, B>,
}

/// Criteria as written.
pub(crate) type Written<'a> = Tree<Comparison<'a>, Complex>;

/// The nodes of a tree. A single node, which is a common case, needs no allocation.
pub(crate) type TreeNodes<L, B = Connective> = SmallVec<[Node<L, B>; 1]>;

impl<L, B> Tree<L, B> {
    /// Returns a tree of one node, which is true for every case, or false for every case. For example, `constant(false)` is the
    /// normal form of `status = a and status = b`.
    pub(crate) fn constant(value: bool) -> Self {
        Self { nodes: smallvec![Node::Constant(value)] }
    }

    /// Returns the tree of these nodes. They must satisfy the invariants; debug builds check that. The nodes
    /// `[Leaf(a), Leaf(b), Branch(And, [0, 1])]` make the tree of `a and b`.
    pub(crate) fn from_nodes(nodes: impl Into<TreeNodes<L, B>>) -> Self {
        let tree = Self { nodes: nodes.into() };
        debug_assert_eq!(tree.validate(), Ok(()));
        tree
    }

    pub(crate) fn nodes(&self) -> &[Node<L, B>] {
        &self.nodes
    }

    pub(crate) fn root(&self) -> NodeId {
        self.nodes.len().saturating_sub(1)
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<&Node<L, B>> {
        self.nodes.get(id)
    }

    /// Returns the node with this id. Panics if the tree has no such node.
    #[expect(
        clippy::indexing_slicing,
        reason = "an id is the root's or a child's; `validate` checks that it is in the list"
    )]
    pub(crate) fn node(&self, id: NodeId) -> &Node<L, B> {
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
}

impl<L, B: Copy + Into<Complex>> Tree<L, B> {
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
                Node::Branch(operator, children) => {
                    let operator: Complex = (*operator).into();
                    operator.evaluate(children.iter().map(truth))
                }
            };
            truths.push(value);
        }
        truths
    }
}

/// A branch whose children are being evaluated.
struct OpenBranch<'t> {
    connective: Connective,
    children: std::slice::Iter<'t, NodeId>,
}

impl<L> Tree<L> {
    /// Evaluates the tree like [`evaluate`](Tree::evaluate), but stops when the result is known. `leaf` evaluates the leaves.
    #[inline]
    pub(crate) fn decides(&self, mut leaf: impl FnMut(&L) -> bool) -> bool {
        // Most filters are one test, or one branch of tests.
        let (connective, children) = match self.get(self.root()) {
            Some(Node::Branch(connective, children)) => (*connective, children),
            Some(Node::Leaf(test)) => return leaf(test),
            Some(Node::Constant(value)) => return *value,
            None => return false,
        };
        let mut open: SmallVec<[OpenBranch<'_>; 4]> = SmallVec::new();
        let mut branch = OpenBranch { connective, children: children.iter() };
        loop {
            // The value of the branch if no further child decides it.
            let mut value = branch.connective.neutral();
            while let Some(child) = branch.children.next() {
                match self.get(*child) {
                    Some(Node::Leaf(test)) => value = leaf(test),
                    Some(Node::Constant(constant)) => value = *constant,
                    Some(Node::Branch(connective, children)) => {
                        let inner = OpenBranch { connective: *connective, children: children.iter() };
                        open.push(std::mem::replace(&mut branch, inner));
                        value = branch.connective.neutral();
                        continue;
                    }
                    None => {}
                }
                if value != branch.connective.neutral() {
                    break;
                }
            }
            // The value of a finished branch decides the branch around it, or the loop continues with that branch.
            loop {
                let Some(outer) = open.pop() else { return value };
                branch = outer;
                if value == branch.connective.neutral() {
                    break;
                }
            }
        }
    }
}

/// The operands of a criterion. Most criteria have few operands.
pub(crate) type Values<'a> = SmallVec<[Operand<'a>; 4]>;

/// A field criterion as written, with its field resolved and its values parsed.
///
/// `status $contains [open, blocked]` is the field `status`, the operator [`Contains`](Operator::Contains) and two strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comparison<'a> {
    pub(crate) field: FieldId,
    pub(crate) operator: Operator,
    /// The operands. They have the type that the operator takes, which is mostly the type of the field. Their count fits the arity
    /// of the operator. The list is empty only for `ids: []`.
    pub(crate) values: Values<'a>,
}

/// A number in a criterion that changes when it is rounded to a double.
pub(crate) struct Rounded {
    /// The criterion.
    pub(crate) node: NodeId,
    /// The index of the number among the values of the criterion.
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
/// status is present                Any (every string)
/// not amount > 5                   None (5, max]
/// not tags $all [a, b]             NotAll {a, b}
/// status $all [open, blocked]      no test: false, since `status` has only one value
/// ```
///
/// Apart from [patterns](super::TextPattern), the tests of a single-valued field are closed under conjunction and disjunction. Each
/// combination of `Any` and `None` tests without patterns equals one such test or a constant. A branch of a normal form therefore
/// has at most one leaf for each single-valued field without patterns:
///
/// ```text
/// status in (a, b) and status <> a     Any {b}
/// status <> a or status = b            None {a}
/// status <> a or status = a            true
/// ```
///
/// Multi-valued fields do not have this property: `tags = a and tags <> b` stays two tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Test {
    /// V has a member in the set. The set is not empty.
    Any(Set),
    /// V has no member in the set. True for an empty V. The set is not empty.
    None(Set),
    /// V has every member of the set. The set has two points or more, and the field is multi-valued.
    All(Set),
    /// V lacks a member of the set. True for an empty V. The set has two points or more, and the field is multi-valued.
    NotAll(Set),
    /// Some element of an array of objects passes the tests. These tests do not depend on V.
    Elem(Box<Elements>),
    /// No element of an array of objects passes the tests. True if there is no element.
    NoElem(Box<Elements>),
}

/// Tests of one element of an array of objects.
///
/// `legs has (bank = x and amount > 5)` is the array `legs` and the tree `and: bank: Any {x}, amount: Any (5, max]`.
///
/// All fields of the tree lie below the array, and so do the arrays of its own `Elem` and `NoElem` tests. So trees are nested in
/// trees at most as deeply as arrays are in the catalogue. The tree is in normal form if the tree that contains this test is in
/// normal form. The tree may be the constant true, which selects all documents with at least one element.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Elements {
    pub(crate) array: ElementArray,
    pub(crate) tree: Tree<Leaf>,
}

impl Test {
    /// Returns the set. Returns `None` for a test of elements.
    pub(crate) fn set(&self) -> Option<&Set> {
        match self {
            Self::Any(set) | Self::None(set) | Self::All(set) | Self::NotAll(set) => Some(set),
            Self::Elem(_) | Self::NoElem(_) => None,
        }
    }

    /// Returns the tests of an element. Returns `None` if this is not a test of elements.
    pub(crate) fn elements(&self) -> Option<&Elements> {
        match self {
            Self::Elem(elements) | Self::NoElem(elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns true for `None`, `NotAll` and `NoElem`, which are true without any value.
    pub(crate) fn is_negated(&self) -> bool {
        matches!(self, Self::None(_) | Self::NotAll(_) | Self::NoElem(_))
    }

    /// Returns the test that is true exactly if this test is false.
    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Any(set) => Self::None(set),
            Self::None(set) => Self::Any(set),
            Self::All(set) => Self::NotAll(set),
            Self::NotAll(set) => Self::All(set),
            Self::Elem(elements) => Self::NoElem(elements),
            Self::NoElem(elements) => Self::Elem(elements),
        }
    }
}

/// A test of one field: the leaf of a normal form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Leaf {
    pub(crate) field: FieldId,
    pub(crate) test: Test,
}

impl Leaf {
    /// Evaluates the test on the values that a case has in the field. Must not be called for a test of elements: debug builds
    /// panic, and release builds return false.
    pub(crate) fn matches<'v, V: Borrow<Value<'v>>>(
        &self,
        mut values: impl Iterator<Item = V> + Clone,
    ) -> bool {
        let holds = match &self.test {
            Test::Any(set) | Test::None(set) => values.any(|value| set.contains(value.borrow())),
            Test::All(set) | Test::NotAll(set) => {
                let mut missing = set.len();
                let mut is_found: SmallVec<[bool; 16]> = SmallVec::from_elem(false, missing);
                for value in values {
                    if let Some(found) = set.position(value.borrow()).and_then(|at| is_found.get_mut(at))
                        && !std::mem::replace(found, true)
                    {
                        missing = missing.saturating_sub(1);
                    }
                }
                missing == 0
            }
            Test::Elem(_) | Test::NoElem(_) => {
                debug_assert!(false, "values alone do not show their elements");
                return false;
            }
        };
        holds != self.test.is_negated()
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
    /// Returns true if a leaf tests the elements of an array.
    pub(crate) fn has_elements(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node, Node::Leaf(leaf) if leaf.test.elements().is_some()))
    }

    /// Returns the fields that the leaves of the tree test, including the leaves of tests of elements.
    pub(crate) fn fields(&self) -> Vec<FieldId> {
        let mut fields = Vec::new();
        let mut open = vec![self];
        while let Some(tree) = open.pop() {
            for node in &tree.nodes {
                let Node::Leaf(leaf) = node else { continue };
                fields.push(leaf.field);
                open.extend(leaf.test.elements().map(|elements| &elements.tree));
            }
        }
        fields
    }

    /// Returns the approximate memory of the tree in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        let of_node = |node: &Node<Leaf>| match node {
            Node::Branch(_, children) if children.spilled() => size_of_val(children.as_slice()),
            Node::Constant(_) | Node::Branch(..) => 0,
            Node::Leaf(leaf) => match leaf.test.elements() {
                Some(elements) => size_of::<Elements>().saturating_add(elements.tree.size_bytes()),
                None => leaf.test.set().map_or(0, Set::size_bytes),
            },
        };
        let nodes = if self.nodes.spilled() { size_of_val(self.nodes.as_slice()) } else { 0 };
        self.nodes.iter().map(of_node).fold(nodes, usize::saturating_add)
    }
}

impl Written<'_> {
    /// Copies borrowed strings, so that the tree owns all of its strings.
    pub(crate) fn into_owned(self) -> Written<'static> {
        let owned = |node| match node {
            Node::Constant(value) => Node::Constant(value),
            Node::Leaf(Comparison { field, operator, values }) => {
                let values = values.into_iter().map(Operand::into_owned).collect();
                Node::Leaf(Comparison { field, operator, values })
            }
            Node::Branch(operator, children) => Node::Branch(operator, children),
        };
        Tree { nodes: self.nodes.into_iter().map(owned).collect() }
    }
}

impl<L, B> Tree<L, B> {
    /// Appends the nodes of this tree to `nodes` and adjusts the ids of children. The root is the last node.
    pub(crate) fn append_to(self, nodes: &mut Vec<Node<L, B>>) {
        let first = nodes.len();
        nodes.extend(self.nodes.into_iter().map(|node| match node {
            Node::Branch(operator, mut children) => {
                children.iter_mut().for_each(|child| *child = child.saturating_add(first));
                Node::Branch(operator, children)
            }
            node => node,
        }));
    }
}

impl Written<'static> {
    /// Returns a tree that is true for every case and that criteria can express: `id = x or id <> x`.
    ///
    /// It uses the first visible field of the catalogue.
    pub(crate) fn tautology(catalog: &Catalog) -> Self {
        let field = catalog.visible_fields().next().map_or(FieldId::ID, |(field, _)| field);
        Self::tautology_of(field, catalog)
    }

    /// Returns a tree that is true for every case, and for every element of the arrays around the field.
    pub(crate) fn tautology_of(field: FieldId, catalog: &Catalog) -> Self {
        let value = any_value(catalog.field(field).field_type());
        let compare =
            |operator| Node::Leaf(Comparison { field, operator, values: smallvec![value.clone().into()] });
        let both = Children::from_slice(&[0, 1]);
        Self::from_nodes(vec![
            compare(Operator::Equal),
            compare(Operator::NotEqual),
            Node::Branch(Connective::Or.into(), both),
        ])
    }
}
