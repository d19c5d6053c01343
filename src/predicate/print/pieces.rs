//! The stack of pieces that the JSON printer still has to print. It replaces recursion.

use super::super::tree::NodeId;

/// A piece that is left to print.
pub(super) enum Piece {
    Node(NodeId),
    Text(&'static str),
}

/// Pushes `nodes` in reverse order, so that the first node is popped first. The text in `between` separates two nodes.
pub(super) fn push_reversed(pieces: &mut Vec<Piece>, nodes: &[NodeId], between: &'static str) {
    for (i, node) in nodes.iter().enumerate().rev() {
        pieces.push(Piece::Node(*node));
        if i > 0 {
            pieces.push(Piece::Text(between));
        }
    }
}
