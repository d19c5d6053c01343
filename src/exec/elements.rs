//! Tests of the elements of an array of objects on one batch.
//!
//! Columns below one array number its elements alike. So each test of a field becomes a bitmap of the elements that pass it: the bitmap of
//! its values, from which each array between the field and the tested one takes those elements that have any. The bitmaps are combined by
//! the connectives, and a row passes if any of its elements does. A few rows are tested one by one.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "nodes of one tree, whose children come first; levels of one column; values of one batch; `Cost` saturates"
)]

use smallvec::{SmallVec, smallvec};

use super::access_path::{AccessPath, ValueTest, value_passes};
use super::cost::{COST_OF_A_STEP, Cost};
use super::pattern_codes::matching_codes;
use super::plan_leaf::code_bits;
use super::row_at_a_time::{passing, rows_of};
use super::step::{Estimate, PlanStep};
use super::write_rows::write_values;
use crate::batch::Batch;
use crate::column::{Column, ColumnData};
use crate::kernels::{self, Combine};
use crate::operator::Connective;
use crate::predicate::{Elements, Leaf, Node, Set, Test, TextPattern, Tree};
use crate::rows::{LANES, clear_tail};
use crate::stop::Pace;

/// The tests of the elements of an array, prepared for one batch.
pub(super) struct ElementTests<'p> {
    /// The column of some field below the array. It has the elements.
    column: &'p Column,
    /// The level of the array.
    level: usize,
    tree: Tree<ElementTest<'p>>,
}

/// A test of one element.
enum ElementTest<'p> {
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

/// Returns the step of a leaf that tests elements. Recursive as deeply as arrays are nested in the catalogue.
pub(super) fn plan_elements<'p>(leaf: &'p Leaf, batch: &'p Batch, pace: &Pace<'_>) -> PlanStep<'p> {
    let is_negated = leaf.test.is_negated();
    let tests = leaf.test.elements().and_then(|elements| ElementTests::new(elements, batch, pace));
    let Some(tests) = tests else { return PlanStep::Settled(is_negated) };
    let rows = batch.rows();
    let cost = Cost::of_words(tests.work() / LANES * 8) + COST_OF_A_STEP;
    let likely = rows / 4;
    let selected = if is_negated { rows - likely } else { likely };
    let estimate = Estimate { rows: selected, is_exact: false, cost };
    PlanStep::Leaf { path: AccessPath::Elements(tests.into()), negated: is_negated, estimate }
}

/// Returns the bits of the rows in `tested`, among the first 64 of a batch, that pass a leaf that tests elements.
pub(super) fn passing_elements(leaf: &Leaf, batch: &Batch, tested: u64, pace: &Pace<'_>) -> u64 {
    match plan_elements(leaf, batch, pace) {
        PlanStep::Settled(value) => {
            if value {
                tested
            } else {
                0
            }
        }
        PlanStep::Leaf { path, negated, .. } => {
            passing(rows_of(tested).map(|row| (row, row)), |row| path.matches_row(row) != negated)
        }
        PlanStep::Branch(..) | PlanStep::Same(_) => 0,
    }
}

impl<'p> ElementTests<'p> {
    /// Prepares the tests for a batch. Returns `None` if no element of the batch passes them.
    fn new(elements: &'p Elements, batch: &'p Batch, pace: &Pace<'_>) -> Option<Self> {
        let column = batch.column(elements.array.field)?;
        let level = usize::from(elements.array.level);
        let mut constants: Vec<Option<bool>> = Vec::new();
        let mut nodes: Vec<Node<ElementTest<'p>>> = Vec::with_capacity(elements.tree.nodes().len());
        for node in elements.tree.nodes() {
            let (constant, node) = match node {
                Node::Constant(value) => (Some(*value), Node::Constant(*value)),
                Node::Leaf(leaf) => {
                    let test = ElementTest::new(leaf, batch, pace);
                    let constant = if let ElementTest::Constant(value) = test { Some(value) } else { None };
                    (constant, Node::Leaf(test))
                }
                Node::Branch(connective, children) => {
                    let neutral = connective.neutral();
                    let of_child = |child: &usize| constants[*child];
                    let constant = if children.iter().any(|child| of_child(child) == Some(!neutral)) {
                        Some(!neutral)
                    } else {
                        children.iter().all(|child| of_child(child) == Some(neutral)).then_some(neutral)
                    };
                    (constant, Node::Branch(*connective, children.clone()))
                }
            };
            nodes.push(constant.map_or(node, Node::Constant));
            constants.push(constant);
        }
        let is_never = constants.last().is_none_or(|root| *root == Some(false));
        (!is_never).then(|| Self { column, level, tree: Tree::from_nodes(nodes) })
    }

    /// Returns the number of values that are read to test all rows.
    fn work(&self) -> usize {
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

impl<'p> ElementTest<'p> {
    fn new(leaf: &'p Leaf, batch: &'p Batch, pace: &Pace<'_>) -> Self {
        let is_negated = leaf.test.is_negated();
        if let Some(elements) = leaf.test.elements() {
            return match ElementTests::new(elements, batch, pace) {
                Some(tests) => Self::Elements { tests: tests.into(), is_negated },
                None => Self::Constant(is_negated),
            };
        }
        let Some(column) = batch.column(leaf.field) else { return Self::Constant(is_negated) };
        let Some(tests) = value_tests(&leaf.test, column, pace) else { return Self::Constant(is_negated) };
        Self::Values { column, levels: column.levels(), tests, is_negated }
    }

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

/// Returns the tests of values that a test consists of: each of them must be passed by a value. Returns `None` if no value passes one.
fn value_tests<'p>(
    test: &'p Test,
    column: &'p Column,
    pace: &Pace<'_>,
) -> Option<SmallVec<[ValueTest<'p>; 1]>> {
    let (set, is_all) = match test {
        Test::Any(set) | Test::None(set) => (set, false),
        Test::All(set) | Test::NotAll(set) => (set, true),
        Test::Elem(_) | Test::NoElem(_) => return None,
    };
    Some(match (&column.data, set) {
        (ColumnData::Strings { dictionary, .. }, Set::Strings(points)) => {
            let codes = dictionary.find_all(points.as_slice());
            match codes.as_slice() {
                [] => return None,
                codes if is_all && codes.len() < points.as_slice().len() => return None,
                codes if is_all => codes.iter().map(|code| ValueTest::Code(*code)).collect(),
                [code] => smallvec![ValueTest::Code(*code)],
                codes => smallvec![ValueTest::Codes(code_bits(codes, dictionary.len()))],
            }
        }
        (ColumnData::Strings { .. }, Set::Matching(pattern)) if **pattern == TextPattern::Every => {
            smallvec![ValueTest::Present]
        }
        (ColumnData::Strings { dictionary, .. }, Set::Matching(pattern)) => {
            match matching_codes(dictionary, pattern, pace).as_slice() {
                [] => return None,
                [code] => smallvec![ValueTest::Code(*code)],
                codes => smallvec![ValueTest::Codes(code_bits(codes, dictionary.len()))],
            }
        }
        (ColumnData::Ordered { .. }, Set::Ordered(points)) if is_all => {
            points.as_slice().chunks(1).map(ValueTest::Ranges).collect()
        }
        (ColumnData::Ordered { .. }, Set::Ordered(ranges)) => {
            smallvec![ValueTest::Ranges(ranges.as_slice())]
        }
        (ColumnData::Booleans { .. }, Set::Booleans(points)) => match points.as_slice() {
            [] => return None,
            [_, _] if !is_all => smallvec![ValueTest::Present],
            points => points.iter().map(|boolean| ValueTest::Boolean(*boolean)).collect(),
        },
        _ => return None,
    })
}
