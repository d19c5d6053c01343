//! Explains why a document is selected or not: evaluates each criterion as written.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use crate::batch::Row;
use crate::catalog::FieldId;
use crate::error::Error;
use crate::filter::Filter;
use crate::ingest::read_case;
use crate::limits::Limits;
use crate::operator::{Complex, Connective, Grammar};
use crate::predicate::{Comparison, Node, Places, Written};
use crate::value::Value;

/// The truth value of every criterion of a filter for one document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Why {
    /// The `id` of the document.
    pub id: String,
    /// True if the filter selects the document. This is the truth value of the first criterion.
    pub selected: bool,
    /// Every criterion, in the order of the body. A criterion comes before its children. The first criterion is the whole filter.
    pub criteria: Vec<Criterion>,
    /// The values of the document in the fields that the criteria name.
    pub fields: BTreeMap<String, Stored>,
    /// The errors of rejected field values of the document, at most ten. A rejected value counts as absent.
    pub faults: Vec<Error>,
}

/// One criterion and its truth value for a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Criterion {
    /// The path of the criterion in the body, such as `criteria[0].children[2]`. The criteria of a filter text have the paths of
    /// the same criteria in a body. Empty for the criterion that joins `ids` and `criteria`. Also empty for a test that selects
    /// every document.
    pub path: String,
    /// The number of enclosing criteria.
    pub depth: usize,
    /// True if the criterion is true for the document. For a criterion within [`Test::Elements`]: true if the criterion is true for
    /// the element that this test names.
    pub holds: bool,
    /// The test.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub test: Test,
    /// The values of the field in the element that the criterion was tested on. `None` if the criterion tests the whole document,
    /// or if there is no element.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub element: Option<Vec<String>>,
}

/// The test of a [`Criterion`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(untagged))]
#[non_exhaustive]
pub enum Test {
    /// A test with the same result for every document, such as an empty list of criteria.
    Constant {
        /// True if the test selects every document.
        constant: bool,
    },
    /// An operator on its child criteria. The children follow in [`Why::criteria`], and their depth is greater by one.
    Branch {
        /// The operator: `$and`, `$or` or `$not`.
        op: &'static str,
    },
    /// A test of the elements of an array of objects. It is true if at least one element makes all child criteria true. The
    /// children follow in [`Why::criteria`], and their depth is greater by one.
    Elements {
        /// The path of the array.
        field: String,
        /// The operator: `$elem`.
        op: &'static str,
        /// The index of the element for which the child criteria are explained. It is the first element that makes the most child
        /// criteria true. The elements are counted from 0 within the document or, below another test of elements, within the
        /// element of that test. `None` if there is no element.
        element: Option<usize>,
    },
    /// A test of the values of one field.
    Field {
        /// The name of the field.
        field: String,
        /// The operator.
        op: &'static str,
        /// The operands. The operator compares the values of the field with them.
        values: Vec<String>,
    },
}

/// The values of a document in a field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Stored {
    /// The values of the field in the document, in document order, without repetitions.
    pub values: Vec<String>,
    /// True if the document has no value in the field. Then `values` has the default value, or is empty if there is no default.
    pub absent: bool,
}

/// Evaluates each criterion, as written, for the document.
///
/// Reads the document like [`ImportMode::Lenient`](crate::ImportMode::Lenient): a rejected field value counts as absent.
///
/// ```
/// use casefilter::{Catalog, Filter, reference};
/// let filter = Filter::compile_text(&Catalog::cases(), "priority = medium and tags in (vip, cash)")?;
/// let why = reference::why(&filter, r#"{"id":"a","tags":["crypto"]}"#)?;
/// let truths: Vec<_> = why.criteria.iter().map(|criterion| (criterion.path.as_str(), criterion.holds)).collect();
/// assert_eq!(truths, [("criteria", false), ("criteria[0]", true), ("criteria[1]", false)]);
/// assert!(why.fields["priority"].absent && why.fields["priority"].values == ["medium"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if the document is not valid, according to the rules of a lenient import.
///
/// # Complexity
/// Linear in the lengths of document and filter, except for sorting.
pub fn why(filter: &Filter, document: &str) -> Result<Why, Error> {
    let catalog = filter.catalog();
    let mut row = Row::default();
    read_case(document, catalog, &Limits::default(), &mut row)?;
    let written = filter.written();
    let values_of_fields = Values::of_fields(&row, written.nodes());
    let places_of_row = super::elements::Places::new(&row, catalog);
    let told = told(&written, &places_of_row);

    let places = Places::new(&written);
    let mut criteria = Vec::with_capacity(written.nodes().len());
    let mut open = vec![(written.root(), 0_usize)];
    while let Some((node, depth)) = open.pop() {
        let test = match written.get(node) {
            Some(Node::Leaf(comparison)) => Test::Field {
                field: catalog.field(comparison.field).name().to_owned(),
                op: comparison.operator.name(),
                values: comparison.values.iter().map(ToString::to_string).collect(),
            },
            Some(Node::Branch(operator, children)) => {
                open.extend(children.iter().rev().map(|child| (*child, depth.saturating_add(1))));
                match operator {
                    Complex::Elem(array) => Test::Elements {
                        field: catalog.array_name(*array).to_owned(),
                        op: operator.name(),
                        element: told.get(node).and_then(|told| told.element),
                    },
                    _ => Test::Branch { op: operator.name() },
                }
            }
            Some(Node::Constant(constant)) => Test::Constant { constant: *constant },
            None => continue,
        };
        let told = told.get(node);
        let holds = told.is_some_and(|told| told.holds);
        // An `$or` at the root always joins `ids` and `criteria`. No single criterion of a body is a constant that selects every
        // case.
        let is_nowhere = match test {
            Test::Branch { op } => depth == 0 && op == Connective::Or.name(),
            Test::Constant { constant } => constant,
            Test::Field { .. } | Test::Elements { .. } => false,
        };
        let path = if is_nowhere { String::new() } else { places.path(node) };
        let element = match (written.get(node), told.and_then(|told| told.within.as_ref())) {
            (Some(Node::Leaf(comparison)), Some(within)) => {
                let values = Values::new(places_of_row.values(comparison.field, within).collect());
                Some(values.listed.iter().map(ToString::to_string).collect())
            }
            _ => None,
        };
        criteria.push(Criterion { path, depth, holds, test, element });
    }
    let fields = values_of_fields.iter().map(|(field, values)| {
        let values = values.listed.iter().map(ToString::to_string).collect();
        (catalog.field(*field).name().to_owned(), Stored { values, absent: !row.has_own(*field) })
    });
    let (fields, selected) = (fields.collect(), told.last().is_some_and(|told| told.holds));
    Ok(Why { id: row.id().to_owned(), selected, criteria, fields, faults: row.take_faults() })
}

/// The truth value of a node.
#[derive(Clone, Default)]
struct Told {
    holds: bool,
    /// The places of the element that the node was tested on. `None` if the node was tested on the whole document, or if there is
    /// no element.
    within: Option<Range<usize>>,
    /// The index of the element that the children of the node were tested on.
    element: Option<usize>,
}

/// Returns the truth value of every node. The children of a criterion on elements are tested on the element that makes the most of
/// them true.
fn told(written: &Written<'_>, places: &super::elements::Places<'_, '_>) -> Vec<Told> {
    let mut told = vec![Told::default(); written.nodes().len()];
    let mut open = vec![(written.root(), Some(places.all()), false)];
    while let Some((root, within, is_element)) = open.pop() {
        let Some(within) = within else {
            // There is no element, so no criterion on it is true.
            continue;
        };
        for (id, holds) in places.truths(written, root, &within) {
            let mut element = None;
            if let Some(Node::Branch(Complex::Elem(array), children)) = written.get(id) {
                let elements = places.elements(*array, &within);
                let count = |element: &Range<usize>| {
                    children.iter().filter(|child| places.holds(written, **child, element)).count()
                };
                // The first of the elements with the most true children.
                let best = elements.iter().enumerate().rev().max_by_key(|(_, element)| count(element));
                element = best.map(|(at, _)| at);
                let range = best.map(|(_, range)| range.clone());
                open.extend(children.iter().map(|child| (*child, range.clone(), true)));
            }
            if let Some(slot) = told.get_mut(id) {
                *slot = Told { holds, within: is_element.then(|| within.clone()), element };
            }
        }
    }
    told
}

/// The values that a document has in a field.
#[derive(Default)]
struct Values<'r, 'a> {
    /// The values in document order, without repetitions.
    listed: Vec<&'r Value<'a>>,
}

impl<'r, 'a> Values<'r, 'a> {
    fn new(values: Vec<&'r Value<'a>>) -> Self {
        let mut seen = BTreeSet::new();
        let listed = values.into_iter().filter(|value| seen.insert(*value)).collect();
        Self { listed }
    }

    /// Returns the values of the fields that the criteria test.
    fn of_fields(row: &'r Row<'a>, nodes: &[Node<Comparison<'_>, Complex>]) -> BTreeMap<FieldId, Self> {
        let mut values: BTreeMap<FieldId, Vec<&'r Value<'a>>> = BTreeMap::new();
        for node in nodes {
            if let Node::Leaf(comparison) = node {
                values.entry(comparison.field).or_default();
            }
        }
        for (field, value) in row.iter() {
            if let Some(values) = values.get_mut(&field) {
                values.push(value);
            }
        }
        values.into_iter().map(|(field, values)| (field, Self::new(values))).collect()
    }
}

impl fmt::Display for Why {
    /// Writes a tree with one criterion per line: its truth value, its test, the values of the document, and its path in the body.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<[String; 2]> = self.criteria.iter().map(|criterion| self.line(criterion)).collect();
        let width = |column: usize| {
            let widths = lines.iter().filter_map(|line| line.get(column)).map(|text| text.chars().count());
            widths.filter(|width| *width <= WIDEST).max().unwrap_or(0)
        };
        let (first, second) = (width(0), width(1));
        for ([asked, stored], Criterion { path, .. }) in lines.iter().zip(&self.criteria) {
            let line = format!("{asked:first$}   {stored:second$}   {path}");
            writeln!(f, "{}", line.trim_end())?;
        }
        for fault in &self.faults {
            writeln!(f, "counted as absent: {}: {}", fault.path, fault.message())?;
        }
        Ok(())
    }
}

impl Why {
    /// Returns the texts of the first two columns: the truth value and the test of a criterion, and the values of the document.
    fn line(&self, Criterion { depth, holds, test, element, .. }: &Criterion) -> [String; 2] {
        let mark = if *holds { '✓' } else { '✗' };
        let (asked, stored) = match test {
            Test::Constant { constant: true } => ("every case".to_owned(), String::new()),
            Test::Constant { constant: false } => ("no case".to_owned(), String::new()),
            Test::Branch { op } => {
                let phrase = Complex::find(op, Grammar::Extended).map_or(*op, Complex::phrase);
                (phrase.to_owned(), String::new())
            }
            Test::Elements { field, op, element } => {
                let phrase = Complex::find(op, Grammar::Extended).map_or(*op, Complex::phrase);
                let of = match element {
                    Some(element) => format!("{field}[{element}]"),
                    None => "no element".to_owned(),
                };
                (format!("{field}: {phrase}"), of)
            }
            Test::Field { field, op, values } => {
                let of_element = element.as_ref().map(|own| Stored { values: own.clone(), absent: false });
                let stored = match of_element.as_ref().or_else(|| self.fields.get(field)) {
                    Some(Stored { values: own, absent }) if !own.is_empty() => {
                        // If there are many values, the values that the criterion names are shown first.
                        let named: BTreeSet<&str> = values.iter().map(String::as_str).collect();
                        let (mut first, rest): (Vec<&String>, Vec<&String>) =
                            own.iter().take(SOUGHT).partition(|value| named.contains(value.as_str()));
                        first.extend(rest);
                        let counts = if *absent { "absent, counts as " } else { "" };
                        format!("{counts}{}", shown(&first, own.len()))
                    }
                    _ => "absent".to_owned(),
                };
                let first: Vec<&String> = values.iter().take(SHOWN).collect();
                (format!("{field} {op} {}", shown(&first, values.len())), stored)
            }
        };
        [format!("{mark} {:1$}{asked}", "", depth.saturating_mul(2)), stored]
    }
}

/// The maximum width of a column, in characters. A longer text extends beyond its column.
const WIDEST: usize = 72;
/// The maximum number of values to show from a list. Of the further values, only the number is shown.
const SHOWN: usize = 10;
/// The maximum length of a shown value, in characters. A longer value is cut, and ends with `…`.
const SHOWN_CHARS: usize = 60;
/// The maximum number of stored values that are compared with the operands of the criterion. Among the compared values, those that
/// equal an operand are shown first. Further stored values are counted, but never shown.
const SOUGHT: usize = 1000;

/// Formats the first [`SHOWN`] of `values` as JSON strings, and the number of values that are not shown. `all` is the number of all
/// values.
fn shown(values: &[&String], all: usize) -> String {
    let clip = |value: &String| {
        let text = match value.char_indices().nth(SHOWN_CHARS) {
            Some((end, _)) => Cow::Owned(format!("{}…", value.get(..end).unwrap_or_default())),
            None => Cow::Borrowed(value.as_str()),
        };
        // Serialising a string cannot fail.
        serde_json::to_string(&text).unwrap_or_default()
    };
    let shown: Vec<String> = values.iter().take(SHOWN).map(|value| clip(value)).collect();
    if shown.is_empty() {
        return "nothing".to_owned();
    }
    let more = match all.saturating_sub(shown.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    shown.join(", ") + &more
}
