//! Asking few rows one by one, where columns would be made only to be asked once.

use smallvec::SmallVec;

use crate::batch::FewRows;
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Tree};

/// A branch, some children of which were asked.
struct Level<'p> {
    connective: Connective,
    children: std::slice::Iter<'p, usize>,
    /// The rows that the branch is asked for.
    asked: u64,
    /// Those for which no child has settled the branch.
    open: u64,
}

/// The rows that a predicate selects, a bit each. A row is asked no further once that is known.
pub(super) fn selected(predicate: &Tree<Leaf>, rows: FewRows<'_>) -> u64 {
    let mut levels: SmallVec<[Level<'_>; 8]> = SmallVec::new();
    let (mut node, mut asked) = (predicate.root(), rows.all());
    loop {
        let mut passing = match predicate.get(node) {
            Some(Node::Constant(true)) => asked,
            Some(Node::Constant(false)) | None => 0,
            Some(Node::Leaf(leaf)) => passing(leaf, rows, asked),
            Some(Node::Branch(connective, children)) => {
                let (connective, children) = (*connective, children.iter());
                levels.push(Level { connective, children, asked, open: asked });
                // As if there were no children.
                if connective == Connective::And { asked } else { 0 }
            }
        };
        // What a node has come to is a part of what the branch around it comes to, and so on.
        loop {
            let Some(Level { connective, children, asked: of_branch, open }) = levels.last_mut() else {
                return passing;
            };
            *open &= if *connective == Connective::And { passing } else { !passing };
            if *open != 0
                && let Some(child) = children.next()
            {
                (node, asked) = (*child, *open);
                break;
            }
            passing = if *connective == Connective::And { *open } else { *of_branch & !*open };
            levels.pop();
        }
    }
}

/// Those of the rows of these bits that pass a leaf.
pub(super) fn passing(leaf: &Leaf, rows: FewRows<'_>, asked: u64) -> u64 {
    let most = rows.most_values(leaf.field);
    let (mut left, mut passing) = (asked, 0);
    while left != 0 {
        let row = left.trailing_zeros();
        let values = rows.row(row as usize).map(|row| row.values(leaf.field).take(most));
        if values.is_some_and(|values| leaf.matches(values)) {
            passing |= 1 << row;
        }
        left &= left.wrapping_sub(1);
    }
    passing
}
