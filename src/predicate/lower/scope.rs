//! Determines the scope of each criterion of a body, which is the array of objects around it. Also determines whether the criterion
//! is negated.
//!
//! In a criterion on the elements of an array (`$elem`, `has`), all fields and arrays lie below that array. The text syntax also
//! accepts names relative to the array: in `legs has (bank = x)`, `bank` is `legs.bank`. If a name is valid both as a relative name
//! and as a full name, it is a relative name.

use crate::catalog::{Catalog, ElementArray, FieldId};
use crate::criteria::{Body, Criterion};
use crate::operator::{Complex, Language};

/// The array of objects around a criterion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scope {
    /// The criterion tests the whole document.
    #[default]
    Document,
    /// The criterion tests one element of this array.
    Element(ElementArray),
    /// The array does not exist. The criterion that names the array has an error.
    Unknown,
}

impl Scope {
    /// Finds a field by the name that a criterion in this scope uses for it.
    pub(super) fn field(self, name: &str, catalog: &Catalog, language: Language) -> Option<FieldId> {
        let Self::Element(array) = self else { return catalog.find(name) };
        let is_below = |field: &FieldId| catalog.is_below(*field, array);
        let full_name = written_from(array, name, catalog, language);
        let relative = full_name.and_then(|name| catalog.find(&name)).filter(is_below);
        relative.or_else(|| catalog.find(name).filter(is_below))
    }

    /// Finds an array of objects by the name that a criterion in this scope uses for it.
    pub(super) fn array(self, name: &str, catalog: &Catalog, language: Language) -> Option<ElementArray> {
        let Self::Element(around) = self else { return catalog.find_array(name) };
        let is_below = |array: &ElementArray| catalog.is_array_below(*array, around);
        let full_name = written_from(around, name, catalog, language);
        let relative = full_name.and_then(|name| catalog.find_array(&name)).filter(is_below);
        relative.or_else(|| catalog.find_array(name).filter(is_below))
    }
}

/// Returns the full form of a name relative to an array. Returns `None` for JSON, which has only full names.
fn written_from(array: ElementArray, name: &str, catalog: &Catalog, language: Language) -> Option<String> {
    (language == Language::Text).then(|| format!("{}.{name}", catalog.array_name(array)))
}

/// Returns the scope of each criterion. Returns an empty list if all criteria test the whole document.
pub(super) fn scopes(body: &Body<'_>, catalog: &Catalog, language: Language) -> Vec<Scope> {
    let is_elem =
        |criterion: &Criterion| matches!(criterion, Criterion::Complex { operator: Complex::Elem(_), .. });
    if !body.nodes.iter().any(is_elem) {
        return Vec::new();
    }
    inherited(body, Scope::default(), |criterion, around| match criterion {
        Criterion::Complex { operator: Complex::Elem(_), array, .. } => {
            let name = array.and_then(|name| body.text(name));
            let found = name.and_then(|name| around.array(&name.text, catalog, language));
            match found {
                Some(array) if around != Scope::Unknown => Scope::Element(array),
                _ => Scope::Unknown,
            }
        }
        _ => around,
    })
}

/// Returns a flag for each criterion: true if an odd number of negations is above it within its scope. Returns an empty list if the
/// body has no negation.
pub(super) fn negated(body: &Body<'_>) -> Vec<bool> {
    let is_not =
        |criterion: &Criterion| matches!(criterion, Criterion::Complex { operator: Complex::Not, .. });
    if !body.nodes.iter().any(is_not) {
        return Vec::new();
    }
    inherited(body, false, |criterion, is_negated| match criterion {
        Criterion::Complex { operator: Complex::Not, .. } => !is_negated,
        // A negated test of elements is a test of its own, so its children are not negated.
        Criterion::Complex { operator: Complex::Elem(_), .. } => false,
        _ => is_negated,
    })
}

/// Returns, for each criterion, the value that it inherits from the criteria around it. A criterion without a parent inherits
/// `outermost`. Any other criterion inherits `of_children(parent, value)`, where `value` is the value that the parent inherits.
fn inherited<T: Copy>(body: &Body<'_>, outermost: T, of_children: impl Fn(&Criterion, T) -> T) -> Vec<T> {
    let mut inherited = vec![outermost; body.nodes.len()];
    // The loop runs in reverse order, so it reaches a parent before its children. For each open parent, `open` has the count of
    // children that the loop has not reached yet, and what these children inherit.
    let mut open: Vec<(usize, T)> = Vec::new();
    for (criterion, own) in body.nodes.iter().zip(&mut inherited).rev() {
        while open.pop_if(|(children, _)| *children == 0).is_some() {}
        if let Some((children, value)) = open.last_mut() {
            *children = children.saturating_sub(1);
            *own = *value;
        }
        if let Criterion::Complex { children, .. } = criterion {
            open.push((*children, of_children(criterion, *own)));
        }
    }
    inherited
}
