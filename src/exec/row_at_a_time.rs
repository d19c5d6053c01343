//! Evaluates a predicate on at most 64 rows, row by row. It is used for small batches, because decoding their columns for one
//! filter would take longer. It is also used for top rows in many batches.
//!
//! A set of rows is a word with one bit per row. A leaf is tested on all rows whose result is not known yet.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "bits of a word that is not zero, and of fewer than 64 rows"
)]

use smallvec::SmallVec;

use crate::batch::FewRows;
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Tree};
use crate::rows::LANES;

/// The estimated work of a leaf on at most 64 rows (about 1 µs), in units of [`Pace::spend`](crate::stop::Pace::spend).
pub(super) const WORK_OF_A_LEAF: usize = 4000;

/// A branch whose children are being tested.
struct OpenBranch<'p> {
    connective: Connective,
    children: std::slice::Iter<'p, usize>,
    /// The rows for which the branch is tested, one bit for each row.
    tested: u64,
    /// The rows for which no child has decided the branch, one bit for each row.
    open: u64,
}

/// Returns the word with the bits of `rows` rows set. There are at most 64 rows.
pub(super) fn all(rows: usize) -> u64 {
    debug_assert!(rows <= LANES, "a bit for each row");
    if rows < LANES { (1 << rows) - 1 } else { u64::MAX }
}

/// Returns the bits of the rows in `all` that a predicate selects. A row is not tested further when its result is known.
///
/// `passing` takes the node id of a leaf, the leaf, and the bits of rows. It returns the bits of the given rows that pass the leaf.
pub(super) fn selected(predicate: &Tree<Leaf>, all: u64, passing: impl Fn(usize, &Leaf, u64) -> u64) -> u64 {
    let mut levels: SmallVec<[OpenBranch<'_>; 8]> = SmallVec::new();
    let (mut node, mut tested) = (predicate.root(), all);
    loop {
        let mut passing = match predicate.node(node) {
            Node::Constant(true) => tested,
            Node::Constant(false) => 0,
            Node::Leaf(leaf) => passing(node, leaf, tested),
            Node::Branch(connective, children) => {
                let (connective, children) = (*connective, children.iter());
                levels.push(OpenBranch { connective, children, tested, open: tested });
                // The result of a branch without children.
                if connective == Connective::And { tested } else { 0 }
            }
        };
        // The result of a node contributes to the result of the branch around it, which may then be complete.
        loop {
            let Some(OpenBranch { connective, children, tested: of_branch, open }) = levels.last_mut() else {
                return passing;
            };
            *open &= if *connective == Connective::And { passing } else { !passing };
            if *open != 0
                && let Some(child) = children.next()
            {
                (node, tested) = (*child, *open);
                break;
            }
            passing = if *connective == Connective::And { *open } else { *of_branch & !*open };
            levels.pop();
        }
    }
}

/// Returns the indexes of the bits that are set.
pub(super) fn rows_of(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if bits == 0 {
            return None;
        }
        let row = bits.trailing_zeros() as usize;
        bits &= bits - 1;
        Some(row)
    })
}

/// Returns the bits of the rows that pass a test. Each row comes with the index of its bit.
pub(super) fn passing<R>(rows: impl Iterator<Item = (usize, R)>, test: impl Fn(R) -> bool) -> u64 {
    rows.fold(0, |bits, (at, row)| bits | u64::from(test(row)) << at)
}

/// Returns the bits of the rows in `tested` that pass a leaf.
pub(super) fn passing_of_batch(leaf: &Leaf, rows: FewRows<'_>, tested: u64) -> u64 {
    let most = rows.most_values(leaf.field);
    let rows = rows_of(tested).filter_map(|at| Some((at, rows.row(at)?)));
    passing(rows, |row| leaf.matches(row.values(leaf.field).take(most)))
}
