//! What a sound filter says that its author may not have meant.

mod elements;
mod values;

use std::fmt;

use serde::Serialize;

use super::optimize::test;
use super::tree::{Comparison, Leaf, Node, NodeId, Test, Tree};
use crate::catalog::Catalog;
use crate::error::{nearest, quote};
use crate::operator::{Connective, Operator};
use crate::value::{Number, Value};

/// The kind of a [`Warning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WarningKind {
    /// A value outside the known values of its field.
    UnknownValue,
    /// A criterion, or the whole filter, that is true for every case.
    AlwaysTrue,
    /// A criterion, or the whole filter, that is true for no case.
    AlwaysFalse,
    /// A criterion that its neighbours make superfluous.
    Subsumed,
    /// A number that a double cannot hold, so that it stands for another one.
    RoundedNumber,
    /// Criteria joined by and that two different elements of one array may meet.
    SeparateElements,
    /// A string such as `null`, or without letters, which is no test for absence.
    NotAbsence,
    /// A string with blanks in front or at the end.
    BlanksAround,
    /// A string that is not in the composed form of Unicode (NFC).
    NotComposed,
    /// A value that no case has, in a form in which cases have it; see [`Engine::hints`](crate::Engine::hints).
    StoredOtherwise,
    /// A field of which no case has a value; see [`Engine::hints`](crate::Engine::hints).
    NoValues,
}

/// A number of a criterion that a double rounds.
pub(crate) struct Rounded {
    /// The criterion.
    pub(crate) node: NodeId,
    /// Which of its values.
    pub(crate) value: usize,
    /// As it is written.
    pub(crate) written: String,
    /// What it stands for.
    pub(crate) number: Number,
}

/// Something in a sound filter that its author may not have meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// The kind.
    pub kind: WarningKind,
    /// The place as a path into the body, such as `criteria[0].values[1]`; empty for the whole of it.
    pub path: String,
    /// What is the matter.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// How many warnings one filter carries at most.
pub(crate) const MOST_WARNINGS: usize = 100;
/// Beyond this many criteria on one field in one branch, they are not compared pairwise.
const PAIRWISE: usize = 64;

/// The warnings of a tree as written, whose normal form is `normal`, and some of whose numbers are rounded, in document order.
pub(crate) fn lint(
    written: &Tree<Comparison<'_>>,
    normal: &Tree<Leaf>,
    rounded: &[Rounded],
    catalog: &Catalog,
) -> Vec<Warning> {
    let places = Places::new(written);
    let mut found: Vec<(NodeId, Warning)> = Vec::new();
    elements::separate(written, catalog, &mut |id, message| {
        if found.len() < MOST_WARNINGS {
            found.push((id, Warning { kind: WarningKind::SeparateElements, path: places.path(id), message }));
        }
    });
    for Rounded { node, value, written, number } in rounded.iter().take(MOST_WARNINGS) {
        let message = format!(
            "{} has more digits than a double holds, and stands for {} and all numbers nearer to that than to another double",
            quote(written),
            quote(&of_all_digits(*number))
        );
        let path = places.value_path(*node, *value);
        found.push((*node, Warning { kind: WarningKind::RoundedNumber, path, message }));
    }
    for (id, node) in written.nodes().iter().enumerate() {
        if found.len() >= MOST_WARNINGS {
            break;
        }
        match node {
            Node::Leaf(comparison) => {
                let field = catalog.field(comparison.field);
                for (at, value) in comparison.values.iter().enumerate().take(MOST_WARNINGS) {
                    if let Some((kind, message)) = values::unusual(field, value) {
                        found.push((id, Warning { kind, path: places.value_path(id, at), message }));
                    }
                }
                unknown_values(comparison, catalog, &mut |at, message| {
                    let path = places.value_path(id, at);
                    found.push((id, Warning { kind: WarningKind::UnknownValue, path, message }));
                });
                if !comparison.values.is_empty()
                    && test(comparison, catalog.field(comparison.field).is_many()).is_err()
                {
                    let name = quote(catalog.field(comparison.field).name());
                    let message = format!("never true: {name} cannot have such a value");
                    found.push((
                        id,
                        Warning { kind: WarningKind::AlwaysFalse, path: places.path(id), message },
                    ));
                }
            }
            Node::Branch(connective, children) if places.is_criterion(id) => {
                branch(*connective, children, written, catalog, &mut |child, kind, message| {
                    let path = places.path(child.unwrap_or(id));
                    found.push((child.unwrap_or(id), Warning { kind, path, message }));
                });
            }
            _ => {}
        }
    }
    let whole = |kind, message: &str| Warning { kind, path: String::new(), message: message.to_owned() };
    match normal.get(normal.root()) {
        Some(Node::Constant(true)) => {
            found.push((0, whole(WarningKind::AlwaysTrue, "the filter selects every case")));
        }
        Some(Node::Constant(false)) => {
            found.push((0, whole(WarningKind::AlwaysFalse, "the filter selects no case")));
        }
        _ => {}
    }
    found.sort_by_key(|(id, warning)| (warning.path.is_empty(), places.ranks.get(*id).copied()));
    found.into_iter().map(|(_, warning)| warning).take(MOST_WARNINGS).collect()
}

/// A number as people write it; an integer with all its digits, which are those of the double.
fn of_all_digits(number: Number) -> String {
    let number = number.get();
    let has_all = number.trunc().to_bits() == number.to_bits() && number.abs() < 1e30;
    if has_all { format!("{number:.0}") } else { format!("{number:?}") }
}

fn unknown_values(comparison: &Comparison<'_>, catalog: &Catalog, warn: &mut impl FnMut(usize, String)) {
    let field = catalog.field(comparison.field);
    if field.known_values().len() == 0 {
        return;
    }
    for (at, value) in comparison.values.iter().enumerate().take(MOST_WARNINGS) {
        let Value::String(text) = value else { continue };
        if field.known_rank(text).is_none() {
            let known = field.known_values().map(quote).collect::<Vec<_>>().join(", ");
            let mut message =
                format!("{} is not among the known values of {}: {known}", quote(text), quote(field.name()));
            if let Some(near) = nearest(text, field.known_values()) {
                message.push_str("; did you mean ");
                message.push_str(&quote(near));
                message.push('?');
            }
            warn(at, message);
        }
    }
}

/// Contradictions, tautologies and superfluous criteria among the children on one field.
fn branch(
    connective: Connective,
    children: &[NodeId],
    tree: &Tree<Comparison<'_>>,
    catalog: &Catalog,
    warn: &mut impl FnMut(Option<NodeId>, WarningKind, String),
) {
    let mut tests: Vec<(NodeId, Leaf)> = children
        .iter()
        .filter_map(|child| match tree.get(*child) {
            Some(Node::Leaf(comparison)) => {
                let test = test(comparison, catalog.field(comparison.field).is_many()).ok()?;
                Some((*child, Leaf { field: comparison.field, test }))
            }
            _ => None,
        })
        .collect();
    tests.sort_by_key(|(_, leaf)| leaf.field);
    for group in tests.chunk_by(|(_, a), (_, b)| a.field == b.field) {
        let [(_, leaf), _, ..] = group else { continue };
        let field = catalog.field(leaf.field);
        let name = quote(field.name());
        if let Some(kind) = decided(connective, field.is_many(), group) {
            let message = match kind {
                WarningKind::AlwaysFalse => {
                    format!("never true: its criteria on {name} contradict each other")
                }
                _ => format!("always true: its criteria on {name} cover every case"),
            };
            warn(None, kind, message);
            continue;
        }
        if group.len() > PAIRWISE {
            continue;
        }
        for (at, (id, leaf)) in group.iter().enumerate() {
            let superfluous = group.iter().enumerate().any(|(other_at, (_, other))| {
                let (implied, implies_back) = match connective {
                    Connective::And => (implies(other, leaf), implies(leaf, other)),
                    Connective::Or => (implies(leaf, other), implies(other, leaf)),
                };
                // Of two that say the same, the second is superfluous.
                other_at != at && implied && (!implies_back || other_at < at)
            });
            if superfluous {
                let why = match connective {
                    Connective::And => "another criterion beside it on the same field already demands this",
                    Connective::Or => "another criterion beside it on the same field already admits this",
                };
                warn(Some(*id), WarningKind::Subsumed, format!("makes no difference: {why}"));
            }
        }
    }
}

fn implies(premise: &Leaf, conclusion: &Leaf) -> bool {
    super::optimize::implies(&premise.test, &conclusion.test)
}

fn decided(connective: Connective, many: bool, group: &[(NodeId, Leaf)]) -> Option<WarningKind> {
    let tests: Vec<&Test> = group.iter().map(|(_, leaf)| &leaf.test).collect();
    super::optimize::decides(connective, many, &tests).then_some(match connective {
        Connective::And => WarningKind::AlwaysFalse,
        Connective::Or => WarningKind::AlwaysTrue,
    })
}

/// Where the nodes of a tree as written stand in the body.
pub(crate) struct Places {
    /// Parent and place among its children, for all but the root.
    parents: Vec<Option<(NodeId, usize)>>,
    /// How many nodes start before each in the body.
    ranks: Vec<usize>,
    /// The node that joins the body's criteria.
    criteria: Option<NodeId>,
    ids: Option<NodeId>,
}

impl Places {
    pub(crate) fn new(tree: &Tree<Comparison<'_>>) -> Self {
        let mut parents = vec![None; tree.nodes().len()];
        for (id, node) in tree.nodes().iter().enumerate() {
            if let Node::Branch(_, children) = node {
                for (at, child) in children.iter().enumerate() {
                    if let Some(parent) = parents.get_mut(*child) {
                        *parent = Some((id, at));
                    }
                }
            }
        }
        let is_ids = |id: &NodeId| {
            matches!(
                tree.get(*id),
                Some(Node::Leaf(Comparison {
                    operator: Operator::Contains,
                    field: crate::catalog::FieldId::ID,
                    ..
                }))
            )
        };
        let root = tree.root();
        let mut ranks = vec![0; tree.nodes().len()];
        let mut open = vec![root];
        let mut rank: usize = 0;
        while let Some(id) = open.pop() {
            if let Some(slot) = ranks.get_mut(id) {
                *slot = rank;
            }
            rank = rank.saturating_add(1);
            if let Some(Node::Branch(_, children)) = tree.get(id) {
                open.extend(children.iter().rev());
            }
        }
        // `lower` makes three sorts of root: ids, criteria, and both joined by `$or`.
        let (ids, criteria) = match tree.get(root) {
            Some(Node::Leaf(_)) => (Some(root), None),
            Some(Node::Branch(Connective::Or, children)) => match children.as_slice() {
                [ids, criteria] if is_ids(ids) => (Some(*ids), Some(*criteria)),
                _ => (None, Some(root)),
            },
            _ => (None, Some(root)),
        };
        Self { parents, ranks, criteria, ids }
    }

    /// True for what the body writes as a criterion, or as its list of criteria.
    fn is_criterion(&self, id: NodeId) -> bool {
        self.criteria.is_some_and(|criteria| id <= criteria)
    }

    /// The path of a value of a criterion, or of an id.
    pub(crate) fn value_path(&self, id: NodeId, at: usize) -> String {
        let values = if Some(id) == self.ids { "" } else { ".values" };
        format!("{}{values}[{at}]", self.path(id))
    }

    pub(crate) fn path(&self, id: NodeId) -> String {
        if Some(id) == self.ids {
            return "ids".to_owned();
        }
        let mut steps = Vec::new();
        let mut at = id;
        while Some(at) != self.criteria {
            let Some(Some((parent, place))) = self.parents.get(at) else { break };
            steps.push(*place);
            at = *parent;
        }
        let mut path = String::from("criteria");
        for (i, step) in steps.iter().rev().enumerate() {
            if i > 0 {
                path.push_str(".children");
            }
            path.push('[');
            path.push_str(&step.to_string());
            path.push(']');
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::WarningKind;
    use crate::catalog::{Catalog, Field, FieldType};
    use crate::filter::Filter;

    /// The warnings for a body, one a line.
    fn of_json(body: &str) -> Vec<String> {
        let filter = Filter::compile(&Catalog::cases(), body.as_bytes()).unwrap();
        filter.warnings().iter().map(|warning| format!("{:?} {warning}", warning.kind)).collect()
    }

    #[track_caller]
    fn warns(text: &str, expected: &[&str]) {
        let filter = Filter::compile_text(&Catalog::cases(), text).unwrap();
        let warnings: Vec<String> =
            filter.warnings().iter().map(|warning| format!("{:?} {warning}", warning.kind)).collect();
        assert_eq!(warnings, expected, "{text}");
    }

    #[test]
    fn sound_filters_pass_without_a_word() {
        for text in [
            "status in (open, blocked) and createdAt >= \"2024-01-01 00:00:00\"",
            "tags = a and tags = b and tags <> c",
            "totalAmountInDefaultCurrency > 1 and totalAmountInDefaultCurrency < 5",
            "ids (a, b) or priority = high",
            "name <> a and name <> b",
        ] {
            warns(text, &[]);
        }
    }

    #[test]
    fn values_outside_the_known_ones_are_named() {
        warns(
            "status in (open, Blocked) and (name = x or priority <> urgent)",
            &[
                "UnknownValue criteria[0].values[1]: `Blocked` is not among the known values of `caseReview.status`: \
                 `open`, `awaitingUser`, `blocked`, `resolvedFalsePositive`, `resolvedPotentialThreat`; \
                 did you mean `blocked`?",
                "UnknownValue criteria[1].children[1].values[0]: `urgent` is not among the known values of `priority`: \
                 `low`, `medium`, `high`",
            ],
        );
    }

    #[test]
    fn numbers_that_a_double_rounds_are_named() {
        let message = |written, number| {
            format!(
                "`{written}` has more digits than a double holds, and stands for `{number}` and all numbers nearer to that than \
                 to another double"
            )
        };
        let of_first = message("9007199254740993", "9007199254740992");
        warns(
            "createdByRule.revision in (9007199254740992, 9007199254740993, 0.1)",
            &[&format!("RoundedNumber criteria[0].values[1]: {of_first}")],
        );
        assert_eq!(
            of_json(
                r#"{"criteria":[{"op":"$or","children":[{"field":"name","op":"=","values":["9007199254740993"]},
                {"field":"createdByRule.revision","op":"=","values":["9007199254740993"]}]}]}"#
            ),
            [format!("RoundedNumber criteria[0].children[1].values[0]: {of_first}")]
        );
    }

    #[test]
    fn criteria_that_two_elements_may_meet_are_named() {
        const LIST: &str = "caseReview.checklistState.checklist";
        let warning = |path: &str, other: &str| {
            format!(
                "SeparateElements {path}: this and the criterion on `{LIST}.{other}` may be met by two different elements of \
                 `{LIST}`: each criterion is tested on all elements by itself"
            )
        };
        let (name, checked) = (format!("{LIST}.name = ID"), format!("{LIST}.checked = true"));
        warns(&format!("{name} and {checked}"), &[&warning("criteria[1]", "name")]);
        warns(
            &format!("{name} and priority = high and (id = a or {checked})"),
            &[&warning("criteria[2].children[1]", "name")],
        );
        warns(
            &format!("priority = high and ({checked} and ({name} and id = a) or id = b)"),
            &[&warning("criteria[1].children[0].children[1].children[0]", "checked")],
        );
        warns(&format!("({name} or {checked}) and id = a"), &[]);
        warns(&format!("{name} or {checked} and id = a"), &[]);
        warns(&format!("{name} and {LIST}.name = Other and tags = a and sourceKeys = b"), &[]);
    }

    #[test]
    fn any_array_of_any_catalogue_is_named() {
        let catalog = Catalog::new([
            Field::new("legs[].bank", FieldType::String),
            Field::new("legs[].fees[].amount", FieldType::Number),
            Field::new("sizes[]", FieldType::Number),
        ]);
        let catalog = catalog.unwrap();
        let of = |text: &str| Filter::compile_text(&catalog, text).unwrap().warnings();
        let warnings = of("legs.bank = a and legs.fees.amount > 5");
        assert_eq!((warnings.len(), warnings[0].kind), (1, WarningKind::SeparateElements));
        let warnings = of("sizes > 5 and sizes < 10");
        assert!(
            warnings[0].message.starts_with("the two bounds on `sizes` may be met by two different"),
            "{warnings:?}"
        );
        assert_eq!(of("sizes > 5 or sizes < 3").len(), 0);
        assert_eq!(of("sizes = 5 and sizes = 10").len(), 0);
    }

    #[test]
    fn values_that_hardly_any_document_has_are_named() {
        const ABSENCE: &str = "is a value like any other, and no case without `name` has it: a test for absence is not in the \
                               language";
        for word in ["null", "None", "nil"] {
            warns(
                &format!("name = {word}"),
                &[&format!("NotAbsence criteria[0].values[0]: the string `{word}` {ABSENCE}")],
            );
        }
        warns(
            "name in (a, \"\")",
            &[&format!("NotAbsence criteria[0].values[1]: a string without letters {ABSENCE}")],
        );
        warns(
            "name = \" Ann\"",
            &[
                "BlanksAround criteria[0].values[0]: `\" Ann\"` has blanks around it, which are compared like other characters; \
             did you mean `Ann`?",
            ],
        );
        warns(
            "ids (a, \"b \")",
            &[
                "BlanksAround ids[1]: `\"b \"` has blanks around it, which are compared like other characters; did you mean `b`?",
            ],
        );
        let (composed, decomposed) = ("Jos\u{e9}", "Jose\u{301}");
        warns(&format!("name = {composed}"), &[]);
        warns(
            &format!("name = '{decomposed}'"),
            &[&format!(
                "NotComposed criteria[0].values[0]: `{decomposed}` has 5 code points and 4 in the composed form of Unicode (NFC), \
             which most documents have: strings are compared by code points"
            )],
        );
    }

    #[test]
    fn what_is_never_true_is_named() {
        warns(
            "name = x or name all (a, b)",
            &["AlwaysFalse criteria[0].children[1]: never true: `name` cannot have such a value"],
        );
        warns(
            "name = x or (tags = a and tags <> a)",
            &[
                "AlwaysFalse criteria[0].children[1]: never true: its criteria on `tags` contradict each other",
            ],
        );
        warns(
            "name = a and name = b",
            &[
                "AlwaysFalse criteria: never true: its criteria on `name` contradict each other",
                "AlwaysFalse the filter selects no case",
            ],
        );
        assert_eq!(of_json(r#"{"criteria":[]}"#), ["AlwaysFalse the filter selects no case"]);
        assert_eq!(of_json(r#"{"ids":[]}"#), ["AlwaysFalse the filter selects no case"]);
        warns("false", &["AlwaysFalse the filter selects no case"]);
    }

    #[test]
    fn what_is_always_true_is_named() {
        warns(
            "tags = a and (name = x or name <> x)",
            &["AlwaysTrue criteria[1]: always true: its criteria on `name` cover every case"],
        );
        warns(
            "name = x or name <> x",
            &[
                "AlwaysTrue criteria[0]: always true: its criteria on `name` cover every case",
                "AlwaysTrue the filter selects every case",
            ],
        );
        warns("true", &["AlwaysTrue the filter selects every case"]);
    }

    #[test]
    fn what_makes_no_difference_is_named() {
        const DEMANDS: &str =
            "makes no difference: another criterion beside it on the same field already demands this";
        const ADMITS: &str =
            "makes no difference: another criterion beside it on the same field already admits this";
        warns("name = a and name in (a, b)", &[&format!("Subsumed criteria[1]: {DEMANDS}")]);
        warns("name in (a, b) and name = a", &[&format!("Subsumed criteria[0]: {DEMANDS}")]);
        warns("tags = a and name = x and tags = a", &[&format!("Subsumed criteria[2]: {DEMANDS}")]);
        warns("tags all (a, b) and tags = b", &[&format!("Subsumed criteria[1]: {DEMANDS}")]);
        warns(
            "totalAmountInDefaultCurrency > 1 or totalAmountInDefaultCurrency > 2",
            &[&format!("Subsumed criteria[0].children[1]: {ADMITS}")],
        );
    }

    #[test]
    fn places_are_those_of_the_body() {
        let never = r#"{"field":"name","op":"$all","values":["a","b"]}"#;
        let body =
            format!(r#"{{"ids":["x"],"criteria":[{{"op":"$and","children":[{never},{never}]}},{never}]}}"#);
        assert_eq!(
            of_json(&body),
            [
                "AlwaysFalse criteria[0].children[0]: never true: `name` cannot have such a value",
                "AlwaysFalse criteria[0].children[1]: never true: `name` cannot have such a value",
                "AlwaysFalse criteria[1]: never true: `name` cannot have such a value",
            ]
        );
        // A branch comes before what it holds.
        warns(
            "(name = a and name = b and status <> gone) or name = c",
            &[
                "AlwaysFalse criteria[0].children[0]: never true: its criteria on `name` contradict each other",
                "UnknownValue criteria[0].children[0].children[2].values[0]: `gone` is not among the known values of \
                 `caseReview.status`: `open`, `awaitingUser`, `blocked`, `resolvedFalsePositive`, `resolvedPotentialThreat`",
            ],
        );
    }

    #[test]
    fn there_are_at_most_a_hundred() {
        let many = vec!["priority = urgent"; 500].join(" or ");
        let filter = Filter::compile_text(&Catalog::cases(), &many).unwrap();
        assert_eq!(filter.warnings().len(), 100);
        let values = vec!["urgent"; 500].join(", ");
        let filter = Filter::compile_text(&Catalog::cases(), &format!("priority in ({values})")).unwrap();
        assert_eq!(filter.warnings().len(), 100);
    }
}
