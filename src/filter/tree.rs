//! [`FilterTree`]: the normal form of a filter as criteria, for hosts that walk it.

use std::fmt;

use super::compiled::Filter;
use crate::catalog::{Catalog, Field, FieldId};
use crate::operator::{Complex, Connective, Operator};
use crate::predicate::{self, Comparison, Node, PrintedNode};
use crate::value::{Operand, Timestamp, Value};

/// The normal form of a filter as a tree of criteria. A host can walk it to translate, check or show a filter.
///
/// It has the criteria that [`Filter::to_text`] prints. Equal filters have equal trees.
///
/// ```
/// use casefilter::{Catalog, Filter, FilterNode, FilterNodes};
///
/// /// Translates a filter to the query language of another system.
/// fn translate(node: &FilterNode<'_>) -> String {
///     let join = |children: &FilterNodes<'_>, between: &str| {
///         children.clone().map(|child| translate(&child)).collect::<Vec<_>>().join(between)
///     };
///     match node {
///         FilterNode::All(children) => format!("({})", join(children, " AND ")),
///         FilterNode::Any(children) => format!("({})", join(children, " OR ")),
///         FilterNode::Not(child) => format!("NOT {}", join(child, "")),
///         FilterNode::Test(test) => {
///             let values: Vec<String> = test.values().map(|value| value.to_string()).collect();
///             format!("{} {} [{}]", test.field().name(), test.operator(), values.join(", "))
///         }
///         other => format!("{other:?}"), // Constants, and what later versions add.
///     }
/// }
///
/// let filter = Filter::compile_text(&Catalog::cases(), "status = open and (tags in (vip, cash) or not name includes x)")?;
/// assert_eq!(
///     translate(&filter.tree().root()),
///     "(caseReview.status = [open] AND (NOT name $substring [x] OR tags $contains [cash, vip]))"
/// );
/// # Ok::<(), casefilter::Errors>(())
/// ```
///
/// The tree of a client's filter has at most a few more levels than [`Limits::depth`](crate::Limits::depth). If a host
/// [joins](Filter::and) filters itself, the tree can be deeper. A recursive walk then needs its own limit on the depth.
#[derive(Clone)]
pub struct FilterTree {
    catalog: Catalog,
    nodes: Vec<PrintedNode>,
    root: usize,
}

/// A node of a [`FilterTree`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FilterNode<'t> {
    /// True for every document, or for no document. Only the root can be a constant.
    Constant(bool),
    /// A test of one field.
    Test(FieldTest<'t>),
    /// True if all children are true.
    All(FilterNodes<'t>),
    /// True if at least one child is true.
    Any(FilterNodes<'t>),
    /// True if its only child is false.
    Not(FilterNodes<'t>),
    /// True if at least one element of an array of objects makes all children true. The first member is the name of the array in
    /// criteria.
    Element(&'t str, FilterNodes<'t>),
}

/// A test of one field in a [`FilterTree`].
#[derive(Clone, Copy)]
pub struct FieldTest<'t> {
    catalog: &'t Catalog,
    comparison: &'t Comparison<'static>,
}

/// A value of a [`FieldTest`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TestValue<'t> {
    /// One value.
    One(Value<'t>),
    /// All instants from the first to the last, both included. Only tests of multi-valued fields have such values.
    Between(Timestamp, Timestamp),
}

/// An iterator over the children of a [`FilterNode`].
#[derive(Clone)]
pub struct FilterNodes<'t> {
    tree: &'t FilterTree,
    ids: std::slice::Iter<'t, usize>,
}

impl FilterTree {
    /// Returns the root.
    #[must_use]
    pub fn root(&self) -> FilterNode<'_> {
        self.node(self.root)
    }

    /// Returns the catalogue of the filter.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn node(&self, id: usize) -> FilterNode<'_> {
        match self.nodes.get(id) {
            Some(Node::Leaf(comparison)) => {
                FilterNode::Test(FieldTest { catalog: &self.catalog, comparison })
            }
            Some(Node::Branch(operator, children)) => {
                let children = FilterNodes { tree: self, ids: children.iter() };
                match operator {
                    Complex::Join(Connective::And) => FilterNode::All(children),
                    Complex::Join(Connective::Or) => FilterNode::Any(children),
                    Complex::Not => FilterNode::Not(children),
                    Complex::Elem(array) => FilterNode::Element(self.catalog.array_name(*array), children),
                }
            }
            Some(Node::Constant(value)) => FilterNode::Constant(*value),
            None => FilterNode::Constant(false),
        }
    }
}

impl fmt::Debug for FilterTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterTree").field("nodes", &self.nodes.len()).finish_non_exhaustive()
    }
}

impl<'t> FieldTest<'t> {
    /// Returns the field.
    #[must_use]
    pub fn field(&self) -> &'t Field {
        self.catalog.field(self.comparison.field)
    }

    /// Returns the id of the field in the catalogue of the filter.
    #[must_use]
    pub fn field_id(&self) -> FieldId {
        self.comparison.field
    }

    /// Returns the operator.
    #[must_use]
    pub fn operator(&self) -> Operator {
        self.comparison.operator
    }

    /// Returns the values in ascending order. [`Operator::Exists`] has `true` or `false`, and the operators on parts of strings
    /// have strings. All other operators have values of the field's type.
    pub fn values(&self) -> impl ExactSizeIterator<Item = TestValue<'t>> + Clone + use<'t> {
        self.comparison.values.iter().map(TestValue::of)
    }
}

impl fmt::Debug for FieldTest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FieldTest")
            .field("field", &self.field().name())
            .field("operator", &self.operator())
            .field("values", &self.values().collect::<Vec<_>>())
            .finish()
    }
}

impl<'t> TestValue<'t> {
    fn of(operand: &'t Operand<'static>) -> Self {
        match (operand.first(), operand.last()) {
            (Value::Timestamp(first), Value::Timestamp(last)) if first != last => {
                Self::Between(*first, *last)
            }
            (value, _) => Self::One(value.as_borrowed()),
        }
    }
}

impl fmt::Display for TestValue<'_> {
    /// Prints the value as in criteria. [`Between`](Self::Between) is printed as an interval whose end is not included, so the end
    /// is the instant after the last instant.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(value) => Operand::from(value.as_borrowed()).fmt(f),
            Self::Between(first, last) => Operand::of_range(*first, *last).fmt(f),
        }
    }
}

impl<'t> Iterator for FilterNodes<'t> {
    type Item = FilterNode<'t>;

    fn next(&mut self) -> Option<FilterNode<'t>> {
        self.ids.next().map(|id| self.tree.node(*id))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ids.size_hint()
    }
}

impl ExactSizeIterator for FilterNodes<'_> {}

impl fmt::Debug for FilterNodes<'_> {
    /// Prints only the number of children, because they may be nested deeply.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilterNodes({})", self.len())
    }
}

impl Filter {
    /// Returns the normal form as a tree of criteria. See [`FilterTree`] for an example.
    ///
    /// Takes linear time in the size of the filter. If you need only the tested fields, call [`fields`](Self::fields).
    #[must_use]
    pub fn tree(&self) -> FilterTree {
        let (nodes, root) = predicate::criteria(self.predicate(), self.catalog());
        FilterTree { catalog: self.catalog().clone(), nodes, root }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::FieldType;

    /// Prints a tree in the text syntax, with public methods only.
    fn text(tree: &FilterTree) -> String {
        enum Piece<'t> {
            Node(FilterNode<'t>),
            Text(&'static str),
        }
        let mut out = String::new();
        let mut pieces = vec![Piece::Node(tree.root())];
        while let Some(piece) = pieces.pop() {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Node(FilterNode::Constant(value)) => out.push_str(&value.to_string()),
                Piece::Node(FilterNode::Not(mut child)) => {
                    out.push_str("not (");
                    pieces.push(Piece::Text(")"));
                    pieces.push(Piece::Node(child.next().unwrap()));
                    assert!(child.next().is_none());
                }
                Piece::Node(node @ (FilterNode::All(_) | FilterNode::Any(_) | FilterNode::Element(..))) => {
                    let (FilterNode::All(children)
                    | FilterNode::Any(children)
                    | FilterNode::Element(_, children)) = &node
                    else {
                        continue;
                    };
                    match node {
                        FilterNode::Element(array, _) => {
                            out.push_str(&format!("{} has ", Filter::quote(array)));
                        }
                        _ => assert!(children.len() >= 2),
                    }
                    out.push('(');
                    pieces.push(Piece::Text(")"));
                    let between = if matches!(node, FilterNode::Any(_)) { " or " } else { " and " };
                    let mut later = Vec::new();
                    for (at, child) in children.clone().enumerate() {
                        if at > 0 {
                            later.push(Piece::Text(between));
                        }
                        later.push(Piece::Node(child));
                    }
                    pieces.extend(later.into_iter().rev());
                }
                Piece::Node(FilterNode::Test(test)) => {
                    let values: Vec<String> =
                        test.values().map(|value| Filter::quote(&value.to_string())).collect();
                    let (operator, values) = match test.operator() {
                        Operator::Exists if values == ["\"true\""] => ("is present", String::new()),
                        Operator::Exists => ("is absent", String::new()),
                        operator @ (Operator::Contains
                        | Operator::All
                        | Operator::StartsWith
                        | Operator::Substring) => (
                            operator.spelled(crate::operator::Syntax::Text),
                            format!("({})", values.join(", ")),
                        ),
                        operator => (operator.spelled(crate::operator::Syntax::Text), values.join(", ")),
                    };
                    out.push_str(&format!("{} {operator} {values}", Filter::quote(test.field().name())));
                }
            }
        }
        out
    }

    #[test]
    fn a_walk_over_the_tree_rebuilds_the_filter() {
        let own = Catalog::cases()
            .with([Field::new("count", FieldType::Integer), Field::new("checkedAt[]", FieldType::Timestamp)]);
        let own = own.unwrap();
        for original in [
            "true",
            "false",
            "status = open",
            "status <> open",
            "ids (a, b) or name = x",
            "id = a and tags all (x, y)",
            "not tags all (x, y)",
            "totalAmountInDefaultCurrency >= 5 and totalAmountInDefaultCurrency <> 7.5",
            "count > 9007199254740993 or count in (1, 2)",
            "createdAt on 2025-12-01 or updatedAt is absent",
            "checkedAt on 2025-12-01",
            "not checkedAt in (2025-12-01, 2025-12-03)",
            "caseReview.checklistState.checklist.checked = true",
            "caseReview.checklistState.checklist has (name = ID and not checked = true) and status = open",
            "not caseReview.checklistState.checklist has (name = ID or checked = true)",
            "name matches 'ana garcía' or name starts with (A, B) and not name includes (x, y)",
            "(name = a or tags = b and (status = open or tags = c and not priority = high)) and clientId is present",
        ] {
            let filter = Filter::compile_text(&own, original).unwrap();
            let tree = filter.tree();
            let walked = text(&tree);
            let rebuilt =
                Filter::compile_text(&own, &walked).unwrap_or_else(|errors| panic!("{walked}: {errors}"));
            assert_eq!(rebuilt, filter, "{original}: {walked}");
        }
    }

    #[test]
    fn a_test_has_typed_values() {
        let filter = Filter::compile_text(&Catalog::cases(), "createdAt >= '2024-01-01 00:00:00'").unwrap();
        let tree = filter.tree();
        let FilterNode::Test(test) = tree.root() else { panic!("{:?}", tree.root()) };
        let instant = Timestamp::parse("2024-01-01 00:00:00").unwrap();
        assert_eq!(test.operator(), Operator::GreaterOrEqual);
        assert_eq!(test.field_id(), Catalog::cases().find("createdAt").unwrap());
        assert_eq!(test.values().collect::<Vec<_>>(), [TestValue::One(instant.into())]);
        assert_eq!(
            format!("{test:?}"),
            format!(
                "FieldTest {{ field: \"createdAt\", operator: GreaterOrEqual, values: [One({:?})] }}",
                Value::from(instant)
            )
        );
    }

    #[test]
    fn a_filter_joined_deeply_is_walked_without_recursion() {
        let cases = Catalog::cases();
        let test = |text: &str| Filter::compile_text(&cases, text).unwrap();
        let (vip, cash) = (test("tags = vip"), test("tags = cash"));
        let mut filter = test("tags = x");
        for level in 0..300 {
            let other = test(&format!("name = n{level}"));
            filter = filter.and(&vip.or(&other).unwrap()).unwrap().or(&cash.and(&other).unwrap()).unwrap();
        }
        let tree = filter.tree();
        assert_eq!(Filter::compile_text(&cases, "true").unwrap().tree().nodes.len(), 1);
        assert!(tree.nodes.len() >= filter.size());
        drop(tree);
    }
}
