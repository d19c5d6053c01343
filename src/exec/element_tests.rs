//! Evaluates the tests of the elements of an array of objects on one batch.
//!
//! All columns below one array assign the same numbers to its elements. So each test of a field becomes a bitmap of the elements
//! that pass the test. First, a bitmap of the passing values is computed. Then, from the innermost array outwards, it becomes a
//! bitmap of the elements that contain at least one passing value or element. The connectives combine the bitmaps of the tested
//! array. A row passes if at least one of its elements passes. If a search needs the result for only a few rows, these rows are
//! tested one by one.
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
    /// A column of a field below the array. It stores the elements of each row.
    pub(super) column: &'p Column,
    /// The level of the array.
    pub(super) level: usize,
    pub(super) tree: Tree<ElementTest<'p>>,
}

/// A test of one element.
pub(super) enum ElementTest<'p> {
    Constant(bool),
    /// True if each of these tests is passed by at least one value of the element. This can be a different value for each test.
    /// `is_negated` inverts the result.
    Values {
        column: &'p Column,
        /// The number of arrays of objects around the field.
        levels: usize,
        tests: SmallVec<[ValueTest<'p>; 1]>,
        is_negated: bool,
    },
    /// True if at least one element of the inner array passes these tests. `is_negated` inverts the result.
    Elements {
        tests: Box<ElementTests<'p>>,
        is_negated: bool,
    },
}

impl ElementTests<'_> {
    /// Returns the work of testing all rows: the number of rows plus the number of values that are read.
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

    /// Returns true if the element number `element` of the level `around` contains an element that passes. At level 0, `element` is
    /// the row number.
    fn has_passing(&self, around: usize, element: usize) -> bool {
        let elements = (around..self.level)
            .fold(element..element + 1, |elements, level| self.column.below(level, elements));
        elements.into_iter().any(|element| self.tree.decides(|test| test.matches(self.level, element)))
    }

    /// Overwrites `words` with the bitmap of the rows that have an element that passes.
    pub(super) fn write(&self, words: &mut [u64]) {
        let passing = self.passing();
        words.copy_from_slice(&lifted(self.column, passing, self.level, 0));
    }

    /// Returns the bitmap of the elements that pass.
    fn passing(&self) -> Vec<u64> {
        let count = self.column.elements_len(self.level);
        let nodes = self.tree.nodes();
        // For each node: the number of parents that still need its bitmap. At 0, the bitmap is dropped to save memory.
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
    /// Returns true if the element number `element` of the level `level` passes.
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

    /// Returns the bitmap of the `count` elements of the level `level` that pass. Bits after the last element have no meaning.
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

/// Converts a bitmap of elements of the level `from` to a bitmap of elements of the level `to`. An element is in the result if it
/// contains at least one of the given elements. At level 0, the elements are the rows.
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

/// Returns a bitmap in which all bits have the same value. It has whole words for at least `count` bits.
fn constant(value: bool, count: usize) -> Vec<u64> {
    vec![if value { u64::MAX } else { 0 }; count.div_ceil(LANES)]
}
