//! Evaluates criteria, without optimisation, on one document or on one element of an array of objects in the document.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use crate::batch::{Event, Row};
use crate::catalog::{ArrayId, Catalog, ElementArray, FieldId, FieldType};
use crate::operator::{Complex, ValueSet};
use crate::predicate::{Comparison, Node, Written};
use crate::value::{Operand, Value};

/// The field values of a document, and the elements of its arrays of objects. Each value and each element has a *place*: the number
/// of values and elements before it.
pub(super) struct Places<'r, 'a> {
    catalog: &'r Catalog,
    /// The values of each field with their places, in document order.
    values: BTreeMap<FieldId, Vec<(usize, &'r Value<'a>)>>,
    /// The places of the elements of each array, in document order.
    elements: BTreeMap<ArrayId, Vec<usize>>,
    /// The number of values and elements.
    count: usize,
    /// For each field: the set of its values in the whole document. Each set is computed when it is first needed.
    sets: RefCell<BTreeMap<FieldId, Rc<ValueSet<'r>>>>,
}

impl<'r, 'a: 'r> Places<'r, 'a> {
    pub(super) fn new(row: &'r Row<'a>, catalog: &'r Catalog) -> Self {
        let sets = RefCell::default();
        let mut places = Self { catalog, values: BTreeMap::new(), elements: BTreeMap::new(), count: 0, sets };
        row.for_each(|event| {
            match event {
                Event::Value(field, value) => {
                    places.values.entry(field).or_default().push((places.count, value));
                }
                Event::Element(array) => places.elements.entry(array).or_default().push(places.count),
            }
            places.count = places.count.saturating_add(1);
        });
        places
    }

    /// Returns the range of all places in the document.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.count
    }

    /// Returns the values of a field in a range of places, in document order, with repetitions.
    pub(super) fn values(
        &self,
        field: FieldId,
        places: &Range<usize>,
    ) -> impl Iterator<Item = &'r Value<'a>> {
        let own = self.values.get(&field).map_or(&[][..], Vec::as_slice);
        let before = |place: usize| own.partition_point(|(other, _)| *other < place);
        let within = own.get(before(places.start)..before(places.end)).unwrap_or_default();
        within.iter().map(|(_, value)| *value)
    }

    /// Returns the elements of an array that start in `places`, each as a range of places. A range ends at the start of the next
    /// element, or at the end of `places`.
    pub(super) fn elements(&self, array: ElementArray, places: &Range<usize>) -> Vec<Range<usize>> {
        let own = self.catalog.array_id(array).and_then(|array| self.elements.get(&array));
        let own = own.map_or(&[][..], Vec::as_slice);
        let before = |place: usize| own.partition_point(|other| *other < place);
        let starts = own.get(before(places.start)..before(places.end)).unwrap_or_default();
        let ends = starts.iter().skip(1).copied().chain([places.end]);
        starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
    }

    /// Returns true if a node is true for the values in a range of places. The recursion is at most as deep as the nesting of
    /// arrays in the catalogue.
    pub(super) fn holds(&self, written: &Written<'_>, root: usize, places: &Range<usize>) -> bool {
        self.truths(written, root, places).get(&root).copied().unwrap_or(false)
    }

    /// Returns the truth value of a node and of each node below it, for the values in a range of places. Leaves out the nodes below
    /// a criterion on elements, because these nodes have one truth value for each element.
    pub(super) fn truths(
        &self,
        written: &Written<'_>,
        root: usize,
        places: &Range<usize>,
    ) -> BTreeMap<usize, bool> {
        // Children have smaller ids than their parents, so ascending order evaluates them first.
        let mut truths = BTreeMap::new();
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            truths.insert(id, false);
            if let Some(Node::Branch(Complex::Join(_) | Complex::Not, children)) = written.get(id) {
                open.extend_from_slice(children);
            }
        }
        let ids: Vec<usize> = truths.keys().copied().collect();
        for id in ids {
            let truth = match written.get(id) {
                Some(Node::Constant(value)) => *value,
                Some(Node::Leaf(comparison)) => self.compare(comparison, places),
                Some(Node::Branch(Complex::Elem(array), children)) => {
                    let passes = |element: &Range<usize>| {
                        children.iter().all(|child| self.holds(written, *child, element))
                    };
                    self.elements(*array, places).iter().any(passes)
                }
                Some(Node::Branch(operator, children)) => {
                    operator.evaluate(children.iter().map(|child| truths.get(child) == Some(&true)))
                }
                None => false,
            };
            truths.insert(id, truth);
        }
        truths
    }

    fn compare(&self, comparison: &Comparison<'_>, places: &Range<usize>) -> bool {
        let Comparison { field, operator, values } = comparison;
        if let (FieldType::String, Some(_)) = (self.catalog.field(*field).field_type(), operator.ray()) {
            return self.compare_by_rank(comparison, places);
        }
        if *places != self.all() {
            return operator.holds(values, &ValueSet::new(self.values(*field, places)));
        }
        let set = self.sets.borrow().get(field).cloned();
        let set = set.unwrap_or_else(|| {
            let set = Rc::new(ValueSet::new(self.values(*field, places)));
            self.sets.borrow_mut().insert(*field, Rc::clone(&set));
            set
        });
        operator.holds(values, &set)
    }

    /// Evaluates an order comparison, such as `>`, on a field that has known values. Compares the ranks of the values. Other values
    /// have no rank, so every comparison with them is false.
    fn compare_by_rank(&self, comparison: &Comparison<'_>, places: &Range<usize>) -> bool {
        let field = self.catalog.field(comparison.field);
        let rank = |value: &Value<'_>| match value {
            Value::String(text) => field.known_rank(text).and_then(|rank| i64::try_from(rank).ok()),
            _ => None,
        };
        let ranks: Vec<Value<'_>> =
            self.values(comparison.field, places).filter_map(rank).map(Value::Integer).collect();
        let operands: Vec<Operand<'_>> = comparison
            .values
            .iter()
            .filter_map(|value| rank(value.first()))
            .map(Value::Integer)
            .map(Operand::from)
            .collect();
        operands.len() == comparison.values.len()
            && comparison.operator.holds(&operands, &ValueSet::new(&ranks))
    }
}
