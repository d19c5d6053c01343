//! Prints a normal form as a plan: an indented tree for people.

use std::fmt::Write as _;

use super::super::tree::{Leaf, Node, NodeId, Tree};
use super::body::Writer;
use super::text::text_criteria;
use crate::catalog::Catalog;
use crate::operator::Syntax;

/// One line of a plan: one node of the normal form.
pub(crate) struct Line {
    pub(crate) node: NodeId,
    pub(crate) depth: usize,
    pub(crate) text: String,
}

/// Prints the normal form as an indented tree, one test per line.
pub(crate) fn plan(tree: &Tree<Leaf>, catalog: &Catalog) -> String {
    let mut out = String::new();
    for Line { depth, text, .. } in lines(tree, catalog, |_, _| {}) {
        let _ = writeln!(out, "{:1$}{text}", "", depth.saturating_mul(2));
    }
    out
}

/// Returns the lines of the plan. Each node comes before its children. `arrange` sorts the children of a node.
pub(crate) fn lines(
    tree: &Tree<Leaf>,
    catalog: &Catalog,
    arrange: impl Fn(NodeId, &mut [NodeId]),
) -> Vec<Line> {
    let mut writer = Writer { nodes: Vec::new(), syntax: Syntax::Text };
    let mut lines = Vec::with_capacity(tree.nodes().len());
    let mut open = vec![(tree.root(), 0_usize)];
    while let Some((id, depth)) = open.pop() {
        let mut text = String::new();
        match tree.get(id) {
            Some(Node::Constant(true)) => text.push_str("every case"),
            Some(Node::Constant(false)) | None => text.push_str("no case"),
            Some(Node::Branch(connective, children)) => {
                text.push_str(connective.phrase());
                let mut children = children.clone();
                arrange(id, &mut children);
                open.extend(children.iter().rev().map(|child| (*child, depth.saturating_add(1))));
            }
            Some(Node::Leaf(leaf)) => {
                writer.nodes.clear();
                let root = writer.leaf(leaf, catalog);
                text_criteria(&writer.nodes, &[root], catalog, &mut text);
            }
        }
        lines.push(Line { node: id, depth, text });
    }
    lines
}
