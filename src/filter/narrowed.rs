//! Narrows the filter of a search to the documents with one value of a sort field, or with an earlier value in sort order.

use smallvec::smallvec;

use super::compiled::{Filter, Origin};
use super::order::SortValue;
use crate::catalog::FieldId;
use crate::operator::{Complex, Connective};
use crate::predicate::{self, Intervals, Leaf, Node, Points, Set, Test, Tree};
use crate::value::{OrdinalRange, ValueClass};

impl Filter {
    /// Creates the filter that selects the documents that this filter selects and that have this value in a single-valued field.
    ///
    /// It is only for searches: it has no [criteria as written](Self::written).
    pub(crate) fn with_value(&self, field: FieldId, value: &SortValue) -> Self {
        let test = match value {
            SortValue::Absent => Test::None(Set::every(self.catalog().field(field).field_type())),
            SortValue::Text(text) => match Set::of_strings(std::iter::once(&**text)) {
                Some(set) => Test::Any(set),
                None => return Self::none(self.catalog()),
            },
            SortValue::Boolean(boolean) => Test::Any(Set::Booleans(Points::new(smallvec![*boolean]))),
            SortValue::Ordinal(ordinal) => return self.with_ordinals(field, (*ordinal, *ordinal)),
        };
        self.with_test(field, test)
    }

    /// Creates the filter that selects the documents that this filter selects and whose value in a single-valued field comes before
    /// `value` in sort order. Returns `None` for strings, which filters cannot compare in sort order.
    ///
    /// It is only for searches, like the filter of [`with_value`](Self::with_value).
    pub(crate) fn with_values_before(
        &self,
        field: FieldId,
        value: &SortValue,
        descending: bool,
    ) -> Option<Self> {
        let kind = self.catalog().field(field).field_type();
        match value {
            SortValue::Absent => Some(self.with_test(field, Test::Any(Set::every(kind)))),
            SortValue::Text(_) => None,
            SortValue::Boolean(boolean) if *boolean == descending => Some(Self::none(self.catalog())),
            SortValue::Boolean(boolean) => Some(self.with_value(field, &SortValue::Boolean(!boolean))),
            SortValue::Ordinal(ordinal) => {
                let ValueClass::Ordered(ordered) = ValueClass::of_field(kind) else { return None };
                let (least, greatest) = ordered.range();
                let before = match descending {
                    true => ordered.above(*ordinal).map(|above| (above, greatest)),
                    false => ordered.below(*ordinal).map(|below| (least, below)),
                };
                let none = || Self::none(self.catalog());
                Some(before.map_or_else(none, |range| self.with_ordinals(field, range)))
            }
        }
    }

    fn with_ordinals(&self, field: FieldId, range: OrdinalRange) -> Self {
        let kind = self.catalog().field(field).field_type();
        let ValueClass::Ordered(kind) = ValueClass::of_field(kind) else { return Self::none(self.catalog()) };
        self.with_test(field, Test::Any(Set::Ordered(Intervals::new(kind, smallvec![range], false))))
    }

    fn with_test(&self, field: FieldId, test: Test) -> Self {
        let own = Tree::from_nodes(vec![Node::Leaf(Leaf { field, test })]);
        let trees = [self.predicate(), &own];
        let predicate = predicate::joined(Complex::from(Connective::And), trees.into_iter(), self.catalog());
        Self::new(self.catalog(), predicate, Origin::Constant(true))
    }
}
