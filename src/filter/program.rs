//! Compiles the normal form of a filter to a program: steps with jumps, which test one parsed document.
//!
//! A walk over the tree reads about five cache lines of a filter before the first comparison. If a host tests each document with
//! thousands of filters, few of these lines are still in the L1 cache. In a program, each step occupies one cache line, so the
//! first comparison usually reads one line. A filter compiles its program when it first tests a document. Searches of an engine
//! use no programs.
//!
//! A program takes about half the time of a walk over the tree (`benches/peers/filters`).

use smallvec::SmallVec;

use crate::batch::{OwnedRow, TextKey};
use crate::catalog::FieldId;
use crate::operator::Connective;
use crate::predicate::{Leaf, Node, Set, Test, Tree};

/// The steps of a filter. Evaluation starts at `entry`.
#[derive(Debug)]
pub(super) struct Program {
    steps: Box<[ProgramStep]>,
    /// The strings of all [`StepTest::Texts`].
    texts: Box<[TextKey]>,
    entry: Target,
}

/// The next step, or the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target(u32);

impl Target {
    const TRUE: Self = Self(u32::MAX);
    const FALSE: Self = Self(u32::MAX - 1);
}

/// A test of one field. A step has a cache line for itself.
#[derive(Debug)]
#[repr(align(64))]
struct ProgramStep {
    field: FieldId,
    if_true: Target,
    if_false: Target,
    test: StepTest,
}

/// The test of a step. It is true if any value of the field passes it.
#[derive(Clone, Copy, Debug)]
enum StepTest {
    /// The value is the string of this key. The key contains the whole string, so no further comparison is needed.
    Text(TextKey),
    /// The value is one of several strings: the start and the end of their keys in `texts`. Each key contains its whole string.
    Texts(u32, u32),
    /// The ordinal of the value is in this range. Both bounds are included.
    Range(i64, i64),
    /// The test of the leaf with this id in the tree.
    Leaf(u32),
}

/// Up to this number of strings, a step compares the value with each string. For more strings, the step evaluates the leaf of the
/// tree.
const FEW_TEXTS: usize = 8;

/// The largest number of steps. A node can have several parents, so a program can be larger than its tree.
const MOST_STEPS: usize = 4096;

/// A branch whose children are being compiled, from the last to the first.
struct OpenBranch<'t> {
    connective: Connective,
    /// The children that are not compiled yet.
    left: &'t [usize],
    if_true: Target,
    if_false: Target,
    /// The target of evaluation if the next child to be compiled does not decide the branch. For the last child of the branch,
    /// which is compiled first, this is `if_true` or `if_false`. For every other child, it is the entry of the child that follows
    /// in the branch.
    next: Target,
}

impl Program {
    /// Compiles a normal form. Returns `None` if the program would be too large.
    pub(super) fn new(tree: &Tree<Leaf>) -> Option<Self> {
        // Steps are made from the last to the first, so that their targets exist.
        let (mut steps, mut texts) = (Vec::new(), Vec::new());
        let mut open: Vec<OpenBranch<'_>> = Vec::new();
        let (mut node, mut if_true, mut if_false) = (tree.root(), Target::TRUE, Target::FALSE);
        let entry = loop {
            let mut entry = match tree.get(node)? {
                Node::Constant(true) => Some(if_true),
                Node::Constant(false) => Some(if_false),
                Node::Leaf(leaf) => {
                    if steps.len() == MOST_STEPS {
                        return None;
                    }
                    let (test, is_negated) = StepTest::new(leaf, node, &mut texts)?;
                    let (if_true, if_false) =
                        if is_negated { (if_false, if_true) } else { (if_true, if_false) };
                    steps.push(ProgramStep { field: leaf.field, if_true, if_false, test });
                    Some(Target(u32::try_from(steps.len().checked_sub(1)?).ok()?))
                }
                Node::Branch(connective, children) => {
                    let next = if connective.neutral() { if_true } else { if_false };
                    open.push(OpenBranch {
                        connective: *connective,
                        left: children,
                        if_true,
                        if_false,
                        next,
                    });
                    None
                }
            };
            // Continues with the next child of the innermost branch that has a child left.
            while let Some(branch) = open.last_mut() {
                if let Some(entry) = entry {
                    branch.next = entry;
                }
                if let Some((child, left)) = branch.left.split_last() {
                    branch.left = left;
                    node = *child;
                    (if_true, if_false) = match branch.connective {
                        Connective::And => (branch.next, branch.if_false),
                        Connective::Or => (branch.if_true, branch.next),
                    };
                    break;
                }
                entry = Some(branch.next);
                open.pop();
            }
            if open.is_empty() {
                break entry?;
            }
        };
        Some(Self { steps: steps.into(), texts: texts.into(), entry })
    }

    /// Returns the memory of the program of a normal form, in bytes, without compiling the program. Returns 0 if the program would
    /// be too large.
    ///
    /// Complexity: linear in the size of the tree, even if the program would be larger.
    pub(super) fn size_bytes_of(tree: &Tree<Leaf>) -> usize {
        // For each node: the steps and the strings of its leaves, once for each path to a leaf.
        let mut sizes: SmallVec<[(usize, usize); 24]> = SmallVec::with_capacity(tree.nodes().len());
        for node in tree.nodes() {
            sizes.push(match node {
                Node::Constant(_) => (0, 0),
                Node::Leaf(leaf) => (1, StepTest::texts_of(leaf)),
                Node::Branch(_, children) => {
                    let sizes = children.iter().filter_map(|child| sizes.get(*child));
                    sizes.fold((0, 0), |(steps, texts), (own_steps, own_texts)| {
                        (steps.saturating_add(*own_steps), texts.saturating_add(*own_texts))
                    })
                }
            });
        }
        match sizes.get(tree.root()) {
            Some((steps, texts)) if *steps <= MOST_STEPS => {
                let texts = texts.saturating_mul(size_of::<TextKey>());
                steps.saturating_mul(size_of::<ProgramStep>()).saturating_add(texts)
            }
            _ => 0,
        }
    }

    /// Evaluates the filter. `leaf` evaluates a leaf of the tree.
    #[inline]
    pub(super) fn selects(&self, row: &OwnedRow, leaf: impl Fn(u32) -> bool) -> bool {
        let mut at = self.entry;
        // Each target is a step that was compiled before this step, so each step is run at most once.
        while let Some(step) = self.steps.get(at.0 as usize) {
            let holds = match step.test {
                StepTest::Text(own) => row.text_keys(step.field).any(|key| key == own),
                StepTest::Texts(start, end) => {
                    let own = self.texts.get(start as usize..end as usize).unwrap_or_default();
                    row.text_keys(step.field).any(|key| own.contains(&key))
                }
                StepTest::Range(low, high) => {
                    row.ordinals(step.field).any(|ordinal| low <= ordinal && ordinal <= high)
                }
                StepTest::Leaf(node) => leaf(node),
            };
            at = if holds { step.if_true } else { step.if_false };
        }
        at == Target::TRUE
    }
}

impl StepTest {
    /// Returns the test of a leaf. The second value is true if the leaf is the negation of the test.
    fn new(leaf: &Leaf, node: usize, texts: &mut Vec<TextKey>) -> Option<(Self, bool)> {
        let whole = (Self::Leaf(u32::try_from(node).ok()?), false);
        let (Test::Any(set) | Test::None(set)) = &leaf.test else { return Some(whole) };
        let test = match set {
            Set::Strings(points) => {
                if !are_few_and_short(points.texts()) {
                    return Some(whole);
                }
                let mut keys = points.texts().map(TextKey::of);
                match (keys.next(), keys.len()) {
                    (Some(only), 0) => Self::Text(only),
                    _ => {
                        let start = u32::try_from(texts.len()).ok()?;
                        texts.extend(points.texts().map(TextKey::of));
                        Self::Texts(start, u32::try_from(texts.len()).ok()?)
                    }
                }
            }
            Set::Ordered(intervals) => match *intervals.as_slice() {
                [(low, high)] => Self::Range(low, high),
                _ => return Some(whole),
            },
            Set::Booleans(_) | Set::Matching(_) => return Some(whole),
        };
        Some((test, leaf.test.is_negated()))
    }

    /// Returns the number of strings that the test of a leaf adds to the strings of its program.
    fn texts_of(leaf: &Leaf) -> usize {
        match &leaf.test {
            Test::Any(Set::Strings(points)) | Test::None(Set::Strings(points))
                if points.as_slice().len() > 1 && are_few_and_short(points.texts()) =>
            {
                points.as_slice().len()
            }
            _ => 0,
        }
    }
}

/// Returns true if these strings are few, and each is short enough to be contained in its [`TextKey`]. A step can then compare the
/// key of a value with the keys of these strings.
fn are_few_and_short<'t>(mut texts: impl ExactSizeIterator<Item = &'t str>) -> bool {
    texts.len() <= FEW_TEXTS && texts.all(|text| text.len() <= TextKey::WHOLE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::Program;
    use crate::catalog::Catalog;
    use crate::filter::elements::passes;
    use crate::filter::patterns::Patterns;
    use crate::filter::{Document, Filter};

    #[test]
    fn a_program_selects_what_its_tree_selects() {
        let cases = Catalog::cases();
        let documents: Vec<Document> = [
            r#"{"id":"1"}"#,
            r#"{"id":"2","tags":["a","b"],"name":"x","totalAmountInDefaultCurrency":5}"#,
            r#"{"id":"3","tags":["b","c","a name of more than sixteen bytes"],"name":"y"}"#,
            r#"{"id":"4","tags":["c"],"name":"a name of more than sixteen bytes","priority":"high"}"#,
            r#"{"id":"5","tags":[],"totalAmountInDefaultCurrency":7,"createdAt":"2024-01-01 00:00:00"}"#,
            r#"{"id":"6","caseReview":{"checklistState":{"checklist":[{"name":"x","checked":true},{"name":"y"}]}}}"#,
            r#"{"id":"7","caseReview":{"checklistState":{"checklist":[{"name":"x"}]}}}"#,
        ]
        .map(|text| Document::parse(&cases, text.as_bytes()).unwrap())
        .into();
        let tests = [
            "tags = a",
            "tags in (a, c)",
            "tags <> b",
            "not tags in (b, c)",
            "name = x",
            "name in (x, 'a name of more than sixteen bytes')",
            "name is absent",
            "totalAmountInDefaultCurrency >= 6",
            "totalAmountInDefaultCurrency in (5, 9)",
            "not totalAmountInDefaultCurrency < 6",
            "createdAt on 2024-01-01",
            "tags all (a, b)",
            "priority = high",
            "amlCases has (amlCaseId = a)",
            "not caseReview.checklistState.checklist has (name = x and not checked = true)",
        ];
        let mut draw = 1_u64;
        let mut below = |bound: usize| {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (draw >> 33) as usize % bound
        };
        for _ in 0..600 {
            // Creates a random filter, by joining random parts.
            let mut parts: Vec<String> =
                (0..=below(9)).map(|_| tests[below(tests.len())].to_owned()).collect();
            while parts.len() > 1 {
                let (last, before) = (parts.pop().unwrap(), parts.pop().unwrap());
                let joined = match below(3) {
                    0 => format!("({before} and {last})"),
                    1 => format!("({before} or {last})"),
                    _ => format!("(not ({before} or {last}))"),
                };
                let at = below(parts.len() + 1);
                parts.insert(at, joined);
            }
            let optimised = Filter::compile_text(&cases, &parts[0]).unwrap();
            for filter in [optimised.unoptimized(), optimised] {
                let program = filter.program().unwrap();
                let size = size_of_val(&*program.steps) + size_of_val(&*program.texts);
                assert_eq!(Program::size_bytes_of(filter.predicate()), size, "{}", parts[0]);
                for document in &documents {
                    let row = document.row();
                    let expected =
                        filter.predicate().evaluate(|leaf| passes(leaf, row, &cases, &Patterns::NONE));
                    assert_eq!(filter.selects(document), Ok(expected), "{} {document:?}", parts[0]);
                }
            }
        }
    }

    #[test]
    fn constants_and_large_filters_need_no_program() {
        let cases = Catalog::cases();
        let document = Document::parse(&cases, br#"{"id":"1","tags":["t4999"]}"#).unwrap();
        assert_eq!(Filter::all(&cases).selects(&document), Ok(true));
        assert_eq!(Filter::none(&cases).selects(&document), Ok(false));
        let parts = (0..5000).map(|n| {
            let text = format!("tags all (t{n}, t{n}) and name <> x{n}");
            Filter::compile_text(&cases, &text).unwrap()
        });
        let any = Filter::any_of(&cases, parts).unwrap();
        assert!(any.program().is_none());
        assert_eq!(Program::size_bytes_of(any.predicate()), 0);
        assert_eq!(any.selects(&document), Ok(true));
    }
}
