//! Plans a test of the elements of an array of objects on one batch.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "nodes of one tree, whose children come first; rows and values of one batch; `Cost` saturates"
)]

use smallvec::{SmallVec, smallvec};

use super::access_path::AccessPath;
use super::cost::{COST_OF_A_STEP, Cost};
use super::element_tests::{ElementTest, ElementTests};
use super::pattern_codes::PatternSearch;
use super::row_at_a_time::{passing, rows_of};
use super::step::{Estimate, PlanStep};
use super::value_test::{ValueTest, code_bits};
use crate::batch::Batch;
use crate::column::{Column, ColumnData};
use crate::predicate::{Elements, Leaf, Node, Set, Test, TextPattern, Tree};
use crate::rows::LANES;
use crate::stop::Pace;

/// Returns the step of a leaf that tests elements. The depth of the recursion is the depth of nested arrays in the catalogue.
pub(super) fn plan_elements<'p>(leaf: &'p Leaf, batch: &'p Batch, pace: &Pace<'_>) -> PlanStep<'p> {
    let is_negated = leaf.test.is_negated();
    let tests = leaf.test.elements().and_then(|elements| prepare(elements, batch, pace));
    let Some(tests) = tests else { return PlanStep::Settled(is_negated) };
    let rows = batch.rows();
    let cost = Cost::of_words(tests.work() / LANES * 8) + COST_OF_A_STEP;
    let likely = rows / 4;
    let selected = if is_negated { rows - likely } else { likely };
    let estimate = Estimate { rows: selected, is_exact: false, cost };
    PlanStep::Leaf { path: AccessPath::Elements(tests.into()), negated: is_negated, estimate }
}

/// Evaluates a leaf that tests elements. Tests only the rows whose bits are set in `tested`, which has the bits of the first 64
/// rows of a batch. Returns the bits of the rows that pass.
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

/// Prepares the tests for a batch. Returns `None` if no element of the batch passes them.
fn prepare<'p>(elements: &'p Elements, batch: &'p Batch, pace: &Pace<'_>) -> Option<ElementTests<'p>> {
    let column = batch.column(elements.array.field)?;
    let level = usize::from(elements.array.level);
    let mut constants: Vec<Option<bool>> = Vec::new();
    let mut nodes: Vec<Node<ElementTest<'p>>> = Vec::with_capacity(elements.tree.nodes().len());
    for node in elements.tree.nodes() {
        let (constant, node) = match node {
            Node::Constant(value) => (Some(*value), Node::Constant(*value)),
            Node::Leaf(leaf) => {
                let test = prepare_test(leaf, batch, pace);
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
    (!is_never).then(|| ElementTests { column, level, tree: Tree::from_nodes(nodes) })
}

/// Prepares the test of a leaf for a batch.
fn prepare_test<'p>(leaf: &'p Leaf, batch: &'p Batch, pace: &Pace<'_>) -> ElementTest<'p> {
    let is_negated = leaf.test.is_negated();
    if let Some(elements) = leaf.test.elements() {
        return match prepare(elements, batch, pace) {
            Some(tests) => ElementTest::Elements { tests: tests.into(), is_negated },
            None => ElementTest::Constant(is_negated),
        };
    }
    let Some(column) = batch.column(leaf.field) else { return ElementTest::Constant(is_negated) };
    let Some(tests) = value_tests(&leaf.test, column, pace) else { return ElementTest::Constant(is_negated) };
    ElementTest::Values { column, levels: column.levels(), tests, is_negated }
}

/// Splits a test into tests of single values. Ignores the negation of the test. An element passes the test if each of the returned
/// tests is passed by at least one of its values. This can be a different value for each test. Returns `None` if the test is known
/// to be false for all rows. An example is a test for a string that is not in the dictionary.
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
        (ColumnData::Strings { dictionary, search, .. }, Set::Matching(pattern)) => {
            let found = PatternSearch::new(pattern).matching_codes(dictionary, search.as_deref(), pace);
            match found.codes.as_slice() {
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
