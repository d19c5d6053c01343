//! Converts a normal form to criteria that a request can contain, with operators and values. The printers print these criteria.

use super::super::intervals::Intervals;
use super::super::set::Set;
use super::super::text_pattern::TextPattern;
use super::super::tree::{Children, Comparison, Elements, Leaf, Node, NodeId, Test, Tree, Values, Written};
use crate::catalog::{Catalog, FieldId};
use crate::operator::{Complex, Connective, Operator, Pattern, Quantifier, Ray, Shape, Side, Syntax};
use crate::value::{Operand, OrderedType, Value};

/// The shape of `=` and `$contains`.
const ANY_OF: Shape = Shape { quantifier: Quantifier::Any, pattern: Pattern::Points };

/// A node of criteria to print.
pub(crate) type PrintedNode = Node<Comparison<'static>, Complex>;

/// A normal form, converted to a request body. Compiling the body gives the same normal form.
pub(super) struct PrintedBody {
    pub(super) nodes: Vec<PrintedNode>,
    pub(super) ids: Option<Vec<Operand<'static>>>,
    /// The criteria, which are joined by `$and`; `None` if the body has only ids.
    pub(super) criteria: Option<Children>,
}

impl PrintedBody {
    pub(super) fn new(tree: &Tree<Leaf>, catalog: &Catalog, syntax: Syntax) -> Self {
        let mut writer = Writer { nodes: Vec::new(), syntax };
        if let Some(Node::Constant(true)) = tree.get(tree.root()) {
            let tautology = Written::tautology(catalog);
            let root = Children::from_slice(&[tautology.root()]);
            return Self { nodes: tautology.nodes().to_vec(), ids: None, criteria: Some(root) };
        }
        let root = writer.tree(tree, catalog);
        writer.finish(root)
    }

    pub(super) fn node(&self, id: NodeId) -> Option<&PrintedNode> {
        self.nodes.get(id)
    }
}

/// Returns the criteria that the text syntax prints for a normal form, and the id of their root. The list can also contain nodes
/// that are not below the root.
pub(crate) fn criteria(tree: &Tree<Leaf>, catalog: &Catalog) -> (Vec<PrintedNode>, NodeId) {
    let mut writer = Writer { nodes: Vec::new(), syntax: Syntax::Text };
    let root = writer.tree(tree, catalog);
    (writer.nodes, root)
}

pub(super) struct Writer {
    pub(super) nodes: Vec<PrintedNode>,
    /// The syntax of the printed criteria. A JSON body has extended operators only where other operators cannot express the test.
    pub(super) syntax: Syntax,
}

impl Writer {
    /// Adds the criteria of a normal form, or of the tree of a test of elements. Returns the root.
    fn tree(&mut self, tree: &Tree<Leaf>, catalog: &Catalog) -> NodeId {
        let mut numbers: Vec<NodeId> = Vec::with_capacity(tree.nodes().len());
        for node in tree.nodes() {
            let number = match node {
                Node::Constant(value) => self.push(Node::Constant(*value)),
                Node::Leaf(leaf) => self.leaf(leaf, catalog),
                Node::Branch(connective, children) => {
                    let children = children.iter().filter_map(|child| numbers.get(*child).copied()).collect();
                    self.branch(*connective, children)
                }
            };
            numbers.push(number);
        }
        numbers.last().copied().unwrap_or(0)
    }

    /// Adds the criterion on the elements of an array. The depth of the recursion is at most the depth of nested arrays in the
    /// catalogue.
    fn elements(&mut self, elements: &Elements, catalog: &Catalog) -> NodeId {
        let root = match elements.tree.get(elements.tree.root()) {
            Some(Node::Constant(true)) => {
                let first = self.nodes.len();
                Written::tautology_of(elements.array.field, catalog).append_to(&mut self.nodes);
                self.nodes.len().saturating_sub(1).max(first)
            }
            _ => self.tree(&elements.tree, catalog),
        };
        let children = self.conjuncts(root);
        self.push(Node::Branch(Complex::Elem(elements.array), children))
    }

    fn push(&mut self, node: PrintedNode) -> NodeId {
        self.nodes.push(node);
        self.nodes.len().saturating_sub(1)
    }

    /// Returns the ids that this node selects. Returns `None` if the node does more than select ids.
    fn ids(&self, id: NodeId) -> Option<Vec<Operand<'static>>> {
        match self.nodes.get(id) {
            Some(Node::Leaf(Comparison { field: FieldId::ID, operator, values })) => {
                (operator.shape() == ANY_OF).then(|| values.to_vec())
            }
            _ => None,
        }
    }

    /// Splits the root into ids and criteria.
    fn finish(mut self, root: NodeId) -> PrintedBody {
        let mut ids = self.ids(root);
        let criteria = match self.nodes.get(root) {
            _ if ids.is_some() => None,
            Some(Node::Branch(Complex::Join(Connective::Or), children)) => {
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
        PrintedBody { nodes: self.nodes, ids, criteria }
    }

    fn conjuncts(&self, id: NodeId) -> Children {
        match self.nodes.get(id) {
            Some(Node::Branch(Complex::Join(Connective::And), children)) => children.clone(),
            _ => Children::from_slice(&[id]),
        }
    }

    fn compare(
        &mut self,
        field: FieldId,
        operator: Operator,
        values: impl IntoIterator<Item = Value<'static>>,
    ) -> NodeId {
        let values = values.into_iter().map(Operand::from).collect();
        self.push(Node::Leaf(Comparison { field, operator, values }))
    }

    /// Adds a branch. Flattens children with the same connective; a single child replaces the branch.
    fn branch(&mut self, connective: Connective, children: Children) -> NodeId {
        let mut flat = Children::new();
        for child in children {
            match self.nodes.get(child) {
                Some(Node::Branch(inner, grandchildren)) if *inner == Complex::Join(connective) => {
                    flat.extend(grandchildren.iter().copied());
                }
                _ => flat.push(child),
            }
        }
        match flat.as_slice() {
            [only] => *only,
            _ => self.push(Node::Branch(connective.into(), flat)),
        }
    }

    fn not(&mut self, child: NodeId) -> NodeId {
        self.push(Node::Branch(Complex::Not, Children::from_slice(&[child])))
    }

    pub(super) fn leaf(&mut self, leaf: &Leaf, catalog: &Catalog) -> NodeId {
        let field = leaf.field;
        match &leaf.test {
            test @ (Test::Any(set) | Test::None(set)) if self.is_presence(set) => {
                let is_present = !test.is_negated();
                self.compare(field, Operator::Exists, vec![Value::Boolean(is_present)])
            }
            Test::Any(set) => self.any(field, set, catalog),
            Test::None(set) if set.are_points() => {
                let children = set
                    .points()
                    .into_iter()
                    .map(|value| self.compare(field, Operator::NotEqual, vec![value]))
                    .collect();
                self.branch(Connective::And, children)
            }
            Test::None(set) => {
                let any = self.any(field, set, catalog);
                self.not(any)
            }
            Test::All(set) => self.compare(field, Operator::All, set.points()),
            Test::NotAll(set) => {
                let all = self.compare(field, Operator::All, set.points());
                self.not(all)
            }
            Test::Elem(elements) => self.elements(elements, catalog),
            Test::NoElem(elements) => {
                let some = self.elements(elements, catalog);
                self.not(some)
            }
        }
    }

    /// Returns true if a test of this set is printed as a test of presence or absence.
    fn is_presence(&self, set: &Set) -> bool {
        // In JSON, a set of all ordered values or booleans is printed without extended operators.
        set.is_every() && (set.is_pattern() || self.syntax == Syntax::Text)
    }

    /// Adds the criteria for values in a set.
    fn any(&mut self, field: FieldId, set: &Set, catalog: &Catalog) -> NodeId {
        match set {
            Set::Strings(_) | Set::Booleans(_) => {
                self.one_of(field, set.points().into_iter().map(Operand::from).collect())
            }
            Set::Ordered(intervals) => self.ranges(field, intervals, catalog.field(field).is_many()),
            Set::Matching(pattern) => {
                let (operator, values) = pattern_operands(pattern);
                self.compare(field, operator, values)
            }
        }
    }

    fn one_of(&mut self, field: FieldId, values: Values<'static>) -> NodeId {
        let operator = if values.len() == 1 { Operator::Equal } else { Operator::Contains };
        self.push(Node::Leaf(Comparison { field, operator, values }))
    }

    /// Adds the criteria for a set of ranges: bounds, points, and points that are excluded from a range.
    ///
    /// ```text
    /// 1..=5                     n >= 1 and n <= 5
    /// 1..=1, 3..=3              n in (1, 3)
    /// least..=1, 5..=greatest   n <= 1 or n >= 5
    /// all of 1..=5 but 2        n >= 1 and n <= 5 and n <> 2
    /// ```
    ///
    /// A range with two bounds on a multi-valued field cannot be printed as two comparisons, because two different values could
    /// satisfy them. Such a range is always a span of time, and is printed as one operand.
    fn ranges(&mut self, field: FieldId, intervals: &Intervals, many: bool) -> NodeId {
        let kind = intervals.kind();
        let (least, greatest) = kind.range();
        let value = |ordinal: i64| kind.value(ordinal);
        let mut points = Values::new();
        let mut terms = Children::new();
        let mut rest = intervals.as_slice();
        while let Some(((low, first_high), others)) = rest.split_first() {
            rest = others;
            let (low, mut high) = (*low, *first_high);
            if low == high {
                points.push(value(low).into());
                continue;
            }
            if many
                && low != least
                && high != greatest
                && let (Value::Timestamp(first), Value::Timestamp(last)) = (value(low), value(high))
            {
                points.push(Operand::of_range(first, last));
                continue;
            }
            let mut holes = Vec::new();
            while let Some(((next_low, next_high), others)) = rest.split_first() {
                let hole = kind.above(high).filter(|hole| kind.above(*hole) == Some(*next_low));
                let Some(hole) = hole.filter(|_| !many && next_low != next_high) else { break };
                holes.push(hole);
                high = *next_high;
                rest = others;
            }
            let mut conjuncts = Children::new();
            if low != least || (high == greatest && kind.least_has_text()) {
                let (operator, at) = bound(kind, low, true);
                conjuncts.push(self.compare(field, operator, vec![at]));
            } else if high == greatest {
                // The range has all values except the holes. `<>` alone would also select cases without a value.
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

/// Returns the operator and the operands that print a pattern.
fn pattern_operands(pattern: &TextPattern) -> (Operator, Vec<Value<'static>>) {
    let texts = || pattern.values().iter().map(|text| Value::from(text.to_string())).collect();
    match pattern {
        TextPattern::Every => (Operator::Exists, vec![Value::Boolean(true)]),
        TextPattern::Prefixes(_) => (Operator::StartsWith, texts()),
        TextPattern::Substrings(_) => (Operator::Substring, texts()),
        TextPattern::Words(words) => (Operator::Match, vec![Value::from(words.as_slice().join(" "))]),
    }
}

/// Returns the operator and the value that print an inclusive bound; see [`OrderedType::bound`] for the choice.
pub(crate) fn bound(kind: OrderedType, ordinal: i64, is_low: bool) -> (Operator, Value<'static>) {
    let (value, is_excluded) = kind.bound(ordinal, is_low);
    let side = if is_low { Side::Above } else { Side::Below };
    (Operator::of_ray(Ray { side, inclusive: !is_excluded }), value)
}
