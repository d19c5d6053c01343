//! Computes the path in the body, such as `criteria[0].values[1]`, of each node of a tree as written.

use super::tree::{Comparison, Node, NodeId, Written};
use crate::catalog::FieldId;
use crate::operator::{Complex, Connective, Operator};

/// The position of each node in the body. The nodes are those of a tree as written.
pub(crate) struct Places {
    /// For each node except the root: its parent, and its index among the children of the parent.
    parents: Vec<Option<(NodeId, usize)>>,
    /// For each node: the count of nodes that start before it in the body.
    pub(super) ranks: Vec<usize>,
    /// The node that joins the criteria of the body.
    criteria: Option<NodeId>,
    ids: Option<NodeId>,
}

impl Places {
    pub(crate) fn new(tree: &Written<'_>) -> Self {
        let mut parents = vec![None; tree.nodes().len()];
        for (id, node) in tree.nodes().iter().enumerate() {
            if let Node::Branch(_, children) = node {
                for (at, child) in children.iter().enumerate() {
                    if let Some(parent) = parents.get_mut(*child) {
                        *parent = Some((id, at));
                    }
                }
            }
        }
        let is_ids = |id: &NodeId| {
            let of_ids =
                |test: &Comparison<'_>| test.operator == Operator::Contains && test.field == FieldId::ID;
            matches!(tree.get(*id), Some(Node::Leaf(test)) if of_ids(test))
        };
        let root = tree.root();
        let mut ranks = vec![0; tree.nodes().len()];
        let mut open = vec![root];
        let mut rank: usize = 0;
        while let Some(id) = open.pop() {
            if let Some(slot) = ranks.get_mut(id) {
                *slot = rank;
            }
            rank = rank.saturating_add(1);
            if let Some(Node::Branch(_, children)) = tree.get(id) {
                open.extend(children.iter().rev());
            }
        }
        // `lower` returns one of three kinds of root: ids, criteria, or both joined by `$or`.
        let (ids, criteria) = match tree.get(root) {
            Some(Node::Leaf(_)) => (Some(root), None),
            Some(Node::Branch(Complex::Join(Connective::Or), children)) => match children.as_slice() {
                [ids, criteria] if is_ids(ids) => (Some(*ids), Some(*criteria)),
                _ => (None, Some(root)),
            },
            _ => (None, Some(root)),
        };
        Self { parents, ranks, criteria, ids }
    }

    /// Returns true if a branch is a criterion of the body, or if it joins the criteria of the body. `id` must not be the leaf
    /// of the member `ids` of the body.
    pub(super) fn is_criterion(&self, id: NodeId) -> bool {
        self.criteria.is_some_and(|criteria| id <= criteria)
    }

    /// Returns the path of a value of a criterion, or of an id.
    pub(crate) fn value_path(&self, id: NodeId, at: usize) -> String {
        let values = if Some(id) == self.ids { "" } else { ".values" };
        format!("{}{values}[{at}]", self.path(id))
    }

    /// Returns the path of a criterion.
    pub(crate) fn path(&self, id: NodeId) -> String {
        if Some(id) == self.ids {
            return "ids".to_owned();
        }
        let mut steps = Vec::new();
        let mut at = id;
        while Some(at) != self.criteria {
            let Some(Some((parent, place))) = self.parents.get(at) else { break };
            steps.push(*place);
            at = *parent;
        }
        let mut path = String::from("criteria");
        for (i, step) in steps.iter().rev().enumerate() {
            if i > 0 {
                path.push_str(".children");
            }
            path.push('[');
            path.push_str(&step.to_string());
            path.push(']');
        }
        path
    }
}
