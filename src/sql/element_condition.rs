//! Writes a test of the elements of an array of objects (`$elem`) as an SQL condition.
//!
//! Each criterion becomes the set of the elements that pass it. The sets are combined by intersections, unions and complements, and
//! the condition is that the last set is not empty. If the set operations of the database take linear time, the condition takes
//! linear time in the number of elements.
//!
//! Before this test, the condition has criteria that the test implies for the whole document. An example is `legs.bank = x` for
//! `legs has (bank = x and amount > 5)`. The database can test these criteria with its indexes, and skips most documents.

use super::column::Column;
use super::datum::Datum;
use super::element_columns::{ElementNumbers, Numbered};
use super::lists::split;
use super::statement::{OperandTest, Statement};
use super::table::Table;
use super::value_condition::{Wanted, column_of, storable_points, write_test, write_value};
use crate::catalog::{ArrayId, ElementArray};
use crate::error::{Error, ErrorKind};
use crate::operator::{Complex, Connective};
use crate::predicate::{Elements, Leaf, Node, Set, Test};

/// Up to this number of values of `$all`, each value has its own set of elements. Above it, the condition counts the values of each
/// element.
const FEW_POINTS: usize = 8;

/// The index of a [`Part`] in its list. The operands of a part have smaller ids than the part.
type PartId = usize;

/// An expression for a set of elements.
enum Part<'l> {
    /// The elements in an element column.
    Column(String),
    /// The elements that have a value in the set. If `is_every` is true: the elements that have every value in the set.
    Values { set: &'l Set, is_every: bool, numbers: String, values: String, own: String },
    /// The intersection (`And`) or the union (`Or`) of one or more sets.
    Join(Connective, Vec<PartId>),
    /// The elements that are not in a set.
    Complement { own: String, set: PartId },
    /// The outer elements that contain an element of a set.
    Outer { own: String, outer: String, set: PartId },
}

/// The elements that pass a criterion: all elements, no element, a set of elements, or the complement of a set.
#[derive(Clone, Copy)]
enum Passing {
    Constant(bool),
    Set { set: PartId, is_negated: bool },
}

/// Appends the condition that some element passes the tests of `elements`. If `is_negated` is true, appends the condition that no
/// element passes them.
///
/// # Errors
/// Returns [`ErrorKind::NotInSql`] if the table has no element columns for the array, and the errors of the tests.
pub(super) fn write_elements(
    elements: &Elements,
    is_negated: bool,
    table: &Table,
    statement: &mut Statement,
) -> Result<(), Error> {
    let mut parts = Parts { table, statement, parts: Vec::new() };
    let own = parts.own_column(elements.array)?;
    let set = match parts.passing(elements)? {
        Passing::Constant(false) => {
            statement.push(if is_negated { "TRUE" } else { "FALSE" });
            return Ok(());
        }
        Passing::Constant(true) => parts.push(Part::Column(own)),
        Passing::Set { set, is_negated: false } => set,
        Passing::Set { set, is_negated: true } => parts.push(Part::Complement { own, set }),
    };
    let parts = parts.parts;
    statement.push(if is_negated { "NOT (" } else { "(" });
    for leaf in implied(elements) {
        if let Some(column) = column_of(leaf, table)? {
            write_test(&leaf.test, column, statement);
            statement.push(" AND ");
        }
    }
    let (before, after) = statement.syntax().is_not_empty();
    statement.push(before);
    write_parts(&parts, set, statement);
    statement.push(after);
    statement.push(")");
    Ok(())
}

/// Returns tests that a document passes if one of its elements passes `elements`. The depth of the recursion is the depth of nested
/// arrays in the catalogue.
fn implied(elements: &Elements) -> Vec<&Leaf> {
    let tree = &elements.tree;
    let all = match tree.get(tree.root()) {
        Some(Node::Branch(Connective::And, children)) => children.as_slice(),
        Some(Node::Leaf(_)) => &[tree.root()],
        _ => &[],
    };
    let mut leaves = Vec::new();
    for id in all {
        let Some(Node::Leaf(leaf)) = tree.get(*id) else { continue };
        match &leaf.test {
            Test::Any(_) | Test::All(_) => leaves.push(leaf),
            Test::Elem(inner) => leaves.extend(implied(inner)),
            Test::None(_) | Test::NotAll(_) | Test::NoElem(_) => {}
        }
    }
    leaves
}

/// A builder of [`Part`]s.
struct Parts<'t, 's, 'l> {
    table: &'t Table,
    statement: &'s Statement,
    parts: Vec<Part<'l>>,
}

impl<'l> Parts<'_, '_, 'l> {
    fn push(&mut self, part: Part<'l>) -> PartId {
        self.parts.push(part);
        self.parts.len().saturating_sub(1)
    }

    /// Returns the quoted name of an element column.
    ///
    /// # Errors
    /// Returns an error if the table does not have the column.
    fn column(&self, array: ElementArray, of: impl Fn(ArrayId) -> Numbered) -> Result<String, Error> {
        let catalog = self.table.catalog();
        let column = catalog
            .array_id(array)
            .and_then(|array| self.table.element_column(ElementNumbers { array, of: of(array) }));
        let column = column.ok_or_else(|| no_element_column(catalog.array_name(array)))?;
        Ok(self.quoted(column))
    }

    fn quoted(&self, column: &Column) -> String {
        let mut name = String::new();
        self.statement.syntax().identifier(column.name(), &mut name);
        name
    }

    /// Returns the column of all elements of an array.
    fn own_column(&self, array: ElementArray) -> Result<String, Error> {
        self.column(array, Numbered::Elements)
    }

    /// Adds the parts for the tests in `elements`, and returns the elements that pass them. It recurses once for each level of
    /// nested arrays in the catalogue.
    fn passing(&mut self, elements: &'l Elements) -> Result<Passing, Error> {
        let mut passing: Vec<Passing> = Vec::with_capacity(elements.tree.nodes().len());
        for node in elements.tree.nodes() {
            let own = match node {
                Node::Constant(value) => Passing::Constant(*value),
                Node::Leaf(leaf) => self.leaf(leaf, elements.array)?,
                Node::Branch(connective, children) => {
                    let children = children.iter().filter_map(|child| passing.get(*child).copied());
                    self.branch(*connective, children, elements.array)?
                }
            };
            passing.push(own);
        }
        Ok(passing.pop().unwrap_or(Passing::Constant(false)))
    }

    fn leaf(&mut self, leaf: &'l Leaf, array: ElementArray) -> Result<Passing, Error> {
        let is_negated = leaf.test.is_negated();
        let (set, is_every) = match &leaf.test {
            Test::Any(set) | Test::None(set) => (set, false),
            Test::All(set) | Test::NotAll(set) => (set, true),
            Test::Elem(inner) | Test::NoElem(inner) => return self.inner(inner, is_negated, array),
        };
        let Some(column) = column_of(leaf, self.table)? else { return Ok(Passing::Constant(is_negated)) };
        let is_nothing = match is_every {
            true => storable_points(set, self.statement).len() < set.len(),
            false => matches!(Wanted::new(set, self.statement), Wanted::Nothing),
        };
        if is_nothing {
            return Ok(Passing::Constant(is_negated));
        }
        let numbers = self.column(array, |_| Numbered::Values(leaf.field))?;
        // Every value is in the set of an `$all` test with both booleans, but an element with only one of them does not pass.
        let part = match set.is_every() && !is_every {
            true => Part::Column(numbers),
            false => {
                let (values, own) = (self.quoted(column), self.own_column(array)?);
                Part::Values { set, is_every, numbers, values, own }
            }
        };
        Ok(Passing::Set { set: self.push(part), is_negated })
    }

    /// Adds the parts of a test of the elements of an inner array.
    fn inner(
        &mut self,
        inner: &'l Elements,
        is_negated: bool,
        array: ElementArray,
    ) -> Result<Passing, Error> {
        let passing = self.passing(inner)?;
        let own = self.own_column(inner.array)?;
        let id = self.table.catalog().array_id(inner.array);
        let outer = self.column(array, |own| Numbered::Elements(id.unwrap_or(own)))?;
        let part = match passing {
            Passing::Constant(false) => return Ok(Passing::Constant(is_negated)),
            Passing::Constant(true) => Part::Column(outer),
            Passing::Set { set, is_negated: false } => Part::Outer { own, outer, set },
            Passing::Set { set, is_negated: true } => {
                let set = self.push(Part::Complement { own: own.clone(), set });
                Part::Outer { own, outer, set }
            }
        };
        Ok(Passing::Set { set: self.push(part), is_negated })
    }

    /// Adds the parts of a branch. Complements are taken as late as possible, so that there are few.
    fn branch(
        &mut self,
        connective: Connective,
        children: impl Iterator<Item = Passing>,
        array: ElementArray,
    ) -> Result<Passing, Error> {
        let neutral = connective.neutral();
        let (mut plain, mut negated) = (Vec::new(), Vec::new());
        for child in children {
            match child {
                Passing::Constant(value) if value == neutral => {}
                Passing::Constant(value) => return Ok(Passing::Constant(value)),
                Passing::Set { set, is_negated: false } => plain.push(set),
                Passing::Set { set, is_negated: true } => negated.push(set),
            }
        }
        if !negated.is_empty() {
            let opposite = match connective {
                Connective::And => Connective::Or,
                Connective::Or => Connective::And,
            };
            let set = self.push(Part::Join(opposite, negated));
            if plain.is_empty() {
                return Ok(Passing::Set { set, is_negated: true });
            }
            let own = self.own_column(array)?;
            plain.push(self.push(Part::Complement { own, set }));
        }
        Ok(match plain.as_slice() {
            [] => Passing::Constant(neutral),
            [only] => Passing::Set { set: *only, is_negated: false },
            _ => Passing::Set { set: self.push(Part::Join(connective, plain)), is_negated: false },
        })
    }
}

/// Returns the error of a test of elements for which the table has no element columns.
fn no_element_column(array: &str) -> Error {
    let found = format!("`{}` on an array without element columns in the table", Complex::ELEM.name());
    let expected = "a table and an export with element columns: `--elements` of `casefilter export`, `ddl` and `sql`, or `Table::with_elements`";
    Error::new(ErrorKind::NotInSql, 0, found, expected).at(array)
}

/// An item on the stack of the writer. The last item is written next.
enum Step<'p> {
    Part(PartId),
    /// The intersection or union of sets.
    Join(Connective, &'p [PartId]),
    Text(String),
}

/// Appends the expression of a set, without recursion.
fn write_parts(parts: &[Part<'_>], root: PartId, statement: &mut Statement) {
    let mut steps = vec![Step::Part(root)];
    while let Some(step) = steps.pop() {
        let part = match step {
            Step::Text(text) => {
                statement.push(&text);
                continue;
            }
            Step::Join(_, [only]) => {
                steps.push(Step::Part(*only));
                continue;
            }
            Step::Join(connective, sets) => {
                // Splits the sets into two halves, so that the depth of the nesting is at most the logarithm of their number.
                let (first, second) = sets.split_at(sets.len() / 2);
                let [before, between, after] = match connective {
                    Connective::And => statement.syntax().intersection(),
                    Connective::Or => statement.syntax().union(),
                };
                statement.push(before);
                steps.push(Step::Text(after.to_owned()));
                steps.push(Step::Join(connective, second));
                steps.push(Step::Text(between.to_owned()));
                steps.push(Step::Join(connective, first));
                continue;
            }
            Step::Part(id) => parts.get(id),
        };
        let (before, set, after) = match part {
            None => continue,
            Some(Part::Column(numbers)) => {
                let all = statement.syntax().all_elements(numbers);
                statement.push(&all);
                continue;
            }
            Some(Part::Values { set, is_every, numbers, values, own }) => {
                if *is_every {
                    write_every(set, [numbers, values, own], statement);
                } else {
                    write_with(Wanted::new(set, statement), numbers, values, statement);
                }
                continue;
            }
            Some(Part::Join(connective, sets)) => {
                steps.push(Step::Join(*connective, sets));
                continue;
            }
            Some(Part::Complement { own, set }) => {
                let (before, after) = statement.syntax().complement(own);
                (before, *set, after)
            }
            Some(Part::Outer { own, outer, set }) => {
                let (before, after) = statement.syntax().outer_elements(own, outer);
                (before, *set, after)
            }
        };
        statement.push(&before);
        steps.push(Step::Text(after));
        steps.push(Step::Part(set));
    }
}

/// Appends the set of the elements that have a value in `wanted`.
fn write_with(wanted: Wanted, numbers: &str, values: &str, statement: &mut Statement) {
    let (before, after) = statement.syntax().elements_with(numbers, values, wanted.longest());
    statement.push(&before);
    write_value(wanted, VALUE, false, statement);
    statement.push(&after);
}

/// The name that `elements_with` and `elements_with_every` of [`Syntax`](super::dialect::Syntax) use for the tested value. No
/// column name starts with an underscore.
const VALUE: &str = "_x";

/// Appends the set of the elements that have every value in `set`. For few values, intersects one set for each value. For more
/// values, counts the values of each element.
fn write_every(set: &Set, [numbers, values, own]: [&str; 3], statement: &mut Statement) {
    let points = storable_points(set, statement);
    let data = points.iter().map(Datum::of);
    let lists = if points.len() <= FEW_POINTS {
        data.map(Datum::into_list).collect()
    } else {
        split(data, usize::MAX, statement)
    };
    let [before, between, after] = statement.syntax().intersection();
    for _ in 1..lists.len() {
        statement.push(before);
    }
    for (at, list) in lists.into_iter().enumerate() {
        if at > 0 {
            statement.push(between);
        }
        write_members(list, [numbers, values, own], statement);
        if at > 0 {
            statement.push(after);
        }
    }
}

/// Appends the set of the elements that have every value in `list`.
fn write_members(list: Datum<'static>, [numbers, values, own]: [&str; 3], statement: &mut Statement) {
    let syntax = statement.syntax();
    let count = list.len();
    let (before, after) = match count {
        1 => syntax.elements_with(numbers, values, count),
        _ => syntax.elements_with_every(numbers, values, own, count),
    };
    statement.push(&before);
    statement.push_test(OperandTest::Member, VALUE, list);
    statement.push(&after);
}
