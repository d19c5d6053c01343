//! The normal form of a filter as steps with jumps, for testing one parsed document.
//!
//! A walk over the tree reads about five cache lines of a filter before the first comparison. Of thousands of filters, few lines are in the
//! nearest cache. A program has its first comparison in one line. It is made when the filter first tests a document; engines never need it.
//! `benches/peers/filters` shows what it earns.

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
    /// The value has an ordinal from the first to the second.
    Range(i64, i64),
    /// The test of the leaf with this id in the tree.
    Leaf(u32),
}

/// The number of strings up to which each is compared.
const FEW_TEXTS: usize = 8;

/// The largest number of steps. Nodes may have several parents, so that a program can be larger than its tree.
const MOST_STEPS: usize = 4096;

/// A branch whose children are being compiled, from the last to the first.
struct OpenBranch<'t> {
    connective: Connective,
    /// The children that are left.
    left: &'t [usize],
    if_true: Target,
    if_false: Target,
    /// The first step of the next child, or the result after the last child.
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
            // Continues with the next child of the innermost branch that has one.
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

    /// Evaluates the filter. `leaf` evaluates a leaf of the tree.
    #[inline]
    pub(super) fn selects(&self, row: &OwnedRow, leaf: impl Fn(u32) -> bool) -> bool {
        let mut at = self.entry;
        // Targets lead to steps that were made earlier, so that each step is run once.
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
    /// Returns the test of a leaf, and true if the leaf is true where the test is false.
    fn new(leaf: &Leaf, node: usize, texts: &mut Vec<TextKey>) -> Option<(Self, bool)> {
        let whole = (Self::Leaf(u32::try_from(node).ok()?), false);
        let (Test::Any(set) | Test::None(set)) = &leaf.test else { return Some(whole) };
        let test = match set {
            Set::Strings(points) => {
                let is_short = |text: &str| text.len() <= TextKey::WHOLE_BYTES;
                if points.as_slice().len() > FEW_TEXTS || !points.texts().all(is_short) {
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
}

#[cfg(test)]
mod tests {
    use crate::catalog::Catalog;
    use crate::filter::elements::passes;
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
            // A random tree, by joining random parts.
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
                assert!(filter.program().is_some());
                for document in &documents {
                    let row = document.row();
                    let expected = filter.predicate().evaluate(|leaf| passes(leaf, row, &cases));
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
        assert_eq!(any.selects(&document), Ok(true));
    }
}
