//! Predicates as criteria again: canonical JSON, text, and a plan to read.

use std::fmt::Write as _;

use super::set::{Intervals, Set};
use super::tree::{Children, Comparison, Leaf, Node, NodeId, Test, Tree};
use crate::catalog::{Catalog, FieldId};
use crate::operator::{Connective, Operator};
use crate::value::{OrderedType, Value};

/// A normal form as a request can write it: the same truth for every case, the same normal form.
struct Written {
    nodes: Vec<Node<Comparison<'static>>>,
    ids: Option<Vec<Value<'static>>>,
    /// The criteria, which are joined by `$and`; `None` when there are ids alone.
    criteria: Option<Children>,
}

impl Written {
    fn new(tree: &Tree<Leaf>, catalog: &Catalog) -> Self {
        let mut writer = Writer { nodes: Vec::new() };
        if let Some(Node::Constant(true)) = tree.get(tree.root()) {
            let tautology = Tree::tautology(catalog);
            let root = Children::from_slice(&[tautology.root()]);
            return Self { nodes: tautology.nodes().to_vec(), ids: None, criteria: Some(root) };
        }
        let mut numbers: Vec<NodeId> = Vec::with_capacity(tree.nodes().len());
        for node in tree.nodes() {
            let number = match node {
                Node::Constant(value) => writer.push(Node::Constant(*value)),
                Node::Leaf(leaf) => writer.leaf(leaf, catalog),
                Node::Branch(connective, children) => {
                    let children = children.iter().filter_map(|child| numbers.get(*child).copied()).collect();
                    writer.branch(*connective, children)
                }
            };
            numbers.push(number);
        }
        let root = numbers.last().copied().unwrap_or(0);
        writer.finish(root)
    }

    fn node(&self, id: NodeId) -> Option<&Node<Comparison<'static>>> {
        self.nodes.get(id)
    }
}

struct Writer {
    nodes: Vec<Node<Comparison<'static>>>,
}

impl Writer {
    fn push(&mut self, node: Node<Comparison<'static>>) -> NodeId {
        self.nodes.push(node);
        self.nodes.len().saturating_sub(1)
    }

    /// The ids that this node selects, if it does just that.
    fn ids(&self, id: NodeId) -> Option<Vec<Value<'static>>> {
        match self.nodes.get(id) {
            Some(Node::Leaf(Comparison {
                field: FieldId::ID,
                operator: Operator::Equal | Operator::Contains,
                values,
            })) => Some(values.to_vec()),
            _ => None,
        }
    }

    /// Parts the root into ids and criteria.
    fn finish(mut self, root: NodeId) -> Written {
        let mut ids = self.ids(root);
        let criteria = match self.nodes.get(root) {
            _ if ids.is_some() => None,
            Some(Node::Branch(Connective::Or, children)) => {
                let children = children.clone();
                let at = children.iter().position(|child| self.ids(*child).is_some());
                ids = at.and_then(|at| self.ids(*children.get(at)?));
                let mut rest = children;
                if let Some(at) = at {
                    rest.remove(at);
                }
                let rest = self.branch(Connective::Or, rest);
                Some(self.conjuncts(rest))
            }
            Some(Node::Constant(_)) | None => Some(Children::new()),
            Some(_) => Some(self.conjuncts(root)),
        };
        Written { nodes: self.nodes, ids, criteria }
    }

    fn conjuncts(&self, id: NodeId) -> Children {
        match self.nodes.get(id) {
            Some(Node::Branch(Connective::And, children)) => children.clone(),
            _ => Children::from_slice(&[id]),
        }
    }

    fn compare(&mut self, field: FieldId, operator: Operator, values: Vec<Value<'static>>) -> NodeId {
        self.push(Node::Leaf(Comparison { field, operator, values: values.into() }))
    }

    /// A branch, with children of the same sort taken in; the only child alone.
    fn branch(&mut self, connective: Connective, children: Children) -> NodeId {
        let mut flat = Children::new();
        for child in children {
            match self.nodes.get(child) {
                Some(Node::Branch(inner, grandchildren)) if *inner == connective => {
                    flat.extend(grandchildren.iter().copied());
                }
                _ => flat.push(child),
            }
        }
        match flat.as_slice() {
            [only] => *only,
            _ => self.push(Node::Branch(connective, flat)),
        }
    }

    fn leaf(&mut self, leaf: &Leaf, catalog: &Catalog) -> NodeId {
        let field = leaf.field;
        match &leaf.test {
            Test::Any(set) => match set {
                Set::Strings(_) | Set::Booleans(_) => self.one_of(field, set.points()),
                Set::Ordered(intervals) => self.ranges(field, intervals, catalog.field(field).is_many()),
            },
            Test::None(set) => {
                let children = set
                    .points()
                    .into_iter()
                    .map(|value| self.compare(field, Operator::NotEqual, vec![value]))
                    .collect();
                self.branch(Connective::And, children)
            }
            Test::All(set) => self.compare(field, Operator::All, set.points()),
        }
    }

    fn one_of(&mut self, field: FieldId, values: Vec<Value<'static>>) -> NodeId {
        let operator = if values.len() == 1 { Operator::Equal } else { Operator::Contains };
        self.compare(field, operator, values)
    }

    /// Intervals as bounds, points, and points left out of a range.
    ///
    /// A field with many values has only points and half-lines, since two bounds on it need not
    /// hold for the same value.
    fn ranges(&mut self, field: FieldId, intervals: &Intervals, many: bool) -> NodeId {
        let kind = intervals.kind();
        let (least, greatest) = kind.range();
        let value = |ordinal: i64| kind.value(ordinal);
        let mut points = Vec::new();
        let mut terms = Children::new();
        let mut rest = intervals.as_slice();
        while let Some(((low, first_high), behind)) = rest.split_first() {
            rest = behind;
            let (low, mut high) = (*low, *first_high);
            if low == high {
                points.push(value(low));
                continue;
            }
            let mut holes = Vec::new();
            while let Some(((next_low, next_high), behind)) = rest.split_first() {
                let hole = kind.above(high).filter(|hole| kind.above(*hole) == Some(*next_low));
                let Some(hole) = hole.filter(|_| !many && next_low != next_high) else { break };
                holes.push(hole);
                high = *next_high;
                rest = behind;
            }
            let mut conjuncts = Children::new();
            if low != least || (high == greatest && kind.least_has_text()) {
                let (operator, at) = bound(kind, low, true);
                conjuncts.push(self.compare(field, operator, vec![at]));
            } else if high == greatest {
                // Present, that is; `<>` alone would let cases pass that have no value.
                let middle = match holes.pop() {
                    Some(hole) => [(Operator::Less, hole), (Operator::Greater, hole)],
                    None => [(Operator::LessOrEqual, 0), (Operator::GreaterOrEqual, 0)],
                };
                let sides = middle.map(|(operator, at)| self.compare(field, operator, vec![value(at)]));
                conjuncts.push(self.branch(Connective::Or, Children::from_slice(&sides)));
            }
            if high != greatest {
                let (operator, at) = bound(kind, high, false);
                conjuncts.push(self.compare(field, operator, vec![at]));
            }
            for hole in holes {
                conjuncts.push(self.compare(field, Operator::NotEqual, vec![value(hole)]));
            }
            terms.push(self.branch(Connective::And, conjuncts));
        }
        if !points.is_empty() {
            terms.push(self.one_of(field, points));
        }
        self.branch(Connective::Or, terms)
    }
}

/// Returns the operator and the value that say an inclusive bound best.
pub(crate) fn bound(kind: OrderedType, ordinal: i64, is_low: bool) -> (Operator, Value<'static>) {
    let (value, is_excluded) = kind.bound(ordinal, is_low);
    let operator = match (is_low, is_excluded) {
        (true, false) => Operator::GreaterOrEqual,
        (true, true) => Operator::Greater,
        (false, false) => Operator::LessOrEqual,
        (false, true) => Operator::Less,
    };
    (operator, value)
}

/// What is left to write, last first.
enum Step {
    Node(NodeId),
    Text(&'static str),
}

/// Puts `nodes` on the steps, `between` standing between them.
fn push_reversed(steps: &mut Vec<Step>, nodes: &[NodeId], between: &'static str) {
    for (i, node) in nodes.iter().enumerate().rev() {
        steps.push(Step::Node(*node));
        if i > 0 {
            steps.push(Step::Text(between));
        }
    }
}

/// The canonical JSON body of a normal form, on one line.
pub(crate) fn body_json(tree: &Tree<Leaf>, catalog: &Catalog) -> String {
    let body = Written::new(tree, catalog);
    let mut out = String::from("{");
    if let Some(ids) = &body.ids {
        out.push_str("\"ids\":");
        json_values(ids, &mut out);
    }
    if let Some(criteria) = &body.criteria {
        out.push_str(if body.ids.is_some() { ",\"criteria\":[" } else { "\"criteria\":[" });
        let mut steps = Vec::new();
        push_reversed(&mut steps, criteria, ",");
        while let Some(step) = steps.pop() {
            match step {
                Step::Text(text) => out.push_str(text),
                Step::Node(id) => match body.node(id) {
                    Some(Node::Branch(connective, children)) => {
                        out.push_str("{\"op\":");
                        json_string(connective.name(), &mut out);
                        out.push_str(",\"children\":[");
                        steps.push(Step::Text("]}"));
                        push_reversed(&mut steps, children, ",");
                    }
                    Some(Node::Leaf(comparison)) => {
                        out.push_str("{\"field\":");
                        json_string(catalog.field(comparison.field).name(), &mut out);
                        out.push_str(",\"op\":");
                        json_string(comparison.operator.name(), &mut out);
                        out.push_str(",\"values\":");
                        json_values(&comparison.values, &mut out);
                        out.push('}');
                    }
                    Some(Node::Constant(_)) | None => {}
                },
            }
        }
        out.push(']');
    }
    out.push('}');
    out
}

fn json_values(values: &[Value<'_>], out: &mut String) {
    out.push('[');
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        match value {
            Value::String(text) => json_string(text, out),
            _ => json_string(&value.to_string(), out),
        }
    }
    out.push(']');
}

/// Writes a string as JSON has it, which the text syntax reads as well.
pub(crate) fn json_string(text: &str, out: &mut String) {
    // A string always has a JSON form.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// The normal form in the text syntax, on one line; see [`crate::criteria::text`].
pub(crate) fn text(tree: &Tree<Leaf>, catalog: &Catalog) -> String {
    match tree.get(tree.root()) {
        Some(Node::Constant(true)) => return "true".to_owned(),
        Some(Node::Constant(false)) => return "false".to_owned(),
        _ => {}
    }
    let body = Written::new(tree, catalog);
    let mut out = String::new();
    if let Some(ids) = &body.ids {
        if catalog.is_visible(FieldId::ID) {
            let operator = if ids.len() == 1 { Operator::Equal } else { Operator::Contains };
            text_comparison(
                &Comparison { field: FieldId::ID, operator, values: ids.clone().into() },
                catalog,
                &mut out,
            );
        } else {
            out.push_str("ids ");
            text_values(ids, &mut out);
        }
    }
    let Some(criteria) = &body.criteria else { return out };
    let mut steps = Vec::new();
    if body.ids.is_some() {
        out.push_str(" or ");
    }
    push_reversed(&mut steps, criteria, " and ");
    let single = criteria.len() == 1;
    while let Some(step) = steps.pop() {
        match step {
            Step::Text(text) => out.push_str(text),
            Step::Node(id) => match body.node(id) {
                Some(Node::Branch(Connective::Or, children)) => {
                    // Only alone, or beside ids, does a disjunction need no parentheses.
                    let bare = single && criteria.contains(&id);
                    if !bare {
                        out.push('(');
                        steps.push(Step::Text(")"));
                    }
                    push_reversed(&mut steps, children, " or ");
                }
                Some(Node::Branch(Connective::And, children)) => push_reversed(&mut steps, children, " and "),
                Some(Node::Leaf(comparison)) => text_comparison(comparison, catalog, &mut out),
                Some(Node::Constant(_)) | None => {}
            },
        }
    }
    out
}

fn text_comparison(comparison: &Comparison<'_>, catalog: &Catalog, out: &mut String) {
    text_word(catalog.field(comparison.field).name(), out);
    match comparison.operator {
        Operator::Contains => out.push_str(" in "),
        Operator::All => out.push_str(" all "),
        operator => {
            out.push(' ');
            out.push_str(operator.name());
            out.push(' ');
            if let Some(value) = comparison.values.first() {
                text_value(value, out);
            }
            return;
        }
    }
    text_values(&comparison.values, out);
}

fn text_values(values: &[Value<'_>], out: &mut String) {
    out.push('(');
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        text_value(value, out);
    }
    out.push(')');
}

fn text_value(value: &Value<'_>, out: &mut String) {
    match value {
        Value::String(text) => text_word(text, out),
        // A value may be `true` or `false` without quotes; a name may not.
        Value::Boolean(boolean) => out.push_str(if *boolean { "true" } else { "false" }),
        _ => text_word(&value.to_string(), out),
    }
}

/// A name or value: bare where the syntax allows it, otherwise as a JSON string.
fn text_word(word: &str, out: &mut String) {
    if crate::value::is_bare_word(word) {
        out.push_str(word);
    } else {
        json_string(word, out);
    }
}

/// One node of a normal form, to read.
pub(crate) struct Line {
    pub(crate) node: NodeId,
    pub(crate) depth: usize,
    pub(crate) text: String,
}

/// The normal form as an indented tree, a criterion a line.
pub(crate) fn plan(tree: &Tree<Leaf>, catalog: &Catalog) -> String {
    let mut out = String::new();
    for Line { depth, text, .. } in lines(tree, catalog, |_, _| {}) {
        let _ = writeln!(out, "{:1$}{text}", "", depth.saturating_mul(2));
    }
    out
}

/// The nodes from the root on, each before its children, which stand in the order that `arrange` gives those
/// of a node.
pub(crate) fn lines(
    tree: &Tree<Leaf>,
    catalog: &Catalog,
    arrange: impl Fn(NodeId, &mut [NodeId]),
) -> Vec<Line> {
    let mut writer = Writer { nodes: Vec::new() };
    let mut lines = Vec::with_capacity(tree.nodes().len());
    let mut open = vec![(tree.root(), 0_usize)];
    while let Some((id, depth)) = open.pop() {
        let mut text = String::new();
        match tree.get(id) {
            Some(Node::Constant(true)) => text.push_str("every case"),
            Some(Node::Constant(false)) | None => text.push_str("no case"),
            Some(Node::Branch(connective, children)) => {
                text.push_str(match connective {
                    Connective::And => "all of",
                    Connective::Or => "any of",
                });
                let mut children = children.clone();
                arrange(id, &mut children);
                open.extend(children.iter().rev().map(|child| (*child, depth.saturating_add(1))));
            }
            Some(Node::Leaf(leaf)) => {
                writer.nodes.clear();
                let root = writer.leaf(leaf, catalog);
                plan_leaf(&writer.nodes, root, catalog, &mut text);
            }
        }
        lines.push(Line { node: id, depth, text });
    }
    lines
}

/// One leaf on one line: at most a disjunction of conjunctions of comparisons.
fn plan_leaf(nodes: &[Node<Comparison<'static>>], root: NodeId, catalog: &Catalog, out: &mut String) {
    let mut steps = vec![Step::Node(root)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Text(text) => out.push_str(text),
            Step::Node(id) => match nodes.get(id) {
                Some(Node::Leaf(comparison)) => text_comparison(comparison, catalog, out),
                Some(Node::Branch(connective, children)) => {
                    let between = if *connective == Connective::And { " and " } else { " or " };
                    push_reversed(&mut steps, children, between);
                }
                _ => {}
            },
        }
    }
}
