//! Compiles a rule, which is a conjunction of nodes of a normal form, to the steps of a program.

use smallvec::{SmallVec, smallvec};

use super::atoms::AtomKind;
use super::program::{self, FALSE, Operation, Step, TRUE};
use super::rules::{Conjunction, MOST_VALUES};
use super::truths::boolean_text;
use crate::catalog::Catalog;
use crate::filter::Filter;
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Points, Set, Test, TextPattern, Tree};

/// The largest number of steps of a rule. A node with several parents is compiled once for each parent. Therefore, a rule can have
/// more steps than its tree has nodes.
const MOST_STEPS: usize = 4096;

/// A test of at most this number of values is split into one step for each value.
const MOST_SPLIT: usize = 64;

/// An interner, which numbers the atoms and the other tests of rules.
pub(super) trait Intern {
    fn atom(&mut self, leaf: &Leaf, kind: AtomKind, text: &str) -> u32;
    fn other(&mut self, filter: Filter) -> u32;
}

/// The test of a step, with its arguments.
struct StepTest {
    operation: Operation,
    arguments: SmallVec<[u32; 4]>,
    is_negated: bool,
}

/// A step that is compiled but not encoded. Targets are indexes of steps that were compiled before it.
struct Compiled {
    field: u16,
    test: StepTest,
    if_true: Target,
    if_false: Target,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    True,
    False,
    Step(usize),
}

/// A branch whose children are being compiled, from the last to the first.
struct OpenBranch<'t> {
    connective: Connective,
    left: &'t [usize],
    if_true: Target,
    if_false: Target,
    /// The target after the child that is compiled next: the first step of the child that is evaluated after it, or the result
    /// after the last child.
    next: Target,
}

/// Appends the program of a rule to `words`. Returns `None`, and appends nothing, if the program would be too large.
pub(super) fn compile(
    tree: &Tree<Leaf>,
    rule: &Conjunction,
    catalog: &Catalog,
    intern: &mut impl Intern,
    words: &mut Vec<u32>,
) -> Option<()> {
    let ordered = ordered(tree, rule);
    // Steps are compiled from the last to the first, so that their targets exist.
    let mut steps: Vec<Compiled> = Vec::new();
    let mut open: SmallVec<[OpenBranch<'_>; 4]> = smallvec![OpenBranch {
        connective: Connective::And,
        left: &ordered,
        if_true: Target::True,
        if_false: Target::False,
        next: Target::True,
    }];
    // Continues with the next child of the innermost branch that has a child left.
    while let Some(branch) = open.last_mut() {
        let Some((child, left)) = branch.left.split_last() else {
            let entry = branch.next;
            open.pop();
            if let Some(outer) = open.last_mut() {
                outer.next = entry;
            }
            continue;
        };
        branch.left = left;
        let (if_true, if_false) = match branch.connective {
            Connective::And => (branch.next, branch.if_false),
            Connective::Or => (branch.if_true, branch.next),
        };
        match tree.get(*child)? {
            Node::Constant(value) => branch.next = if *value { if_true } else { if_false },
            Node::Branch(connective, children) => {
                let next = if connective.neutral() { if_true } else { if_false };
                open.push(OpenBranch { connective: *connective, left: children, if_true, if_false, next });
            }
            Node::Leaf(leaf) => {
                let (tests, is_negated) = tests_of(leaf, catalog, intern);
                let (if_true, if_false) = if is_negated { (if_false, if_true) } else { (if_true, if_false) };
                let mut next = if_true;
                let field = u16::try_from(leaf.field.index()).ok()?;
                // The tests of a leaf are a conjunction.
                for test in tests.into_iter().rev() {
                    if steps.len() >= MOST_STEPS {
                        return None;
                    }
                    steps.push(Compiled { field, test, if_true: next, if_false });
                    next = Target::Step(steps.len().saturating_sub(1));
                }
                branch.next = next;
            }
        }
    }
    encode(&mut steps, words);
    Some(())
}

/// Returns the nodes of a rule in the order of their evaluation. The order depends only on the rule. Cheap tests that fail often
/// come first. The tests by which rules are found come late: for a rule that was found, they usually hold. Branches come last.
fn ordered(tree: &Tree<Leaf>, rule: &Conjunction) -> Conjunction {
    let rank = |node: &usize| match tree.get(*node) {
        Some(Node::Leaf(leaf)) => match &leaf.test {
            Test::Any(Set::Ordered(_)) => 0_u8,
            Test::None(Set::Ordered(_) | Set::Strings(_) | Set::Booleans(_)) => 1,
            Test::Any(Set::Strings(points)) if points.as_slice().len() > 1 => 2,
            Test::Any(Set::Strings(_) | Set::Booleans(_)) | Test::All(_) | Test::NotAll(_) => 3,
            Test::Any(Set::Matching(_)) | Test::None(Set::Matching(_)) => 4,
            Test::Elem(_) | Test::NoElem(_) => 5,
        },
        _ => 6,
    };
    let mut ordered = rule.clone();
    ordered.sort_by_key(rank);
    ordered
}

/// Returns the tests of a leaf. Their conjunction is equal to the leaf or, if the second value is true, to the negation of the
/// leaf.
fn tests_of<I: Intern>(leaf: &Leaf, catalog: &Catalog, intern: &mut I) -> (SmallVec<[StepTest; 1]>, bool) {
    let other = |intern: &mut I, test: Test| {
        let leaf = Leaf { field: leaf.field, test };
        argument(Operation::Other, intern.other(Filter::of_leaf(catalog, leaf)))
    };
    let set = match &leaf.test {
        Test::Elem(_) | Test::NoElem(_) => return (smallvec![other(intern, leaf.test.clone())], false),
        Test::All(set) | Test::NotAll(set) => {
            let tests = match set {
                Set::Strings(points) if points.as_slice().len() <= MOST_SPLIT => {
                    points.texts().map(|text| atom(intern, leaf, AtomKind::Text, text)).collect()
                }
                // A case that has all values also has the first value, so the atom of this value can be a key.
                Set::Strings(points) => {
                    let first = points.texts().next().map(|text| atom(intern, leaf, AtomKind::Text, text));
                    first.into_iter().chain([other(intern, Test::All(set.clone()))]).collect()
                }
                Set::Ordered(intervals) if intervals.as_slice().len() <= MOST_SPLIT => {
                    intervals.as_slice().iter().map(|range| ranges(&[*range])).collect()
                }
                Set::Booleans(points) => {
                    let text = |boolean: &bool| boolean_text(*boolean);
                    let points = points.as_slice().iter().map(text);
                    points.map(|text| atom(intern, leaf, AtomKind::Boolean, text)).collect()
                }
                Set::Ordered(_) | Set::Matching(_) => smallvec![other(intern, Test::All(set.clone()))],
            };
            return (tests, leaf.test.is_negated());
        }
        Test::Any(set) | Test::None(set) => set,
    };
    let whole = |intern: &mut I| smallvec![other(intern, Test::Any(set.clone()))];
    let tests = match set {
        Set::Strings(points) => match any(intern, leaf, AtomKind::Text, points) {
            Some(test) => smallvec![test],
            None => whole(intern),
        },
        Set::Ordered(intervals) if intervals.as_slice().len() <= MOST_VALUES => {
            smallvec![ranges(intervals.as_slice())]
        }
        Set::Ordered(_) => whole(intern),
        Set::Booleans(points) => match points.as_slice() {
            [boolean] => smallvec![atom(intern, leaf, AtomKind::Boolean, boolean_text(*boolean))],
            _ => smallvec![test(Operation::Present, SmallVec::new())],
        },
        Set::Matching(pattern) => match &**pattern {
            TextPattern::Every => smallvec![test(Operation::Present, SmallVec::new())],
            TextPattern::Prefixes(points) => match any(intern, leaf, AtomKind::Prefix, points) {
                Some(test) => smallvec![test],
                None => whole(intern),
            },
            TextPattern::Substrings(points) => match any(intern, leaf, AtomKind::Substring, points) {
                Some(test) => smallvec![test],
                None => whole(intern),
            },
            TextPattern::Words(points) => {
                let is_many = catalog.get(leaf.field).is_some_and(crate::catalog::Field::is_many);
                let words = points.as_slice();
                if words.len() == 1 || !is_many && words.len() <= MOST_SPLIT {
                    points.texts().map(|word| atom(intern, leaf, AtomKind::Word, word)).collect()
                } else {
                    // One value must have all words, so the atom of each word is a necessary condition. Only the longest word gets
                    // an atom, because it is probably the rarest.
                    let longest = points.texts().max_by_key(|word| word.len());
                    let longest = longest.map(|word| atom(intern, leaf, AtomKind::Word, word));
                    longest.into_iter().chain([other(intern, Test::Any(set.clone()))]).collect()
                }
            }
        },
    };
    (tests, leaf.test.is_negated())
}

fn test(operation: Operation, arguments: SmallVec<[u32; 4]>) -> StepTest {
    StepTest { operation, arguments, is_negated: false }
}

fn argument(operation: Operation, argument: u32) -> StepTest {
    test(operation, smallvec![argument])
}

fn atom(intern: &mut impl Intern, leaf: &Leaf, kind: AtomKind, text: &str) -> StepTest {
    argument(Operation::Atom, intern.atom(leaf, kind, text))
}

/// Returns a test that is true if at least one of the atoms holds. Returns `None` if there are too many atoms, or if an automaton
/// cannot search for the text of an atom.
fn any(
    intern: &mut impl Intern,
    leaf: &Leaf,
    kind: AtomKind,
    points: &Points<compact_str::CompactString>,
) -> Option<StepTest> {
    let is_unsearchable = kind != AtomKind::Text && points.texts().any(str::is_empty);
    if points.as_slice().len() > MOST_VALUES || is_unsearchable {
        return None;
    }
    let mut atoms: SmallVec<[u32; 4]> = points.texts().map(|text| intern.atom(leaf, kind, text)).collect();
    atoms.sort_unstable();
    Some(test(if atoms.len() == 1 { Operation::Atom } else { Operation::Atoms }, atoms))
}

fn ranges(ranges: &[(i64, i64)]) -> StepTest {
    let words = ranges.iter().flat_map(|range| program::range_words(*range)).collect();
    test(if ranges.len() == 1 { Operation::Range } else { Operation::Ranges }, words)
}

/// Encodes steps, which are in reverse order.
fn encode(steps: &mut [Compiled], words: &mut Vec<u32>) {
    // Negates the test of a step that jumps only if it holds, so that fewer steps have jumps.
    for (at, step) in steps.iter_mut().enumerate() {
        let next = at.checked_sub(1).map_or(Target::True, Target::Step);
        if step.if_true == Target::False && step.if_false == next {
            step.test.is_negated = true;
            std::mem::swap(&mut step.if_true, &mut step.if_false);
        }
    }
    let needs_jumps = |at: usize, step: &Compiled| {
        let next = at.checked_sub(1).map_or(Target::True, Target::Step);
        (step.if_true, step.if_false) != (next, Target::False)
    };
    let step = |step: &Compiled, jumps| -> (Operation, u16, bool, Option<(u32, u32)>) {
        (step.test.operation, step.field, step.test.is_negated, jumps)
    };
    // The offset of each step, by its index.
    let mut offsets = vec![0; steps.len()];
    let mut offset = 0_usize;
    for (at, own) in steps.iter().enumerate().rev() {
        if let Some(place) = offsets.get_mut(at) {
            *place = super::count::count(offset);
        }
        let jumps = needs_jumps(at, own).then_some((0, 0));
        let (operation, field, is_negated, jumps) = step(own, jumps);
        let arguments = own.test.arguments.as_slice();
        offset =
            offset.saturating_add(program::len(&Step { operation, field, is_negated, jumps, arguments }));
    }
    let target = |target: Target| match target {
        Target::True => TRUE,
        Target::False => FALSE,
        Target::Step(at) => offsets.get(at).copied().unwrap_or(FALSE),
    };
    for (at, own) in steps.iter().enumerate().rev() {
        let jumps = needs_jumps(at, own).then(|| (target(own.if_true), target(own.if_false)));
        let (operation, field, is_negated, jumps) = step(own, jumps);
        let arguments = own.test.arguments.as_slice();
        program::write(&Step { operation, field, is_negated, jumps, arguments }, words);
    }
}
