//! Asking few rows one by one: where columns would be made only to be asked once, or where rows lie in many batches.

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

/// A bit for each of at most 64 rows.
pub(super) fn all(rows: usize) -> u64 {
    let rows = u32::try_from(rows).unwrap_or(u32::MAX);
    1_u64.checked_shl(rows).map_or(u64::MAX, |bit| bit.wrapping_sub(1))
}

/// Those of `all` rows, a bit each, that a predicate selects. A row is asked no further once that is known.
///
/// `passing` tells which of some rows pass a leaf, which is the node of this number.
pub(super) fn selected(predicate: &Tree<Leaf>, all: u64, passing: impl Fn(usize, &Leaf, u64) -> u64) -> u64 {
    let mut levels: SmallVec<[Level<'_>; 8]> = SmallVec::new();
    let (mut node, mut asked) = (predicate.root(), all);
    loop {
        let mut passing = match predicate.get(node) {
            Some(Node::Constant(true)) => asked,
            Some(Node::Constant(false)) | None => 0,
            Some(Node::Leaf(leaf)) => passing(node, leaf, asked),
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

/// The rows of these bits.
pub(super) fn rows_of(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let row = (bits != 0).then_some(bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        row
    })
}

/// A bit for each of some rows that passes a test.
pub(super) fn passing<R>(rows: impl Iterator<Item = (usize, R)>, test: impl Fn(R) -> bool) -> u64 {
    rows.fold(0, |bits, (at, row)| bits | u64::from(test(row)) << at)
}

/// Those of the rows of these bits that pass a leaf.
pub(super) fn passing_of_batch(leaf: &Leaf, rows: FewRows<'_>, asked: u64) -> u64 {
    let most = rows.most_values(leaf.field);
    let rows = rows_of(asked).filter_map(|at| Some((at, rows.row(at)?)));
    passing(rows, |row| leaf.matches(row.values(leaf.field).take(most)))
}
