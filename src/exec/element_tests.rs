//! Evaluation of the tests of the elements of an array of objects on one batch.
//!
//! Columns below one array number its elements alike. So each test of a field becomes a bitmap of the elements that pass it: the bitmap of
//! its values, from which each array between the field and the tested one takes those elements that have any. The bitmaps are combined by
//! the connectives, and a row passes if any of its elements does. A few rows are tested one by one.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "nodes of one tree, whose children come first; levels of one column; values of one batch"
)]

use smallvec::SmallVec;

use super::value_test::{ValueTest, value_passes, write_values};
use crate::column::Column;
use crate::kernels::{self, Combine};
use crate::operator::Connective;
use crate::predicate::{Node, Tree};
use crate::rows::{LANES, clear_tail};

/// The tests of the elements of an array, prepared for one batch.
pub(super) struct ElementTests<'p> {
    /// The column of some field below the array. It has the elements.
    pub(super) column: &'p Column,
    /// The level of the array.
    pub(super) level: usize,
    pub(super) tree: Tree<ElementTest<'p>>,
}

/// A test of one element.
pub(super) enum ElementTest<'p> {
    Constant(bool),
    /// True if each of these tests is passed by a value of the element, or otherwise if it is negated.
    Values {
        column: &'p Column,
        /// The number of arrays of objects around the field.
        levels: usize,
        tests: SmallVec<[ValueTest<'p>; 1]>,
        is_negated: bool,
    },
    /// True if an element of an array below passes these tests, or otherwise if it is negated.
    Elements {
        tests: Box<ElementTests<'p>>,
        is_negated: bool,
    },
}

impl ElementTests<'_> {
    /// Returns the number of values that are read to test all rows.
    pub(super) fn work(&self) -> usize {
        let of_node = |node: &Node<ElementTest<'_>>| match node {
            Node::Leaf(ElementTest::Values { column, tests, .. }) => column.values_len() * tests.len(),
            Node::Leaf(ElementTest::Elements { tests, .. }) => tests.work(),
            Node::Leaf(ElementTest::Constant(_)) | Node::Constant(_) | Node::Branch(..) => 0,
        };
        self.tree.nodes().iter().map(of_node).fold(self.column.rows(), usize::saturating_add)
    }

    /// Returns true if a row has an element that passes.
    pub(super) fn matches_row(&self, row: usize) -> bool {
        self.has_passing(0, row)
    }

    /// Returns true if an element of the level `around`, or a row if that is 0, has an element that passes.
    fn has_passing(&self, around: usize, element: usize) -> bool {
        let elements = (around..self.level)
            .fold(element..element + 1, |elements, level| self.column.below(level, elements));
        elements.into_iter().any(|element| self.tree.decides(|test| test.matches(self.level, element)))
    }

    /// Overwrites `words` with the rows of the batch that have an element that passes.
    pub(super) fn write(&self, words: &mut [u64]) {
        let passing = self.passing();
        words.copy_from_slice(&lifted(self.column, passing, self.level, 0));
    }

    /// Returns the bitmap of the elements that pass.
    fn passing(&self) -> Vec<u64> {
        let count = self.column.elements_len(self.level);
        let nodes = self.tree.nodes();
        // The number of parents that still need the bitmap of a node, so that few bitmaps exist at a time.
        let mut uses = vec![0_usize; nodes.len()];
        for node in nodes {
            if let Node::Branch(_, children) = node {
                children.iter().for_each(|child| uses[*child] += 1);
            }
        }
        let mut bitmaps: Vec<Option<Vec<u64>>> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let mut bitmap = match node {
                Node::Constant(value) => constant(*value, count),
                Node::Leaf(test) => test.passing(self.level, count),
                Node::Branch(connective, children) => {
                    let mut own = constant(connective.neutral(), count);
                    let how = match connective {
                        Connective::And => Combine::And,
                        Connective::Or => Combine::Or,
                    };
                    for child in children {
                        if let Some(bitmap) = &bitmaps[*child] {
                            kernels::combine(how, &mut own, bitmap);
                        }
                        uses[*child] -= 1;
                        if uses[*child] == 0 {
                            bitmaps[*child] = None;
                        }
                    }
                    own
                }
            };
            clear_tail(&mut bitmap, count);
            bitmaps.push(Some(bitmap));
        }
        bitmaps.pop().flatten().unwrap_or_else(|| constant(false, count))
    }
}

impl ElementTest<'_> {
    /// Returns true if an element of the level `level` passes.
    fn matches(&self, level: usize, element: usize) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Values { column, levels, tests, is_negated } => {
                let values = (level..=*levels)
                    .fold(element..element + 1, |elements, level| column.below(level, elements));
                let passes = |test| values.clone().any(|at| value_passes(&column.data, at, test));
                tests.iter().all(passes) != *is_negated
            }
            Self::Elements { tests, is_negated } => tests.has_passing(level, element) != *is_negated,
        }
    }

    /// Returns the bitmap of the `count` elements of the level `level` that pass. Bits behind the last element have no meaning.
    fn passing(&self, level: usize, count: usize) -> Vec<u64> {
        let (mut bitmap, is_negated) = match self {
            Self::Constant(value) => (constant(*value, count), false),
            Self::Values { column, levels, tests, is_negated } => {
                let mut all = constant(true, count);
                for test in tests {
                    let mut values = constant(false, column.values_len());
                    if column.values_len() > 0 {
                        write_values(&column.data, test, &mut values);
                    }
                    clear_tail(&mut values, column.values_len());
                    let mut own = lifted(column, values, levels + 1, level);
                    own.resize(all.len(), 0);
                    kernels::combine(Combine::And, &mut all, &own);
                }
                (all, *is_negated)
            }
            Self::Elements { tests, is_negated } => {
                let own = lifted(tests.column, tests.passing(), tests.level, level);
                (own, *is_negated)
            }
        };
        bitmap.resize(count.div_ceil(LANES), 0);
        if is_negated {
            bitmap.iter_mut().for_each(|word| *word = !*word);
        }
        bitmap
    }
}

/// Returns the bitmap of the elements of the level `to`, or of the rows if that is 0, that have any of these elements of the level `from`.
fn lifted(column: &Column, mut bits: Vec<u64>, from: usize, to: usize) -> Vec<u64> {
    for level in (to..from).rev() {
        if let Some(ends) = column.ends_of(level) {
            let mut around = constant(false, ends.len());
            kernels::any_of_row(&bits, ends, &mut around);
            bits = around;
        }
    }
    bits.resize(column.elements_len(to).div_ceil(LANES), 0);
    bits
}

/// Returns a bitmap of `count` bits with one value.
fn constant(value: bool, count: usize) -> Vec<u64> {
    vec![if value { u64::MAX } else { 0 }; count.div_ceil(LANES)]
}
